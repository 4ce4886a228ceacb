//! An address in its parts, for any driver: who logs in, and where.

use crate::driver::CARDS;
use crate::redact;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The characters that are percent-encoded in a user or a password.
const USER: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A user and a password, as far as they are known.
#[derive(Clone, Default, PartialEq, Eq)]
pub(in crate::cli) struct Login {
    pub(in crate::cli) user: Option<String>,
    pub(in crate::cli) password: Option<String>,
}

impl Login {
    /// Makes the password a known secret: it is redacted in all output from now on.
    pub(super) fn learn(&self) {
        let user = self.user.as_deref().unwrap_or_default();
        if let Some(password) = &self.password {
            redact::learn_login(user, password);
        }
    }
}

/// An address of a server that can be logged in to.
#[derive(Clone, Copy)]
pub(super) struct Address<'a> {
    /// What comes before the user, such as `http://`.
    scheme: &'a str,
    /// User and password as written, without the `@`.
    user: Option<&'a str>,
    /// The host or hosts, and anything else up to the path.
    hosts: &'a str,
    /// The rest.
    path: &'a str,
}

impl<'a> Address<'a> {
    /// The parts of `text`; `None` if it names no server, or one without logins.
    pub(super) fn of(text: &'a str) -> Option<Self> {
        let scheme = text.find("://").map_or(0, |at| at + 3);
        let (scheme, rest) = text.split_at(scheme);
        let word = rest.split(':').next().unwrap_or_default().to_ascii_lowercase();
        let driver =
            |card: &crate::driver::Card| card.name == word || card.schemes.contains(&word.as_str());
        if scheme.is_empty() && (rest.is_empty() || CARDS.iter().any(driver)) {
            return None;
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) => (Some(user), hosts),
            None => (None, authority),
        };
        Some(Self { scheme, user, hosts, path })
    }

    /// The user and password in the address.
    pub(super) fn login(&self) -> Login {
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let Some(text) = self.user else { return Login::default() };
        let (user, password) = match text.split_once(':') {
            Some((user, password)) => (user, Some(decoded(password))),
            None => (text, None),
        };
        Login { user: Some(decoded(user)).filter(|user| !user.is_empty()), password }
    }

    /// The first host, without its port.
    pub(super) fn host(&self) -> &'a str {
        let first = self.hosts.split(',').next().unwrap_or_default();
        match first.strip_prefix('[').and_then(|inside| inside.split_once(']')) {
            Some((host, _)) => host,
            None => first.split(':').next().unwrap_or_default(),
        }
    }

    /// Whether a login there needs a user, not only a password.
    pub(super) fn wants_user(&self) -> bool {
        matches!(self.scheme.to_ascii_lowercase().as_str(), "" | "http://" | "https://")
    }

    /// Scheme and hosts, without user and path.
    pub(super) fn server(&self) -> (&'a str, &'a str) {
        (self.scheme, self.hosts)
    }

    /// The address without user and password.
    pub(super) fn bare(&self) -> String {
        format!("{}{}{}", self.scheme, self.hosts, self.path)
    }

    /// Whether both lead to one server, whoever logs in. Without a scheme, it is `http://`.
    pub(super) fn is_same_server(&self, other: &Address<'_>) -> bool {
        let place = |it: &Address<'_>| {
            let scheme = if it.scheme.is_empty() { "http://" } else { it.scheme };
            format!("{scheme}{}", it.hosts).to_ascii_lowercase()
        };
        place(self) == place(other)
    }

    /// The address with this user and password.
    pub(super) fn with(&self, login: &Login) -> String {
        let encoded = |text: &str| utf8_percent_encode(text, USER).to_string();
        let own = self.login();
        let user = match login {
            same if *same == own => self.user.map(|user| format!("{user}@")),
            Login { user: None, password: None } => None,
            Login { user, password } => {
                let user = encoded(user.as_deref().unwrap_or_default());
                let password = password.as_ref().map(|it| format!(":{}", encoded(it)));
                Some(format!("{user}{}@", password.unwrap_or_default()))
            }
        };
        format!("{}{}{}{}", self.scheme, user.unwrap_or_default(), self.hosts, self.path)
    }
}

/// The user and password in an address.
pub(super) fn login_of(address: &str) -> Login {
    Address::of(address).map_or_else(Login::default, |parts| parts.login())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_all_but_its_user() {
        let who = |user: &str, password: &str| Login {
            user: Some(user.to_owned()),
            password: Some(password.to_owned()),
        };
        for (text, host, wanted) in [
            ("http://h", "h", "http://a%40b:c%3A%2Fd@h"),
            ("http://old:x@h:5984/db?q=1", "h", "http://a%40b:c%3A%2Fd@h:5984/db?q=1"),
            ("https://[::1]:6984/db", "::1", "https://a%40b:c%3A%2Fd@[::1]:6984/db"),
            ("mongodb://h1:1,h2/db", "h1", "mongodb://a%40b:c%3A%2Fd@h1:1,h2/db"),
            ("localhost:5984", "localhost", "a%40b:c%3A%2Fd@localhost:5984"),
        ] {
            let address = Address::of(text).unwrap();
            assert_eq!(address.host(), host);
            let with = address.with(&who("a@b", "c:/d"));
            assert_eq!(with, wanted);
            assert!(login_of(&with) == who("a@b", "c:/d"));
            assert_eq!(address.with(&address.login()), text);
            assert_eq!(Address::of(&with).unwrap().bare(), address.bare());
            assert!(!address.bare().contains("old"), "{}", address.bare());
        }
        for text in ["basic", "line:h:1", "", "LINE:h"] {
            assert!(Address::of(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_server_is_the_same_whoever_logs_in_and_whatever_the_path() {
        let same = |one: &str, other: &str| {
            Address::of(one).unwrap().is_same_server(&Address::of(other).unwrap())
        };
        for other in ["http://h:1", "h:1", "http://a:b@H:1/db?q=1", "HTTP://h:1/"] {
            assert!(same("http://h:1", other), "{other}");
        }
        for other in ["https://h:1", "http://h", "h:2", "http://i:1", "http://h:1@i", "redis://h:1"]
        {
            assert!(!same("http://h:1", other), "{other}");
        }
    }
}
