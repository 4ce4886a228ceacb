//! The command line as the record keeps it: without secrets.

use crate::driver::{is_secret, strike_secrets};
pub(super) use crate::mistake::strike_password;
use crate::plan;
use std::ffi::OsString;

/// Flags whose values are shell commands.
const COMMANDS: [&str; 4] = ["--stop", "--start", "--before-a", "--before-b"];

/// The arguments as one line, with passwords in URLs masked.
pub(super) fn command_line(arguments: &[OsString]) -> String {
    let words = arguments.iter().skip(1).enumerate().map(|(place, argument)| {
        without_secrets_after(&arguments[place].to_string_lossy(), &argument.to_string_lossy())
    });
    plan::command_line(std::iter::once("springload".to_owned()).chain(words))
}

/// A word of the command line without its secrets, after the word `before`.
pub(super) fn without_secrets_after(before: &str, word: &str) -> String {
    match before {
        "-H" | "--header" => plan::mask(word),
        "-u" | "--user" => strike_user(word),
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
    strike_header(&strike_property(&strike_password(&strike_settings(word))))
}

/// `jdbc.passwd=secret`, or an address with such settings, without their values.
fn strike_settings(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let secret = |name: &str| name.chars().all(plain) && is_secret(name);
    let setting = word.split_once('=').is_some_and(|(name, _)| secret(name));
    let address = word.starts_with("ycsb-java:");
    if setting || address { strike_secrets(word) } else { word.to_owned() }
}

/// `-HCookie:secret` and `-uann:secret`, in any spelling with the flag, without the secret; and a
/// header alone, if it is one that is known to be secret.
fn strike_header(word: &str) -> String {
    for flag in ["--header=", "-H=", "-H", "--user=", "-u=", "-u"] {
        if let Some(rest) = word.strip_prefix(flag).filter(|rest| !rest.is_empty()) {
            let user = flag.contains('u');
            let struck = if user { strike_user(rest) } else { plan::mask(rest) };
            return format!("{flag}{struck}");
        }
    }
    plan::strike_secret(word)
}

/// YCSB's property `headers=Cookie secret`, without its value if one is secret; a property whose
/// name ends in `password`, without its value.
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
            ["springload", "drill", "--stop", "curl -u a:s3cret h", "--start=x -u a:s3cret"];
        let struck = "springload drill --stop 'curl -u *** h' --start='x -u ***'";
        assert_eq!(line(&words), struck);
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
            ("http://h/?token=x", "http://h/?token=x"),
            ("read.p99 > 20ms", "read.p99 > 20ms"),
        ] {
            assert_eq!(without_secrets(word), struck);
        }
    }
}
