//! Agents that come by themselves over TCP, with TLS unless they are on the same machine, and know
//! a token: the coordinator's address, the first messages of both sides, and the agent's side.

use super::channel::Channel;
use super::pipe::over;
use super::wire::Wire;
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::mistake::Invalid;
use crate::net::{TlsOptions, Trouble, tls_config};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{IpAddr, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use subtle::ConstantTimeEq;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, Error};
use url::{Host, Url};

/// How long each side may take to identify itself.
pub(super) const STEP_NS: Nanos = 10 * SECOND_NS;
/// The maximum length of the first messages, in bytes.
const FIRST: u64 = 4096;
/// The length of a token, in bytes: a shorter one could be guessed.
const TOKEN: std::ops::RangeInclusive<usize> = 16..=1024;
/// How long an agent waits before it retries.
const AGAIN: Duration = Duration::from_millis(250);
/// The form of addresses, for error messages.
const FORM: &str = "give tls://HOST:PORT, or tcp://127.0.0.1:PORT on the same machine";

/// A secret that only the coordinator and its agents know. Never shown.
#[derive(Clone, Serialize, Deserialize)]
pub struct Token(String);

/// The address of an agent's coordinator.
#[derive(Clone, Debug)]
pub struct Place {
    host: String,
    port: u16,
    /// `None` for the system's authorities.
    authorities: Option<PathBuf>,
    secure: bool,
}

/// An agent's first message.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Knock {
    /// Its version.
    pub(super) springload: String,
    pub(super) token: Token,
}

/// The coordinator's reply to it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    /// The agent is admitted, with this number.
    Welcome { run: String, index: usize },
    /// The agent is refused, for this reason.
    Refused(String),
}

/// A place in a run.
#[derive(Debug)]
pub struct Joined {
    /// The way to the coordinator.
    pub channel: Channel,
    /// The run.
    pub run: String,
    /// The agent's number.
    pub index: usize,
}

/// The reason an agent is not admitted.
enum Refusal {
    /// The coordinator may not be present yet.
    Absent(String),
    /// Trying again would not help.
    Final(String),
}

impl Token {
    /// Makes a token of `text`, which comes from `from`.
    ///
    /// # Errors
    /// Returns an error if its length does not suit a token.
    pub fn new(from: &str, text: &str) -> Result<Self, Invalid> {
        let text = text.trim();
        if TOKEN.contains(&text.len()) {
            return Ok(Self(text.to_owned()));
        }
        let problem = format!("a token of {} bytes", text.len());
        let cure = "give 16 to 1024 of them, such as those of: openssl rand -hex 32";
        Err(Invalid::new(from, problem, cure))
    }

    /// Compares two tokens in constant time.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl Place {
    /// Parses the address `url`, given by `flag`. One of the `authorities` must have signed the
    /// certificate there.
    ///
    /// # Errors
    /// Returns an error if the address is not valid.
    pub fn parse(flag: &str, url: &str, authorities: Option<PathBuf>) -> Result<Self, Invalid> {
        let wrong = |problem: &str| Err(Invalid::new(flag, problem, FORM));
        let Ok(url) = Url::parse(url) else { return wrong("not the address of a coordinator") };
        let secure = url.scheme() == "tls";
        let (host, near) = match url.host() {
            Some(Host::Ipv4(it)) => (it.to_string(), it.is_loopback()),
            Some(Host::Ipv6(it)) => (it.to_string(), it.is_loopback()),
            // The URL standard does not know these schemes, so IP addresses are parsed as names.
            Some(Host::Domain(it)) => {
                let is_near = |it: IpAddr| it.is_loopback();
                (it.to_owned(), it.parse().map_or(it == "localhost", is_near))
            }
            None => return wrong("not the address of a coordinator"),
        };
        let (Some(port), true) = (url.port(), secure || url.scheme() == "tcp") else {
            return wrong("not the address of a coordinator");
        };
        let more = !url.username().is_empty() || url.password().is_some();
        if more || !matches!(url.path(), "" | "/") || url.query().is_some() {
            return wrong("more than a host and a port");
        }
        if !secure && !near {
            return wrong("without TLS, everybody on the way could read token and passwords");
        }
        if !secure && authorities.is_some() {
            let cure = "leave it out, or give tls://";
            return Err(Invalid::new("--tls-ca", "there is no TLS over tcp://", cure));
        }
        Ok(Self { host, port, authorities, secure })
    }

    /// Joins the run of the coordinator at this address; waits if it is not present yet.
    ///
    /// # Errors
    /// Returns a sentence with the cause and what to do if that fails.
    pub fn join(&self, token: &Token, patience: Duration) -> Result<Joined, String> {
        let options = TlsOptions { authorities: self.authorities.clone(), ..TlsOptions::default() };
        let tls = self.secure.then(|| tls_config(&options, "--tls-ca")).transpose();
        let tls = tls.map_err(|error| error.to_string())?;
        let clock = Clock::system();
        let until = clock.now() + patience.as_nanos() as Nanos;
        loop {
            match self.knock(tls.as_ref(), token) {
                Ok(joined) => return Ok(joined),
                Err(Refusal::Final(why)) => return Err(why),
                Err(Refusal::Absent(why)) if clock.now() >= until => {
                    let waited_s = patience.as_secs_f64();
                    return Err(format!("no coordinator at {self} within {waited_s} s: {why}"));
                }
                Err(Refusal::Absent(_)) => std::thread::sleep(AGAIN),
            }
        }
    }

