//! The command line as the record saves it: without secrets.

use crate::driver::{strike_observed, strike_secrets};
pub(super) use crate::mistake::strike_password;
use crate::plan;
use crate::redact;
use std::ffi::OsString;

/// Flags whose values are shell commands.
const COMMANDS: [&str; 4] = ["--stop", "--start", "--before-a", "--before-b"];

/// Flags whose values are URLs of exporters or of metrics receivers.
const OBSERVED: [&str; 3] = ["--observe-url", "--otlp", "--remote-write"];

/// The arguments as one line, with the secrets in them redacted, which are known from now on.
pub(super) fn command_line(arguments: &[OsString]) -> String {
    let words: Vec<_> = arguments.iter().map(|it| it.to_string_lossy()).collect();
    for pair in words.windows(2) {
        learn(&pair[0], &pair[1]);
    }
    let struck = words
        .windows(2)
        .map(|pair| redact::strike(&without_secrets_after(&pair[0], &pair[1])).into_owned());
    plan::command_line(std::iter::once("springload".to_owned()).chain(struck))
}

/// Learns the secrets in a word of the command line, which follows the word `before`.
fn learn(before: &str, word: &str) {
    let header = match before {
        "-H" | "--header" | "--push-header" => Some(word),
        _ => ["--header=", "--push-header=", "-H=", "-H"]
            .iter()
            .find_map(|flag| word.strip_prefix(flag)),
    };
    if let Some(header) = header {
        return redact::learn_header(header);
    }
    // The path of a file with a secret is not secret.
    let is_file = |flag: &str| flag.starts_with("--") && flag.ends_with("-file");
    if word.split('=').next().is_some_and(is_file) {
        return;
    }
    let list = if before == "--data" { Some(word) } else { word.strip_prefix("--data=") };
    list.into_iter().for_each(plan::learn_list);
    redact::learn_text(word);
    let struck = without_secrets_after(before, word);
    for secret in hidden(word, &struck) {
        redact::learn(secret);
    }
}

/// The parts of `text` that are replaced by `***` in `struck`.
fn hidden<'t>(text: &'t str, struck: &str) -> Vec<&'t str> {
    let mut pieces = struck.split(redact::STRUCK);
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return Vec::new() };
    let (mut found, mut pieces) = (Vec::new(), pieces.peekable());
    while let Some(piece) = pieces.next() {
        let last = pieces.peek().is_none();
        let at = if last { rest.rfind(piece) } else { rest.find(piece) };
        let Some(at) = at else { break };
        let at = if last && piece.is_empty() { rest.len() } else { at };
        found.push(&rest[..at]);
        rest = &rest[at + piece.len()..];
    }
    found
}

/// A word of the command line without its secrets; it follows the word `before`.
pub(super) fn without_secrets_after(before: &str, word: &str) -> String {
    match before {
        "-H" | "--header" | "--push-header" => plan::mask(word),
        "-u" | "--user" => strike_user(word),
        flag if OBSERVED.contains(&flag) => strike_observed(word),
        flag if COMMANDS.contains(&flag) => plan::strike_command(word),
        _ => without_secrets(word),
    }
}

/// `user:secret` without the secret.
fn strike_user(word: &str) -> String {
    word.split_once(':').map_or_else(|| word.to_owned(), |(user, _)| format!("{user}:***"))
}

/// A word of the command line without its secrets.
pub(super) fn without_secrets(word: &str) -> String {
    if let Some((flag, command)) = word.split_once('=').filter(|it| COMMANDS.contains(&it.0)) {
        return format!("{flag}={}", plan::strike_command(command));
    }
    if let Some((flag, url)) = word.split_once('=').filter(|it| OBSERVED.contains(&it.0)) {
        return format!("{flag}={}", strike_observed(url));
    }
    strike_header(&strike_property(&strike_password(&strike_query(&strike_settings(word)))))
}

/// `jdbc.passwd=secret`, or an address with such settings, without their values.
fn strike_settings(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let secret = |name: &str| name.chars().all(plain) && redact::is_secret_parameter(name);
    let setting = word.split_once('=').is_some_and(|(name, _)| secret(name));
    let address = word.starts_with("ycsb-java:");
    if setting || address { strike_secrets(word) } else { word.to_owned() }
}

/// The address of a page, without the values of secret parameters.
fn strike_query(word: &str) -> String {
    let Some((page, query)) = word.split_once('?').filter(|it| it.0.contains('/')) else {
        return word.to_owned();
    };
    let (query, rest) = query.split_at(query.find([' ', '#']).unwrap_or(query.len()));
    let pair = |pair: &str| match pair.split_once('=') {
        Some((name, _)) if redact::is_secret_parameter(name) => {
            format!("{name}={}", redact::STRUCK)
        }
        _ => pair.to_owned(),
    };
    let pairs: Vec<_> = query.split('&').map(pair).collect();
    format!("{page}?{}{rest}", pairs.join("&"))
}

/// `-HCookie:secret` and `-uann:secret`, in any spelling of the flag, without the secret; also a
/// header without a flag, if it is known to be secret.
fn strike_header(word: &str) -> String {
    for flag in ["--header=", "--push-header=", "-H=", "-H", "--user=", "-u=", "-u"] {
        if let Some(rest) = word.strip_prefix(flag).filter(|rest| !rest.is_empty()) {
            let user = flag.trim_start_matches('-').starts_with('u');
            let struck = if user { strike_user(rest) } else { plan::mask(rest) };
            return format!("{flag}{struck}");
        }
    }
    plan::strike_secret(word)
}

