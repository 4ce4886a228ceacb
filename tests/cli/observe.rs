//! What springload learns about a server beside the load, against a server whose own counts are
//! known: gaps, restarts, requests of other clients.

use crate::servers::Server;
use crate::springload::{Finished, Run, Running, measure, number, springload};
use crate::victims::Victim;
use serde_json::Value;
use springload::clock::{Clock, Nanos};
use springload::embedded::Options;
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// The only source besides the machine.
fn source(run: &Finished) -> &Value {
    let sources = run.record["observed"]["sources"].as_array().expect("sources");
    let asked: Vec<_> = sources.iter().filter(|it| it["machine"] != true).collect();
    assert_eq!(asked.len(), 1, "{sources:?}");
    asked[0]
}

/// A column of the only source: the times and the values, where there is one.
fn column(run: &Finished, name: &str) -> Vec<(f64, Option<f64>)> {
    column_of(source(run), name)
}

/// A column of a source.
fn column_of(source: &Value, name: &str) -> Vec<(f64, Option<f64>)> {
    let tables = source["tables"].as_array().expect("tables");
    let found = tables.iter().find_map(|table| {
        let columns = table["columns"].as_array().expect("columns");
        Some((table, columns.iter().find(|it| it["name"] == name)?))
    });
    let (table, column) = found.unwrap_or_else(|| panic!("no {name} in {tables:?}"));
    let times = table["at_s"].as_array().expect("times").iter();
    let values = column["values"].as_array().expect("values").iter();
    times.zip(values).map(|(at, value)| (at.as_f64().expect("a time"), value.as_f64())).collect()
}

fn requests_served(run: &Finished) -> u64 {
    let methods = source(run)["served"]["methods"].as_object().expect("methods");
    methods.values().map(number).sum()
}

fn requests_sent(run: &Finished) -> u64 {
    let operations = run.stages().flat_map(|it| it["operations"].as_array().expect("a list"));
    operations.map(|it| number(&it["http_requests"])).sum()
}

/// The requests of all stages by method, or the responses by status.
fn sent_by(run: &Finished, by: &str) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for (name, count) in run.stages().filter_map(|it| it["sent"][by].as_object()).flatten() {
        *sums.entry(name.clone()).or_default() += number(count);
    }
    sums
}

#[test]
fn the_server_has_counted_the_same_requests() {
    let server = Server::stand_in(Options::default());
    // A chart needs a rate that began within the stage: with polls 2 s apart, it needs two of them.
    let words = ["run", &server.url, "--docs", "400", "-d", "6s", "-c", "4", "--think", "5ms"];
    let run = measure([&words[..], &["--mix", "create=1,read=3,update=1,delete=1"]].concat());
    assert_eq!(requests_served(&run), requests_sent(&run));
    for by in ["methods", "statuses"] {
        let served = source(&run)["served"][by].as_object().expect("counts");
        let served = served.iter().map(|(name, count)| (name.clone(), number(count)));
        assert_eq!(sent_by(&run, by), served.collect(), "{by}");
    }
    let writes = column(&run, "document_writes_per_s");
    assert!(writes.iter().any(|(_, rate)| rate.is_some_and(|rate| rate > 0.0)), "{writes:?}");
    assert!(!run.stdout.contains("this server's requests"), "{}", run.stdout);
    assert!(run.stage("crud")["account"]["others_share"].is_null());
    assert!(!run.full_report().contains("others used the server"), "{}", run.full_report());
    let settings = &run.record["observed"]["settings"];
    assert_eq!(settings["cluster.q"], "1", "{settings}");
    let page = run.report("html").stdout;
    assert!(page.contains("the server has counted the same requests: "), "no count");
    assert!(page.contains("Server: documents"), "no chart");
}

