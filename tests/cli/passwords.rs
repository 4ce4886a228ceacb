//! Passwords: their sources, and that they are not passed on.

use crate::servers::Server;
use crate::springload::{Finished, Run};
use springload::embedded::Options;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Long and odd enough to be recognized anywhere.
const SECRET: &str = "pl4nted s3cret/@:#%";
const USER: &str = "ann";

fn server() -> Server {
    Server::stand_in(Options {
        admin: Some((USER.to_owned(), SECRET.to_owned())),
        ..Options::default()
    })
}

/// An address with the user in it.
fn named(url: &str) -> String {
    url.replace("://", "://ann@")
}

/// A small run with these words.
fn run(words: &[&str]) -> Run {
    Run::of(words).args(&["-c", "2", "--docs", "20", "--batch", "5", "--ops", "20"])
}

/// Asserts that the run logged in, and that its password appears nowhere.
#[track_caller]
fn discreet(run: Finished) -> Finished {
    let run = run.passed();
    assert_eq!(run.record["plan"]["target"]["user"], USER);
    nowhere(&run);
    run
}

#[track_caller]
fn nowhere(run: &Finished) {
    let encoded = percent_encoding::utf8_percent_encode(SECRET, percent_encoding::NON_ALPHANUMERIC);
    let encoded = encoded.to_string();
    let mut texts = vec![run.stdout.clone(), run.stderr.clone()];
    let files = fs::read_dir(run.output()).into_iter().flatten().flatten();
    for file in files.map(|it| it.path()).filter(|it| it.is_file()) {
        let bytes = fs::read(file).expect("a file");
        texts.push(String::from_utf8_lossy(&bytes).into_owned());
    }
    for text in texts {
        // Not even a part of it: it may have been encoded or truncated.
        for part in [SECRET, &encoded, "pl4nted", "s3cret"] {
            assert!(!text.contains(part), "{part:?} in {text}");
        }
    }
}

#[test]
fn the_environment_has_target_user_and_password() {
    let server = server();
    let environment = [
        ("SPRINGLOAD_URL", &server.url[..]),
        ("SPRINGLOAD_USER", USER),
        ("SPRINGLOAD_PASSWORD", SECRET),
    ];
    let ended = discreet(run(&["run"]).envs(environment).finish());
    let command = ended.record["plan"]["command"].as_str().expect("a command");
    assert!(command.starts_with(&format!("springload run {} ", server.url)), "{command}");
    // The target on the command line takes precedence, and its user needs a password there.
    let other = self::server();
    let ended = discreet(run(&["run", &other.url]).envs(environment).finish());
    assert_eq!(ended.record["server"]["url"], other.url);
    let bob = other.url.replace("://", "://bob@");
    let ended = run(&["run", &bob]).envs(environment).finish();
    ended.refused(3, &["refuses to log in \"bob\""]);
    // Empty counts as unset.
    let ended = run(&["run"]).envs([("SPRINGLOAD_URL", "")]).finish().passed();
    assert_eq!(ended.record["server"]["stand_in"], true);
}

#[test]
fn all_verbs_that_have_a_target_take_it_from_the_environment() {
    let server = server();
    let environment = [
        ("SPRINGLOAD_URL", &server.url[..]),
        ("SPRINGLOAD_USER", USER),
        ("SPRINGLOAD_PASSWORD", SECRET),
    ];
    discreet(Run::of(&["burst", "-c", "2", "-d", "100ms"]).envs(environment).finish());
    let http = Run::of(&["http", "-c", "1", "-n", "5"]).envs(environment).finish().passed();
    assert_eq!(http.sum("request", "ok"), 5);
    nowhere(&http);
    let sweep = ["sweep", "-L", "batch=5,10", "--docs", "20", "--ops", "0", "-c", "1"];
    let swept = Run::of(&sweep).envs(environment).finish();
    assert!(matches!(swept.code, 0 | 5), "{}", swept.stderr);
    nowhere(&swept);
    let cell = fs::read_to_string(swept.output().join("cells/000/run.json")).expect("a record");
    assert!(cell.contains(&server.url) && !cell.contains("pl4nted"), "{cell}");
    // It can be continued with the password only, and not without.
    let folder = swept.output();
    let resume = ["sweep", "--resume", folder.to_str().expect("UTF-8"), "-q"];
    let own = [("SPRINGLOAD_USER", USER), ("SPRINGLOAD_PASSWORD", SECRET)];
    assert!(matches!(Run::bare(&resume).envs(own).finish().code, 0 | 5));
    let shell = Run::bare(&["shell", "--table", "t"]).envs(environment).stdin("insert k a=b\n");
    let shell = shell.finish();
    assert!(shell.stdout.starts_with("Result: OK"), "{}{}", shell.stdout, shell.stderr);
    nowhere(&shell);
    Run::bare(&["shell"]).finish().refused(2, &["TARGET: no server is named", "SPRINGLOAD_URL"]);
}

