//! `--follow`: changes that arrive, are duplicated, are left out, or are cut off on the way.

use crate::proxy::Proxy;
use crate::secure::Authority;
use crate::servers::Server;
use crate::springload::{Finished, Run, Running, measure, number, springload};
use crate::victims::Victim;
use serde_json::Value;
use springload::embedded::{Fault, Faults, Lie, Occurrence, Options};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread::{sleep, spawn};
use std::time::Duration;

/// A server that tells this lie about a share of the changes.
fn lying(lie: Lie, fraction: f64) -> Server {
    let fault = Fault::Lie(lie);
    let named = vec![Occurrence { fault, fraction, from_ns: 0, until_ns: None }];
    let faults = Faults { named, seed: 3, ..Faults::default() };
    Server::stand_in(Options { faults, ..Options::default() })
}

/// The figures of the only stage with followers, and its only row.
fn followed(run: &Finished) -> (Value, Value) {
    let found = run.stages().find_map(|stage| stage.get("following")).expect("followers").clone();
    let by = found["by"].as_array().expect("a list");
    assert_eq!(by.len(), 1, "{found}");
    (found.clone(), by[0].clone())
}

/// The number of acknowledged writes of documents, by the record's own counts.
fn written(run: &Finished) -> u64 {
    ["create", "update", "delete"].iter().map(|kind| run.sum(kind, "ok")).sum()
}

#[test]
fn every_change_arrives_by_every_feed() {
    let server = Server::stand_in(Options::default());
    for feed in ["continuous", "longpoll", "eventsource"] {
        let url = format!("{}/{feed}", server.url);
        let words = ["run", &url, "--docs", "300", "--ops", "600", "-c", "4", "--warmup", "0s"];
        let follow = ["--follow", "3", "--follow-feed", feed];
        let run = measure([&words[..], &follow].concat()).passed();
        let (found, by) = followed(&run);
        assert_eq!(number(&found["acknowledged"]), written(&run), "{feed}: {found}");
        let counts = ["followers", "missing", "repeated"].map(|name| number(&by[name]));
        assert_eq!(counts, [3, 0, 0], "{feed}: {found}");
        assert_eq!(by.get("resumed"), None, "{feed}: {found}");
        // Of several changes in a row, a feed may contain only the last one.
        let (came, most) = (number(&by["changes"]), 3 * written(&run));
        assert!(came <= most && came > most / 3, "{feed}: {found}");
        let times = number(&by["lag"]["samples"]);
        assert!(times <= came && times > came / 2, "{feed}: {found}");
        assert!(run.report("text").stdout.contains("changes, ms"), "{}", run.stdout);
        assert!(run.report("html").stdout.contains("<h2>Changes followed"));
    }
}

#[test]
fn every_change_of_a_fill_arrives_where_there_is_nothing_else() {
    let server = Server::stand_in(Options::default());
    let words = ["run", &server.url, "--docs", "2k", "--batch", "100", "-c", "2", "--ops", "0"];
    let run = measure([&words[..], &["--follow", "2"]].concat()).passed();
    let (found, by) = followed(&run);
    assert_eq!(["acknowledged", "documents"].map(|it| number(&found[it])), [2_000; 2]);
    let counts = ["changes", "missing", "repeated"].map(|name| number(&by[name]));
    assert_eq!(counts, [4_000, 0, 0], "{found}");
    assert_eq!(number(&by["lag"]["samples"]), 4_000);
}

#[test]
fn with_agents_their_writes_are_followed_as_well() {
    let server = Server::stand_in(Options::default());
    let words = ["run", &server.url, "--docs", "200", "--ops", "400", "-c", "4", "--warmup", "0s"];
    let run = measure([&words[..], &["--agents", "2", "--follow", "2"]].concat()).passed();
    let (found, by) = followed(&run);
    assert_eq!(number(&found["acknowledged"]), written(&run), "{found}");
    assert_eq!(number(&by["missing"]), 0, "{found}");
    assert!(number(&by["lag"]["samples"]) > written(&run), "{found}");
}

