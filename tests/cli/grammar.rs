//! What is made from the grammar of the command line: completions and man pages.

use crate::springload::{Finished, springload};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// The verbs that the help lists.
fn verbs() -> BTreeSet<String> {
    let help = springload(["--help"]).stdout;
    let verb = |line: &str| Some(line.strip_prefix("  ")?.split_whitespace().next()?.to_owned());
    let verbs: BTreeSet<String> =
        help.lines().filter_map(verb).filter(|word| word != "springload").collect();
    assert!(verbs.contains("run") && verbs.contains("show"), "{help}");
    verbs
}

/// The long flags in the help of a verb.
fn flags(verb: &str) -> BTreeSet<String> {
    let help = springload([verb, "--help"]).stdout;
    let flag = |line: &str| {
        let line = line.trim_start();
        let line = line
            .get(4..)
            .filter(|_| line.get(1..3).is_some_and(|it| it.ends_with(',')))
            .unwrap_or(line);
        let name: String =
            line.strip_prefix("--")?.chars().take_while(|c| !" =.[".contains(*c)).collect();
        Some(format!("--{name}"))
    };
    help.lines().filter_map(flag).collect()
}

/// Whether `program` takes `text` on its standard input; `None` where it is not installed.
fn takes(program: &str, arguments: &[&str], text: &str) -> Option<std::process::Output> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
    Some(child.wait_with_output().expect("it ends"))
}

#[test]
fn completions_know_every_verb_and_flag() {
    for (shell, check) in [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")] {
        let script: Finished = springload(["completions", shell]);
        assert_eq!((script.code, &script.stderr[..]), (0, ""));
        for verb in verbs() {
            assert!(script.stdout.contains(&verb), "{shell}: {verb}");
            for flag in flags(&verb) {
                let name = if shell == "fish" { flag.trim_start_matches('-') } else { &flag };
                assert!(script.stdout.contains(name), "{shell}: {verb} {flag}");
            }
        }
        if let Some(output) = takes(shell, &[check], &script.stdout) {
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && error.is_empty(), "{shell}: {error}");
        }
    }
    springload(["completions", "tcsh"]).refused(2, &["tcsh"]);
}

#[test]
fn bash_completes_a_verb_and_a_flag() {
    let script = springload(["completions", "bash"]).stdout;
    let ask = |words: &str, at: usize| {
        let ask = format!(
            "{script}\nCOMP_WORDS=({words})\nCOMP_CWORD={at}\n\
             _springload springload \"${{COMP_WORDS[{at}]}}\" \"\"\necho \"${{COMPREPLY[@]}}\""
        );
        let output = takes("bash", &["--norc"], &ask)?;
        Some(String::from_utf8(output.stdout).expect("UTF-8").trim().to_owned())
    };
    let verb = ask("springload cus", 1).expect("bash, as for tests/run.sh");
    assert_eq!(verb, "cushion");
    assert_eq!(ask("springload run --no-t", 2).as_deref(), Some("--no-tui"));
}

#[test]
fn man_pages_have_every_verb_and_flag() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("man");
    let written = springload(["man".as_ref(), "--out".as_ref(), out.as_os_str()]);
    assert_eq!((written.code, &written.stdout[..], &written.stderr[..]), (0, "", ""));
    let read = |name: &str| std::fs::read_to_string(out.join(name)).expect(name);
    let plain = |text: &str| text.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "");
    let top = read("springload.1");
    assert_eq!(springload(["man"]).stdout, top);
    for verb in verbs() {
        assert!(plain(&top).contains(&format!("springload-{verb}(1)")), "{verb}: {top}");
        let page = read(&format!("springload-{verb}.1"));
        for flag in flags(&verb) {
            assert!(plain(&page).contains(&flag), "{verb} {flag}: {page}");
        }
        if let Some(output) = takes("man", &["--warnings", "-l", "-"], &page) {
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && error.is_empty(), "{verb}: {error}");
            let shown = String::from_utf8_lossy(&output.stdout);
            assert!(shown.contains(&format!("springload-{verb}")), "{shown}");
        }
    }
    let file = folder.path().join("file");
    std::fs::write(&file, "").expect("a file");
    let refused = springload(["man".as_ref(), "--out".as_ref(), file.as_os_str()]);
    refused.refused(2, &["--out: cannot write to", "; name a writable folder"]);
}
