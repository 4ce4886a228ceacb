//! What is shown where: one line with `-q`, nothing twice, and output that suits terminal and
//! locale.

use std::fs::read_to_string;
use std::process::Command;

use tempfile::TempDir;

use crate::pty::Pty;
use crate::springload::BINARY;

/// A run of the stand-in whose p50 is above a nanosecond: exit status 4.
const MISSED: &str = "\"$0\" run --docs 20 --ops 200 -c 1 -o out --fail-if 'p50 > 1ns'";

/// Runs a shell command line in its own folder.
fn shell(line: &str) -> (i32, TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = Command::new("sh");
    command.args(["-c", line, BINARY]).current_dir(folder.path());
    for name in ["LANG", "LC_CTYPE", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"] {
        command.env_remove(name);
    }
    command.env("LC_ALL", "C.UTF-8");
    let status = command.status().expect("a shell");
    (status.code().expect("an exit status"), folder)
}

fn read(folder: &TempDir, name: &str) -> String {
    read_to_string(folder.path().join(name)).expect("a file")
}

/// Whether a text begins with the result of [`MISSED`], or with that of a machine so busy that the
/// run is client-bound.
fn begins_with_result(text: &str) -> bool {
    ["✗ FAILED  p50 ", "! NOT TRUSTWORTHY  "].iter().any(|mark| text.starts_with(mark))
}

#[test]
fn quiet_is_one_line_with_the_result_and_its_place() {
    let (code, folder) = shell(&format!("{MISSED} -q >all 2>&1"));
    let all = read(&folder, "all");
    assert!(matches!(code, 4 | 5), "{all}");
    assert_eq!(all.lines().count(), 1, "{all}");
    assert!(begins_with_result(&all) && all.ends_with(" · out\n"), "{all}");
    assert!(folder.path().join("out/run.json").exists());
    // A format that is asked for by name is printed in any case.
    let (_, folder) = shell(&format!("{MISSED} -q --format json >all 2>err"));
    assert!(read(&folder, "all").starts_with('{'));
}

#[test]
fn what_the_report_begins_with_is_not_said_again_beside_it() {
    let (_, folder) = shell(&format!("{MISSED} >all 2>&1"));
    let all = read(&folder, "all");
    assert!(begins_with_result(&all), "{all}");
    assert!(!all.contains("error: ") && !all.contains("--fail-if: "), "{all}");
    assert!(all.contains("\nrecord: out/run.json\npage: out/report.html\n"), "{all}");
    // Users who only see stderr get the result, and so do those of formats that do not begin with
    // it.
    for line in [format!("{MISSED} >out.txt 2>err"), format!("{MISSED} --format csv >err 2>&1")] {
        let (code, folder) = shell(&line);
        let error = read(&folder, "err");
        let kind = if code == 4 { "error: failed: all.p50 > 1ns" } else { "error: not trust" };
        assert!(error.contains(kind), "{error}");
        assert!(error.contains("--fail-if: ✗ p50 ≤ 1 ns: missed, "), "{error}");
    }
}

#[test]
fn a_locale_without_unicode_gets_ascii() {
    let (_, folder) = shell(&format!("LC_ALL=C {MISSED} >all 2>err"));
    let (all, error) = (read(&folder, "all"), read(&folder, "err"));
    assert!(all.is_ascii() && error.is_ascii(), "{all}{error}");
    assert!(all.contains("\n  x p50 <= 1 ns: missed, "), "{all}");
    // Without a locale, terminals are still assumed to support Unicode.
    let (_, folder) = shell(&format!("unset LC_ALL; {MISSED} >all 2>err"));
    assert!(begins_with_result(&read(&folder, "all")));
}

#[test]
fn colors_are_for_terminals_unless_said_otherwise() {
    let colored = |line: &str| {
        let (_, folder) = shell(line);
        read(&folder, "all").contains("\u{1b}[")
    };
    assert!(!colored(&format!("{MISSED} >all 2>err")));
    assert!(colored(&format!("CLICOLOR_FORCE=1 {MISSED} >all 2>err")));
    for (variable, colors) in
        [("A=1", true), ("NO_COLOR=1", false), ("TERM=dumb", false), ("CLICOLOR=0", false)]
    {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut command = Command::new("env");
        // If CI is set, even a dumb terminal gets colors.
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"] {
            command.args(["-u", name]);
        }
        // `Pty` sets TERM, so variables that are set here must come after it.
        command.args([variable, BINARY]);
        command.args(["run", "--docs", "20", "--ops", "20", "-c", "1", "-q"]);
        let mut pty = Pty::start(command.current_dir(folder.path()));
        pty.finish();
        let shown = pty.shown();
        assert_eq!(shown.contains("\u{1b}["), colors, "{variable}: {shown:?}");
    }
}