#[test]
fn what_a_feed_leaves_out_is_found_and_what_comes_twice_is_reported() {
    let server = lying(Lie::SkipChange, 0.05);
    let words = ["--docs", "100", "--ops", "500", "-c", "2", "--warmup", "0s", "--follow", "2"];
    let of = |server: &Server, feed: &str| {
        let first = ["run", &server.url, "--follow-feed", feed];
        measure([&first[..], &words].concat())
    };
    for feed in ["continuous", "longpoll"] {
        let run = of(&server, feed);
        assert_eq!(run.code, 6, "{}", run.stderr);
        assert!(run.full_report().contains("did not reach a follower"), "{}", run.stdout);
        let (found, by) = followed(&run);
        assert!(number(&by["missing"]) > 0, "{found}");
    }
    let server = lying(Lie::DuplicateChange, 0.1);
    let run = of(&server, "continuous").passed();
    let (found, by) = followed(&run);
    assert!(number(&by["repeated"]) > 10, "{found}");
    assert_eq!(number(&by["missing"]), 0, "{found}");
}

/// A relay in front of a server that cuts each feed off after this many bytes of the response.
/// Returns its address.
fn cutting(server: &Server, bytes: u64) -> String {
    let to = server.url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    spawn(move || {
        for mut client in listener.incoming().flatten() {
            let to = to.clone();
            spawn(move || -> std::io::Result<u64> {
                let mut server = TcpStream::connect(to)?;
                let mut request = [0; 4_096];
                let length = client.read(&mut request)?;
                server.write_all(&request[..length])?;
                let is_feed = memchr::memmem::find(&request[..length], b"feed=").is_some();
                let (mut from, mut into) = (client.try_clone()?, server.try_clone()?);
                spawn(move || std::io::copy(&mut from, &mut into));
                let most = if is_feed { bytes } else { u64::MAX };
                let passed = std::io::copy(&mut (&mut server).take(most), &mut client);
                // Both sides notice it at once.
                let _ = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
                passed
            });
        }
    });
    url
}

#[test]
fn feeds_that_break_off_go_on_where_they_were() {
    let server = Server::stand_in(Options::default());
    for feed in ["continuous", "longpoll", "eventsource"] {
        // In the middle of a line, after a few changes; for a long poll, before the end of any.
        let (is_poll, most) = (feed == "longpoll", 1_500);
        let bytes = if is_poll { 250 } else { most };
        let url = format!("{}/{feed}", cutting(&server, bytes));
        let words = ["run", &url, "--docs", "100", "-d", "2s", "-r", "100", "-c", "2"];
        let follow = ["--follow", "4", "--follow-feed", feed, "--warmup", "0s"];
        let run = measure([&words[..], &follow].concat()).passed();
        let (found, by) = followed(&run);
        assert!(number(&by["resumed"]) > 0 && by["reason"].is_string(), "{feed}: {found}");
        assert_eq!(number(&by["missing"]), 0, "{feed}: {found}");
        let times = number(&by["lag"]["samples"]);
        if is_poll {
            // Changes that no poll could deliver were there in the final request for the rest.
            assert_eq!((times, &by["undelivered"]), (0, &by["changes"]), "{found}");
        } else {
            assert!(times > number(&found["documents"]), "{feed}: {found}");
        }
    }
}

/// A run with a rate that has been measuring for a second.
fn begun(server: &Victim, more: &[&str]) -> Running {
    let url = server.target("followed");
    let words = ["run", &url, "--docs", "100", "-r", "50", "-c", "2", "--timeout", "1s"];
    let run = Running::start([&words[..], &["--warmup", "0s"], more].concat());
    let mut looks = 0;
    while !run.has_begun() {
        looks += 1;
        assert!(looks < 3_000, "{}", run.stderr());
        sleep(Duration::from_millis(20));
    }
    sleep(Duration::from_secs(1));
    run
}

#[test]
fn a_server_that_stands_still_is_left_and_found_again() {
    let server = Victim::stand_in();
    let run = begun(&server, &["-d", "6s", "--follow", "2"]);
    assert!(server.freeze(true));
    sleep(Duration::from_millis(2_500));
    assert!(server.freeze(false));
    let run = run.finish();
    let (found, by) = followed(&run);
    assert!(number(&by["resumed"]) >= 2, "{found}");
    assert!(by["reason"].as_str().expect("a reason").contains("no heartbeat"), "{found}");
    assert_eq!(number(&by["missing"]), 0, "{found}");
}

