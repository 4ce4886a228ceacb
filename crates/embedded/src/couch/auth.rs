//! Authentication: Basic, cookie sessions and the lock-out after wrong passwords.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, COOKIE};

use super::reply::Refusal;
use crate::clock::{Clock, Nanos, SECOND_NS};

/// The default lifetime of a cookie (CouchDB's own: ten minutes).
pub(crate) const SESSION_NS: Nanos = 600 * SECOND_NS;

/// A cookie is renewed after this fraction of its lifetime, as in CouchDB.
const RENEW_AFTER: u64 = 10;

/// Consecutive wrong passwords that lock a user out (CouchDB's default).
const LOCK_OUT_AFTER: u32 = 5;

/// How long a user stays locked out (CouchDB's default: five minutes).
const LOCK_OUT_NS: Nanos = 300 * SECOND_NS;

/// The sender of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The user's name; `None` for an anonymous request.
    pub(crate) name: Option<String>,
    /// How the user was authenticated: `cookie` or `default`.
    pub(crate) proof: Option<&'static str>,
    pub(crate) admin: bool,
    /// A new cookie to send, because the current one is ageing.
    pub(crate) renewed: Option<String>,
}

/// The only user, the sessions and the failed attempts.
#[derive(Debug)]
pub(crate) struct Auth {
    admin: Option<Admin>,
    session_ns: Nanos,
    clock: Clock,
    secret: RandomState,
    guarded: Mutex<Guarded>,
}

#[derive(Debug)]
struct Admin {
    name: String,
    password: String,
    /// The complete header with the right credentials, so that checking a request takes one
    /// comparison.
    basic: String,
}

#[derive(Debug, Default)]
struct Guarded {
    made: u64,
    sessions: HashMap<String, Nanos>,
    failures: HashMap<(String, IpAddr), (u32, Nanos)>,
}

impl Auth {
    /// With this admin, or with none, in which case every request has admin rights. Cookies are
    /// valid for `session_ns`.
    pub(crate) fn new(admin: Option<(String, String)>, session_ns: Nanos) -> Self {
        let admin = admin.map(|(name, password)| Admin {
            basic: format!("Basic {}", STANDARD.encode(format!("{name}:{password}"))),
            name,
            password,
        });
        let guarded = Mutex::default();
        Self { admin, session_ns, clock: Clock::system(), secret: RandomState::new(), guarded }
    }

    /// The value of `Set-Cookie` for the session with this token.
    pub(crate) fn set_cookie(&self, token: &str) -> String {
        let age_s = self.session_ns.div_ceil(SECOND_NS);
        format!("AuthSession={token}; Version=1; Max-Age={age_s}; Path=/; HttpOnly")
    }

    /// Determines who sent a request.
    ///
    /// # Errors
    /// Returns an error for wrong credentials, and during a lock-out.
    pub(crate) fn identify(&self, headers: &HeaderMap, peer: IpAddr) -> Result<Identity, Refusal> {
        let nobody = Identity { name: None, proof: None, admin: false, renewed: None };
        let Some(admin) = &self.admin else { return Ok(Identity { admin: true, ..nobody }) };
        let known = |proof, renewed| Identity {
            name: Some(admin.name.clone()),
            proof: Some(proof),
            admin: true,
            renewed,
        };
        if let Some(header) = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()) {
            let right = header == admin.basic;
            let credentials = basic(header).unwrap_or_default();
            let name = if right { &admin.name } else { &credentials.0 };
            self.judge(name, peer, right || self.right(&credentials.0, &credentials.1))?;
            return Ok(known("default", None));
        }
        let Some(token) = cookie(headers) else { return Ok(nobody) };
        let now = self.clock.now();
        let mut guarded = self.guarded.lock().unwrap_or_else(PoisonError::into_inner);
        let made = guarded.sessions.get(token).copied();
        match made.map(|made| now - made) {
            Some(age) if age < self.session_ns => {
                let renewed =
                    (age > self.session_ns / RENEW_AFTER).then(|| self.open(&mut guarded, now));
                Ok(known("cookie", renewed))
            }
            _ => Ok(nobody),
        }
    }

    /// Opens a session and returns its token.
    ///
    /// # Errors
    /// Returns an error for wrong credentials, and during a lock-out.
    pub(crate) fn log_in(
        &self,
        name: &str,
        password: &str,
        peer: IpAddr,
    ) -> Result<String, Refusal> {
        if self.admin.is_none() {
            return Err(Refusal::WRONG_PASSWORD);
        }
        self.judge(name, peer, self.right(name, password))?;
        let mut guarded = self.guarded.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(self.open(&mut guarded, self.clock.now()))
    }

    fn right(&self, name: &str, password: &str) -> bool {
        self.admin.as_ref().is_some_and(|admin| admin.name == name && admin.password == password)
    }

    /// Counts failures by user and peer. During a lock-out, even the right password is refused.
    fn judge(&self, name: &str, peer: IpAddr, right: bool) -> Result<(), Refusal> {
        let mut guarded = self.guarded.lock().unwrap_or_else(PoisonError::into_inner);
        if right && guarded.failures.is_empty() {
            return Ok(());
        }
        let now = self.clock.now();
        let key = (name.to_owned(), peer);
        guarded.failures.retain(|_, (_, last)| now - *last < LOCK_OUT_NS);
        let failed = guarded.failures.get(&key).map_or(0, |(failed, _)| *failed);
        if failed >= LOCK_OUT_AFTER {
            return Err(Refusal::LOCKED_OUT);
        }
        if right {
            guarded.failures.remove(&key);
            return Ok(());
        }
        guarded.failures.insert(key, (failed + 1, now));
        Err(Refusal::WRONG_PASSWORD)
    }

    fn open(&self, guarded: &mut Guarded, now: Nanos) -> String {
        guarded.sessions.retain(|_, made| now - *made < self.session_ns);
        guarded.made += 1;
        let token = random_hex(&self.secret, guarded.made);
        guarded.sessions.insert(token.clone(), now);
        token
    }
}

