//! The broker through which agents on other machines are reached: its address, and whether support
//! for it is built in. Knows nothing about messages.

use super::Channel;
use crate::mistake::Invalid;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use url::Url;

/// The environment variable with the address of a broker, if no flag gives one.
const URL_VARIABLE: &str = "SPRINGLOAD_BROKER";
/// The variable with the user, if the address has none.
const USER_VARIABLE: &str = "SPRINGLOAD_BROKER_USER";
/// The variable with the password, if the address has none.
const PASSWORD_VARIABLE: &str = "SPRINGLOAD_BROKER_PASSWORD";
/// The characters that are encoded in the name of a virtual host.
const NAME: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');
/// The form of addresses, for error messages.
const FORM: &str = "give amqp://[user@]host[:port][/vhost], or amqps:// with TLS";

/// The address of a broker, and springload's credentials there. Shown without user and password.
#[derive(Clone, PartialEq, Eq)]
pub struct Broker {
    /// Whether to use TLS.
    pub(super) secure: bool,
    /// The host; an IPv6 address without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) vhost: String,
    /// The user; `None` for RabbitMQ's own default.
    pub(super) user: Option<String>,
    /// The password; `None` for RabbitMQ's own default.
    pub(super) password: Option<String>,
    /// A PEM file of the authorities to trust; `None` for the system's.
    pub(super) authorities: Option<PathBuf>,
    /// The seconds between two heartbeats; `None` for springload's own default. RabbitMQ may demand
    /// a shorter interval.
    pub(super) heartbeat_s: Option<u16>,
}

