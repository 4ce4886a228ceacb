//! Connections with more than plain TCP: TLS, IPv6, sessions.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::{io, thread};

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair,
};
use springload::embedded::{Options, StandIn, bind};
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned, crypto};

use crate::proxy::{Message, Proxy};
use crate::servers::{Server, skipped};
use crate::springload::{failures, measure};

/// An unknown authority, as a PEM file, and a server with a certificate that it issued.
pub(crate) struct Authority {
    folder: tempfile::TempDir,
    pub(crate) server: ServerConfig,
}

impl Authority {
    /// A server called `name`.
    pub(crate) fn vouching_for(name: &str) -> Self {
        Self::with(name, |_| {})
    }

    /// A server at 127.0.0.1 whose certificate was valid for one day in 2020.
    pub(crate) fn expired() -> Self {
        Self::with("127.0.0.1", |parameters| {
            parameters.not_before = rcgen::date_time_ymd(2020, 1, 1);
            parameters.not_after = rcgen::date_time_ymd(2020, 1, 2);
        })
    }

    /// An authority that is itself a server at 127.0.0.1, as `openssl req -x509` makes it.
    fn of_itself(change: impl Fn(&mut CertificateParams)) -> Self {
        let mut parameters = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("a name");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        change(&mut parameters);
        let key = KeyPair::generate().expect("a key");
        let certificate = parameters.self_signed(&key).expect("a certificate");
        Self::new(&certificate.pem(), &certificate, &key)
    }

    fn with(name: &str, change: impl Fn(&mut CertificateParams)) -> Self {
        let mut parameters = CertificateParams::new(Vec::new()).expect("no names");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(parameters, key).expect("a certificate");
        let key = KeyPair::generate().expect("a key");
        let mut parameters = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        change(&mut parameters);
        let certificate = parameters.signed_by(&key, &issuer).expect("a certificate");
        Self::new(&issuer.pem(), &certificate, &key)
    }

    /// `authority` is the text of its file.
    fn new(authority: &str, certificate: &Certificate, key: &KeyPair) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("ca.pem"), authority).expect("a file");
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
        let server =
            ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .expect("versions")
                .with_no_client_auth()
                .with_single_cert(vec![certificate.der().clone()], key)
                .expect("a certificate");
        Self { folder, server }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }
}

#[test]
fn https_with_an_authority_of_ones_own() {
    let server = Server::stand_in(Options::default());
    for name in ["127.0.0.1", "localhost"] {
        let authority = Authority::vouching_for(name);
        let proxy = Proxy::with_tls(&server.url, authority.server.clone());
        let url = proxy.url.replace("127.0.0.1", name);
        let file = authority.file();
        let run = measure([
            "run",
            &url,
            "-c",
            "3",
            "--docs",
            "60",
            "--batch",
            "20",
            "--ops",
            "60",
            "--tls-ca",
            file.to_str().unwrap(),
        ])
        .passed();
        assert_eq!((run.sum("bulk_insert", "ok"), run.sum("read", "issued") > 0), (60, true));
        assert_eq!(run.record["server"]["url"], url);
        let connections: std::collections::BTreeSet<_> =
            proxy.exchanges().iter().map(|exchange| exchange.connection).collect();
        assert!(connections.len() >= 3, "{connections:?}");
    }
    assert_eq!(server.as_stand_in().unwrap().counters().documents_bulk, 120);
}

#[test]
fn a_certificate_that_is_not_trusted() {
    let server = Server::stand_in(Options::default());
    let (one, other) =
        (Authority::vouching_for("127.0.0.1"), Authority::vouching_for("elsewhere.example"));
    let run = |proxy: &Proxy, file: &PathBuf| {
        measure([
            "run",
            &proxy.url,
            "--docs",
            "5",
            "--ops",
            "0",
            "--tls-ca",
            file.to_str().unwrap(),
        ])
    };
    let words = ["cannot reach", "certificate"];
    // Issued by another authority than the one named.
    run(&Proxy::with_tls(&server.url, one.server.clone()), &other.file()).refused(3, &words);
    // Issued by the named authority, but for another server.
    run(&Proxy::with_tls(&server.url, other.server.clone()), &other.file()).refused(3, &words);
    // Issued by an authority that the system does not know.
    let proxy = Proxy::with_tls(&server.url, one.server.clone());
    let refused = measure(["run", &proxy.url, "--docs", "5", "--ops", "0"]);
    refused.refused(3, &["certificate"]);
    // https to a server that only speaks http.
    let plain = Proxy::to(&server.url);
    let url = plain.url.replace("http:", "https:");
    let file = one.file();
    let file = file.to_str().unwrap();
    measure(["run", &url, "--docs", "5", "--ops", "0", "--timeout", "1s", "--tls-ca", file])
        .refused(3, &["cannot reach"]);
    let none = one.folder.path().join("none.pem");
    run(&proxy, &none).refused(2, &["--tls-ca: cannot read certificates", "none.pem"]);
    // The request that finds out that a server speaks plain HTTP.
    assert_eq!(server.as_stand_in().unwrap().counters().requests, 1);
}

