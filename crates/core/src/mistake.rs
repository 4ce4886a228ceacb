//! Mistakes in the user's input, as reported: which flag, what is wrong, how to fix it.

use crate::op::plain;
use crate::redact::strike;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

/// A mistake in the user's input: which flag, what is wrong, how to fix it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invalid {
    flag: String,
    problem: String,
    cure: String,
}

impl Invalid {
    /// A mistake in `flag`. Passwords of addresses in `problem` and known secrets are struck out.
    pub fn new(
        flag: impl Into<String>,
        problem: impl Into<String>,
        cure: impl Into<String>,
    ) -> Self {
        let problem = strike_passwords(&strike(&problem.into()));
        Self { flag: flag.into(), problem, cure: cure.into() }
    }
}

impl Invalid {
    /// The flag.
    pub fn flag(&self) -> &str {
        &self.flag
    }

    /// The same mistake, under another name for the flag.
    pub fn under(self, flag: &str) -> Self {
        Self { flag: flag.to_owned(), ..self }
    }

    /// The same mistake in a file: `place` is the file and line, `key` the key that corresponds to
    /// the flag.
    pub fn within(self, place: &str, key: &str) -> Self {
        Self { flag: format!("{place}: {key}"), ..self }
    }
}

/// A value that cannot be read: what is wrong, how to fix it. Only who asked for it knows the flag.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {cure}")]
pub struct BadValue {
    /// What is wrong.
    pub problem: String,
    /// How to fix it.
    pub cure: String,
}

impl BadValue {
    /// A value with this problem and this cure.
    pub fn new(problem: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { problem: problem.into(), cure: cure.into() }
    }
}

impl std::error::Error for Invalid {}

/// Lets `?` turn one mistake into a list.
impl From<Invalid> for Vec<Invalid> {
    fn from(mistake: Invalid) -> Self {
        vec![mistake]
    }
}

/// `text` with the passwords removed from the addresses in it, which may stand alone or be quoted.
pub fn strike_passwords(text: &str) -> String {
    if !text.contains('@') && !text.contains("%40") {
        return text.to_owned();
    }
    let quoted: Vec<String> = text.split('"').map(strike_password).collect();
    quoted.join("\"")
}

/// An address without its password, `http://user:***@host`, however malformed: with or without a
/// scheme, with too few or too many slashes, with spaces, or with a password that should have been
/// encoded. If it is unclear which part is the password, too much is struck out.
pub fn strike_password(address: &str) -> String {
    let without = |text: &str, place: Range<usize>| {
        format!("{}***{}", &text[..place.start], &text[place.end..])
    };
    let struck = match password_of(address) {
        Some(place) => {
            // Another address may follow.
            let next = address[place.end..].find(char::is_whitespace).map(|at| place.end + at);
            let (one, rest) = address.split_at(next.unwrap_or(address.len()));
            let rest = if rest.is_empty() { String::new() } else { strike_password(rest) };
            without(one, place) + &rest
        }
        None => address.to_owned(),
    };
    match odd_port(&struck) {
        Some(place) => without(&struck, place),
        None => struck,
    }
}

/// Text after a host that should be a port but is not: perhaps a misplaced password.
fn odd_port(address: &str) -> Option<Range<usize>> {
    let at = address.rfind('@')?;
    let is_address = |c: char| !c.is_whitespace() && !matches!(c, '"' | '{' | '[' | '/');
    let from = after_scheme(&address[..at]);
    let rest = &address[at + 1..];
    let host = &rest[..rest.find(['/', '?', '#', '"', ' ', '\t']).unwrap_or(rest.len())];
    let port = at + 1 + host.rfind(':')? + 1..at + 1 + host.len();
    let is_port = address[port.clone()].bytes().all(|byte| byte.is_ascii_digit());
    let odd = address[from..at].chars().all(is_address) && !host.contains('[') && !is_port;
    odd.then_some(port)
}

/// The position of the first colon, plain or encoded, and of the text after it.
fn colon_in(text: &str) -> Option<(usize, usize)> {
    let plain = text.find(':').map(|at| (at, at + 1));
    let encoded = ["%3A", "%3a"].iter().filter_map(|colon| text.find(colon)).min();
    plain.into_iter().chain(encoded.map(|at| (at, at + 3))).min()
}

fn password_of(address: &str) -> Option<Range<usize>> {
    let at = [address.find('@'), address.find("%40")].into_iter().flatten().min()?;
    let start = after_scheme(&address[..at]);
    let rest = &address[start..];
    let end = rest.find(['/', '?', '#', ' ', '\t']).unwrap_or(rest.len());
    let of_user = || in_path(rest, end).map(|place| start + place.start..start + place.end);
    // The last @ ends the user part: the password itself may contain one.
    if let Some(at) = rest[..end].rfind('@') {
        let (_, after) = colon_in(&rest[..at])?;
        return Some(start + after..start + at);
    }
    let Some((_, after)) = colon_in(&rest[..end]) else { return of_user() };
    let is_port = rest[after..end].bytes().all(|byte| byte.is_ascii_digit());
    if is_port || rest.starts_with('[') {
        return of_user();
    }
    // Not a port, so it is a password with a character that ends an address, unless another address
    // follows.
    let last = rest.rfind('@').or_else(|| rest.rfind("%40"))?;
    (last >= after).then(|| start + after..start + last)
}

