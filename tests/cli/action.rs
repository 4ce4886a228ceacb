//! The scripts behind `action.yml`, with the files that GitHub provides to a step.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use springload::embedded::Options;
use tempfile::TempDir;

use crate::proxy::{Message, Proxy};
use crate::servers::Server;
use crate::springload::BINARY;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/.github/action/run.sh");

/// A step of a workflow.
#[derive(Debug)]
pub(crate) struct Step {
    folder: TempDir,
    output: Output,
}

impl Step {
    fn of(arguments: &str) -> Self {
        Self::within(Path::new("."), arguments)
    }

    /// A step in a checkout.
    pub(crate) fn within(checkout: &Path, arguments: &str) -> Self {
        let folder = TempDir::new().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink(BINARY, at("springload")).expect("a link");
        let path = std::env::var_os("PATH").expect("there is one");
        let paths = [folder.path().to_owned()].into_iter().chain(std::env::split_paths(&path));
        let output = Command::new("bash")
            .arg(SCRIPT)
            .env("PATH", std::env::join_paths(paths).expect("paths"))
            .env("RUNNER_TEMP", folder.path())
            .env("GITHUB_OUTPUT", at("output"))
            .env("GITHUB_STEP_SUMMARY", at("summary"))
            .env("ARGS", arguments)
            .current_dir(folder.path().join(checkout))
            .output()
            .expect("bash is there");
        Self { folder, output }
    }

