//! The page of `--format html` in a browser, as a reader sees it: from disk, without a network.
//!
//! Chromium opens it, driven by `page.js` next to this file through the npm package that
//! `package.json` names. `SPRINGLOAD_PICTURES=FOLDER` saves screenshots in that folder.

use std::io::{self, BufRead as _, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// If set to 1, a browser that is not installed is a failure, not a skip.
const REQUIRE_VARIABLE: &str = "SPRINGLOAD_REQUIRE_SERVERS";
/// The folder for screenshots, if any.
const PICTURES_VARIABLE: &str = "SPRINGLOAD_PICTURES";
/// The number of checks in `page.js`.
const CHECKS: usize = 18;

/// Chromium, and the package that drives it; `None`, with a message, if one is missing.
fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|file| file.is_file());
    let driver = here().join("node_modules/playwright-core").exists();
    if let (Some(browser), true) = (&found, driver) {
        return Some(browser.clone());
    }
    let reason = if found.is_none() { "install chromium" } else { "run make test-servers" };
    let required = std::env::var(REQUIRE_VARIABLE).is_ok_and(|value| value == "1");
    assert!(!required, "the report cannot be opened: {reason}");
    let _ = writeln!(io::stderr(), "SKIPPED browser: {reason}");
    None
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser")
}

fn springload(arguments: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_springload"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("springload starts");
    // A busy machine makes a run untrustworthy, which does not matter here.
    let code = output.status.code();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(code, Some(0 | 4 | 5)), "{arguments:?} ended in {code:?}: {err}");
}

/// A server that stalls for a while every second and a half.
struct Stalling {
    process: Child,
    url: String,
}

impl Stalling {
    fn start() -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_springload"))
            .args(["serve", "--listen", "127.0.0.1:0", "--stall", "400ms@1s/1500ms"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("springload starts");
        let mut line = String::new();
        let out = process.stdout.take().expect("its output");
        BufReader::new(out).read_line(&mut line).expect("its first line");
        let url = line.split_whitespace().find(|word| word.starts_with("http://"));
        let url = url.unwrap_or_else(|| panic!("no address in {line:?}"));
        let url = url.trim_end_matches(|sign: char| !sign.is_ascii_digit()).to_owned();
        Self { process, url }
    }
}

impl Drop for Stalling {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_page_shows_what_it_should_in_a_browser() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (open, closed) = (place("open"), place("closed"));
    let load = ["-c", "4", "--docs", "2k", "--batch", "100", "-q", "--format", "csv", "-o"];
    let stages = ["--stages", "3s:500,3s:500..1500", "--warmup", "1s", "--fail-if", "err > 1%"];
    let stages = [&stages[..], &["--label", "a run for the browser"]].concat();
    springload(&[&["run"], &load[..], &[&open], &stages].concat());
    springload(&[&["run"], &load[..], &[&closed, "-d", "3s"]].concat());
    let both = place("both.html");
    springload(&["report", &open, &closed, "--format", "html", "-o", &both]);
    let (sweep, burst) = (place("sweep"), place("burst"));
    let axes = ["sweep", "-L", "batch=10,100", "-L", "connections=1,2", "--x", "docs"];
    springload(&[&axes[..], &["--docs", "2k", "-q", "--format", "csv", "-o", &sweep]].concat());
    springload(&["burst", "-c", "8", "-d", "2s", "-q", "--format", "csv", "-o", &burst]);
    let agents = place("agents");
    springload(&[&["run"], &load[..], &[&agents, "-d", "3s", "--agents", "3"]].concat());
    let (bad, server) = (place("bad"), Stalling::start());
    let fails = ["--fail-if", "read.p99 > 1us", "-d", "4s"];
    springload(&[&["run", &server.url], &load[..], &[&bad], &fails].concat());
    let drawings = ["svg", "png"].map(|format| {
        let file = place(&format!("bad.{format}"));
        springload(&["report", &bad, "--format", format, "-o", &file]);
        file
    });
    let output = Command::new("node")
        .arg(here().join("page.js"))
        .arg(browser)
        .args([place("profile"), format!("{open}/report.html"), both])
        .args([sweep, burst, agents, bad].map(|folder| format!("{folder}/report.html")))
        .args(drawings)
        .args(std::env::var_os(PICTURES_VARIABLE))
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .expect("node starts");
    let out = String::from_utf8_lossy(&output.stdout);
    let fine = out.lines().filter(|line| line.starts_with("ok ")).count();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && fine == CHECKS, "{out}\n{err}");
}