impl Broker {
    /// The broker given by the flag `--broker`, or else in the environment.
    ///
    /// # Errors
    /// Returns an error if its address is not valid.
    pub fn asked(flag: Option<&str>) -> Result<Option<Self>, Invalid> {
        Self::find(flag, &|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    /// Parses the address `url` of a broker, given by `flag`: `amqp://` or `amqps://`.
    ///
    /// # Errors
    /// Returns an error if it is not valid, or broker support is not built in.
    pub fn parse(flag: &str, url: &str) -> Result<Self, Invalid> {
        if cfg!(not(feature = "broker")) {
            let problem = "this springload was built without broker support";
            let cure = "get it with: cargo install --path . --features broker";
            return Err(Invalid::new(flag, problem, cure));
        }
        // Messages never show the text: even if it is not a URL, it may contain a password.
        let wrong = |problem: &str, cure: &str| Err(Invalid::new(flag, problem, cure));
        let Ok(url) = Url::parse(url) else {
            return wrong("not the address of a RabbitMQ", FORM);
        };
        let secure = match url.scheme() {
            "amqp" => false,
            "amqps" => true,
            _ => return wrong("not the address of a RabbitMQ", FORM),
        };
        let host = match url.host() {
            Some(url::Host::Ipv6(address)) => address.to_string(),
            Some(host) => host.to_string(),
            None => String::new(),
        };
        let path = url.path().strip_prefix('/').unwrap_or(url.path());
        if host.is_empty() || url.fragment().is_some() || path.contains('@') {
            let cure = "write /, @, # and ? in a user or password as %2F, %40, %23 and %3F";
            return wrong("an address that cannot be parsed", cure);
        }
        if path.contains('/') {
            return wrong("more than one /", "write the / of a virtual host as %2F");
        }
        let vhost = if path.is_empty() { "/".to_owned() } else { decoded(path) };
        // The limit is AMQP's.
        if vhost.len() > 255 {
            return wrong("a virtual host with a name of more than 255 bytes", FORM);
        }
        let (mut authorities, mut heartbeat_s) = (None, None);
        for (name, value) in url.query_pairs() {
            match &*name {
                "cacertfile" if secure => authorities = Some(PathBuf::from(&*value)),
                "heartbeat" => {
                    let cure = "give a whole number from 1 to 65535";
                    let Some(seconds) = value.parse().ok().filter(|it| *it > 0) else {
                        return wrong("not an interval for heartbeats", cure);
                    };
                    heartbeat_s = Some(seconds);
                }
                _ => {
                    let cure = "there are heartbeat=SECONDS and, for amqps, cacertfile=FILE, a PEM \
                                file of authorities";
                    return wrong("an unknown parameter", cure);
                }
            }
        }
        Ok(Self {
            secure,
            host,
            port: url.port().unwrap_or(if secure { 5671 } else { 5672 }),
            vhost,
            user: Some(decoded(url.username())).filter(|user| !user.is_empty()),
            password: url.password().map(decoded),
            authorities,
            heartbeat_s,
        })
    }

    /// The broker of a flag or, without one, of what `variable` finds.
    fn find(
        flag: Option<&str>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, Invalid> {
        let mut broker = match (flag, variable(URL_VARIABLE)) {
            (Some(url), _) => Self::parse("--broker", url)?,
            (None, Some(url)) => Self::parse(URL_VARIABLE, &url)?,
            (None, None) => return Ok(None),
        };
        // Every user of the machine can list command lines.
        if flag.is_some() && broker.password.is_some() {
            let problem = "a password that every user of this machine can read";
            let cure = format!(
                "put it into {PASSWORD_VARIABLE}, or the whole address into {URL_VARIABLE}"
            );
            return Err(Invalid::new("--broker", problem, cure));
        }
        broker.user = broker.user.or_else(|| variable(USER_VARIABLE));
        broker.password = broker.password.or_else(|| variable(PASSWORD_VARIABLE));
        Ok(Some(broker))
    }

    /// The user, unless it is RabbitMQ's own default.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The coordinator's end of the channel of the run `run`.
    ///
    /// # Errors
    /// Returns a sentence with the cause and what to do if it cannot be opened.
    pub fn open(&self, run: &str) -> Result<Channel, String> {
        amqp::open(self, run)
    }

    /// The end of agent number `agent`. Waits this long for the coordinator if it is not present
    /// yet.
    ///
    /// # Errors
    /// Returns a sentence with the cause and what to do if it cannot be opened.
    pub fn join(&self, run: &str, agent: usize, patience: Duration) -> Result<Channel, String> {
        amqp::join(self, run, agent, patience)
    }
}

#[cfg(feature = "broker")]
use super::amqp;

/// Stands in for the transport; without it there is no [`Broker`].
#[cfg(not(feature = "broker"))]
mod amqp {
    use super::{Broker, Channel, Duration};

    pub(super) fn open(broker: &Broker, _: &str) -> Result<Channel, String> {
        Err(format!("{broker} cannot be reached: this springload was built without broker support"))
    }

    pub(super) fn join(
        broker: &Broker,
        run: &str,
        _: usize,
        _: Duration,
    ) -> Result<Channel, String> {
        open(broker, run)
    }
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

impl fmt::Display for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secure { "amqps" } else { "amqp" };
        let Self { host, port, .. } = self;
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        write!(f, "{scheme}://{host}:{port}")?;
        if self.vhost != "/" {
            write!(f, "/{}", utf8_percent_encode(&self.vhost, NAME))?;
        }
        let file = self.authorities.iter().map(|file| format!("cacertfile={}", file.display()));
        let parameters = file.chain(self.heartbeat_s.map(|seconds| format!("heartbeat={seconds}")));
        let parameters: Vec<_> = parameters.collect();
        if parameters.is_empty() { Ok(()) } else { write!(f, "?{}", parameters.join("&")) }
    }
}

impl fmt::Debug for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Broker({self})")
    }
}

