//! Named requests of a list: a row for each, whose count matches the server's.

use crate::server::Server;
use crate::springload::{failures, measure, number};

#[test]
fn each_name_has_a_row_with_what_was_asked() {
    let server = Server::start();
    let line = |name: &str, rest: &str| format!("{name}{}{rest}", server.url);
    let [log_in, home, again, other] = [
        line("log-in: ", "/login POST user=ann"),
        line("home: ", "/?a=1"),
        line("home: ", "/?a=2"),
        line("", "/other"),
    ];
    let words = ["http", &log_in, &home, &again, &other, "-n", "40", "-c", "2"];
    let limits = ["--fail-if", "home.err > 0", "--fail-if", "log-in.p99 > 10s"];
    let run = measure([&words[..], &limits].concat());
    // Too few for a percentile.
    assert_eq!(run.code, 4, "{}", run.stderr);
    let asked = |part: &str| server.whats().iter().filter(|it| it.contains(part)).count() as u64;
    for (name, part) in [("log-in", "POST /login"), ("home", "GET /?a="), ("request", "GET /other")]
    {
        let operation = run.operation("urls", name);
        let count = number(&operation["requests"]);
        assert_eq!((count, failures(&operation)), (asked(part), 0), "{operation}");
    }
    assert_eq!(number(&run.operation("urls", "home")["requests"]), 20);
    let text = run.report("text").stdout;
    assert!(text.contains("log-in") && text.contains("home") && text.contains("all"), "{text}");
    // A name without a request.
    let words = ["http", &home, "-n", "4", "--fail-if", "hom.p99 > 1s"];
    measure(words).refused(2, &["--fail-if: no stage does", "give all, home"]);
}
