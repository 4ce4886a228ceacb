//! A run that is followed from outside while it is in progress: by JSON lines, and on its page.

use crate::servers::Server;
use crate::springload::{Finished, Run, Running, binary, measure, number, springload};
use serde_json::{Map, Value};
use springload::embedded::{Faults, Options, Stall};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

const MS: u64 = 1_000_000;

/// A run of some seconds with two stages, and conflicts.
const SOME: [&str; 9] = ["run", "--docs", "200", "-c", "4", "-r", "400", "-d", "3s"];

/// Slow enough to leave the processor to other tests, too.
const MILD: [&str; 2] = ["-r", "200"];

/// Requests, documents that succeeded, and failures by class, by stage and kind.
type Sums = BTreeMap<(String, String), (u64, u64, BTreeMap<String, u64>)>;

fn add(sums: &mut Sums, stage: &Value, kind: &str, part: &Value) {
    let key = (stage.as_str().expect("a stage").to_owned(), kind.to_owned());
    let sum = sums.entry(key).or_default();
    sum.0 += number(&part["requests"]);
    sum.1 += number(&part["ok"]);
    for (class, count) in part["failures"].as_object().into_iter().flatten() {
        *sum.2.entry(class.clone()).or_default() += number(count);
    }
}

/// The sums in the record.
fn recorded(run: &Finished) -> Sums {
    let mut sums = Sums::new();
    for stage in run.stages() {
        for part in stage["operations"].as_array().expect("operations") {
            add(&mut sums, &stage["name"], part["kind"].as_str().expect("a kind"), part);
        }
    }
    sums
}

fn parsed(lines: &str) -> Vec<Value> {
    assert!(lines.ends_with('\n'), "half a line: {lines}");
    lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The sums of the lines.
fn counted(lines: &[Value]) -> Sums {
    let mut sums = Sums::new();
    for line in lines {
        for (kind, part) in line["kinds"].as_object().expect("kinds") {
            add(&mut sums, &line["stage"], kind, part);
        }
    }
    sums
}

#[test]
fn the_lines_of_all_seconds_add_up_to_the_record() {
    for agents in [&[][..], &["--agents", "2"]] {
        let run = Run::of(&[&SOME[..], agents].concat()).args(&["--jsonl", "seconds.jsonl"]);
        let run = run.finish().passed();
        let lines = run.output().with_file_name("seconds.jsonl");
        let lines = parsed(&std::fs::read_to_string(lines).expect("the lines"));
        assert_eq!(counted(&lines), recorded(&run));
        let measured = lines.iter().filter(|it| it["stage"] == "crud" && it["late"] == false);
        let seconds: Vec<_> = measured.clone().map(|it| number(&it["second"])).collect();
        assert_eq!(seconds, (0..seconds.len() as u64).collect::<Vec<_>>());
        assert!(seconds.len() >= 3, "{seconds:?}");
        for line in measured {
            assert_eq!(line["run"], "out");
            let began = run.record["started_at"].as_str().expect("a time");
            assert!(line["time"].as_str().expect("a time") > began, "{line}");
        }
        let reads = |line: &Value| line["kinds"]["read"]["response"].clone();
        let reads: Vec<_> = lines.iter().map(reads).filter(|it| !it.is_null()).collect();
        assert!(reads.iter().any(|it| it["p50_us"].is_number()), "{reads:?}");
    }
}

/// A frozen server sends no responses, but there is a line for each second.
#[test]
fn a_second_without_an_answer_has_a_line_too() {
    let stall = Stall { at_ns: 1_000 * MS, for_ns: 3_500 * MS, every_ns: None };
    let faults = Faults { stalls: vec![stall], ..Faults::default() };
    let server = Server::stand_in(Options { faults, ..Options::default() });
    let run = Run::of(&["run", &server.url, "-c", "2", "--docs", "20", "-d", "6s"]);
    let run = run.args(&["--jsonl", "seconds.jsonl"]).finish();
    let lines = std::fs::read_to_string(run.output().with_file_name("seconds.jsonl"));
    let lines = parsed(&lines.expect("lines"));
    let silent = |it: &&Value| it["kinds"].as_object().is_some_and(Map::is_empty);
    assert!(lines.iter().filter(silent).count() >= 2, "{lines:?}");
    assert!(!run.record.is_null());
}

#[test]
fn a_reader_that_leaves_and_a_full_disk_are_reported_and_the_run_goes_on() {
    let mut command = binary();
    let folder = tempfile::tempdir().expect("a folder");
    command.args(SOME).args(["--jsonl", "-", "-o", "out"]).current_dir(folder.path());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    let mut reader = BufReader::new(child.stdout.take().expect("its output"));
    let mut line = String::new();
    reader.read_line(&mut line).expect("a line");
    assert_eq!(parsed(&line).len(), 1);
    drop(reader);
    let left = child.wait_with_output().expect("it ends");
    let stderr = String::from_utf8(left.stderr).expect("UTF-8");
    assert!(matches!(left.status.code(), Some(0 | 5)), "{stderr}");
    let gone = "standard output: its reader has gone away";
    assert_eq!(stderr.matches(gone).count(), 2, "at once, and at the end: {stderr}");
    let record = std::fs::read_to_string(folder.path().join("out/run.json")).expect("a record");
    assert!(record.contains("\"partial\": false"));

    let full = measure([&SOME[..], &["--jsonl", "/dev/full"]].concat());
    assert!(matches!(full.code, 1 | 5), "{}: {}", full.code, full.stderr);
    assert!(full.stderr.contains("lines are not in /dev/full: No space left"), "{}", full.stderr);
    assert_eq!(full.record["partial"], false);
}

#[test]
fn lines_that_nobody_can_get_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name).display().to_string();
    let pipe = place("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    for (place, why) in [(pipe, "nobody reads from it"), (place("none/file"), "No such file")] {
        let run = ["run", "--docs", "5", "--ops", "5", "--jsonl", &place];
        springload(run).refused(2, &["--jsonl: cannot write to", why]);
    }
    let siege = ["siege", "-r", "1", "http://127.0.0.1:1/"];
    for own in [&["run", "--format", "csv"][..], &siege] {
        let run = [own, &["--jsonl", "-"]].concat();
        springload(run).refused(2, &["--jsonl: the report goes to standard output, too"]);
    }
}