#[test]
fn a_server_that_is_gone_at_the_end_is_not_called_a_liar() {
    let mut server = Victim::stand_in();
    let run = begun(&server, &["-d", "3s", "--follow", "1"]);
    server.kill();
    let run = run.finish();
    let (found, by) = followed(&run);
    assert_eq!(by["missing"], Value::Null, "{found}");
    assert_ne!(run.code, 6, "{}", run.stderr);
    assert!(run.stdout.contains("were not read to the end"), "{}", run.stdout);
}

#[test]
fn what_cannot_be_followed_is_refused() {
    let server = Server::stand_in(Options::default());
    let run = |more: &[&str]| {
        let words = ["run", &server.url, "--docs", "10", "--ops", "10"];
        springload([&words[..], more].concat())
    };
    run(&["--follow", "0"]).refused(2, &["--follow: 0 is not from 1 to 10000"]);
    run(&["--follow", "1", "--follow-feed", "often"]).refused(2, &["continuous, longpoll"]);
    let words = ["--follow", "1", "--follow-filter", "mine"];
    run(&words).refused(2, &["--follow-filter: ", "does not name a filter"]);
    run(&["--follow-filter", "a/b"]).refused(2, &["--follow"]);
    // The server does not support such filters, which is reported before the load.
    let words = ["--follow", "1", "--follow-filter", "app/mine"];
    run(&words).refused(3, &["_changes?limit=1&since=now&filter=app/mine", "no filters but"]);
    let basic = Run::bare(&["run", "basic", "--ops", "10", "--follow", "1"]).finish();
    basic.refused(2, &["--follow: ", "has no changes to follow"]);
}

#[test]
fn followers_use_tls_as_the_load_does() {
    let server = Server::stand_in(Options::default());
    let authority = Authority::vouching_for("127.0.0.1");
    let proxy = Proxy::with_tls(&server.url, authority.server.clone());
    let (file, url) = (authority.file(), format!("{}/secure", proxy.url));
    let file = file.to_str().expect("UTF-8");
    let words = ["run", &url, "--tls-ca", file, "--docs", "40", "--ops", "120", "-c", "2"];
    let follow = ["--follow", "2", "--follow-feed", "longpoll", "--warmup", "0s"];
    let run = measure([&words[..], &follow].concat()).passed();
    let (found, by) = followed(&run);
    assert_eq!(number(&by["missing"]), 0, "{found}");
    assert!(number(&by["lag"]["samples"]) > 0 && by.get("resumed").is_none(), "{found}");
    // Without the server's authority, the run does not begin.
    let words = ["run", &url, "--docs", "40", "--ops", "120", "-c", "2", "--follow", "1"];
    assert_eq!(springload(words).code, 3);
}

/// Only some changes pass a filter: a follower that lacks one that another has received is found.
#[test]
fn filters_are_compared_among_followers_on_pouchdb_server() {
    let Some(server) = Server::pouchdb() else { return };
    let url = format!("{}/filtered", server.url);
    ureq::put(&url).send_empty().expect("a database");
    let filter = r#"{"filters":{"mine":"function (doc) { return doc._id > '1'; }"}}"#;
    let put = ureq::put(format!("{url}/_design/app")).content_type("application/json");
    put.send(filter).expect("a design document");
    let words = ["run", &url, "--use-existing", "--docs", "50", "--ops", "200", "-c", "2"];
    let words = [&words[..], &["--warmup", "0s"]].concat();
    let filter = ["--follow-filter", "app/mine", "--follow-feed", "longpoll"];
    let run = measure([&words[..], &["--follow", "2"], &filter].concat()).passed();
    let (found, by) = followed(&run);
    assert_eq!(number(&by["missing"]), 0, "{found}");
    assert!(number(&by["changes"]) > 0, "{found}");
    let run = measure([&words[..], &["--follow", "1"], &filter].concat()).passed();
    let (found, by) = followed(&run);
    assert_eq!(by["missing"], Value::Null, "{found}");
    assert!(run.stdout.contains("nobody else can tell"), "{}", run.stdout);
    // Last, because this server ends over it.
    let missing = ["run", &server.url, "--docs=9", "--follow=1", "--follow-filter=app/mine"];
    springload(missing).refused(3, &["has no filter app/mine", "--ddocs", "--use-existing"]);
}
