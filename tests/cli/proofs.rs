//! Credentials other than passwords: a certificate, a token, a secret shared with proxies.

use crate::proxy::{Answers, Message, Proxy};
use crate::servers::Server;
use crate::springload::{Finished, Run};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use springload::embedded::Options;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig, crypto};

const SECRET: &str = "hush.hush_1";
const SMALL: [&str; 6] = ["--docs", "4", "--ops", "4", "-c", "1"];

const NOBODY: &[u8] = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 43\r\n\r\n\
    {\"error\":\"unauthorized\",\"reason\":\"nobody\"}\n";

/// A certificate and its key, as files `NAME.pem` and `NAME.key`.
fn written(folder: &Path, name: &str, certificate: &str, key: &KeyPair) -> (String, String) {
    let file = |end: &str, text: &str| {
        let file = folder.join(format!("{name}.{end}"));
        fs::write(&file, text).expect("a file");
        file.display().to_string()
    };
    (file("pem", certificate), file("key", &key.serialize_pem()))
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut parameters = CertificateParams::new(Vec::new()).expect("no names");
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(parameters, KeyPair::generate().expect("a key"))
        .expect("a certificate")
}

/// TLS for a server with a self-signed certificate.
fn self_signed(folder: &Path, clients: Option<&CertificateDer<'static>>) -> (ServerConfig, String) {
    let key = KeyPair::generate().expect("a key");
    let parameters = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("a name");
    let certificate = parameters.self_signed(&key).expect("a certificate");
    let (file, _) = written(folder, "server", &certificate.pem(), &key);
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let provider = Arc::new(crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .expect("versions");
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            roots.add(authority.clone()).expect("an authority");
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.expect("a verifier"))
        }
    };
    let server = builder.with_single_cert(vec![certificate.der().clone()], key);
    (server.expect("a certificate"), file)
}

#[test]
fn a_self_signed_certificate_is_its_own_authority() {
    let server = Server::stand_in(Options::default());
    let folder = tempfile::tempdir().expect("a folder");
    let (tls, file) = self_signed(folder.path(), None);
    let proxy = Proxy::with_tls(&server.url, tls);
    let run = |more: &[&str]| Run::of(&[&["run", &proxy.url], &SMALL[..], more].concat()).finish();
    run(&["--tls-ca", &file]).passed();
    run(&[]).refused(3, &["certificate"]);
}

#[test]
fn a_server_that_wants_a_certificate_is_shown_one() {
    let server = Server::stand_in(Options::default());
    let folder = tempfile::tempdir().expect("a folder");
    let (good, bad) = (authority(), authority());
    let client = |name: &str, issuer: &CertifiedIssuer<'_, KeyPair>| {
        let key = KeyPair::generate().expect("a key");
        let parameters = CertificateParams::new(vec!["ann".to_owned()]).expect("a name");
        let certificate = parameters.signed_by(&key, issuer).expect("a certificate");
        written(folder.path(), name, &certificate.pem(), &key)
    };
    let (tls, ca) = self_signed(folder.path(), Some(good.der()));
    let proxy = Proxy::with_tls(&server.url, tls);
    let (ours, key) = client("ours", &good);
    let (others, other_key) = client("others", &bad);
    let verb = |words: &[&str], more: &[&str]| {
        let words = [words, &["--tls-ca", &ca], more].concat();
        if words[0] == "run" { Run::of(&words) } else { Run::bare(&words) }.finish()
    };
    let run = [&["run", &proxy.url][..], &SMALL].concat();
    let own = ["--tls-cert", &ours, "--tls-key", &key];
    let ended = verb(&run, &own).passed();
    let stored = &ended.record["plan"]["target"]["tls_identity"];
    assert_eq!(stored["certificate"], ours.as_str());
    assert_eq!(stored["key"], key.as_str());
    let private = fs::read_to_string(&key).expect("a key");
    let body = private.lines().nth(1).expect("its first line");
    assert!(!ended.record.to_string().contains(body));
    verb(&["run", "--agents", "1", &proxy.url, "--docs", "4", "--ops", "4", "-c", "1"], &own)
        .passed();
    for words in [&["http", &proxy.url, "-n2", "-c1"][..], &["clean", &proxy.url, "--yes"]] {
        let ended = verb(words, &own);
        assert!(matches!(ended.code, 0 | 5), "{}", ended.stderr);
        assert_eq!(verb(words, &[]).code, 3);
    }
    // No certificate, and one of another authority.
    let (flags, others) =
        ("--tls-cert FILE and --tls-key FILE", ["--tls-cert", &others, "--tls-key", &other_key]);
    for scheme in ["https", "rediss", "cassandras"] {
        let url = proxy.url.replace("https", scheme);
        let run = [&["run", &url][..], &SMALL].concat();
        let wanted = ["cannot reach", "it wants a client certificate; give one", flags];
        verb(&run, &[]).refused(3, &wanted);
        verb(&run, &others).refused(3, &["it does not accept the client certificate", flags]);
    }
    // A server that accepts it and does not speak the protocol.
    let redis = proxy.url.replace("https", "rediss");
    let stranger = verb(&[&["run", &redis][..], &SMALL].concat(), &own);
    stranger.refused(3, &["does not speak Redis's protocol"]);
    // Not a pair, or not files.
    let own = &ours[..];
    let mixed = verb(&run, &["--tls-cert", own, "--tls-key", &other_key]);
    let pair =
        format!("--tls-key: the key in {other_key} does not belong to the certificate in {own}");
    mixed.refused(2, &[&pair, "give the key of this certificate with --tls-key"]);
    let keyless = verb(&run, &["--tls-cert", own, "--tls-key", own]);
    keyless.refused(2, &["--tls-key: ", own, "it has no unencrypted key; give a PEM file"]);
    let torn = folder.path().join("torn.key").display().to_string();
    fs::write(&torn, &private[..private.len() / 2]).expect("a file");
    let torn = verb(&run, &["--tls-cert", own, "--tls-key", &torn]);
    torn.refused(2, &["--tls-key: ", "torn.key: it is not PEM that can be read"]);
    let none = ["--tls-cert: ", "no certificate"];
    verb(&run, &["--tls-cert", "/dev/null", "--tls-key", &key]).refused(2, &none);
    verb(&run, &["--tls-cert", own]).refused(2, &["--tls-key"]);
    let plain = [&["run", &server.url][..], &SMALL, &["--tls-cert", own, "--tls-key", &key]];
    Run::of(&plain.concat()).finish().refused(2, &["--tls-cert: the target does not use TLS"]);
}