#[test]
fn a_file_or_stdin_has_the_password() {
    let server = server();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| {
        let file = folder.path().join(name);
        fs::write(&file, text).expect("a file");
        file.to_str().expect("UTF-8").to_owned()
    };
    let target = server.url.replace("://", "://ann@");
    for end in ["", "\n", "\r\n"] {
        let file = write("password", &format!("{SECRET}{end}"));
        discreet(run(&["run", &target, "--password-file", &file]).finish());
    }
    let piped = run(&["run", &target, "--password-file", "-"]).stdin(&format!("{SECRET}\n"));
    discreet(piped.finish());
    // The file takes precedence over the target's own password.
    let wrong = server.url.replace("://", "://ann:wrong@");
    let file = write("password", SECRET);
    discreet(run(&["run", &wrong, "--password-file", &file]).finish());

    let none = folder.path().join("none");
    let none = none.to_str().expect("UTF-8");
    for (file, words) in [
        (none, ["--password-file: cannot read", "none"]),
        (&write("empty", "\n")[..], ["contains no password", "empty"]),
        (&write("two", &format!("{SECRET}\n{SECRET}\n")), ["more than one line", "two"]),
    ] {
        let refused = run(&["run", &target, "--password-file", file]).finish();
        nowhere(&refused.refused(2, &words));
    }
    let file = write("password", SECRET);
    let refused = run(&["run", &server.url, "--password-file", &file]).finish();
    refused.refused(2, &["--password-file: a password without a user", "SPRINGLOAD_USER"]);
    let refused = run(&["run", "--password-file", &file]).finish();
    refused.refused(2, &["--password-file: there is no server to log in to"]);
    let refused = Run::bare(&["shell", &target, "--password-file", "-"]).finish();
    refused.refused(2, &["--password-file: stdin is already used for the commands"]);
}

#[test]
fn a_netrc_is_read_when_it_is_asked_for() {
    let server = server();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join(".netrc");
    let quoted = SECRET.replace('"', "\\\"");
    fs::write(&file, format!("machine 127.0.0.1 login {USER} password \"{quoted}\"\n"))
        .expect("a file");
    let mode = |mode| {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("a mode");
    };
    let home = folder.path().to_str().expect("UTF-8");
    mode(0o600);
    let asked = run(&["run", &server.url, "--netrc"]).envs([("HOME", home)]).finish();
    let ended = discreet(asked);
    assert!(!ended.stderr.contains("warning"), "{}", ended.stderr);
    mode(0o644);
    let named = [("HOME", "/nowhere"), ("NETRC", file.to_str().expect("UTF-8"))];
    let ended = discreet(run(&["run", &server.url, "--netrc"]).envs(named).finish());
    assert!(ended.stderr.contains("every user of this machine can read"), "{}", ended.stderr);
    // A netrc is not used without being asked for.
    let ended = run(&["run", &server.url]).envs([("HOME", home)]).finish();
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    let bob = server.url.replace("://", "://bob@");
    let refused = run(&["run", &bob, "--netrc"]).envs([("HOME", home)]).finish();
    nowhere(&refused.refused(2, &["--netrc: ", "no entry for bob at 127.0.0.1"]));
    fs::write(&file, format!("machine 127.0.0.1 {SECRET}")).expect("a file");
    let refused = run(&["run", &server.url, "--netrc"]).envs([("HOME", home)]).finish();
    nowhere(&refused.refused(2, &["--netrc: ", ".netrc: line 1: a word other than"]));
}

