//! How requests are authenticated: not at all, with Basic, or with a session cookie.

use crate::address::decoded;
use crate::mistake::Invalid;
use crate::op::{Failure, Reason};
use crate::plan::is_named;
use crate::redact;
use crate::{Auth, TargetAsked};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::hmac::{HMAC_SHA1_FOR_LEGACY_USE_ONLY, HMAC_SHA256, Key, sign};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use url::Url;

/// A user's name and password, and how they are sent.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// No credentials.
    None,
    /// `Authorization: Basic` in every request.
    Basic {
        /// The user.
        name: String,
        /// The password.
        password: String,
    },
    /// A cookie from `_session`, renewed when the server sends a new one or the old one expires.
    Cookie {
        /// The user.
        name: String,
        /// The password.
        password: String,
        /// `AuthSession=...`; empty before the first log-in.
        cookie: String,
    },
    /// Headers in every request that name the user, as a proxy adds them for CouchDB.
    Proxy {
        /// The headers, each with its line end.
        lines: String,
        /// The secret from which the token in them is made.
        secret: String,
    },
}

/// The latest log-in, shared by all sessions with a database.
#[derive(Debug, Default)]
pub(super) struct Renewal {
    pub(super) state: tokio::sync::Mutex<LatestLogIn>,
    /// Log-ins that have finished.
    pub(super) ended: AtomicU64,
}

/// The cookie of the last successful log-in, empty before that, and how the last log-in ended.
#[derive(Default)]
pub(super) struct LatestLogIn {
    pub(super) cookie: String,
    pub(super) failure: Option<Failure>,
}

impl LatestLogIn {
    /// Whether the name and password were refused.
    pub(super) fn refused(&self) -> bool {
        self.failure == Some(Failure::Authentication)
    }
}

impl std::fmt::Debug for LatestLogIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LatestLogIn").field("failure", &self.failure).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Credentials {
    /// Shows only the kind: a password must not get into a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Basic { .. } => "Basic",
            Self::Cookie { .. } => "Cookie",
            Self::Proxy { .. } => "Proxy",
        })
    }
}

impl Credentials {
    /// The credentials for CouchDB's proxy authentication. The token is the hexadecimal HMAC of the
    /// user with the secret as its key; without a secret there is no token.
    pub(super) fn proxy(user: &str, roles: &str, secret: String, sha1: bool) -> Self {
        let algorithm = if sha1 { HMAC_SHA1_FOR_LEGACY_USE_ONLY } else { HMAC_SHA256 };
        let token = if secret.is_empty() {
            String::new()
        } else {
            let tag = sign(&Key::new(algorithm, secret.as_bytes()), user.as_bytes());
            let token = const_hex::encode(tag);
            redact::learn(&token);
            format!("X-Auth-CouchDB-Token: {token}\r\n")
        };
        let lines =
            format!("X-Auth-CouchDB-UserName: {user}\r\nX-Auth-CouchDB-Roles: {roles}\r\n{token}");
        Self::Proxy { lines, secret }
    }

    /// Appends the header line, if there is one.
    pub(super) fn write_header(&self, out: &mut Vec<u8>) {
        match self {
            Self::None => {}
            Self::Basic { name, password } => {
                redact::learn_login(name, password);
                out.extend_from_slice(b"Authorization: Basic ");
                let text = BASE64.encode(format!("{name}:{password}"));
                out.extend_from_slice(text.as_bytes());
                out.extend_from_slice(b"\r\n");
            }
            Self::Cookie { cookie, .. } => {
                if !cookie.is_empty() {
                    out.extend_from_slice(b"Cookie: ");
                    out.extend_from_slice(cookie.as_bytes());
                    out.extend_from_slice(b"\r\n");
                }
            }
            Self::Proxy { lines, .. } => out.extend_from_slice(lines.as_bytes()),
        }
    }

    /// The rest of a request head after the target: version, the lines of every request,
    /// credentials.
    pub(super) fn common_head(&self, lines: &str) -> Arc<[u8]> {
        let mut head = format!(" HTTP/1.1\r\n{lines}").into_bytes();
        self.write_header(&mut head);
        head.into()
    }