#[test]
fn nothing_is_asked_if_nothing_is_to_be_observed() {
    let server = Server::stand_in(Options::default());
    let words = ["run", &server.url, "--docs", "20", "-n", "20", "-c", "2", "--no-observe"];
    let run = measure(words);
    assert!(run.record["observed"].is_null());
    assert!(!run.report("html").stdout.contains("The server meanwhile"));
    // Nor if the server is in springload's own process, where that would disturb the measurement.
    let run = measure(["run", "--docs", "20", "-n", "20", "-c", "2"]);
    assert!(run.record["observed"].is_null());
}

#[test]
fn requests_of_others_are_reported() {
    let server = Server::stand_in(Options::default());
    let words = ["run", &server.url, "--docs", "40", "--mix", "read=1", "-c", "2", "-n", "900"];
    let run = Run::of(&[&words[..], &["-r", "300"]].concat()).start();
    sleep(Duration::from_millis(500));
    let others = ["run", &server.url, "--docs", "40", "--mix", "read=1", "-c", "2", "-n", "300"];
    let other = measure([&others[..], &["--no-observe"]].concat());
    let run = run.finish();
    // Besides its requests, the other run has opened and removed its database.
    let (sent, by_other) = (requests_sent(&run), requests_sent(&other));
    let foreign = requests_served(&run) - sent;
    assert!((by_other..=by_other + 10).contains(&foreign), "{foreign} of {by_other}");
    let share = foreign * 100 / requests_served(&run);
    // Enough to be reported: it is not a fault, and does not change the result.
    let account = &run.stage("crud")["account"];
    let noted = account["others_share"].as_f64().expect("a share") * 100.0;
    assert!((noted - share as f64).abs() < 2.0, "{noted} % of {share} %");
    assert!(
        run.full_report().contains("others used the server meanwhile"),
        "{}",
        run.full_report()
    );
    let words = format!("{share} % of this server's requests were not this run's: {foreign} of ");
    let near = (share.saturating_sub(1)..=share + 1).any(|share| {
        run.full_report()
            .contains(&format!("{share} % of this server's requests were not this run's"))
    });
    assert!(near, "no {words:?} in {}", run.stdout);
    // The other run mostly reads, as this one does.
    let by_method = format!(
        "({} GET, ",
        number(&source(&run)["served"]["methods"]["GET"]) - sent_by(&run, "methods")["GET"]
    );
    assert!(run.full_report().contains(&by_method), "no {by_method:?} in {}", run.stdout);
}

/// A run against a stand-in that is disturbed after 2 s.
fn disturbed(disturb: impl FnOnce(&mut Victim)) -> Finished {
    let mut victim = Victim::stand_in();
    let target = victim.target("observed");
    let words = ["run", &target, "--docs", "40", "-d", "8s", "-r", "50", "-c", "4"];
    let more = ["--mix", "create=1", "--timeout", "1s", "--warmup", "0s", "--keep"];
    let run: Running = Run::of(&[&words[..], &more].concat()).start();
    sleep(Duration::from_secs(3));
    disturb(&mut victim);
    run.finish()
}

#[test]
fn a_server_that_stands_still_is_a_gap_and_the_run_goes_on() {
    let run = disturbed(|victim| {
        assert!(victim.freeze(true));
        sleep(Duration::from_millis(4_500));
        assert!(victim.freeze(false));
    });
    assert!(run.record["ended"].is_null(), "{}", run.stderr);
    let source = source(&run);
    assert!(number(&source["missed"]) >= 1, "{source}");
    let writes = column(&run, "document_writes_per_s");
    assert!(writes.iter().skip(1).any(|(_, rate)| rate.is_none()), "{writes:?}");
    assert!(writes.iter().filter_map(|(_, rate)| *rate).all(|rate| rate < 500.0), "{writes:?}");
    assert!(run.report("html").stdout.contains("no answer"), "not reported");
}