    pub(crate) fn file(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    pub(crate) fn status(&self) -> Option<i32> {
        let line = format!("status={}\n", self.output.status.code().expect("it ended"));
        assert!(self.file("output").contains(&line), "{line}: {:?}", self.output);
        self.output.status.code()
    }

    /// Its output.
    pub(crate) fn printed(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }
}

#[test]
fn a_run_is_kept_and_summed_up() {
    let step = Step::of("run basic --docs 0 --ops 1000 --fail-if 'err > 1%'");
    assert_eq!(step.status(), Some(0), "{:?}", step.output);
    let output = step.file("output");
    let (_, run) = output.trim_end().rsplit_once("run=").expect("the folder of the run");
    for name in ["run.json", "report.html", "junit.xml"] {
        assert!(Path::new(run).join(name).is_file(), "{name}");
    }
    let junit = fs::read_to_string(Path::new(run).join("junit.xml")).expect("test cases");
    assert!(junit.contains("failures=\"0\"") && junit.contains("errors ≤ 1 %"), "{junit}");
    let summary = step.file("summary");
    assert!(summary.contains("PASSED") && summary.trim_end().ends_with("``````"), "{summary}");
}

#[test]
fn what_fails_fails_the_step() {
    let step = Step::of("run basic --docs 0 --ops 200000 --fail-if 'throughput < 1000000000k'");
    assert_eq!(step.status(), Some(4), "{:?}", step.output);
    assert!(step.file("summary").contains("FAILED"), "{}", step.file("summary"));
    assert!(step.file("springload-run/junit.xml").contains("<failure"), "no case failed");
    let printed = String::from_utf8_lossy(&step.output.stdout).into_owned();
    let annotation = "\n::error::throughput ≥ 1,000,000,000,000/s: missed, ";
    assert!(printed.contains(annotation), "{printed}");
    let why = "\n::error::springload ended with exit status 4: ";
    let (_, why) = printed.split_once(why).unwrap_or_else(|| panic!("{printed}"));
    assert!(why.contains("throughput"), "{why}");
    let step = Step::of("run basic --docs 0 --ops 1000 --fail-if 'err >= 0%'");
    let printed = String::from_utf8_lossy(&step.output.stdout).into_owned();
    assert!(printed.contains("\n::error::errors < 0 %25: missed, 0 %25\n"), "{printed}");

    // Nothing listens on port 1 of this machine, so there is nothing to save.
    let step = Step::of("run http://127.0.0.1:1");
    assert_eq!(step.status(), Some(3), "{:?}", step.output);
    let printed = String::from_utf8_lossy(&step.output.stdout).into_owned();
    let why = "\n::error::springload ended with exit status 3: ";
    let (_, why) = printed.split_once(why).unwrap_or_else(|| panic!("{printed}"));
    assert!(why.contains("refused") && why.contains("127.0.0.1:1"), "{why}");
    let step = Step::of("run \"not closed");
    assert_eq!(step.output.status.code(), Some(2), "{:?}", step.output);
    // The shell does not expand the arguments or carry out anything in them.
    let step = Step::of("run $(touch carried-out) `touch carried-out`; touch carried-out");
    assert_eq!(step.output.status.code(), Some(2), "{:?}", step.output);
    assert!(!step.folder.path().join("carried-out").exists());
}

/// The workflow commands in a log, parsed as the runner does: at the beginning of a line, after any
/// white space, unless commands are stopped; `##[` in any place is the older form.
fn commands(log: &str) -> Vec<&str> {
    let (mut stopped, mut found) = (None::<&str>, Vec::new());
    for line in log.split(['\n', '\r']).map(str::trim_start) {
        let command = line.strip_prefix("::").and_then(|rest| rest.split_once("::"));
        match (stopped, command) {
            (Some(word), Some((name, _))) if name == word => stopped = None,
            (None, Some(("stop-commands", word))) => stopped = Some(word),
            (None, Some((name, _))) => found.push(name),
            (None, None) if line.contains("##[") => found.push(line),
            (Some(_), _) | (None, None) => {}
        }
    }
    assert_eq!(stopped, None, "commands stay stopped");
    found
}

/// The lines of a job summary outside of its code blocks (`CommonMark` 0.31, 4.5).
fn outside(summary: &str) -> Vec<&str> {
    let (mut open, mut found) = (0, Vec::new());
    for line in summary.lines() {
        let bare = line.trim_start_matches(' ');
        let fence = bare.len() - bare.trim_start_matches('`').len();
        let fence = if line.len() - bare.len() > 3 { 0 } else { fence };
        if open == 0 && fence >= 3 {
            open = fence;
        } else if open > 0 && fence >= open && bare[fence..].trim().is_empty() {
            open = 0;
        } else if open == 0 {
            found.push(line);
        }
    }
    assert_eq!(open, 0, "a block has no end: {summary}");
    found
}

#[test]
fn a_server_does_not_get_out_of_the_block_in_the_summary() {
    // Each piece is too long for a line that has anything else.
    let ticks = "`".repeat(76);
    let evil = format!("{ticks} {} {ticks}", "live".repeat(19));
    let server = Server::stand_in(Options::default());
    let answers = move |_: &Message| {
        Some(format!("HTTP/1.1 500 {evil}\r\nContent-Length: 0\r\n\r\n").into_bytes())
    };
    let proxy = Proxy::with_answers(&server.url, Box::new(answers));
    let step = Step::of(&format!("http {}/a -n 3 -c 1 --noise warn", proxy.url));
    assert_eq!(step.status(), Some(3), "{:?}", step.output);
    let summary = step.file("summary");
    assert!(summary.lines().any(|line| line.trim() == ticks), "it was not tried: {summary}");
    assert_eq!(outside(&summary), ["### springload"], "{summary}");
    // As many backticks or more end a block; fewer, or others beside them, do not.
    assert_eq!(outside("``````text\na\n```````\nlive\n"), ["live"]);
    assert_eq!(outside("``````text\n`````\n    ``````\n`````` b\n``````\n"), [""; 0]);
}

#[test]
fn a_server_has_the_runner_do_nothing() {
    // In every error reason, and in the server's name.
    const EVIL: &str = "::add-mask::a%0A::set-env name=A::b ##[set-env name=A]b";
    let server = Server::stand_in(Options::default());
    let answers = |request: &Message| {
        let (method, path) = request.words();
        let (status, body) = match (&method[..], &path[..]) {
            ("GET", "/") => {
                ("200 OK", format!("{{\"couchdb\":\"{EVIL}\",\"version\":\"{EVIL}\"}}"))
            }
            ("PUT", path) if path.matches('/').count() > 1 => {
                ("400 ::error::x", format!("{EVIL}\n::error::pwned\r::error::pwned"))
            }
            _ => return None,
        };
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\nServer: {EVIL}\r\nContent-Length: {length}");
        Some(format!("{head}\r\n\r\n{body}").into_bytes())
    };
    let proxy = Proxy::with_answers(&server.url, Box::new(answers));
    for (arguments, code) in [
        (format!("run {} --docs 20 --ops 20 -c 1 --mix create=1 --verbose", proxy.url), None),
        (format!("http {}/a/b -X PUT -n 3 -c 1 --fail-if 'err > 0'", proxy.url), None),
        (format!("run {}/::error::x --docs 1 --ops 1", proxy.url), None),
        ("run --::add-mask::x".to_owned(), Some(2)),
    ] {
        let step = Step::of(&arguments);
        let status = step.status();
        assert!(status != Some(0) && (code.is_none() || status == code), "{:?}", step.output);
        let log = String::from_utf8_lossy(&step.output.stdout).into_owned();
        let log = log + &String::from_utf8_lossy(&step.output.stderr);
        let found = commands(&log);
        assert!(found.iter().all(|name| *name == "error"), "{found:?} in {log}");
        assert!(log.contains("::stop-commands::") && !found.is_empty(), "{log}");
    }
    // Without the stop token, the same log would contain commands.
    assert_eq!(
        commands("a\n  ::add-mask::x\n##[set-env name=A]b"),
        ["add-mask", "##[set-env name=A]b"]
    );
}
