//! A password in an address that is no address, or only nearly, is shown nowhere.

use crate::springload::{Finished, Run};
use std::fs;

const SECRET: &str = "hidd3nword";

/// Addresses as people mistype them; each has the password, where `PW` stands here. Nobody listens
/// on port 1.
const ADDRESSES: [&str; 40] = [
    "http:/user:PW@127.0.0.1:1",
    "http//user:PW@127.0.0.1:1",
    "http:user:PW@127.0.0.1:1",
    "http:///user:PW@127.0.0.1:1",
    "http;//user:PW@127.0.0.1:1",
    "http:://user:PW@127.0.0.1:1",
    "http:\\\\user:PW@127.0.0.1:1",
    "http:// user:PW@127.0.0.1:1",
    "h ttp://user:PW@127.0.0.1:1",
    "htp://user:PW@127.0.0.1:1",
    "ftp://user:PW@127.0.0.1:1",
    "HTTP://user:PW@",
    "://user:PW@127.0.0.1:1",
    "//user:PW@127.0.0.1:1",
    "/user:PW@127.0.0.1:1",
    " http://user:PW@127.0.0.1:1",
    "\"http://user:PW@127.0.0.1:1\"",
    "user:PW@127.0.0.1:1",
    "user:PW@127.0 .0.1:1",
    "user:PW@ho st:5984",
    "http://user:PW@127.0.0.1:99999",
    "http://user:PW@127.0.0.1:abc",
    "http://user:PW@ 127.0.0.1:1",
    "http://user:p PW@127.0.0.1:1",
    "http://user:PW w@127.0.0.1:1",
    "http://user:PW%zz@127.0.0.1:1",
    "http://user:PW%40127.0.0.1:1",
    "http://user:PW/x@127.0.0.1:1",
    "http://user:x?PW@127.0.0.1:1",
    "http://user:x#PW@127.0.0.1:1",
    "http://user:x@PW@127.0.0.1:1",
    "http://user\\:PW@127.0.0.1:1",
    "http://:PW@127.0.0.1:1",
    "http://user:PW@[::1",
    "http://user:PW@[::zz]:1",
    "mongodb:/user:PW@127.0.0.1:1",
    "mongodb://user:PW@127.0.0.1:99999",
    "redis://:PW@127.0.0.1:99999",
    "http://127.0.0.1:1/?password=PW",
    "couchdb://user:PW@127.0.0.1:1/db?x=1",
];

/// Asserts that the secret is neither printed nor saved.
#[track_caller]
fn nowhere(told: &str, ended: &Finished) {
    let mut texts = vec![ended.stdout.clone(), ended.stderr.clone()];
    let files = ["springload-runs", "out"].map(|name| ended.output().with_file_name(name));
    let mut folders = files.to_vec();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                texts.push(String::from_utf8_lossy(&fs::read(path).expect("a file")).into_owned());
            }
        }
    }
    for text in texts {
        assert!(!text.contains(SECRET), "{told}: {text}");
    }
}

#[test]
fn the_password_of_a_malformed_address_is_not_shown() {
    for address in ADDRESSES.map(|it| it.replace("PW", SECRET)) {
        let property = format!("couchdb.url={address}");
        let small = ["--docs", "2", "--ops", "2", "-c", "1"];
        let verbs: [&[&str]; 8] = [
            &[&["run", &address][..], &small].concat(),
            &["run", &address, "--dry-run"],
            &["http", &address, "-c", "1", "-n", "1"],
            &["burst", &address, "-c", "1", "-d", "1s"],
            &["siege", "-c1", "-r1", &address],
            &["ycsb", "run", "couchdb", "-p", "operationcount=5", "-p", &property],
            &["shell", &address],
            // A word where none belongs.
            &["cushion", &address],
        ];
        for words in verbs {
            nowhere(&format!("{words:?}"), &Run::bare(words).finish());
        }
        let run = Run::bare(&[&["run"][..], &small].concat());
        nowhere(&address, &run.envs([("SPRINGLOAD_URL", &address[..])]).finish());
        let run = Run::bare(&["siege", "-c1", "-r1", "-f", "urls.txt"]);
        fs::write(run.folder().join("urls.txt"), &address).expect("a file");
        nowhere(&address, &run.finish());
        let run = Run::bare(&["run", "plan.toml"]);
        fs::write(run.folder().join("plan.toml"), format!("target = {address:?}\ndocs = 2\n"))
            .expect("a file");
        nowhere(&address, &run.finish());
    }
}
