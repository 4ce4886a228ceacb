//! `serve --log`: a line for each request, and an error if it cannot be written. Also how a server
//! begins.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::springload::{BINARY, springload};
use rustix::process::{Pid, Signal, kill_process};

/// A running server, and its URL.
struct Serving(Child, String);

impl Serving {
    /// Starts `springload serve` with these flags, with files of at most this many blocks.
    fn start(most: &str, log: &Path, flags: &[&str]) -> Self {
        // With the signal ignored, a file that would exceed the limit is an error, like a full
        // disk.
        let line = "trap '' XFSZ; ulimit -f $1; shift; exec \"$0\" serve \"$@\"";
        let mut child = Command::new("sh")
            .args(["-c", line, BINARY, most, "--listen", "127.0.0.1:0", "--log"])
            .arg(log)
            .args(flags)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("stdout");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let url = line.split([' ', ';']).find(|word| word.starts_with("http://"));
        Self(child, url.expect("a URL").to_owned())
    }

    /// Makes a request; returns whether there was a response.
    fn ask(&self) -> bool {
        let patience = Some(Duration::from_millis(500));
        let agent = ureq::Agent::config_builder().timeout_global(patience).build();
        ureq::Agent::new_with_config(agent).get(&self.1).call().is_ok()
    }

    /// Ends it; returns its exit status and stderr.
    fn end(mut self) -> (Option<i32>, String) {
        kill_process(Pid::from_child(&self.0), Signal::TERM).expect("it runs");
        let mut stderr = String::new();
        self.0.stderr.take().expect("stderr").read_to_string(&mut stderr).expect("UTF-8");
        (self.0.wait().expect("it ends").code(), stderr)
    }
}

/// The lines of a log, in microseconds.
fn lines(log: &Path) -> Vec<(u64, Option<u64>)> {
    let text = fs::read_to_string(log).expect("a log");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("arrived_us,answered_us"));
    let line = |line: &str| {
        let (arrived, answered) = line.split_once(',').expect("two columns");
        let answered = (!answered.is_empty()).then(|| answered.parse().expect("a number"));
        (arrived.parse().expect("a number"), answered)
    };
    lines.map(line).collect()
}

#[test]
fn there_is_room_for_many_descriptors_from_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Serving::start("unlimited", &folder.path().join("log"), &[]);
    let status = fs::read_to_string(format!("/proc/{}/status", server.0.id())).expect("Linux");
    let room = status.lines().find_map(|line| line.strip_prefix("FDSize:")).expect("a line");
    let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
    let wanted = most.unwrap_or(u64::MAX).min(4096);
    assert!(room.trim().parse::<u64>().expect("a number") >= wanted, "{room}");
    server.end();
}

#[test]
fn each_request_is_logged_with_its_times() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    for flags in [&[][..], &["--null"], &["--delay", "20ms"], &["--null", "--delay", "20ms"]] {
        let server = Serving::start("unlimited", &log, flags);
        assert!((0..5).all(|_| server.ask()));
        assert_eq!(server.end(), (Some(0), String::new()));
        let lines = lines(&log);
        assert_eq!((lines.len(), lines[0].0), (5, 0), "{flags:?}");
        let least = if flags.contains(&"20ms") { 20_000 } else { 0 };
        let mut before = 0;
        for (arrived, answered) in lines {
            let answered = answered.expect("an answer");
            assert!(arrived >= before && answered >= arrived + least, "{arrived} {answered}");
            before = answered;
        }
    }
}

#[test]
fn what_is_never_answered_is_logged_without_an_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    for mode in [&[][..], &["--null"]] {
        for flags in [["--drop", "100%"], ["--fault", "reset-before=100%"]] {
            let server = Serving::start("unlimited", &log, &[mode, &flags].concat());
            assert!(!server.ask());
            assert_eq!(server.end(), (Some(0), String::new()));
            assert_eq!(lines(&log), [(0, None)], "{mode:?} {flags:?}");
        }
    }
}

#[test]
fn a_log_that_cannot_be_written_is_refused_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let below = folder.path().join("none/log").display().to_string();
    for (file, why) in
        [(&*below, "No such file"), ("/dev/full", "No space left"), ("/", "Is a dir")]
    {
        let words = ["serve", "--listen", "127.0.0.1:0", "--log", file];
        springload(words)
            .refused(2, &["--log: cannot write ", file, why, "choose a writable file"]);
    }
}

#[test]
fn a_disk_that_fills_up_is_reported_and_the_server_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let server = Serving::start("1", &log, &[]);
    // A thousand lines are more than a block of any size.
    let asked = (0..1000).filter(|_| server.ask()).count();
    assert_eq!(asked, 1000);
    let (code, stderr) = server.end();
    assert_eq!((code, stderr.lines().count()), (Some(1), 1), "{stderr}");
    assert!(
        stderr.starts_with("error: --log: cannot write ") && stderr.contains("too large"),
        "{stderr}"
    );
    assert!((1..200).contains(&lines(&cut(&log)).len()));
}

/// The log cut in the middle of its last line.
fn cut(log: &Path) -> std::path::PathBuf {
    let text = fs::read_to_string(log).expect("a log");
    let whole = log.with_extension("whole");
    fs::write(&whole, &text[..=text.rfind('\n').expect("a line")]).expect("a file");
    whole
}

#[test]
fn an_address_that_is_taken_leaves_the_log_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let server = Serving::start("unlimited", &log, &[]);
    assert!(server.ask());
    let place = server.1.trim_start_matches("http://").to_owned();
    let file = log.display().to_string();
    springload(["serve", "--listen", &place, "--log", &file]).refused(2, &["cannot listen on"]);
    assert_eq!(server.end().0, Some(0));
    assert_eq!(lines(&log).len(), 1);
}