#[test]
fn a_restart_is_no_negative_rate_and_no_spike() {
    let run = disturbed(|victim| {
        victim.kill();
        victim.start_again();
    });
    let restarts = source(&run)["restarts_s"].as_array().expect("restarts");
    assert_eq!(restarts.len(), 1, "{restarts:?}");
    let writes = column(&run, "document_writes_per_s");
    let rates = || writes.iter().filter_map(|(_, rate)| *rate);
    assert!(rates().all(|rate| (0.0..500.0).contains(&rate)), "{writes:?}");
    assert!(source(&run)["served"].is_null(), "its count began anew");
    assert!(run.report("html").stdout.contains("started again"), "not reported");
}

/// A server with metrics, whose counter grows by 100 a second.
struct Exporter {
    address: String,
    /// Whether it is gone: then it closes every connection.
    gone: Arc<AtomicBool>,
}

impl Exporter {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let gone = Arc::new(AtomicBool::new(false));
        let (is_gone, began) = (gone.clone(), Clock::system().now());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let gone = is_gone.clone();
                std::thread::spawn(move || serve(stream, &gone, began));
            }
        });
        Self { address, gone }
    }

    fn url(&self) -> String {
        format!("node=http://ann:s3cret@{}/metrics", self.address)
    }
}

fn serve(mut stream: TcpStream, gone: &AtomicBool, began: Nanos) {
    let mut request = [0; 4_096];
    while let Ok(length @ 1..) = stream.read(&mut request) {
        if gone.load(Ordering::Relaxed) {
            return;
        }
        let request = String::from_utf8_lossy(&request[..length]);
        // ann:s3cret
        let known = request.contains("\r\nAuthorization: Basic YW5uOnMzY3JldA==\r\n");
        let status = match request.starts_with("GET /metrics ") {
            _ if !known => "401 Unauthorized",
            true => "200 OK",
            false => "404 Not Found",
        };
        let reads = 1_000.0 + 100.0 * (Clock::system().now() - began) as f64 / 1e9;
        let text = format!(
            "# HELP disk_reads reads\r# TYPE disk_reads counter\ndisk_reads{{disk=\"a\"}} {reads}\n\
             # TYPE free_bytes gauge\nfree_bytes 5e6\n"
        );
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", text.len());
        if stream.write_all(format!("{head}{text}").as_bytes()).is_err() {
            return;
        }
    }
}

const LOAD: [&str; 9] = ["run", "--docs", "20", "-d", "7s", "-r", "50", "-c", "2"];

#[test]
fn an_exporter_is_asked_beside_the_load_and_its_password_is_nowhere() {
    let exporter = Exporter::start();
    // Even if the server is in springload's own process.
    let run = measure([&LOAD[..], &["--observe-url", &exporter.url()]].concat());
    let source = source(&run);
    assert_eq!((&source["name"], &source["missed"]), (&"node".into(), &Value::Null), "{source}");
    let rates = column(&run, "disk_reads_per_s{disk=\"a\"}");
    let known: Vec<f64> = rates.iter().filter_map(|(_, rate)| *rate).collect();
    assert!(known.len() >= 2, "{rates:?}");
    assert!(known.iter().all(|rate| (50.0..200.0).contains(rate)), "{rates:?}");
    assert!(column(&run, "free_bytes").iter().all(|(_, bytes)| *bytes == Some(5e6)));
    let page = run.report("html").stdout;
    assert!(page.contains("Server: node"), "no chart");
    for text in [&run.record.to_string(), &run.stderr, &run.stdout, &page] {
        assert!(!text.contains("s3cret") && !text.contains("YW5uOnMzY3JldA"), "{text}");
    }
}

