//! Credentials are sent to the servers that are named, and follow no redirect to another.

use crate::proxy::{Message, Proxy};
use crate::secure::Authority;
use crate::servers::Server;
use crate::springload::{Finished, Run, measure, number};
use springload::embedded::Options;
use std::fs;
use std::sync::{Arc, Mutex};

const SECRET: &str = "hush-hush-1";
/// `ann:hush-hush-1` in base64.
const BASIC: &str = "YW5uOmh1c2gtaHVzaC0x";
const HEADERS: [&str; 5] =
    ["Authorization", "Cookie", "X-Auth-CouchDB-Token", "X-Api-Key", "X-Anything"];
/// A cookie that a server sets.
const COOKIE: &str = "crumb-of-a-cookie";

type Seen = Arc<Mutex<Vec<String>>>;

fn answer(status: &str, more: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n{more}\r\n").into_bytes()
}

fn text(request: &Message) -> String {
    String::from_utf8_lossy(&request.raw).into_owned()
}

/// A server that records its requests, and answers with the result of `said`.
fn noting(
    said: impl Fn(&Message) -> Option<Vec<u8>> + Send + Sync + 'static,
) -> (Seen, crate::proxy::Answers) {
    let seen = Seen::default();
    let notes = seen.clone();
    let answers = move |request: &Message| {
        notes.lock().expect("no panic").push(text(request));
        said(request)
    };
    (seen, Box::new(answers))
}

/// A server that is not named, and the requests that it receives.
struct Stranger {
    url: String,
    seen: Seen,
    authority: Option<Authority>,
    _behind: (Server, Proxy),
}

impl Stranger {
    fn start(tls: bool) -> Self {
        let behind = Server::stand_in(Options::default());
        let (seen, answers) = noting(|_| Some(answer("200 OK", "")));
        let authority = tls.then(|| Authority::vouching_for("127.0.0.1"));
        let proxy = match &authority {
            Some(authority) => Proxy::with_both(&behind.url, authority.server.clone(), answers),
            None => Proxy::with_answers(&behind.url, answers),
        };
        Self { url: proxy.url.clone(), seen, authority, _behind: (behind, proxy) }
    }

    /// Asserts that it was contacted, but received no credentials. Returns the number of requests.
    #[track_caller]
    fn knows_nothing(&self, about: &str) -> usize {
        let seen = self.seen.lock().expect("no panic");
        for request in seen.iter() {
            let small = request.to_ascii_lowercase();
            for secret in [SECRET, BASIC, COOKIE] {
                assert!(!request.contains(secret), "{about}: {request}");
            }
            for name in HEADERS {
                let line = format!("\n{}:", name.to_ascii_lowercase());
                assert!(!small.contains(&line), "{about}: {request}");
            }
        }
        seen.len()
    }
}

/// A server that redirects all requests to `place`.
fn leading_to(place: &str, status: &'static str) -> (Proxy, Seen, Server) {
    let behind = Server::stand_in(Options::default());
    let more = format!("Location: {place}/there?x=1\r\nSet-Cookie: crumb={COOKIE}; Path=/\r\n");
    let (seen, answers) = noting(move |_| Some(answer(status, &more)));
    (Proxy::with_answers(&behind.url, answers), seen, behind)
}

/// Each verb that follows redirects.
fn verbs(url: &str) -> [Vec<String>; 3] {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let own = vec![url.to_owned()];
    [
        [words("http -c1 -n4"), own.clone()].concat(),
        [words("siege -c1 -r4"), own.clone()].concat(),
        [words("siege --get"), own].concat(),
    ]
}

/// Runs `words` with `more` of them before the URL.
fn with(words: &[String], more: &[&str], stranger: &Stranger) -> Run {
    let (url, first) = words.split_last().expect("words");
    let first: Vec<&str> = first.iter().map(String::as_str).collect();
    let ca = stranger.authority.as_ref().map(|it| it.file().display().to_string());
    let ca: Vec<&str> = ca.iter().flat_map(|file| ["--tls-ca", file]).collect();
    Run::bare(&[&first[..], more, &ca, &[url]].concat())
}