#[test]
fn standard_output_has_lines_alone() {
    let run = Run::bare(&SOME).args(&["--jsonl", "-", "-q", "-o", "out"]).finish().passed();
    assert_eq!(counted(&parsed(&run.stdout)), recorded(&run));
}

/// The address of the page.
fn page_of(run: &Running) -> String {
    loop {
        let stderr = run.stderr();
        let url = stderr.split("live page: http://").nth(1).and_then(|it| it.split_once("/\n"));
        if let Some((address, _)) = url {
            return address.to_owned();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The response to a request; `None` if there is none because the run is over.
fn get(address: &str, path: &str, host: &str) -> Option<(u16, Vec<u8>)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).ok()?;
    let mut whole = Vec::new();
    stream.read_to_end(&mut whole).ok()?;
    let head = whole.windows(4).position(|it| it == b"\r\n\r\n")? + 4;
    let status = std::str::from_utf8(&whole[9..12]).ok()?.parse().ok()?;
    Some((status, whole[head..].to_vec()))
}

fn state(address: &str, after: u64) -> Map<String, Value> {
    let (status, body) = get(address, &format!("/state?after={after}"), address).expect("a state");
    assert_eq!(status, 200);
    serde_json::from_slice(&body).expect("JSON")
}

#[test]
fn the_page_that_is_served_becomes_the_page_that_is_written() {
    let words = ["run", "--docs", "20", "-c", "2", "-d", "7s", "--serve-page", "0"];
    let run = Running::start([&words[..], &MILD].concat());
    let address = page_of(&run);
    let (status, around) = get(&address, "/", &address).expect("the page");
    assert_eq!((status, around.starts_with(b"<!doctype html>")), (200, true));
    let (mut version, mut pages, mut last) = (0, 0, Vec::new());
    loop {
        let state = state(&address, version);
        let (status, page) = get(&address, "/report.html", &address).expect("a page");
        assert_eq!((status, page.ends_with(b"</html>\n")), (200, true));
        if state["over"] == true {
            last = if pages > 0 { page } else { last };
            break;
        }
        let new = number(&state["version"]);
        assert!(new > version, "{new} after {version}");
        (version, pages) = (new, pages + 1);
    }
    assert!(pages >= 2, "before the end there were {pages} pages");
    let run = run.finish().passed();
    assert!(last == std::fs::read(run.output().join("report.html")).expect("a page"));
}

/// The headline of a page, without its markup.
fn headline(page: &[u8]) -> String {
    let page = String::from_utf8(page.to_vec()).expect("UTF-8");
    let line = page.split("<p class=\"headline ").nth(1).and_then(|it| it.split_once("</p>"));
    let line = line.unwrap_or_else(|| panic!("no headline")).0;
    let words = line.split(['<', '>']).skip(1).step_by(2);
    words.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_run_that_goes_on_reads_running_and_one_that_was_killed_stopped() {
    let words = ["run", "--docs", "20", "-c", "2", "-d", "10m", "--serve-page", "0"];
    let run = Running::start([&words[..], &MILD].concat());
    let (address, folder) = (page_of(&run), run.output());
    let folder = folder.display().to_string();
    // The stage has been running for seconds, and the record shows that.
    assert!(number(&state(&address, 2)["version"]) > 2);
    let page = get(&address, "/report.html", &address).expect("a page").1;
    let line = headline(&page);
    assert!(line.starts_with("→ RUNNING for ") && line.contains(" UTC · so far "), "{line}");
    let page = String::from_utf8(page).expect("UTF-8");
    assert!(!page.contains("STOPPED") && !page.contains("killed"), "of a run that goes on");
    let saved = || springload(["report", &folder]).stdout;
    while !saved().contains("ops/s") {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(saved().starts_with("→ RUNNING  for "), "{}", saved());
    let list = std::path::Path::new(&folder).parent().expect("a folder").display().to_string();
    assert!(springload(["list", &list]).stdout.contains("→ RUNNING"));
    run.signal(rustix::process::Signal::KILL);
    // It takes the system some time to end the process.
    while saved().starts_with("→ RUNNING") {
        std::thread::sleep(Duration::from_millis(50));
    }
    let report = saved();
    assert!(report.starts_with("■ STOPPED  springload was killed, or still runs: "), "{report}");
}

#[test]
fn the_page_is_for_this_machine_and_its_port_is_free() {
    let run = ["run", "--docs", "5", "--ops", "5", "--serve-page"];
    for place in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let words = ["--serve-page: whoever can reach", place, "the report", "--serve-page-public"];
        springload([&run[..], &[place]].concat()).refused(2, &words);
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let place = taken.local_addr().expect("an address").to_string();
    springload([&run[..], &[&place]].concat())
        .refused(2, &["--serve-page: cannot listen on", "in use", "give a free [HOST:]PORT"]);
}

/// The connections send nothing, or half a request, and stay open: other clients get the page at
/// once. With 64 at a time and ten seconds for each, it would take minutes.
#[test]
fn a_thousand_idle_connections_keep_nobody_from_the_page() {
    let words = ["run", "-d", "10m", "-c", "2", "--docs", "20", "--serve-page", "0"];
    let metrics = ["--metrics", "0"];
    let run = Running::start([&words[..], &metrics, &MILD].concat());
    let page = page_of(&run);
    let stderr = run.stderr();
    let metrics = stderr.split("metrics: http://").nth(1).and_then(|it| it.split_once('/'));
    let metrics = metrics.expect("its address").0.to_owned();
    for (address, path) in [(page, "/report.html"), (metrics, "/metrics")] {
        let idle = |at: usize| {
            let mut stream = TcpStream::connect(&address).ok()?;
            let half = if at.is_multiple_of(2) { &b"GET / HT"[..] } else { b"" };
            // Earlier ones may have been closed.
            stream.write_all(half).ok().or(Some(()))?;
            Some(stream)
        };
        let crowd: Vec<_> = (0..1_000).map_while(idle).collect();
        assert!(crowd.len() > 900, "{}", crowd.len());
        let (status, body) = get(&address, path, &address).expect("an answer");
        assert!(status == 200 && !body.is_empty(), "{path}: {status}");
        drop(crowd);
    }
}

#[test]
fn readers_that_stall_and_strangers_do_not_disturb_a_run() {
    let words = ["run", "-d", "10m", "-c", "2", "--docs", "20", "--serve-page", "0"];
    let run = Running::start([&words[..], &MILD].concat());
    let address = page_of(&run);
    // Fewer than are allowed at once, so that others are served meanwhile.
    let halves: Vec<_> = (0..60)
        .map(|_| {
            let mut stream = TcpStream::connect(&address).expect("it listens");
            stream.write_all(b"GET /report.html HT").expect("it reads");
            stream
        })
        .collect();
    for (host, wanted) in [(&*address, 200), ("evil.example", 403), ("localhost", 200)] {
        assert_eq!(get(&address, "/", host).expect("an answer").0, wanted, "{host}");
    }
    assert_eq!(get(&address, "/other", &address).expect("an answer").0, 404);
    // These wait until others end, and only hold up each other.
    let crowd: Vec<_> = (0..1_000).map_while(|_| TcpStream::connect(&address).ok()).collect();
    assert!(crowd.len() > 100, "{}", crowd.len());
    drop((halves, crowd));
    // The stage has been running for seconds.
    assert!(number(&state(&address, 2)["version"]) > 2);
    run.interrupt();
    let run = run.finish();
    assert_eq!(run.code, 130, "{}", run.stderr);
    assert!(number(&run.operation("crud", "read")["ok"]) > 0);
}