#[test]
fn an_exporter_that_dies_is_a_gap_and_only_what_is_asked_for_is_kept() {
    let (exporter, server) = (Exporter::start(), Server::stand_in(Options::default()));
    let flags = ["--observe-url", &exporter.url(), "--observe-series", "disk_*{*\"a\"}"];
    let words = [&LOAD[..], &[&server.url, "--no-observe"], &flags].concat();
    let run = Run::of(&words).start();
    sleep(Duration::from_millis(3_500));
    exporter.gone.store(true, Ordering::Relaxed);
    let run = run.finish();
    assert!(run.record["ended"].is_null(), "{}", run.stderr);
    let source = source(&run);
    assert!(number(&source["missed"]) >= 1, "{source}");
    assert_eq!(source["tables"][0]["columns"].as_array().map(Vec::len), Some(1), "{source}");
    let rates = column(&run, "disk_reads_per_s{disk=\"a\"}");
    assert!(rates.iter().any(|(_, rate)| rate.is_some()), "{rates:?}");
    assert!(rates.last().expect("a row").1.is_none(), "{rates:?}");
}

/// What an exporter sends instead of metrics, once the load is running.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lie {
    /// Impossible numbers.
    Nonsense,
    /// Something that is not metrics.
    Page,
    /// More than is ever read.
    Endless,
    /// No response.
    Silence,
}

/// An exporter that answers the first request properly, and then lies.
fn liar(lie: Lie) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let asked = Arc::new(AtomicUsize::new(0));
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let asked = asked.clone();
            std::thread::spawn(move || lie_to(stream, lie, &asked));
        }
    });
    format!("node=http://{address}/metrics")
}

fn lie_to(mut stream: TcpStream, lie: Lie, asked: &AtomicUsize) {
    let head = |length: usize| format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
    let mut request = [0; 4_096];
    while let Ok(1..) = stream.read(&mut request) {
        let number = asked.fetch_add(1, Ordering::Relaxed);
        let text = match lie {
            _ if number < 2 => format!("disk_reads_total {}\n", 100 + number),
            Lie::Nonsense => {
                let value = ["-5", "1e300", "NaN", "+Inf", "\"7\""][number % 5];
                format!("disk_reads_total {value}\n")
            }
            Lie::Page => "<html>".to_owned(),
            Lie::Endless => {
                let _ = stream.write_all(head(100_000_000).as_bytes());
                let piece = vec![b'x'; 1 << 16];
                while stream.write_all(&piece).is_ok() {}
                return;
            }
            Lie::Silence => continue,
        };
        let answer = format!("{}{text}", head(text.len()));
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
fn an_exporter_that_lies_is_a_note_or_a_gap_and_the_run_goes_on() {
    for lie in [Lie::Nonsense, Lie::Page, Lie::Endless, Lie::Silence] {
        let url = liar(lie);
        let run = measure([&LOAD[..], &["--observe-url", &url]].concat()).passed();
        let source = source(&run);
        let note = source["note"].as_str().unwrap_or_default();
        let reason = source["reason"].as_str().unwrap_or_default();
        match lie {
            Lie::Nonsense => {
                assert!(note.contains(" no sense ") && note.contains("left out"), "{source}");
            }
            Lie::Page => assert!(reason.contains("not a list of metrics"), "{source}"),
            Lie::Endless => assert!(reason.contains("larger than --max-answer"), "{source}"),
            Lie::Silence => assert!(reason.contains("no answer"), "{source}"),
        }
        assert!(source["restarts_s"].is_null(), "{lie:?}: {source}");
        let tables = source["tables"].as_array().into_iter().flatten();
        let columns = tables.filter_map(|it| it["columns"].as_array()).flatten();
        let values = columns.filter_map(|it| it["values"].as_array()).flatten();
        let drawn: Vec<f64> = values.filter_map(Value::as_f64).collect();
        assert!(drawn.iter().all(|it| (0.0..1_000.0).contains(it)), "{lie:?}: {drawn:?}");
    }
}

/// A token in the query of the URL is sent, but neither printed nor saved.
#[test]
fn what_may_be_a_token_in_the_url_is_sent_and_not_stored() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
    let heard = asked.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let heard = heard.clone();
            std::thread::spawn(move || {
                let mut request = [0; 4_096];
                while let Ok(length @ 1..) = stream.read(&mut request) {
                    let line = String::from_utf8_lossy(&request[..length]).into_owned();
                    heard.lock().expect("not poisoned").push(line);
                    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\na_b 1\n";
                    let _ = stream.write_all(answer.as_bytes());
                }
            });
        }
    });
    let url = format!("node=http://{address}/metrics?key=s3cret&collect[]=cpu");
    let run = measure([&LOAD[..], &["--observe-url", &url]].concat());
    let asked = asked.lock().expect("not poisoned").clone();
    let sent = "GET /metrics?key=s3cret&collect[]=cpu HTTP/1.1\r\n";
    assert!(asked.len() >= 2 && asked.iter().all(|it| it.starts_with(sent)), "{asked:?}");
    let shown = format!("http://{address}/metrics?key=***&collect[]=cpu");
    assert_eq!(source(&run)["url"], shown);
    assert!(run.record["plan"]["command"].as_str().is_some_and(|it| it.contains("key=***")));
    let page = run.report("html").stdout;
    for text in [&run.record.to_string(), &run.stderr, &run.stdout, &page] {
        assert!(!text.contains("s3cret"), "{text}");
    }
    let dry = springload([&LOAD[..], &["--observe-url", &url, "--dry-run"]].concat());
    assert!(dry.code == 0 && !dry.stdout.contains("s3cret"), "{}", dry.stdout);
    // A message about a mistake in it does not show it; studies, which store their flags, refuse
    // it.
    let wrong = springload(["run", "--observe-url", "node=h?key=s3cret"]);
    assert!(wrong.code == 2 && !wrong.stderr.contains("s3cret"), "{}", wrong.stderr);
    let words = ["sweep", "-L", "docs=10,20", "--ops=0", "-o", "out", "--observe-url", &url];
    let stored = Run::bare(&words).finish();
    let stored =
        stored.refused(2, &["was stored without what follows the ?; give it to springload run"]);
    assert!(!stored.stderr.contains("s3cret"), "{}", stored.stderr);
}

