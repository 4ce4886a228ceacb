//! Mistakes in what was asked, as they are reported: which flag, what is wrong, how to mend it.

use crate::op::plain;
use std::fmt;
use std::ops::Range;

/// A mistake in what was asked: which flag, what is wrong, how to mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    flag: String,
    problem: String,
    cure: String,
}

impl Invalid {
    /// A mistake in `flag`. The passwords of addresses in `problem` are struck out.
    pub fn new(
        flag: impl Into<String>,
        problem: impl Into<String>,
        cure: impl Into<String>,
    ) -> Self {
        let problem = strike_passwords(&problem.into());
        Self { flag: flag.into(), problem, cure: cure.into() }
    }
}

impl Invalid {
    /// The flag.
    pub fn flag(&self) -> &str {
        &self.flag
    }

    /// The same mistake, under another name of what it is in.
    pub fn under(self, flag: &str) -> Self {
        Self { flag: flag.to_owned(), ..self }
    }

    /// The same mistake in the file and line `place`, where the flag is the key `key`.
    pub fn within(self, place: &str, key: &str) -> Self {
        Self { flag: format!("{place}: {key}"), ..self }
    }
}

impl std::error::Error for Invalid {}

/// `text` without the passwords of the addresses in it, which stand alone or in quotation marks.
pub fn strike_passwords(text: &str) -> String {
    if !text.contains('@') && !text.contains("%40") {
        return text.to_owned();
    }
    let quoted: Vec<String> = text.split('"').map(strike_password).collect();
    quoted.join("\"")
}

/// An address without its password, `http://user:***@host`, however malformed: with or without a
/// scheme, with too few slashes or too many, with spaces, or with a password that should have been
/// encoded. Where it cannot be told what is the password, too much is struck out.
pub fn strike_password(address: &str) -> String {
    match password_of(address) {
        Some(place) => format!("{}***{}", &address[..place.start], &address[place.end..]),
        None => address.to_owned(),
    }
}

/// Where the password is.
fn password_of(address: &str) -> Option<Range<usize>> {
    let at = [address.find('@'), address.find("%40")].into_iter().flatten().min()?;
    let start = after_scheme(&address[..at]);
    let rest = &address[start..];
    let end = rest.find(['/', '?', '#', ' ', '\t']).unwrap_or(rest.len());
    // Where a user belongs, the last @ counts: the password itself may have one.
    if let Some(at) = rest[..end].rfind('@') {
        let colon = rest[..at].find(':')?;
        return Some(start + colon + 1..start + at);
    }
    let colon = rest[..end].find(':')?;
    let is_port = rest[colon + 1..end].bytes().all(|byte| byte.is_ascii_digit());
    if is_port || rest.starts_with('[') {
        return None;
    }
    // No port: so a password with a character that ends an address, unless an address follows.
    let last = rest.rfind('@').or_else(|| rest.rfind("%40"))?;
    (last > colon).then(|| start + colon + 1..start + last)
}

/// Where the user begins: after `http://`, or what was meant to be that.
fn after_scheme(before: &str) -> usize {
    let is_slash = |c: char| matches!(c, '/' | '\\');
    let slashes = before.find("://").map(|at| at + 1).or_else(|| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "+.-:;= \"'".contains(c);
        let at = before.find(is_slash)?;
        // A user comes before its colon; `http:/` has nothing after its own.
        let colon = before[..at]
            .find(':')
            .is_none_or(|colon| before[colon..at].chars().all(|c| matches!(c, ':' | ';' | ' ')));
        (colon && before[..at].chars().all(plain)).then_some(at)
    });
    let Some(slashes) = slashes else { return 0 };
    let rest = &before[slashes..];
    before.len() - rest.trim_start_matches(|c: char| is_slash(c) || c == ' ').len()
}

/// A value, and the flag that it was given with, as the dialect calls it: mistakes name it.
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

    /// Another value, under the same flag.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Flagged<U> {
        Flagged { flag: self.flag, value: change(self.value) }
    }
}

impl Flagged<u64> {
    /// Refuses a number out of its range.
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
        // A parser's message may span lines; an error is one.
        let problem = problem.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = format!("{flag}: {problem}; {cure}");
        // Some of it may be from a file.
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
            ("http://us/er:pw@h", "http://us/er:pw@h"),
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
