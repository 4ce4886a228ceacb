//! The cookies of one user: limited in number, and not sent to servers outside the list.

use crate::redact;
use cookie_store::{Cookie, CookieStore};
use url::Url;

/// The most cookies in each jar. RFC 6265, 6.1, asks for 50 per domain.
const MOST_COOKIES: usize = 100;
/// The longest cookie, with its attributes, in bytes (RFC 6265, 6.1).
const MOST_BYTES: usize = 4096;

/// The cookies that a user has received: those from servers in the list, and those from servers
/// that redirects led to, which may be anyone's. They are kept apart because cookies belong to
/// hosts, regardless of the port and of who listens there.
#[derive(Debug, Default)]
pub(super) struct Cookies {
    listed: CookieStore,
    found: CookieStore,
}

impl Cookies {
    /// The value of `Cookie` in a request for `url`, on a server that is `listed` or not; empty if
    /// there are none.
    pub(super) fn of(&self, url: &Url, listed: bool) -> String {
        let jar = if listed { &self.listed } else { &self.found };
        let pairs = jar.get_request_values(url).map(|(name, value)| format!("{name}={value}"));
        pairs.collect::<Vec<_>>().join("; ")
    }

    /// Registers the cookies as secrets to strike out: a server's words are about to be quoted.
    pub(super) fn learn(&self) {
        for cookie in self.listed.iter_any().chain(self.found.iter_any()) {
            redact::learn(cookie.value());
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        [&self.listed, &self.found].into_iter().all(|jar| jar.iter_any().next().is_none())
    }

    /// Takes the value of a `Set-Cookie`. A cookie that is invalid, or that this server may not
    /// set, is ignored (RFC 6265), and so is a new one in a full jar.
    pub(super) fn keep(&mut self, value: &str, url: &Url, listed: bool) {
        if value.len() > MOST_BYTES {
            return;
        }
        let jar = if listed { &mut self.listed } else { &mut self.found };
        let Ok(cookie) = Cookie::parse(value, url) else { return };
        let is_full = |jar: &CookieStore| jar.iter_any().take(MOST_COOKIES).count() == MOST_COOKIES;
        if is_full(jar) {
            drop_expired(jar);
        }
        let (domain, path, name) = place(&cookie);
        if !is_full(jar) || jar.contains_any(&domain, &path, &name) {
            let _ = jar.insert(cookie.into_owned(), url);
        }
    }
}

/// Domain, path and name of a cookie.
fn place(cookie: &Cookie<'_>) -> (String, String, String) {
    (String::from(&cookie.domain), cookie.path.to_string(), cookie.name().to_owned())
}

/// Drops expired cookies, which the store itself keeps.
fn drop_expired(jar: &mut CookieStore) {
    let expired: Vec<_> = jar.iter_any().filter(|it| it.is_expired()).map(place).collect();
    for (domain, path, name) in expired {
        jar.remove(&domain, &path, &name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jar_is_full_at_some_time() {
        let url = Url::parse("http://h:1/").unwrap();
        let mut cookies = Cookies::default();
        for number in 0..1_000 {
            cookies.keep(&format!("c{number}=1; Path=/"), &url, true);
        }
        let sent = cookies.of(&url, true);
        assert_eq!(sent.split("; ").count(), MOST_COOKIES);
        // Existing cookies may change, and may be removed.
        cookies.keep("c0=2; Path=/", &url, true);
        cookies.keep("c1=; Path=/; Max-Age=0", &url, true);
        let sent = cookies.of(&url, true);
        let sent: Vec<_> = sent.split("; ").collect();
        assert!(sent.contains(&"c0=2") && !sent.contains(&"c1=1"), "{sent:?}");
        cookies.keep("new=1; Path=/", &url, true);
        assert!(cookies.of(&url, true).contains("new=1"));
        cookies.keep(&format!("long={}; Path=/", "x".repeat(MOST_BYTES)), &url, false);
        assert_eq!(cookies.of(&url, false), "");
    }

    #[test]
    fn cookies_do_not_leave_the_servers_of_the_list() {
        let (one, other) = (Url::parse("http://h:1/").unwrap(), Url::parse("http://h:2/").unwrap());
        let mut cookies = Cookies::default();
        cookies.keep("own=1; Path=/", &one, true);
        cookies.keep("foreign=1; Path=/", &other, false);
        assert_eq!((&*cookies.of(&one, true), &*cookies.of(&other, true)), ("own=1", "own=1"));
        assert_eq!(cookies.of(&other, false), "foreign=1");
        assert!(!cookies.is_empty());
    }
}