    fn knock(&self, tls: Option<&Arc<ClientConfig>>, token: &Token) -> Result<Joined, Refusal> {
        let absent = |error: io::Error| Refusal::Absent(error.to_string());
        let socket = self.connect().map_err(absent)?;
        let tls = tls.map(|config| {
            let name = ServerName::try_from(self.host.clone());
            let name = name.map_err(|error| Refusal::Final(format!("{self}: {error}")))?;
            let connection = ClientConnection::new(config.clone(), name);
            connection.map_err(|error| Refusal::Final(format!("{self}: {error}")))
        });
        let wire = Wire::new(socket, tls.transpose()?.map(Into::into), STEP_NS).map_err(absent)?;
        let (reading, mut writing) = wire.ends();
        let (token, springload) = (token.clone(), env!("CARGO_PKG_VERSION").to_owned());
        let mut lines = BufReader::new(reading);
        let reply = say(&mut writing, &Knock { springload, token }).and_then(|()| hear(&mut lines));
        match reply.map_err(|error| self.unanswered(&error))? {
            Reply::Refused(why) => Err(Refusal::Final(format!("{self} refuses this agent: {why}"))),
            Reply::Welcome { run, index } => {
                wire.release().map_err(absent)?;
                let channel = over(lines, writing).map_err(absent)?;
                Ok(Joined { channel, run, index })
            }
        }
    }

    fn connect(&self) -> io::Result<TcpStream> {
        let mut found = Err(io::ErrorKind::AddrNotAvailable.into());
        for address in (self.host.as_str(), self.port).to_socket_addrs()? {
            found = TcpStream::connect_timeout(&address, Duration::from_nanos(STEP_NS));
            if found.is_ok() {
                break;
            }
        }
        found
    }

    /// The reason there is no reply.
    fn unanswered(&self, error: &io::Error) -> Refusal {
        let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<Error>());
        let why = Trouble::of_lost(error);
        match cause {
            Some(Error::InvalidCertificate(_)) => Refusal::Final(format!(
                "the certificate of {self} cannot be trusted: {why}; give a PEM file of its \
                 authority with --tls-ca, and the host as the certificate does"
            )),
            Some(_) => Refusal::Final(format!(
                "cannot use TLS with {self}: {why}; give the coordinator --listen-cert and \
                 --listen-key"
            )),
            None if error.kind() == io::ErrorKind::InvalidData => Refusal::Final(format!(
                "{self} is no coordinator of springload ({error}); give the address of its \
                 --listen, with tls:// if it has a certificate"
            )),
            // It may have been too busy with other agents.
            None => Refusal::Absent(error.to_string()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, .. } = self;
        let scheme = if self.secure { "tls" } else { "tcp" };
        let bracket = if host.contains(':') { ["[", "]"] } else { ["", ""] };
        write!(f, "{scheme}://{}{host}{}:{port}", bracket[0], bracket[1])
    }
}

/// Sends one of the first messages, as a line.
pub(super) fn say(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line).and_then(|()| to.flush())
}

/// Reads one of the first messages, of at most [`FIRST`] bytes.
pub(super) fn hear<T: serde::de::DeserializeOwned>(from: &mut impl BufRead) -> io::Result<T> {
    // The parser's own message could show a part of a token.
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "it says something else");
    match from.fill_buf()?.first() {
        Some(b'{') => {}
        None => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it said nothing")),
        Some(_) => return Err(wrong()),
    }
    let mut line = Vec::new();
    io::Read::take(from, FIRST).read_until(b'\n', &mut line)?;
    serde_json::from_slice(&line).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_scheme_a_host_and_a_port() {
        for url in ["tls://h.example:1", "tls://[::1]:5985", "tls://10.0.0.1:7", "tcp://[::1]:1"] {
            assert_eq!(Place::parse("--join", url, None).unwrap().to_string(), url);
        }
        for near in ["tcp://localhost:1", "tcp://127.0.0.1:1", "tcp://127.9.0.1:1"] {
            assert!(Place::parse("--join", near, None).is_ok(), "{near}");
        }
        for url in [
            "",
            "h:1",
            "tls://h",
            "tls://:1",
            "http://h:1",
            "amqp://h:1",
            "tls://ann@h:1",
            "tls://h:1/run",
            "tls://h:1?x",
            "tcp://h:1",
            "tcp://10.0.0.1:1",
            "tcp://[2001:db8::1]:1",
            "tcp://127.0.0.1.example:1",
            "tcp://localhost.example:1",
        ] {
            assert!(Place::parse("--join", url, None).is_err(), "{url}");
        }
        assert!(Place::parse("--join", "tcp://[::1]:1", Some("ca.pem".into())).is_err());
    }

    #[test]
    fn a_token_is_the_same_or_not_and_never_shown() {
        let token = |text| Token::new("--join-token-file", text).unwrap();
        assert!(token("0123456789abcdef\n").is(&token("0123456789abcdef")));
        for other in ["0123456789abcdeg", "0123456789abcdef0", "1123456789abcdef"] {
            assert!(!token("0123456789abcdef").is(&token(other)));
        }
        assert!(Token::new("x", "0123456789abcde").is_err());
        assert!(Token::new("x", &"x".repeat(1025)).is_err());
        assert_eq!(format!("{:?}", token("0123456789abcdef")), "Token");
    }
}
