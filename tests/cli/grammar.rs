//! Files generated from the grammar of the command line: completions and man pages.

use crate::servers::absent;
use crate::springload::{BINARY, Finished, Run, springload};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// The verbs that the help lists.
pub(crate) fn verbs() -> BTreeSet<String> {
    let help = springload(["--help"]).stdout;
    let verb = |line: &str| Some(line.strip_prefix("  ")?.split_whitespace().next()?.to_owned());
    let verbs: BTreeSet<String> =
        help.lines().take_while(|line| *line != "Exit status:").filter_map(verb).collect();
    let verbs: BTreeSet<String> = verbs.into_iter().filter(|word| word != "springload").collect();
    assert!(verbs.contains("run") && verbs.contains("k8s") && verbs.contains("ycsb"), "{help}");
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

/// The output of `program` with `text` on its standard input; `None` if it is not installed.
fn takes(program: &str, arguments: &[&str], text: &str) -> Option<std::process::Output> {
    let mut child = Command::new(program)
        .args(arguments)
        // The developer's own runs are not offered.
        .env("SPRINGLOAD_STATE", "")
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
    let mut missing = Vec::new();
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
        let Some(output) = takes(shell, &[check], &script.stdout) else {
            missing.push(shell);
            continue;
        };
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && error.is_empty(), "{shell}: {error}");
    }
    springload(["completions", "tcsh"]).refused(2, &["tcsh"]);
    if !missing.is_empty() {
        absent(&missing.join(" and "), "install the packages of these names");
    }
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

/// A folder with a run labeled `after the update`, and the path of the program.
fn with_a_run() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runs = folder.path().join("springload-runs/20260302T091501Z");
    let label = ["--label", "after the update", "--output", runs.to_str().expect("UTF-8")];
    Run::bare(&["run", "basic", "--docs", "20", "--ops", "20", "-c", "1", "-q"])
        .args(&label)
        .finish();
    let bin = Path::new(BINARY).parent().expect("a folder").display().to_string();
    (folder, bin)
}

#[test]
fn bash_completes_the_names_of_runs_formats_and_workloads() {
    let (folder, bin) = with_a_run();
    let script = springload(["completions", "bash"]).stdout;
    let at = folder.path().display();
    let ask = |words: &str| {
        let ask = format!(
            "cd '{at}'; PATH='{bin}':$PATH\n{script}\nCOMP_WORDS=({words})\n\
             COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
             _springload_runs springload \"${{COMP_WORDS[COMP_CWORD]}}\" \
             \"${{COMP_WORDS[COMP_CWORD - 1]}}\"\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let output = takes("bash", &["--norc"], &ask).expect("bash, as for tests/run.sh");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let printed = String::from_utf8(output.stdout).expect("UTF-8");
        printed.trim().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let all = ["latest", "20260302T091501Z", "after\\ the\\ update"];
    for (words, offered) in [
        ("springload show ''", &all[..]),
        ("springload report latest ''", &all),
        ("springload show 2026", &all[1..2]),
        ("springload report --format junit aft", &all[2..]),
        ("springload show 'after\\ the'", &all[2..]),
        ("springload report none", &[]),
        ("springload show --verb", &["--verbose"]),
        ("springload report --format jun", &["junit"]),
        ("springload run --format jun", &["junit"]),
        ("springload run --workload ho", &["hot"]),
        ("springload lis", &["list"]),
    ] {
        let offered: Vec<_> = offered.iter().map(|it| (*it).to_owned()).collect();
        let found: Vec<_> = ask(words).into_iter().filter(|it| !it.is_empty()).collect();
        assert_eq!(found, offered, "{words}");
    }
    assert!(script.contains("complete -F _springload_runs -o"), "it is used");
}

#[test]
fn zsh_and_fish_ask_for_the_names_of_runs() {
    let zsh = springload(["completions", "zsh"]).stdout;
    assert_eq!(zsh.matches(":_springload_runs' \\\n").count(), 2, "report and show");
    assert_eq!(zsh.matches("\n_springload_runs() {\n").count(), 1);
    let (folder, bin) = with_a_run();
    let script = folder.path().join("springload.fish");
    std::fs::write(&script, springload(["completions", "fish"]).stdout).expect("a file");
    let ask = |line: &str| {
        let mut fish = Command::new("fish");
        fish.args(["--no-config", "--command"]).current_dir(folder.path());
        let output = fish
            .arg(format!("set -x PATH '{bin}' $PATH; source springload.fish; complete -C '{line}'"))
            .env("SPRINGLOAD_STATE", "")
            .output()
            .ok()?;
        Some(String::from_utf8(output.stdout).expect("UTF-8"))
    };
    let Some(runs) = ask("springload show ") else {
        return absent("fish", "install the package fish");
    };
    assert!(runs.contains("20260302T091501Z\tafter the update\n"), "{runs}");
    assert!(runs.contains("latest\t20260302T091501Z\n"), "{runs}");
    let formats = ask("springload report --format ju").expect("fish");
    assert!(formats.starts_with("junit"), "{formats}");
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
    let mut missing = false;
    for verb in verbs() {
        assert!(plain(&top).contains(&format!("springload-{verb}(1)")), "{verb}: {top}");
        let page = read(&format!("springload-{verb}.1"));
        for flag in flags(&verb) {
            assert!(plain(&page).contains(&flag), "{verb} {flag}: {page}");
        }
        let Some(output) = takes("man", &["--warnings", "-l", "-"], &page) else {
            missing = true;
            continue;
        };
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && error.is_empty(), "{verb}: {error}");
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(shown.contains(&format!("springload-{verb}")), "{shown}");
    }
    let file = folder.path().join("file");
    std::fs::write(&file, "").expect("a file");
    let refused = springload(["man".as_ref(), "--out".as_ref(), file.as_os_str()]);
    refused.refused(2, &["--out: cannot write to", "; choose a writable folder"]);
    if missing {
        absent("man", "install the package man-db");
    }
}