#[test]
fn the_certificate_of_an_authority_is_accepted_where_it_is_the_one_that_is_named() {
    let server = Server::stand_in(Options::default());
    let run = |authority: &Authority, file: &Path, host: &str| {
        let proxy = Proxy::with_tls(&server.url, authority.server.clone());
        let url = proxy.url.replace("127.0.0.1", host);
        let file = file.to_str().expect("UTF-8");
        measure(["run", &url, "--docs", "20", "--ops", "20", "-c", "2", "--tls-ca", file])
    };
    let (one, other) = (Authority::of_itself(|_| {}), Authority::of_itself(|_| {}));
    run(&one, &one.file(), "127.0.0.1").passed();
    // A different authority with the same name.
    run(&one, &other.file(), "127.0.0.1").refused(3, &["certificate is that of an authority"]);
    run(&one, &one.file(), "localhost").refused(3, &["its certificate is for 127.0.0.1"]);
    let expired = Authority::of_itself(|parameters| {
        parameters.not_before = rcgen::date_time_ymd(2020, 1, 1);
        parameters.not_after = rcgen::date_time_ymd(2020, 1, 2);
    });
    run(&expired, &expired.file(), "127.0.0.1").refused(3, &["its certificate has expired"]);
    let later = Authority::of_itself(|parameters| {
        parameters.not_before = rcgen::date_time_ymd(2090, 1, 1);
    });
    run(&later, &later.file(), "127.0.0.1").refused(3, &["not valid yet"]);
}

/// As of `openssl req -x509 -subj /CN=localhost`.
#[test]
fn a_certificate_that_is_named_may_have_its_name_in_the_subject() {
    let server = Server::stand_in(Options::default());
    let run = |authority: &Authority, host: &str| {
        let proxy = Proxy::with_tls(&server.url, authority.server.clone());
        let (url, file) = (proxy.url.replace("127.0.0.1", host), authority.file());
        let file = file.to_str().expect("UTF-8");
        measure(["run", &url, "--docs", "20", "--ops", "20", "-c", "2", "--tls-ca", file])
    };
    let called = |parameters: &mut CertificateParams, name: &str| {
        parameters.subject_alt_names.clear();
        parameters.distinguished_name.push(DnType::CommonName, name);
    };
    for name in ["localhost", "127.0.0.1"] {
        run(&Authority::of_itself(|it| called(it, name)), name).passed();
    }
    // Made with -addext basicConstraints=CA:FALSE.
    let plain = Authority::of_itself(|parameters| {
        called(parameters, "localhost");
        parameters.is_ca = IsCa::ExplicitNoCa;
    });
    run(&plain, "localhost").passed();
    let another = ["its certificate is for other.example", "use the name of the certificate"];
    let other = Authority::of_itself(|it| called(it, "other.example"));
    run(&other, "localhost").refused(3, &another);
    // The subject does not count beside a subjectAltName.
    let both = Authority::of_itself(|parameters| {
        parameters.distinguished_name.push(DnType::CommonName, "localhost");
    });
    run(&both, "localhost").refused(3, &["its certificate is for 127.0.0.1"]);
    // Nor does that of a certificate that is not in the file, but only signed by it.
    let signed = Authority::with("localhost", |parameters| {
        called(parameters, "localhost");
        parameters.is_ca = IsCa::ExplicitNoCa;
    });
    let without = ["has no subjectAltName", "-addext subjectAltName=DNS:localhost"];
    run(&signed, "localhost").refused(3, &without);
}