#[test]
fn no_certificate_is_shown_along_a_redirect() {
    let server = Server::stand_in(Options::default());
    let (here, there) =
        (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let authority = authority();
    let key = KeyPair::generate().expect("a key");
    let parameters = CertificateParams::new(vec!["ann".to_owned()]).expect("a name");
    let certificate = parameters.signed_by(&key, &authority).expect("a certificate");
    let (own, key) = written(here.path(), "own", &certificate.pem(), &key);
    let (tls, there_ca) = self_signed(there.path(), Some(authority.der()));
    let answer =
        |more: &str| format!("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n{more}\r\n").into_bytes();
    let stranger = Proxy::with_both(&server.url, tls, Box::new(move |_| Some(answer(""))));
    let (tls, here_ca) = self_signed(here.path(), None);
    let more = format!("Location: {}/\r\n", stranger.url);
    let named = Proxy::with_both(&server.url, tls, Box::new(move |_| Some(answer(&more))));
    let both = here.path().join("both.pem");
    let pems = [here_ca, there_ca].map(|file| fs::read_to_string(file).expect("a file"));
    fs::write(&both, pems.concat()).expect("a file");
    let both = both.display().to_string();
    let tls = ["--tls-ca", &both, "--tls-cert", &own, "--tls-key", &key];
    let asked = |proxy: &Proxy, times| {
        let words = [&["http", &proxy.url, "-n2", "-c1"][..], &tls].concat();
        let ended = Run::of(&words).finish();
        assert_eq!(ended.sum("request", "ok"), times, "{}", ended.stderr);
    };
    asked(&named, 0);
    assert!(!named.exchanges().is_empty() && stranger.exchanges().is_empty());
    // Once the server is named, the certificate is shown.
    asked(&stranger, 2);
}

/// A CouchDB that only accepts requests with all of these lines, and the requests that it received.
fn wanting(lines: &[&str]) -> (Proxy, Arc<Mutex<Vec<String>>>, Server) {
    let server = Server::stand_in(Options::default());
    let seen = Arc::<Mutex<Vec<String>>>::default();
    let (notes, lines) = (seen.clone(), lines.iter().map(|it| format!("\r\n{it}\r\n")));
    let lines: Vec<String> = lines.collect();
    let answers: Answers = Box::new(move |request: &Message| {
        let text = String::from_utf8_lossy(&request.raw).into_owned();
        let known = lines.iter().all(|line| text.matches(line).count() == 1);
        notes.lock().expect("no panic").push(text);
        (!known).then(|| NOBODY.to_vec())
    });
    (Proxy::with_answers(&server.url, answers), seen, server)
}

/// Asserts that neither the secrets nor anything derived from them is printed or saved.
#[track_caller]
fn discreet(ended: Finished, secrets: &[&str]) -> Finished {
    let ended = ended.passed();
    let mut texts = vec![ended.stdout.clone(), ended.stderr.clone(), ended.record.to_string()];
    for format in ["text", "json", "html", "junit", "openmetrics"] {
        texts.push(ended.report(format).stdout);
    }
    for secret in secrets {
        assert!(!texts.iter().any(|text| text.contains(secret)), "{texts:?}");
    }
    ended
}

#[test]
fn a_token_goes_with_every_request() {
    let (proxy, _, _behind) = wanting(&[&format!("Authorization: Bearer {SECRET}")]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("token");
    fs::write(&file, format!("{SECRET}\n")).expect("a file");
    let file = file.display().to_string();
    let run = [&["run", &proxy.url][..], &SMALL].concat();
    let flag = ["--bearer-file", &file[..]];
    let token = [("SPRINGLOAD_TOKEN", SECRET)];
    let ended = discreet(Run::of(&[&run[..], &flag].concat()).finish(), &[SECRET]);
    assert_eq!(ended.record["plan"]["target"]["headers"][0], "Authorization: ***");
    discreet(Run::of(&run).envs(token).finish(), &[SECRET]);
    discreet(Run::of(&run).envs(token).args(&["--agents", "1"]).finish(), &[SECRET]);
    discreet(Run::of(&["burst", &proxy.url, "-c1", "-d", "100ms"]).envs(token).finish(), &[SECRET]);
    let http = ["http", &proxy.url, "-n2", "-c1"];
    discreet(Run::of(&[&http[..], &flag].concat()).finish(), &[SECRET]);
    let sweep = ["sweep", &proxy.url, "-L", "connections=1,2", "--docs", "4", "--ops", "0"];
    let swept = Run::of(&[&sweep[..], &flag].concat()).finish();
    assert!(matches!(swept.code, 0 | 5), "{}", swept.stderr);
    assert_eq!(Run::bare(&["clean", &proxy.url, "--yes"]).envs(token).finish().code, 0);
    let shell = Run::bare(&[&["shell", &proxy.url][..], &flag].concat()).stdin("insert k a=b\n");
    let shell = shell.finish();
    assert!(shell.stdout.starts_with("Result: OK"), "{}{}", shell.stdout, shell.stderr);
    // A stored plan needs the token again.
    let record = ended.output().join("run.json").display().to_string();
    discreet(Run::of(&[&["run", &record][..], &flag].concat()).finish(), &[SECRET]);
    Run::of(&["run", &record]).finish().refused(2, &["the values of headers are not stored"]);
    // Without a token, or with a wrong one, access is denied, and the message does not show it.
    Run::of(&run).finish().refused(3, &["nobody"]);
    let other = Run::of(&run).envs([("SPRINGLOAD_TOKEN", "an0ther")]).finish();
    assert!(!other.refused(3, &["check the header Authorization"]).stderr.contains("an0ther"));
    // It is for one server, and excludes a user.
    let two = [&http[..], &flag, &["http://127.0.0.1:1/"]].concat();
    Run::of(&two).finish().refused(2, &["--bearer-file: the URLs name several servers"]);
    let named = proxy.url.replace("://", "://ann:x@");
    let both = [&["run", &named][..], &flag].concat();
    Run::of(&both).finish().refused(2, &["--bearer-file: a user with a password is also given"]);
    Run::of(&["run", "line:127.0.0.1:1", "--bearer-file", &file]).finish().refused(2, &[]);
    Run::of(&["run", "--bearer-file", &file]).finish().refused(2, &["there is no server"]);
}

#[test]
fn a_proxy_of_couchdb_tells_who_asks() {
    // The HMAC of "ann" under the secret, computed by another program.
    let (sha256, sha1) = (
        "X-Auth-CouchDB-Token: f58ff0b0c4545c10e242df3c4b4408af3cb24df0f9f202f95df3be8bb7db216e",
        "X-Auth-CouchDB-Token: 3d5ec10700a0eb5523c072bf4db9af5f0d9bd47c",
    );
    for (how, token, roles) in
        [("proxy", sha256, None), ("proxy-sha1", sha1, None), ("proxy", sha256, Some("_admin,x"))]
    {
        let claimed = format!("X-Auth-CouchDB-Roles: {}", roles.unwrap_or("_admin"));
        let (proxy, seen, _behind) = wanting(&["X-Auth-CouchDB-UserName: ann", &claimed, token]);
        let target = proxy.url.replace("://", "://ann@");
        let roles = roles.map_or(vec![], |roles| vec!["--roles", roles]);
        let run = [&["run", &target, "--auth", how][..], &SMALL, &roles].concat();
        let secret = [("SPRINGLOAD_PASSWORD", SECRET)];
        let made = token.rsplit(' ').next().expect("a token");
        let ended = discreet(Run::of(&run).envs(secret).finish(), &[SECRET, made]);
        assert_eq!(ended.record["plan"]["target"]["user"], "ann");
        discreet(Run::of(&run).envs(secret).args(&["--agents", "1"]).finish(), &[SECRET, made]);
        assert!(seen.lock().expect("no panic").iter().all(|it| !it.contains(SECRET)));
        let wrong = Run::of(&run).envs([("SPRINGLOAD_PASSWORD", "an0ther")]).finish();
        wrong.refused(3, &["nobody", "proxy_authentication_handler"]);
    }
    let ann = "http://ann:x@127.0.0.1:1";
    for (words, message) in [
        (&["run", "http://127.0.0.1:1", "--auth", "proxy"][..], "--auth: proxy, but there is no"),
        (&["run", ann, "--roles", "a"], "--roles: only proxy authentication"),
        (&["run", ann, "--auth", "proxy", "--roles", "a b"], "--roles: not a list"),
        (&["run", ann, "--auth", "proxy", "--roles", "a\r\nX: y"], "--roles: not a list"),
        (&["run", "http://a%0Db:x@127.0.0.1:1", "--auth", "proxy"], "cannot be sent in a header"),
    ] {
        Run::of(words).finish().refused(2, &[message]);
    }
}