/// The flags that give credentials, and whether each `verb` has them.
fn log_ins(folder: &std::path::Path) -> Vec<(Vec<String>, bool)> {
    let file = |name: &str, text: &str| {
        let file = folder.join(name);
        fs::write(&file, text).expect("a file");
        file.display().to_string()
    };
    file("netrc", &format!("machine 127.0.0.1 login ann password {SECRET}\n"));
    let headers = HEADERS.iter().flat_map(|name| ["-H".to_owned(), format!("{name}: {SECRET}")]);
    let own = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    vec![
        (headers.collect(), true),
        (own(&["-u", &format!("ann:{SECRET}")]), false),
        (own(&["-u", "ann", "--password-file", &file("password", SECRET)]), false),
        (own(&["--netrc"]), false),
        (own(&["--bearer-file", &file("token", SECRET)]), false),
    ]
}

#[test]
fn no_redirect_takes_a_secret_to_another_origin() {
    let folder = tempfile::tempdir().expect("a folder");
    let netrc = folder.path().join("netrc");
    let netrc = [("NETRC", netrc.to_str().expect("UTF-8"))];
    for (tls, host) in [(false, "127.0.0.1"), (false, "localhost"), (true, "127.0.0.1")] {
        for status in ["302 Found", "307 Temporary Redirect"] {
            let stranger = Stranger::start(tls);
            let place = stranger.url.replace("127.0.0.1", host);
            let (named, asked, _behind) = leading_to(&place, status);
            let url = format!("{}/start", named.url);
            let mut tries = 0;
            for words in verbs(&url) {
                for (flags, everywhere) in log_ins(folder.path()) {
                    if !everywhere && words[0] == "siege" {
                        continue;
                    }
                    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
                    let ended = with(&words, &flags, &stranger).envs(netrc).finish();
                    assert!(matches!(ended.code, 0 | 5), "{words:?} {flags:?} {}", ended.stderr);
                    tries += 1;
                }
                // With the password in the address.
                let own = url.replace("://", &format!("://ann:{SECRET}@"));
                let own = [&words[..words.len() - 1], &[own]].concat();
                let ended = with(&own, &[], &stranger).finish();
                assert!(matches!(ended.code, 0 | 5), "{words:?} {}", ended.stderr);
                tries += 1;
            }
            let times = stranger.knows_nothing(&format!("{place} {status}"));
            assert!(times >= tries, "{times} requests of {tries} runs");
            // The named server got the credentials with each request.
            let asked = asked.lock().expect("no panic");
            let proved = |it: &&String| it.contains(SECRET) || it.contains(BASIC);
            assert_eq!(asked.iter().filter(proved).count(), asked.len());
            assert!(asked.iter().any(|it| it.contains(COOKIE)), "no cookie was kept");
        }
    }
}

#[test]
fn what_logs_in_is_not_sent_on_to_another_origin() {
    let stranger = Stranger::start(false);
    let (named, asked, _behind) = leading_to(&stranger.url, "307 Temporary Redirect");
    let folder = tempfile::tempdir().expect("a folder");
    let rc = folder.path().join("siegerc");
    let log_in = format!("login-url = {}/login POST user=ann&password={SECRET}\n", named.url);
    fs::write(&rc, log_in).expect("a file");
    let rc = rc.display().to_string();
    let url = format!("{}/start", named.url);
    let ended = Run::bare(&["siege", "-c1", "-r2", "-R", &rc, &url]).finish();
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(asked.lock().expect("no panic")[0].contains(SECRET));
    assert_eq!(stranger.knows_nothing("log-in"), 0);
}

