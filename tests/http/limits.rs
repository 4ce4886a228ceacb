//! The limit on what is in flight in an open loop, seen from the server.

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