/// The position of a password in what looks like a path, as when the user name contains a slash.
fn in_path(rest: &str, end: usize) -> Option<Range<usize>> {
    let path = rest[end..].strip_prefix('/')?;
    let path = path.split(char::is_whitespace).next().unwrap_or_default();
    let at = path.rfind('@').max(path.rfind("%40"))?;
    let (_, after) = colon_in(&path[..at])?;
    Some(end + 1 + after..end + 1 + at)
}

/// Where the user name begins: after `http://` or a misspelling of it.
fn after_scheme(before: &str) -> usize {
    let is_slash = |c: char| matches!(c, '/' | '\\');
    let slashes = before.find("://").map(|at| at + 1).or_else(|| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "+.-:;= \"'".contains(c);
        let at = before.find(is_slash)?;
        // The user name precedes its colon; in `http:/` nothing comes after the colon.
        let colon = before[..at]
            .find(':')
            .is_none_or(|colon| before[colon..at].chars().all(|c| matches!(c, ':' | ';' | ' ')));
        (colon && before[..at].chars().all(plain)).then_some(at)
    });
    let Some(slashes) = slashes else { return 0 };
    let rest = &before[slashes..];
    before.len() - rest.trim_start_matches(|c: char| is_slash(c) || c == ' ').len()
}

/// A value and the flag it was given with, as named in the user's dialect; mistakes refer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flagged<T> {
    /// The flag.
    pub flag: &'static str,
    /// The value.
    pub value: T,
}

impl<T> Flagged<T> {
    /// A value given with `flag`.
    pub const fn new(flag: &'static str, value: T) -> Self {
        Self { flag, value }
    }

    /// Another value under the same flag.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Flagged<U> {
        Flagged { flag: self.flag, value: change(self.value) }
    }
}

impl Flagged<u64> {
    /// Refuses a number that is out of range.
    pub fn out_of_range(self, least: u64, most: u64) -> Option<Invalid> {
        let Self { flag, value } = self;
        (value < least || value > most).then(|| {
            let cure = format!("give a number from {least} to {most}");
            Invalid::new(flag, format!("{value} is out of range"), cure)
        })
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { flag, problem, cure } = self;
        // A parser's message may span several lines, but an error is a single line.
        let problem = problem.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = format!("{flag}: {problem}; {cure}");
        // Parts of it may come from a file.
        f.write_str(&line.chars().map(plain).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_of_any_address_is_struck_out() {
        for (address, struck) in [
            ("http://u:pw@h/x@y", "http://u:***@h/x@y"),
            ("u:pw@h:80/x", "u:***@h:80/x"),
            ("u:pw@h PUT http://x", "u:***@h PUT http://x"),
            ("http:/u:pw@h", "http:/u:***@h"),
            ("http//u:pw@h", "http//u:***@h"),
            ("http:u:pw@h", "http:***@h"),
            ("http:///u:pw@h", "http:///u:***@h"),
            ("http:\\\\u:pw@h", "http:\\\\u:***@h"),
            ("//u:pw@h", "//u:***@h"),
            ("http;//u:pw@h", "http;//u:***@h"),
            ("http:// u:pw@h", "http:// u:***@h"),
            ("h ttp://u:pw@h", "h ttp://u:***@h"),
            ("http://u:p pw@h", "http://u:***@h"),
            ("http://u:p/pw@h", "http://u:***@h"),
            ("http://u:p?pw@h", "http://u:***@h"),
            ("http://u:p#pw@h", "http://u:***@h"),
            ("http://u:p@pw@h", "http://u:***@h"),
            ("http://u:pw%40h:1", "http://u:***%40h:1"),
            ("http://u:pw%zz@h", "http://u:***@h"),
            ("http://us/er:pw@h", "http://us/er:***@h"),
            ("http://us/er:p/p:w@h x:y@z", "http://us/er:***@h x:y@z"),
            ("us/er:pw%40h", "us/er:***%40h"),
            ("http%3A%2F%2Fu%3Apw%40h:1", "http%3A***%40h:1"),
            ("http://u%3Apw@h/x", "http://u%3A***@h/x"),
            ("http://h:1@u:pw", "http://h:***@u:***"),
            ("***@u:pw/x", "***@u:***/x"),
            ("http:u:pw@h:1 http://u:pw@h", "http:***@h:1 http://u:***@h"),
            ("u:pw@[::1]:1", "u:***@[::1]:1"),
            ("mongodb://a:b@h1:1,h2:2/d", "mongodb://a:***@h1:1,h2:2/d"),
            ("http://h PUT {\"a\":\"b@c:d\"}", "http://h PUT {\"a\":\"b@c:d\"}"),
            ("http://h:5984/us/er:pw@h", "http://h:5984/us/er:***@h"),
            ("http://:pw@h", "http://:***@h"),
            ("u:pw@h o st:5984", "u:***@h o st:5984"),
            ("mongodb://a:b:c@h1,h2/d@e", "mongodb://a:***@h1,h2/d@e"),
            ("http://h:5984/a@b", "http://h:5984/a@b"),
            ("http://[::1]:5984/a@b", "http://[::1]:5984/a@b"),
            ("http://h PUT {\"a\":\"b@c\"}", "http://h PUT {\"a\":\"b@c\"}"),
            ("ann@h:1", "ann@h:1"),
            ("50ms@1%", "50ms@1%"),
        ] {
            assert_eq!(strike_password(address), struck);
        }
        let text = "no host in \"mongodb:/u:pw@h:1\"; a:b";
        assert_eq!(strike_passwords(text), "no host in \"mongodb:/u:***@h:1\"; a:b");
    }
}