/// The address of a server that leaves each of its connections to a thread with `serve`.
fn serving(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let serve = serve.clone();
            thread::spawn(move || serve(client));
        }
    });
    address
}

/// Redis takes a handshake for the beginning of a command, and waits for the rest.
#[test]
fn a_server_that_does_not_answer_in_tls_is_told_from_one_that_is_slow() {
    let run = |scheme: &str, address: &str| {
        let url = format!("{scheme}://{address}");
        measure(["run", &url, "-k", "--timeout", "1s"])
    };
    let mute = serving(|mut client| {
        let _ = io::copy(&mut client, &mut io::sink());
    });
    let tls = Arc::new(Authority::vouching_for("127.0.0.1").server);
    let slow = serving(move |client| {
        let connection = ServerConnection::new(tls.clone()).expect("a connection");
        let _ = io::copy(&mut StreamOwned::new(connection, client), &mut io::sink());
    });
    thread::scope(|scope| {
        for plain in ["http", "redis", "cassandra", "hbase"] {
            let (mute, slow) = (&mute, &slow);
            scope.spawn(move || {
                let words = ["nothing there answers in TLS", &format!("write {plain}://{mute}")];
                run(&format!("{plain}s"), mute).refused(3, &words);
                let waited = run(&format!("{plain}s"), slow);
                assert_eq!(waited.code, 3, "{}", waited.stderr);
                assert!(!waited.stderr.contains("in TLS"), "{}", waited.stderr);
                assert!(waited.stderr.contains("no answer"), "{}", waited.stderr);
            });
        }
    });
}

#[test]
fn any_certificate_is_accepted_if_asked_for_and_every_report_says_so() {
    let server = Server::stand_in(Options::default());
    let authority = Authority::vouching_for("elsewhere.example");
    let proxy = Proxy::with_tls(&server.url, authority.server);
    let small = ["--docs", "20", "--ops", "20", "-c", "2"];
    let run = measure(["run", &proxy.url, "-k"].into_iter().chain(small)).passed();
    assert_eq!(run.record["plan"]["target"]["insecure"], true);
    let warned = run.record["warnings"].as_array().unwrap().iter();
    assert_eq!(warned.filter(|it| it["code"] == "insecure").count(), 1);
    for format in springload::formats() {
        // In a file, because an image does not go to a terminal.
        let file = run.output().join("report-of-it").display().to_string();
        let folder = run.output().display().to_string();
        let words = ["report", &folder, "--format", format, "--output", &file];
        let ended = crate::springload::springload(words);
        assert_eq!(ended.code, 0, "{format}: {}", ended.stderr);
        let report = std::fs::read(&file).expect("a report");
        let inside = String::from_utf8_lossy(&report).contains("INSECURE");
        // Tables of numbers have no place for it, and an image only draws it, so stderr has it.
        let beside = ["csv", "agents-csv", "png", "siege-json"].contains(&format);
        assert_eq!((inside, ended.stderr.contains("INSECURE")), (!beside, beside), "{format}");
    }
    let http = measure(["http", "-n4", "-c1", "-k", &proxy.url]).passed();
    assert!(http.report("text").stdout.contains("INSECURE"));
}

