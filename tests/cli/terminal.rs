//! The live view on a real terminal: its output, keys, and how the terminal is restored.

use crate::pty::Pty;
use crate::servers::Server;
use crate::springload::BINARY;
use serde_json::Value;
use springload::embedded::{Faults, Options, Stall};
use std::process::Command;

/// The sequences that switch a terminal to its alternate screen and back.
const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";

/// `run` against the stand-in for far longer than any test, with its record in `folder`.
fn run(folder: &tempfile::TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(BINARY);
    let few = ["-c", "2", "--docs", "20"];
    command.arg("run").args(arguments).args(few).current_dir(folder).env_remove("NO_COLOR");
    command.arg("--output").arg(folder.path().join("out"));
    command
}

fn record(folder: &tempfile::TempDir) -> Value {
    let text = std::fs::read_to_string(folder.path().join("out/run.json")).expect("a record");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn a_key_stops_the_run_and_the_report_follows_on_a_terminal_as_before() {
    for key in ["q", "\x03"] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut pty = Pty::start(&mut run(&folder, &["-d", "10m"]));
        for text in
            [ENTER, "mixed", "2 of 2", "p99 ms", "requests/s", "no errors", "10:00", "update"]
        {
            pty.wait_for(text);
        }
        assert!(pty.shown().contains("\x1b[38;"), "there are colors");
        assert_ne!(pty.modes(), pty.modes_before(), "keys come without Enter");
        pty.press("x");
        pty.press(key);
        assert_eq!(pty.finish().code(), Some(130), "{key:?}: {}", pty.shown());
        let shown = pty.shown();
        let (_, after) = shown.rsplit_once(LEAVE).expect("the first screen is shown again");
        assert!(shown.contains("\x1b[?25l") && after.contains("\x1b[?25h"), "the cursor is back");
        assert!(after.contains("■ STOPPED") && after.contains("  after "), "{after}");
        assert!(!after.contains("error: "), "said once: {after}");
        assert!(after.contains("record: "), "{after}");
        // One screen, entered once, with no other output on it.
        assert_eq!((shown.matches(ENTER).count(), shown.matches(LEAVE).count()), (1, 1));
        assert!(!shown.contains("Ctrl-C again leaves at once"), "{shown}");
        let record = record(&folder);
        assert_eq!(record["partial"], true);
        let stages = record["stages"].as_array().expect("stages");
        let names: Vec<_> = stages.iter().map(|stage| stage["name"].as_str()).collect();
        assert_eq!(names, [Some("bulk_insert"), Some("crud")]);
    }
}

#[test]
fn a_second_key_leaves_at_once() {
    // From the second second on, the server does not respond.
    let stall = Stall { at_ns: 2_000_000_000, for_ns: 3_600_000_000_000, every_ns: None };
    let faults = Faults { stalls: vec![stall], ..Faults::default() };
    let server = Server::stand_in(Options { faults, ..Options::default() });
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut pty = Pty::start(&mut run(&folder, &[&server.url, "-d", "10m", "--timeout", "5m"]));
    pty.wait_for("2 of 2");
    // Nothing has ended for three seconds.
    pty.wait_for("update");
    std::thread::sleep(std::time::Duration::from_secs(2));
    pty.press("q");
    pty.wait_for("stopping: waiting for answers");
    pty.press("q");
    assert_eq!(pty.finish().code(), Some(130));
    let shown = pty.shown();
    let (_, after) = shown.rsplit_once(LEAVE).expect("the first screen is shown again");
    assert!(after.contains("error: exited immediately"), "{after}");
    // Results from before that are saved.
    assert_eq!(record(&folder)["stages"][0]["name"], "bulk_insert");
}

#[test]
fn an_error_is_shown_on_the_first_screen() {
    let mut server = Some(Server::stand_in(Options::default()));
    let url = server.as_ref().expect("a server").url.clone();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let flags = [&url, "-d=10m", "--timeout=1s", "--give-up=1s"];
    let mut pty = Pty::start(&mut run(&folder, &flags));
    pty.wait_for("2 of 2");
    server.take();
    assert_eq!(pty.finish().code(), Some(3), "{}", pty.shown());
    let shown = pty.shown();
    let (view, after) = shown.rsplit_once(LEAVE).expect("the first screen is shown again");
    // Stdout is the terminal, too: the report's first line is printed only once.
    let said = after.contains("✗ FAILED") && after.contains("  the server no longer answers");
    assert!(said, "{after}");
    assert!(!after.contains("error: ") && !view.contains("FAILED"), "{shown}");
}

#[test]
fn flags_and_environment_choose_what_is_shown() {
    let shown = |arguments: &[&str], (name, value): (&str, &str)| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut command = Command::new("env");
        let inner = run(&folder, &[arguments, &["-d", "2s", "-r", "200"]].concat());
        // `Pty` sets TERM, so variables that are set here must come after it.
        command.arg("-u").arg("NO_COLOR").arg(format!("{name}={value}"));
        command.arg(inner.get_program()).args(inner.get_args()).current_dir(folder.path());
        let mut pty = Pty::start(&mut command);
        let code = pty.finish().code();
        assert!(matches!(code, Some(0 | 5)), "{}", pty.shown());
        pty.shown()
    };
    let plain = shown(&[], ("NO_COLOR", "1"));
    assert!(plain.contains(ENTER) && plain.contains("p99 ms"), "{plain}");
    assert!(!plain.contains("\x1b[38;"), "no colors: {plain}");
    for (arguments, variable) in
        [(&["--no-tui"][..], ("A", "1")), (&["-q"], ("A", "1")), (&[], ("TERM", "dumb"))]
    {
        let text = shown(arguments, variable);
        assert!(!text.contains(ENTER), "{arguments:?} {variable:?}: {text}");
        assert_eq!(text.contains("[==="), arguments == ["--no-tui"], "{text}");
    }
}