    /// The request for a session cookie; `None` without cookie credentials.
    pub(super) fn log_in_request(&self, lines: &str) -> Option<Vec<u8>> {
        let Self::Cookie { name, password, .. } = self else { return None };
        let body = serde_json::json!({ "name": name, "password": password }).to_string();
        let head = format!(
            "POST /_session HTTP/1.1\r\n{lines}Content-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        Some([head.as_bytes(), body.as_bytes()].concat())
    }

    /// Hides the password in a reason, in case the server has repeated it. A password so short that
    /// it may be part of ordinary words is not replaced.
    pub(super) fn hide(&self, said: Reason) -> Reason {
        match self {
            Self::Proxy { secret: password, .. }
            | Self::Basic { password, .. }
            | Self::Cookie { password, .. }
                if password.len() > 3 =>
            {
                Reason { reason: said.reason.replace(password, "…"), ..said }
            }
            _ => said,
        }
    }

    /// The current cookie in the form in which it is sent; empty if there is none.
    pub(super) fn cookie(&self) -> &str {
        if let Self::Cookie { cookie, .. } = self { cookie } else { "" }
    }

    /// Uses a cookie that another session has received. `false` if it is empty or unchanged.
    pub(super) fn adopt(&mut self, latest: &str) -> bool {
        let Self::Cookie { cookie, .. } = self else { return false };
        let other = !latest.is_empty() && latest != cookie;
        if other {
            latest.clone_into(cookie);
        }
        other
    }

    /// Uses the cookie of a `Set-Cookie` header. `false` if it is not a session cookie.
    pub(super) fn renew(&mut self, set_cookie: &[u8]) -> bool {
        let Self::Cookie { cookie, .. } = self else { return false };
        let pair = set_cookie.split(|&byte| byte == b';').next().unwrap_or_default();
        match std::str::from_utf8(pair) {
            Ok(pair) if pair.starts_with("AuthSession=") && pair.len() > 12 => {
                redact::learn_cookies(pair);
                pair.trim().clone_into(cookie);
                true
            }
            _ => false,
        }
    }
}

/// Refuses flags that would have no effect with this address.
pub(super) fn without_effect(asked: &TargetAsked, url: &Url) -> Option<Invalid> {
    let named = |name: &str| asked.headers.iter().any(|header| is_named(header, name));
    if named("authorization") && !url.username().is_empty() {
        let problem = "an Authorization header, although a user is given";
        return Some(Invalid::new("--header", problem, "leave one of them out"));
    }
    if asked.auth != Auth::Cookie && url.username().is_empty() {
        let cure = "give a user with -u USER, or leave it out";
        let how = if asked.auth == Auth::Basic { "basic" } else { "proxy" };
        return Some(Invalid::new(asked.auth_flag, format!("{how}, but there is no user"), cure));
    }
    let roles = asked.options.get("roles").and_then(|roles| roles.as_str());
    let proxy = matches!(asked.auth, Auth::Proxy | Auth::ProxySha1);
    if let Some(roles) = roles {
        let plain = !roles.is_empty() && roles.bytes().all(|byte| byte.is_ascii_graphic());
        let (problem, cure) = match (proxy, plain) {
            (false, _) => ("only proxy authentication claims roles", "add --auth proxy"),
            (true, false) => ("not a list of roles", "give ROLE,ROLE without spaces"),
            (true, true) => return None,
        };
        return Some(Invalid::new("--roles", problem, cure));
    }
    if proxy && decoded(url.username()).bytes().any(|byte| !(b' '..=b'~').contains(&byte)) {
        let cure = "give a user in ASCII, or use another --auth";
        return Some(Invalid::new(asked.auth_flag, "the user cannot be sent in a header", cure));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_taken_from_set_cookie_alone() {
        let mut credentials = Credentials::Cookie {
            name: "a".to_owned(),
            password: "secret".to_owned(),
            cookie: String::new(),
        };
        assert!(!credentials.renew(b"Other=1; Path=/"));
        assert!(!credentials.renew(b"OtherSession=YWJj; Path=/"), "another one as long");
        assert!(!credentials.renew(b"AuthSession=; Path=/"), "one that is taken away");
        assert!(credentials.renew(b"AuthSession=YWJj; Version=1; Path=/; HttpOnly"));
        let mut header = Vec::new();
        credentials.write_header(&mut header);
        assert_eq!(header, b"Cookie: AuthSession=YWJj\r\n");
        assert_eq!(format!("{credentials:?}"), "Cookie");
    }

    #[test]
    fn a_password_is_hidden_unless_it_may_be_part_of_a_word() {
        for (password, said) in [("open sesame", "no … here"), ("ope", "no open sesame here")] {
            let (name, password) = ("a".to_owned(), password.to_owned());
            let reason = Reason { status: Some(401), reason: "no open sesame here".to_owned() };
            let hidden = Credentials::Basic { name, password }.hide(reason);
            assert_eq!((hidden.status, &*hidden.reason), (Some(401), said));
        }
    }

    #[test]
    fn tokens_of_proxies_are_the_published_ones() {
        let head = |user, secret: &str, sha1| {
            let mut head = Vec::new();
            Credentials::proxy(user, "_admin,x", secret.to_owned(), sha1).write_header(&mut head);
            String::from_utf8(head).unwrap()
        };
        // RFC 2202, case 2, and RFC 4231, case 2: the key is "Jefe".
        let (user, key) = ("what do ya want for nothing?", "Jefe");
        let of = |token| {
            format!(
                "X-Auth-CouchDB-UserName: {user}\r\nX-Auth-CouchDB-Roles: _admin,x\r\n\
                 X-Auth-CouchDB-Token: {token}\r\n"
            )
        };
        assert_eq!(head(user, key, true), of("effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"));
        let sha256 = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(head(user, key, false), of(sha256));
        // A server without a secret expects no token.
        assert!(!head("ann", "", false).contains("Token"));
    }

    #[test]
    fn basic_credentials_follow_rfc_7617() {
        let mut header = Vec::new();
        let (name, password) = ("Aladdin".to_owned(), "open sesame".to_owned());
        Credentials::Basic { name, password }.write_header(&mut header);
        assert_eq!(header, b"Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n");
    }
}