#[test]
fn the_password_of_a_list_goes_to_one_server() {
    let (one, other) = (server(), server());
    let environment = [("SPRINGLOAD_USER", USER), ("SPRINGLOAD_PASSWORD", SECRET)];
    let list = |urls: &[&str]| Run::of(&[&["http", "-c", "1", "-n", "4"], urls].concat());
    let ended = list(&[&one.url, &one.url]).envs(environment).finish().passed();
    nowhere(&ended);
    let refused = list(&[&one.url, &other.url]).envs(environment).finish();
    nowhere(
        &refused.refused(2, &["SPRINGLOAD_PASSWORD: the URLs name several servers", "--netrc"]),
    );
    let siege = Run::of(&["siege", "-r", "1", &named(&one.url), &named(&other.url)]);
    let refused = siege.envs([("SPRINGLOAD_PASSWORD", SECRET)]).finish();
    nowhere(&refused.refused(2, &["SPRINGLOAD_PASSWORD: the URLs name several servers"]));
    assert_eq!(other.as_stand_in().expect("a stand-in").counters().requests, 0);
}

/// The password alone, as with `PGPASSWORD`: the target names the user.
const ALONE: [(&str, &str); 1] = [("SPRINGLOAD_PASSWORD", SECRET)];

#[test]
fn an_audit_logs_in_as_the_user_of_its_run_on_the_servers_of_that_run() {
    let (server, other) = (server(), server());
    let target = server.url.replace("://", "://ann@");
    let run = discreet(run(&["run", &target, "--audit", "--keep"]).envs(ALONE).finish());
    let folder = run.output();
    let folder = folder.to_str().expect("UTF-8");
    let audit = |more: &[&str]| Run::of(&[&["audit", folder], more].concat());
    let bare = server.url.trim_start_matches("http://");
    for more in [&[][..], &[target.as_str()], &[server.url.as_str()], &[bare], &["-u", USER]] {
        discreet(audit(more).envs(ALONE).finish());
    }
    let file = run.output().join("password");
    fs::write(&file, SECRET).expect("a file");
    discreet(audit(&["--password-file", file.to_str().expect("UTF-8")]).finish());
    // Whoever is named now takes precedence.
    let bob = [("SPRINGLOAD_USER", "bob"), ALONE[0]];
    audit(&[]).envs(bob).finish().refused(3, &["refuses to log in \"bob\""]);
    let bob = server.url.replace("://", "://bob@");
    audit(&[&bob]).envs(ALONE).finish().refused(3, &["refuses to log in \"bob\""]);
    // The password does not go to a server that the run did not use, unless a user is named there.
    let elsewhere = [("SPRINGLOAD_URL", &other.url[..]), ALONE[0]];
    discreet(audit(&[]).envs(elsewhere).finish());
    let refused = audit(&[&other.url]).envs(ALONE).finish();
    nowhere(&refused.refused(2, &["SPRINGLOAD_PASSWORD: a password without a user"]));
    assert_eq!(other.as_stand_in().expect("a stand-in").counters().requests, 0);
}

#[test]
fn a_log_in_in_an_address_of_replicate_is_only_for_that_server() {
    let (one, other) = (server(), server());
    let (ann, ann_there) = (named(&one.url), named(&other.url));
    let [ann, ann_there, here, there] = [&ann[..], &ann_there, &one.url, &other.url];
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("password");
    fs::write(&file, SECRET).expect("a file");
    let file = file.to_str().expect("UTF-8");
    let run = |words: &[&str]| Run::of(&[&["replicate", "--noise", "warn"], words].concat());
    let asked = || other.as_stand_in().expect("a stand-in").counters().requests;

    let lacking = |address: &str| format!(": a password without a user for {address}; ");
    let refused = run(&[ann, there]).envs(ALONE).finish();
    nowhere(&refused.refused(2, &[&format!("SPRINGLOAD_PASSWORD{}", lacking(there))]));
    let refused = run(&[ann, there, "--password-file", file]).finish();
    nowhere(&refused.refused(2, &[&format!("--password-file{}", lacking(there))]));
    // Also of two databases of one server, where the second address names the user.
    let [first, second] = [format!("{here}/w1"), format!("{ann}/w2")];
    let refused = run(&[&first, &second]).envs(ALONE).finish();
    nowhere(&refused.refused(2, &[&format!("SPRINGLOAD_PASSWORD{}", lacking(&first))]));
    assert_eq!(asked(), 0);
    let user = Some(("SPRINGLOAD_USER", USER));
    for (words, environment) in [
        // Two databases of one server.
        (&[ann, here][..], None),
        (&[ann, here, "--password-file", file], None),
        // The user is named for each, or for all.
        (&[ann, ann_there], None),
        (&[ann, there], user),
        (&[here, there], user),
        (&[here, there, "-u", USER], None),
        (&[here, there, "-u", USER, "--password-file", "-"], None),
        (&[ann, there, "--password-file", file], user),
    ] {
        let before = asked();
        let run = run(words).envs(ALONE).envs(environment).stdin(&format!("{SECRET}\n")).finish();
        // They were logged in to: the next thing is what stand-ins lack.
        let lacks = run.stderr.contains("has no database _replicator");
        assert!(run.code == 3 && lacks, "{words:?}: {}", run.stderr);
        assert_eq!(asked() > before, words[1] != here, "{words:?}");
        nowhere(&run);
    }
}