/// 32 hexadecimal digits that cannot be guessed without the secret.
pub(crate) fn random_hex(secret: &RandomState, number: u64) -> String {
    let mut digest = md5::Context::new();
    for round in 0..2_u64 {
        digest.consume(secret.hash_one((number, round)).to_le_bytes());
    }
    format!("{:032x}", u128::from_be_bytes(digest.finalize().0))
}

fn basic(header: &str) -> Option<(String, String)> {
    let (scheme, encoded) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (name, password) = decoded.split_once(':')?;
    Some((name.to_owned(), password.to_owned()))
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let mut cookies = headers.get(COOKIE)?.to_str().ok()?.split(';');
    let token = cookies.find_map(|pair| pair.trim().strip_prefix("AuthSession="))?;
    (!token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn auth() -> Auth {
        Auth::new(Some(("admin".to_owned(), "secret".to_owned())), SESSION_NS)
    }

    fn headers(name: hyper::header::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    #[test]
    fn five_wrong_passwords_lock_out_even_the_right_one() {
        let auth = auth();
        for _ in 0..5 {
            assert_eq!(auth.log_in("admin", "x", PEER), Err(Refusal::WRONG_PASSWORD));
        }
        assert_eq!(auth.log_in("admin", "secret", PEER), Err(Refusal::LOCKED_OUT));
        assert_eq!(auth.log_in("other", "x", PEER), Err(Refusal::WRONG_PASSWORD));
    }

    #[test]
    fn a_right_password_forgets_the_wrong_ones() {
        let auth = auth();
        for _ in 0..3 {
            for _ in 0..4 {
                assert_eq!(auth.log_in("admin", "x", PEER), Err(Refusal::WRONG_PASSWORD));
            }
            assert!(auth.log_in("admin", "secret", PEER).is_ok());
        }
    }

    #[test]
    fn cookies_and_basic_are_recognized() {
        let auth = auth();
        let token = auth.log_in("admin", "secret", PEER).unwrap();
        let identity = auth.identify(&headers(COOKIE, &format!("a=b; AuthSession={token}")), PEER);
        assert_eq!(identity.unwrap().proof, Some("cookie"));
        let identity = auth.identify(&headers(COOKIE, "AuthSession=x"), PEER).unwrap();
        assert!(!identity.admin);
        let identity = auth.identify(&headers(AUTHORIZATION, "Basic YWRtaW46c2VjcmV0"), PEER);
        assert!(identity.unwrap().admin);
        let identity = auth.identify(&headers(AUTHORIZATION, "Basic eA=="), PEER);
        assert_eq!(identity, Err(Refusal::WRONG_PASSWORD));
        let open = Auth::new(None, SESSION_NS);
        assert!(open.identify(&HeaderMap::new(), PEER).unwrap().admin);
    }

    #[test]
    fn a_cookie_is_good_for_its_time_and_no_longer() {
        let admin = Some(("admin".to_owned(), "secret".to_owned()));
        for (session_ns, good) in [(0, false), (1_500 * SECOND_NS, true)] {
            let auth = Auth::new(admin.clone(), session_ns);
            let token = auth.log_in("admin", "secret", PEER).unwrap();
            let cookie = headers(COOKIE, &format!("AuthSession={token}"));
            assert_eq!(auth.identify(&cookie, PEER).unwrap().admin, good);
            let age = format!("Max-Age={};", session_ns / SECOND_NS);
            assert!(auth.set_cookie(&token).contains(&age), "{age}");
        }
    }
}