#[test]
fn a_server_and_an_exporter_are_observed_together() {
    let (exporter, server) = (Exporter::start(), Server::stand_in(Options::default()));
    let run = measure([&LOAD[..], &[&server.url, "--observe-url", &exporter.url()]].concat());
    let sources = run.record["observed"]["sources"].as_array().expect("sources");
    assert_eq!(sources.len(), 3, "{sources:?}");
    assert!(!column_of(&sources[0], "document_writes_per_s").is_empty());
    assert!(!column_of(&sources[1], "free_bytes").is_empty());
    assert!(!column_of(&sources[2], "memory_available_bytes").is_empty());
    let page = run.report("html").stdout;
    assert!(page.contains("the server has counted the same requests: "), "no count");
}

#[test]
fn a_wrong_url_is_refused_before_the_load() {
    let exporter = Exporter::start();
    let address = &exporter.address;
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let at = |user: &str, path: &str| format!("node=http://{user}{address}/{path}");
    for (url, code, words) in [
        (at("ann:s3cret@", "other"), 3, "it answers 404; check the path"),
        (at("ann:s3cres@", "metrics"), 3, "it answers 401, and wants a log-in; check user"),
        (format!("node=http://{free}/metrics"), 3, "refused"),
        ("http://ann:s3cret@h/metrics".to_owned(), 2, "has no name; give NAME=URL"),
        ("node=h:9100".to_owned(), 2, "is not a URL of http or https; give NAME=URL"),
    ] {
        let words = ["--observe-url", words];
        let run = measure([&LOAD[..], &["--observe-url", &url]].concat()).refused(code, &words);
        assert!(run.record.is_null(), "{url}");
        assert!(!run.stderr.contains("s3cre"), "{}", run.stderr);
    }
    // Studies store their flags.
    let words = ["sweep", "-L", "docs=10,20", "--ops=0", "-o", "out", "--observe-url"];
    let stored = Run::bare(&[&words[..], &["node=http://ann:s3cret@h/metrics"]].concat()).finish();
    stored.refused(2, &["was stored without its password; give it to springload run"]);
}