#[test]
fn the_command_lines_of_other_programs_log_in_as_the_user_that_they_name() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let schema = folder.path().join("doc.json");
    fs::write(&schema, "{\"a\": \"b\"}").expect("a file");
    let finish = |line: &str, url: &str, user: Option<&str>| {
        let schema = schema.to_str().expect("UTF-8");
        let line = line.replace("URL", url).replace("SCHEMA", schema);
        let user = user.map(|user| ("SPRINGLOAD_USER", user));
        Run::of(&line.split(' ').collect::<Vec<_>>()).envs(ALONE).envs(user).finish()
    };
    for line in [
        "bm-couchdb URL -n 2 -t 1",
        "bulk-perf 10 100 2 URL",
        "siege URL/_all_dbs -r 1 -c 1",
        "ycsb load couchdb -p workload=site.ycsb.workloads.CoreWorkload -p recordcount=10 \
         -p couchdb.url=URL",
        "cushion --database_address=URL --database_name=none \
         --json_document_schema_filename=SCHEMA --num_documents_per_bulk_insert=1 \
         --num_bulk_insert_operations=1",
    ] {
        // The server locks users out after some failures.
        let server = server();
        let named = server.url.replace("://", "://ann@");
        let run = finish(line, &named, None);
        nowhere(&run);
        if line.starts_with("cushion") {
            run.refused(3, &["there is no database \"none\""]);
        } else {
            run.passed();
        }
        // A password of somebody else; and as in the originals, nobody logs in who is not named.
        for (url, user) in [(&named, "bob"), (&server.url, USER)] {
            let out = finish(line, url, Some(user));
            assert_eq!(out.code, 3, "{line} as {user}: {}", out.stderr);
            nowhere(&out);
        }
    }
}

#[test]
fn nobody_finds_the_password_in_the_list_of_processes() {
    let server = server();
    let target = server.url.replace("://", "://ann@");
    let words = ["run", &target, "--docs", "10", "-c", "1", "-d", "1s", "--agents", "1"];
    let started = Run::of(&words).envs([("SPRINGLOAD_PASSWORD", SECRET)]).start();
    let mut seen = Vec::new();
    while !started.has_begun() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // The command lines of its own process, and of its agents.
    for process in fs::read_dir("/proc").expect("Linux").flatten() {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        if Path::new(&process.path())
            .join("exe")
            .read_link()
            .is_ok_and(|it| it.ends_with("springload"))
        {
            seen.push(String::from_utf8_lossy(&line).into_owned());
        }
    }
    assert!(seen.iter().any(|line| line.contains(&target)), "{seen:?}");
    assert!(seen.iter().any(|line| line.contains("agent")), "{seen:?}");
    assert!(!seen.iter().any(|line| line.contains("pl4nted")), "{seen:?}");
    discreet(started.finish());
}

#[test]
fn the_shell_of_ycsb_logs_in_as_the_user_in_its_address() {
    for more in [&[][..], &["--basic-auth"]] {
        let server = server();
        let url = format!("couchdb.url={}", named(&server.url));
        let words = [&["ycsb", "shell", "couchdb", "-p", &url][..], more].concat();
        let shell = || Run::bare(&words).stdin("insert k a=b\n");
        let ended = shell().envs(ALONE).finish();
        assert!(ended.stdout.starts_with("Result: OK"), "{}{}", ended.stdout, ended.stderr);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        nowhere(&ended);
        // Without the password, it names only what this command line takes.
        let refused = shell().finish();
        let refused = refused.refused(3, &["no password was given", "in SPRINGLOAD_PASSWORD"]);
        assert!(!refused.stderr.contains("--password-file"), "{}", refused.stderr);
        Run::bare(&["shell", &named(&server.url)]).finish().refused(3, &["--password-file FILE"]);
    }
}
