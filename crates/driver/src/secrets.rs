//! Passwords in settings that springload does not interpret, such as the properties of a binding.

use crate::mistake::strike_password;
use std::cell::Cell;

thread_local! {
    static REVEALED: Cell<bool> = const { Cell::new(false) };
    static COMPLETE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` with plans serialised including their passwords: for the agents of a run, never for
/// a record.
pub fn with_secrets<T>(work: impl FnOnce() -> T) -> T {
    let before = REVEALED.replace(true);
    let result = work();
    REVEALED.set(before);
    result
}

/// Runs `work` with plans serialised including the bodies of requests, so that they can be run
/// elsewhere; records leave them out.
pub fn with_bodies<T>(work: impl FnOnce() -> T) -> T {
    let before = COMPLETE.replace(true);
    let result = work();
    COMPLETE.set(before);
    result
}

/// Runs `work` with bodies left out in any case.
pub(super) fn without_bodies<T>(work: impl FnOnce() -> T) -> T {
    let before = COMPLETE.replace(false);
    let result = work();
    COMPLETE.set(before);
    result
}

/// Whether bodies of requests are left out of what is serialised.
pub(super) fn bodies_are_hidden() -> bool {
    !COMPLETE.get()
}

/// Whether a secret is left out when serialising: everywhere except in [`with_secrets`].
pub(super) fn is_hidden<T: ?Sized>(_: &T) -> bool {
    !REVEALED.get()
}

/// Parts of the names of settings that are kept secret.
const SECRET: [&str; 6] = ["pass", "pwd", "secret", "token", "credential", "accesskey"];

/// Whether a setting with this name may be secret.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['_', '-', '.'], "");
    SECRET.iter().any(|part| name.contains(part))
}

/// `text` without anything that may be secret: the password of a URL, and values of settings, such
/// as `url?password=value`.
pub fn strike_secrets(text: &str) -> String {
    let mut out = String::new();
    for part in strike_password(text).split_inclusive(['?', '&', ';', ' ']) {
        let (pair, end) = match part.char_indices().next_back() {
            Some((at, '?' | '&' | ';' | ' ')) => part.split_at(at),
            _ => (part, ""),
        };
        match pair.split_once('=') {
            Some((name, _)) if is_secret(name) => out.extend([name, "=***"]),
            _ => out.push_str(&strike_password(pair)),
        }
        out.push_str(end);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_struck_out_wherever_they_are() {
        for (text, struck) in [
            ("", ""),
            ("http://a:b c@h/?x=1", "http://a:***@h/?x=1"),
            ("http://a:b?c@h/?x=1", "http://a:***@h/?x=1"),
            ("jdbc.passwd=a=b", "jdbc.passwd=***"),
            ("jdbc:mysql://h/d?user=a&password=b&x=c", "jdbc:mysql://h/d?user=a&password=***&x=c"),
            ("jdbc:sqlserver://h;passWord=b;x=c", "jdbc:sqlserver://h;passWord=***;x=c"),
            ("mongodb.url=mongodb://a:b:c@h1,h2/d@e", "mongodb.url=mongodb://a:***@h1,h2/d@e"),
            ("cp=/a:/b/*&hosts=a@b", "cp=/a:/b/*&hosts=a@b"),
            ("table=t&aws.secretKey=x y", "table=t&aws.secretKey=*** y"),
        ] {
            assert_eq!(strike_secrets(text), struck);
        }
        assert!(is_secret("s3.accessKey") && is_secret("AUTH_TOKEN") && !is_secret("keyspace"));
    }
}
