//! The limit on operations in flight in an open loop, as seen by the server.

use crate::server::Server;
use crate::springload::{measure, number};

#[test]
fn never_more_is_in_flight_than_the_limit_of_all_threads() {
    for (limit, threads) in [("1", "2"), ("3", "2")] {
        let server = Server::start();
        let url = format!("{}/slow/20", server.url);
        let load = ["http", &url, "-c4", "--rate", "400", "--ops", "200"];
        let ran = measure([&load[..], &["--threads", threads, "--max-in-flight", limit]].concat());
        let load = &ran.stage("urls")["load"];
        let of = |key: &str| number(&load[key]);
        assert_eq!(server.most_at_once().to_string(), limit, "of {threads} threads");
        assert_eq!(of("offered"), 200);
        assert_eq!(of("offered"), of("begun") + of("dropped") + of("unsent"));
        assert_eq!(of("begun"), server.seen().len() as u64);
        assert!(of("dropped") > 100, "{load}");
    }
}

#[test]
fn a_slow_answer_leaves_its_connection_no_work_for_the_end() {
    let server = Server::start();
    let url = format!("{}/stumble/1500", server.url);
    let ran = measure(["http", &url, "-c4", "--threads", "1", "--rate", "200", "--ops", "400"]);
    let ok = &ran.stage("urls")["connections"]["ok"]["request"];
    let mut ok: Vec<_> = ok.as_array().expect("connections").iter().map(number).collect();
    ok.sort_unstable();
    assert_eq!(ok.iter().sum::<u64>(), 400);
    // 300 of 400 were due while it stalled.
    assert!(ok[0] < 90 && ok[1] > 100, "{ok:?}");
}