#[test]
fn headers_go_with_every_request_and_are_not_stored() {
    const VALUE: &str = "hush-hush";
    let admin = Some(("ann".to_owned(), "secret".to_owned()));
    let server = Server::stand_in(Options { admin, ..Options::default() });
    let bare = Arc::new(Mutex::new(Vec::new()));
    let seen = bare.clone();
    let answers = move |request: &Message| {
        let text = String::from_utf8_lossy(&request.raw).into_owned();
        let times = text.matches("X-Token: hush-hush\r\n").count();
        if times != 1 {
            seen.lock().expect("no panic").push(text);
        }
        None
    };
    let proxy = Proxy::with_answers(&server.url, Box::new(answers));
    let url = proxy.url.replace("http://", "http://ann:secret@");
    let header = format!("X-Token: {VALUE}");
    let flags = ["-H", &header, "--docs", "20", "--ops", "20", "-c", "2"];
    let run = measure(["run", &url].into_iter().chain(flags)).passed();
    assert!(proxy.exchanges().iter().any(|it| it.path == "/_session"));
    assert_eq!(*bare.lock().expect("no panic"), [""; 0]);
    assert_eq!(run.record["plan"]["target"]["headers"][0], "X-Token: ***");
    let agents = ["--agents", "2"];
    let shared = measure(["run", &url].into_iter().chain(flags).chain(agents)).passed();
    assert_eq!(*bare.lock().expect("no panic"), [""; 0]);
    let sweep = ["-L", "connections=1,2", "--ops", "20", "--docs", "20", "-H", &header];
    let swept = measure(["sweep", &url].into_iter().chain(sweep));
    assert_eq!(*bare.lock().expect("no panic"), [""; 0]);
    let dry = measure(["run", &url, "-H", &header, "--dry-run"]);
    for finished in [run, shared, swept, dry] {
        let everything = format!("{}{}{}", finished.record, finished.stdout, finished.stderr);
        assert!(!everything.contains(VALUE), "{everything}");
        for file in walk(&finished.output()) {
            let text = std::fs::read(&file).expect("a file");
            assert!(!String::from_utf8_lossy(&text).contains(VALUE), "{}", file.display());
        }
    }
}