#[cfg(feature = "broker")]
#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Broker {
        Broker::parse("--broker", url).unwrap()
    }

    #[test]
    fn addresses_have_a_default_port_and_vhost() {
        for (url, shown) in [
            ("amqp://h", "amqp://h:5672"),
            ("amqp://h/", "amqp://h:5672"),
            ("amqps://h", "amqps://h:5671"),
            ("AMQP://127.0.0.1:1", "amqp://127.0.0.1:1"),
            ("amqp://[::1]/a%2Fb", "amqp://[::1]:5672/a%2Fb"),
            ("amqp://u:p@h/%2f", "amqp://h:5672"),
            ("amqps://h?cacertfile=/a/ca.pem", "amqps://h:5671?cacertfile=/a/ca.pem"),
            ("amqp://h?heartbeat=30", "amqp://h:5672?heartbeat=30"),
            ("amqps://h?heartbeat=9&cacertfile=c", "amqps://h:5671?cacertfile=c&heartbeat=9"),
        ] {
            assert_eq!(parse(url).to_string(), shown, "{url}");
            assert_eq!(parse(shown).to_string(), shown, "it can be given again");
        }
        assert_eq!(parse("amqp://[::1]").host, "::1");
        assert_eq!(parse("amqp://h/a%2Fb").vhost, "a/b");
    }

    #[test]
    fn user_and_password_are_decoded_and_never_shown() {
        let broker = parse("amqp://an%40n:s%3Acr%2Fet@h/v");
        assert_eq!(broker.user.as_deref(), Some("an@n"));
        assert_eq!(broker.password.as_deref(), Some("s:cr/et"));
        assert_eq!(broker.to_string(), "amqp://h:5672/v");
        assert_eq!(format!("{broker:?}"), "Broker(amqp://h:5672/v)");
    }

    #[test]
    fn other_addresses_are_refused_without_showing_them() {
        for url in [
            "",
            "h",
            "h:5672",
            "http://u:secret@h",
            "amqp:h",
            "amqp://",
            "amqp://:5672",
            "amqp://h:x",
            "amqp://u:sec/ret@h/v",
            "amqp://u:sec#ret@h/v",
            "amqp://u:sec?ret@h/v",
            "amqp://h/a/b",
            "amqp://h?heartbeat=0",
            "amqp://h?heartbeat=65536",
            "amqp://h?heartbeat=soon",
            "amqp://h?cacertfile=x",
            "amqps://h?frame_max=1",
        ] {
            let message = Broker::parse("--broker", url).unwrap_err().to_string();
            assert!(
                message.starts_with("--broker: ") && message.contains("; "),
                "{url}: {message}"
            );
            assert!(!message.contains("sec") && !message.contains("ret"), "{url}: {message}");
        }
    }

    #[test]
    fn the_environment_has_what_the_flag_has_not() {
        let all = |name: &str| match name {
            URL_VARIABLE => Some("amqp://ann:pw@env".to_owned()),
            USER_VARIABLE => Some("eve".to_owned()),
            PASSWORD_VARIABLE => Some("secret".to_owned()),
            _ => None,
        };
        let parts = |broker: Broker| (broker.host, broker.user, broker.password);
        let some = |text: &str| Some(text.to_owned());
        let found = Broker::find(None, &all).unwrap().unwrap();
        assert_eq!(parts(found), ("env".to_owned(), some("ann"), some("pw")));
        let found = Broker::find(Some("amqp://bob@h"), &all).unwrap().unwrap();
        assert_eq!(parts(found), ("h".to_owned(), some("bob"), some("secret")));
        let found = Broker::find(Some("amqp://h"), &all).unwrap().unwrap();
        assert_eq!(parts(found), ("h".to_owned(), some("eve"), some("secret")));
        assert_eq!(Broker::find(None, &|_| None), Ok(None));
        let message = Broker::find(Some("amqp://bob:pw@h"), &all).unwrap_err().to_string();
        assert!(
            message.contains("SPRINGLOAD_BROKER_PASSWORD") && !message.contains("pw@"),
            "{message}"
        );
        let wrong = |_: &str| Some("http://h".to_owned());
        let message = Broker::find(None, &wrong).unwrap_err().to_string();
        assert!(message.starts_with("SPRINGLOAD_BROKER: "), "{message}");
    }
}