#[test]
fn a_database_that_leads_elsewhere_is_not_followed() {
    // Where it redirects: everything, at the login, or at documents.
    let at: [fn(&str) -> bool; 3] =
        [|_| true, |path| path == "/_session", |path| path.matches('/').count() == 2];
    for is_led in at {
        let stranger = Stranger::start(false);
        let admin = Some(("ann".to_owned(), SECRET.to_owned()));
        let behind = Server::stand_in(Options { admin, ..Options::default() });
        let place = stranger.url.clone();
        let (asked, answers) = noting(move |request| {
            let (_, path) = request.words();
            let more = format!("Location: {place}{path}\r\n");
            is_led(&path).then(|| answer("307 Temporary Redirect", &more))
        });
        let named = Proxy::with_answers(&behind.url, answers);
        let user = named.url.replace("://", &format!("://ann:{SECRET}@"));
        let small = ["--docs", "4", "--ops", "4", "-c", "1", "-H", "X-Api-Key: hush-hush-1"];
        let verbs: [&[&str]; 6] = [
            &[&["run", &user][..], &small].concat(),
            &[&["run", &user, "--auth", "basic"][..], &small].concat(),
            &[&["run", &user, "--auth", "proxy"][..], &small].concat(),
            &["burst", &user, "-c", "2", "-d", "100ms", "-H", "Cookie: hush-hush-1"],
            &["clean", &user, "--yes"],
            &["shell", &user],
        ];
        for words in verbs {
            let ended = Run::bare(words).stdin("insert k a=b\n").finish();
            assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
        }
        assert!(asked.lock().expect("no panic").len() >= verbs.len());
        assert_eq!(stranger.knows_nothing("a database"), 0);
    }
}

/// The requests to a server that answers each with `more` for its number.
fn asked(
    count: u64,
    more: impl Fn(usize, &str) -> Vec<u8> + Send + Sync + 'static,
) -> (Finished, Vec<String>) {
    let behind = Server::stand_in(Options::default());
    let number = std::sync::atomic::AtomicUsize::new(0);
    let own = Arc::new(Mutex::new(String::new()));
    let url = own.clone();
    let (seen, answers) = noting(move |_| {
        let number = number.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Some(more(number, &url.lock().expect("no panic")))
    });
    let proxy = Proxy::with_answers(&behind.url, answers);
    own.lock().expect("no panic").clone_from(&proxy.url);
    let url = format!("{}/start", proxy.url);
    let ended = measure(["http", "-c1", "-n", &count.to_string(), &url]);
    let seen = seen.lock().expect("no panic").clone();
    (ended, seen)
}

#[test]
fn redirects_without_end_are_given_up() {
    // Always the same path, or always another one.
    for new in [false, true] {
        let (ended, seen) = asked(3, move |number, _| {
            let place = if new { number } else { 0 };
            answer("302 Found", &format!("Location: /{place}\r\n"))
        });
        assert_eq!(ended.operation("urls", "request")["failures"]["protocol"], 3);
        assert_eq!(seen.len(), 3 * 11);
    }
    // Always another host; nothing listens there.
    let (ended, _) = asked(100, |number, _| {
        answer("302 Found", &format!("Location: http://127.1.0.{number}:1/\r\n"))
    });
    let failures = &ended.operation("urls", "request")["failures"];
    assert_eq!((number(&failures["connect"]), number(&failures["protocol"])), (20, 80));
}

#[test]
fn cookies_without_end_are_not_kept() {
    let (ended, seen) = asked(300, |number, _| {
        answer("200 OK", &format!("Set-Cookie: c{number}={}; Path=/\r\n", "x".repeat(50)))
    });
    ended.passed();
    let longest = seen.iter().map(|request| request.matches("=xxx").count()).max();
    assert_eq!((longest, seen.len()), (Some(100), 300));
    let (ended, seen) = asked(10, |number, _| {
        let more = format!("Set-Cookie: c{number}={}; Path=/\r\n", "x".repeat(5_000));
        answer("200 OK", &more)
    });
    ended.passed();
    assert!(seen.iter().all(|request| !request.contains("Cookie:")));
}