/// All files below a folder.
fn walk(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn an_address_of_ipv6() {
    let Ok(listener) = bind("[::1]:0") else {
        skipped("IPv6", "this machine has no ::1");
        return;
    };
    let stand_in = StandIn::start(listener, Options::default()).expect("the stand-in starts");
    let url = stand_in.url();
    assert!(url.starts_with("http://[::1]:"), "{url}");
    let run = measure(["run", &url, "-c", "2", "--docs", "20", "--ops", "20"]).passed();
    assert_eq!(run.record["server"]["url"], url);
    assert_eq!(stand_in.counters().documents_bulk, 20);
}

#[test]
fn a_session_is_made_once_and_its_cookie_sent_by_every_connection() {
    let admin = Some(("ann".to_owned(), "secret".to_owned()));
    let server = Server::stand_in(Options { admin, ..Options::default() });
    let proxy = Proxy::to(&server.url);
    let url = proxy.url.replace("http://", "http://ann:secret@");
    measure(["run", &url, "-c", "6", "--docs", "60", "--ops", "60"]).passed();
    let exchanges = proxy.exchanges();
    let log_ins = exchanges.iter().filter(|e| e.path == "/_session").count();
    // Before the first stage and after the last, whatever the number of connections.
    assert_eq!(log_ins, 2);
    assert!(exchanges.iter().all(|exchange| exchange.status < 400), "nothing was refused");
}

/// The number of documents requested before the cookie expires.
const EXPIRES_AFTER: usize = 100;

const NOBODY: &[u8] = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 62\r\n\r\n\
    {\"error\":\"unauthorized\",\"reason\":\"You are not authorized.\"}\n\n\n";

/// Runs 1,000 operations on a server behind a relay, where the first cookie expires in mid-run.
/// `log_in` answers later logins, by their number; `None` leaves one to the server.
fn with_expired_cookie(
    log_in: impl Fn(usize) -> Option<&'static [u8]> + Send + Sync + 'static,
) -> (crate::springload::Finished, Proxy) {
    #[derive(Default)]
    struct State {
        documents: usize,
        cookie: String,
        log_ins: usize,
    }
    let admin = Some(("ann".to_owned(), "secret".to_owned()));
    let server = Server::stand_in(Options { admin, ..Options::default() });
    let state = Mutex::new(State::default());
    let answers = move |request: &Message| {
        let mut state = state.lock().expect("no panic");
        let (_, path) = request.words();
        let expired = state.documents > EXPIRES_AFTER;
        if path == "/_session" {
            state.log_ins += usize::from(expired);
            let answer = if expired { log_in(state.log_ins) } else { None };
            return answer.map(<[u8]>::to_vec);
        }
        let text = String::from_utf8_lossy(&request.raw).into_owned();
        let cookie = text.lines().find_map(|line| line.strip_prefix("Cookie: "))?;
        if state.cookie.is_empty() {
            cookie.clone_into(&mut state.cookie);
        }
        state.documents += usize::from(path.matches('/').count() == 2);
        (state.documents > EXPIRES_AFTER && cookie == state.cookie).then(|| NOBODY.to_vec())
    };
    let proxy = Proxy::with_answers(&server.url, Box::new(answers));
    let url = proxy.url.replace("http://", "http://ann:secret@");
    let run = measure(["run", &url, "-c", "2", "--docs", "60", "--ops", "1000"]);
    (run, proxy)
}

fn log_ins(proxy: &Proxy) -> Vec<u16> {
    let exchanges = proxy.exchanges();
    exchanges.iter().filter(|it| it.path == "/_session").map(|it| it.status).collect()
}

#[test]
fn a_cookie_that_expires_in_mid_run_is_renewed_once_for_all() {
    let (run, proxy) = with_expired_cookie(|_| None);
    let run = run.passed();
    for kind in ["create", "read", "update", "delete"] {
        assert_eq!(failures(&run.operation("crud", kind)), 0, "{kind}");
    }
    // Before the first stage, when the cookie had expired, and after the last stage.
    assert_eq!(log_ins(&proxy), [200; 3]);
}

#[test]
fn a_log_in_that_fails_in_passing_is_no_refusal() {
    const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
    let (run, proxy) = with_expired_cookie(|number| match number {
        1 => Some(BUSY),
        // The connection is closed, and closed once more when the request is sent again.
        2 | 3 => Some(b""),
        _ => None,
    });
    // 5: on a busy machine, the few milliseconds of both failures may be a large part of the stage.
    assert!([0, 5].contains(&run.code), "{}", run.stderr);
    let operations = run.stage("crud")["operations"].as_array().unwrap();
    let failed = |class: &str| -> u64 {
        operations.iter().filter_map(|operation| operation["failures"][class].as_u64()).sum()
    };
    // Connections that waited for the same login failed with it: one or both of the two.
    assert!((1..=2).contains(&failed("server_error")), "{operations:?}");
    assert!((1..=4).contains(&failed("reset")), "{operations:?}");
    let all: u64 = operations.iter().map(failures).sum();
    assert_eq!(all, failed("server_error") + failed("reset"));
    // The closed connections have no status.
    assert_eq!(log_ins(&proxy), [200, 503, 200, 200]);
}

#[test]
fn a_log_in_that_is_refused_in_mid_run_ends_it() {
    let (run, proxy) = with_expired_cookie(|_| Some(NOBODY));
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("refused the credentials"), "{}", run.stderr);
    // Only the end of the run tries again, because the server counts refusals.
    assert_eq!(log_ins(&proxy), [200, 401, 401]);
}

#[test]
fn a_user_is_given_by_a_flag_and_the_password_asked_for_on_a_terminal() {
    let admin = Some(("ann".to_owned(), "secret".to_owned()));
    let server = Server::stand_in(Options { admin, ..Options::default() });
    let small = ["--docs", "20", "--ops", "20", "-c", "2"];
    let run = measure(["run", &server.url, "-u", "ann:secret"].into_iter().chain(small)).passed();
    assert!(run.record["plan"]["command"].as_str().unwrap().contains("-u ann:***"));
    assert!(!run.record.to_string().contains("secret"));
    measure(["run", &server.url, "-u", ":x"]).refused(2, &["--user: the user is missing; give"]);
    measure(["run", "-u", "ann"]).refused(2, &["--user: there is no server"]);
    let folder = tempfile::tempdir().expect("a folder");
    // With the user in the address or in the flag.
    let named = server.url.replace("://", "://ann@");
    for target in [&[&server.url[..], "-u", "ann"][..], &[&named]] {
        let mut command = std::process::Command::new(crate::springload::BINARY);
        let words = [&["run"], target, &["-q", "--fail-if", "err > 0"], &small].concat();
        let mut pty = crate::pty::Pty::start(command.args(words).current_dir(folder.path()));
        pty.wait_for("password of ann at 127.0.0.1: ");
        // Input is hidden once the echo is switched off.
        std::thread::sleep(std::time::Duration::from_millis(200));
        pty.press("secret\n");
        let code = pty.finish().code();
        assert!(matches!(code, Some(0 | 4 | 5)), "{code:?}: {}", pty.shown());
        assert!(!pty.shown().contains("secret"), "{}", pty.shown());
    }
}