/// YCSB's property `headers=Cookie secret`, without its value if a header in it is secret; and a
/// property whose name ends in `password`, without its value.
fn strike_property(word: &str) -> String {
    if let Some((name, _)) = word.split_once('=').filter(|(name, _)| name.ends_with("password")) {
        return format!("{name}=***");
    }
    let Some(value) = word.strip_prefix("headers=") else { return word.to_owned() };
    let mut names = value.split_whitespace().step_by(2);
    let secret = names.any(|name| plan::strike_secret(name) != name);
    if secret { "headers=***".to_owned() } else { word.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_follows_its_flag_is_struck_out() {
        let line =
            |words: &[&str]| command_line(&words.iter().map(OsString::from).collect::<Vec<_>>());
        let words = ["springload", "run", "-H", "X-Token: a", "-u", "ann:b", "h:1", "-k"];
        assert_eq!(line(&words), "springload run -H 'X-Token: ***' -u ann:*** h:1 -k");
        assert_eq!(line(&["springload", "run", "--header", "a"]), "springload run --header ***");
        let words =
            ["springload", "run", "--otlp", "http://h?k=b", "--push-header=X-Key: a", "h:1"];
        let struck = "springload run --otlp 'http://h?k=***' --push-header='X-Key: ***' h:1";
        assert_eq!(line(&words), struck);
        let words =
            ["springload", "drill", "--stop", "curl -u a:s3cret h", "--start=x -u a:s3cret"];
        let struck = "springload drill --stop 'curl -u *** h' --start='x -u ***'";
        assert_eq!(line(&words), struck);
        let words = ["springload", "run", "--observe-url", "a=http://h?k=b", "--observe-url=c=h?d"];
        let struck = "springload run --observe-url 'a=http://h?k=***' --observe-url='c=h?***'";
        assert_eq!(line(&words), struck);
    }

    #[test]
    fn what_is_struck_out_is_known() {
        assert_eq!(hidden("curl -u ann:b h", "curl -u *** h"), ["ann:b"]);
        assert_eq!(hidden("http://a:b@h:c@i", "http://a:***@h:***@i"), ["b", "c"]);
        assert_eq!(hidden("--x=abc", "--x=***"), ["abc"]);
        assert!(hidden("abc", "abc").is_empty());
        let words = ["springload", "ab", "--before-a", "x --password by-name-9 y by-name-9"];
        let words: Vec<_> = words.iter().map(OsString::from).collect();
        assert_eq!(command_line(&words), "springload ab --before-a 'x --password *** y ***'");
    }

    #[test]
    fn the_values_of_a_list_with_a_secret_name_are_known() {
        let lists =
            ["--data", "sig=list-one-9, list-two-9", "--data=pwd={\"one-of\":[\"list-3-x\"]}"];
        let plain =
            ["--data", "city=list-plain-9,b", "--data", "token={\"csv\": \"list-file.csv\"}"];
        let words = ["springload", "http"].into_iter().chain(lists).chain(plain);
        let line = command_line(&words.map(OsString::from).collect::<Vec<_>>());
        assert!(line.contains("city=list-plain-9,b"), "{line}");
        for value in ["list-one-9", "list-two-9", "list-3-x"] {
            assert_eq!(redact::strike(value), "***");
            assert!(!line.contains(value), "{line}");
        }
        assert_eq!(redact::strike("list-plain-9"), "list-plain-9");
    }

    #[test]
    fn secrets_are_struck_out_of_the_command() {
        for (word, struck) in [
            ("http://me:secret@h/x", "http://me:***@h/x"),
            ("me:secret@h:80/x PUT {\"a\":\"b@c\"}", "me:***@h:80/x PUT {\"a\":\"b@c\"}"),
            ("http://h PUT {\"a\":\"b@c\"}", "http://h PUT {\"a\":\"b@c\"}"),
            ("Cookie: a=b", "Cookie: ***"),
            ("-Hauthorization: Basic x", "-Hauthorization: ***"),
            ("--header=Authorization:x", "--header=Authorization: ***"),
            ("-HX-Token: x", "-HX-Token: ***"),
            ("--header=secret", "--header=***"),
            ("--user=ann:secret", "--user=ann:***"),
            ("-uann:a:b", "-uann:***"),
            ("-uann", "-uann"),
            ("Accept: text/html", "Accept: text/html"),
            ("headers=Accept */* authorization x", "headers=***"),
            ("headers=Accept */*", "headers=Accept */*"),
            ("redis.cpassword=a=b", "redis.cpassword=***"),
            ("mongodb.url=mongodb://ann:pw@h/ycsb", "mongodb.url=mongodb://ann:***@h/ycsb"),
            ("-pjdbc.passwd=a&b", "-pjdbc.passwd=***&b"),
            ("ycsb-java:a.B?cp=/l&x.password=y&z=1", "ycsb-java:a.B?cp=/l&x.password=***&z=1"),
            ("http://h/?a=1&token=x", "http://h/?a=1&token=***"),
            ("http://h/?x-api-key=x#y PUT {}", "http://h/?x-api-key=***#y PUT {}"),
            ("http://h/?key=x", "http://h/?key=x"),
            ("http://h/?sig=x&JWT=y&auth=z", "http://h/?sig=***&JWT=***&auth=***"),
            ("http://h/?code=x&design=y&author=z", "http://h/?code=x&design=y&author=z"),
            ("--auth=cookie", "--auth=cookie"),
            ("token=a,b", "token=***"),
            ("city=a,b", "city=a,b"),
            ("read.p99 > 20ms", "read.p99 > 20ms"),
        ] {
            assert_eq!(without_secrets(word), struck);
        }
    }
}
