//! netrc: the file in which ftp and curl keep the users and passwords of servers.
//!
//! Words are separated by white space. A word in double quotation marks may contain white space,
//! and a `\` in it makes the next character literal. `#` in place of a keyword begins a comment. A
//! macro definition ends at an empty line.

use std::fmt;

const KEYWORDS: &str = "machine, default, login, password, account or macdef";

/// The contents of one entry.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct NetrcEntry {
    /// The host; `None` for the default entry.
    pub machine: Option<String>,
    /// The user.
    pub login: Option<String>,
    /// The password.
    pub password: Option<String>,
}

impl fmt::Debug for NetrcEntry {
    /// Leaves out the password, which must not get into a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NetrcEntry").field("machine", &self.machine).finish_non_exhaustive()
    }
}

/// Why a file is not a valid netrc. No message quotes the file: any word may be a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct NetrcError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub problem: NetrcProblem,
}

/// The problems that a netrc can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetrcProblem {
    /// A keyword is expected.
    #[error("a word other than {KEYWORDS}")]
    Keyword,
    /// The file ends after a keyword.
    #[error("a keyword without its value")]
    Value,
    /// A quotation mark is not closed.
    #[error("a quotation mark that is not closed")]
    Quote,
    /// `login` or the like comes before the first `machine`.
    #[error("a setting without a machine")]
    Machine,
}

/// The entry for `host`, and for `user` if one is wanted: the first that matches, or else the
/// default entry.
pub fn find<'a>(
    entries: &'a [NetrcEntry],
    host: &str,
    user: Option<&str>,
) -> Option<&'a NetrcEntry> {
    let fits = |entry: &&NetrcEntry| user.is_none_or(|user| entry.login.as_deref() == Some(user));
    let named = |entry: &&NetrcEntry| {
        entry.machine.as_ref().is_some_and(|machine| machine.eq_ignore_ascii_case(host))
    };
    let any = |entry: &&NetrcEntry| entry.machine.is_none();
    let own = entries.iter().filter(named).find(fits);
    own.or_else(|| entries.iter().filter(any).find(fits))
}

/// Reads all entries.
///
/// # Errors
/// Returns the first line that cannot be read.
pub fn parse(text: &str) -> Result<Vec<NetrcEntry>, NetrcError> {
    let mut words = Words { rest: text.strip_prefix('\u{feff}').unwrap_or(text), line: 1 };
    let mut entries: Vec<NetrcEntry> = Vec::new();
    while let Some(keyword) = words.keyword()? {
        let wrong = |problem| NetrcError { line: words.line, problem };
        match keyword.as_str() {
            "machine" => {
                entries.push(NetrcEntry { machine: Some(words.value()?), ..NetrcEntry::default() });
            }
            "default" => entries.push(NetrcEntry::default()),
            "macdef" => {
                words.value()?;
                words.skip_macro();
            }
            "login" | "user" | "password" | "account" => {
                let entry = entries.last_mut().ok_or_else(|| wrong(NetrcProblem::Machine))?;
                let value = Some(words.value()?);
                match keyword.as_str() {
                    "password" => entry.password = value,
                    "account" => {}
                    _ => entry.login = value,
                }
            }
            _ => return Err(wrong(NetrcProblem::Keyword)),
        }
    }
    Ok(entries)
}

/// The rest of the text, and the line it begins on.
struct Words<'a> {
    rest: &'a str,
    line: usize,
}

impl Words<'_> {
    /// Moves past the first `length` bytes.
    fn pass(&mut self, length: usize) {
        let (passed, rest) = self.rest.split_at(length);
        self.line += passed.bytes().filter(|&byte| byte == b'\n').count();
        self.rest = rest;
    }

    fn pass_space(&mut self) {
        self.pass(self.rest.len() - self.rest.trim_start().len());
    }

    fn pass_line(&mut self) {
        self.pass(self.rest.find('\n').map_or(self.rest.len(), |end| end + 1));
    }

    fn keyword(&mut self) -> Result<Option<String>, NetrcError> {
        loop {
            self.pass_space();
            if !self.rest.starts_with('#') {
                return self.word();
            }
            self.pass_line();
        }
    }

    fn value(&mut self) -> Result<String, NetrcError> {
        self.pass_space();
        self.word()?.ok_or(NetrcError { line: self.line, problem: NetrcProblem::Value })
    }

    fn word(&mut self) -> Result<Option<String>, NetrcError> {
        let Some(quoted) = self.rest.strip_prefix('"') else {
            let end = self.rest.find(char::is_whitespace).unwrap_or(self.rest.len());
            let word = self.rest[..end].to_owned();
            self.pass(end);
            return Ok((!word.is_empty()).then_some(word));
        };
        let (mut word, mut chars) = (String::new(), quoted.char_indices());
        let open = NetrcError { line: self.line, problem: NetrcProblem::Quote };
        loop {
            match chars.next().ok_or(open)? {
                (at, '"') => {
                    self.pass(1 + at + 1);
                    return Ok(Some(word));
                }
                (_, '\\') => word.push(chars.next().ok_or(open)?.1),
                (_, other) => word.push(other),
            }
        }
    }

    /// Skips a macro definition, up to the next empty line.
    fn skip_macro(&mut self) {
        self.pass_line();
        while !self.rest.is_empty() {
            let empty = self.rest.lines().next().is_none_or(|line| line.trim().is_empty());
            self.pass_line();
            if empty {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(machine: Option<&str>, login: &str, password: &str) -> NetrcEntry {
        NetrcEntry {
            machine: machine.map(str::to_owned),
            login: Some(login.to_owned()),
            password: Some(password.to_owned()),
        }
    }

    #[test]
    fn entries_are_read_as_ftp_and_curl_read_them() {
        let text = "# mine\nmachine a login ann password #1\n\
            machine B\n\tlogin \"bob b\"\n\tpassword \"x\\\"y\\\\z\" account q\n\
            macdef init\ncd /tmp\nmachine c login no password no\n\n\
            default login any password \"\"";
        let all = parse(text).unwrap();
        let wanted = [
            entry(Some("a"), "ann", "#1"),
            entry(Some("B"), "bob b", "x\"y\\z"),
            entry(None, "any", ""),
        ];
        assert_eq!(all, wanted);
        assert_eq!(find(&all, "b", None), Some(&wanted[1]));
        assert_eq!(find(&all, "c", None), Some(&wanted[2]));
        assert_eq!(find(&all, "a", Some("ann")), Some(&wanted[0]));
        assert_eq!(find(&all, "a", Some("bob")), None);
        assert_eq!(format!("{:?}", all[0]), "NetrcEntry { machine: Some(\"a\"), .. }");
    }

    #[test]
    fn what_is_wrong_is_reported_without_the_words() {
        for (text, line, problem) in [
            ("machine a\nlogn secret", 2, NetrcProblem::Keyword),
            ("machine a password", 1, NetrcProblem::Value),
            ("machine a\n\npassword \"secret", 3, NetrcProblem::Quote),
            ("password secret", 1, NetrcProblem::Machine),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!((error.line, error.problem), (line, problem), "{text}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
