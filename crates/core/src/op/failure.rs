//! The ways in which an operation can fail, and the reason that is reported.

use super::steers;
use super::with_all::with_all;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;

// Reports show them in this order.
with_all! {
    /// Why an operation, or one document of a bulk operation, did not succeed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    #[repr(u8)]
    pub enum Failure {
        /// The version was not the current one, or the document already existed.
        Conflict,
        /// The document or database does not exist.
        NotFound,
        /// A precondition failed.
        PreconditionFailed,
        /// The request or a document was too large.
        TooLarge,
        /// The server asked for a lower rate.
        TooManyRequests,
        /// The credentials were refused. Ends the run.
        Authentication,
        /// Any other refusal of a request, or of one document of a bulk request.
        Rejected,
        /// The server reported an error on its side.
        ServerError,
        /// There was no complete response within the timeout.
        Timeout,
        /// No connection could be made.
        Connect,
        /// The server cannot be reached: its network or host is unreachable. Nothing was sent.
        Unreachable,
        /// This machine had no port, file descriptor or memory left for a connection. Nothing was
        /// sent.
        Local,
        /// The peer closed or reset the connection before the response was complete.
        Reset,
        /// A request that may have changed something got no complete response, so it is unknown
        /// whether it was carried out. Requests that only read, or that can safely be repeated,
        /// count as `timeout` or `reset` instead.
        Unanswered,
        /// The response violated the protocol.
        Protocol,
        /// The server was not ready: it was loading its data, or was not allowed to write. It did
        /// nothing.
        NotReady,
        /// Data that was read differs from what was written, by the rules of a workload that checks
        /// this.
        UnexpectedState,
        /// A document is missing although its write was acknowledged.
        Lost,
        /// A document exists although its deletion was acknowledged.
        Resurrected,
        /// A document has an older version than the last one acknowledged.
        Stale,
        /// A document has a version that nothing in this run wrote.
        UnknownRevision,
        /// The content does not match its version.
        WrongBody,
        /// A document exists although every write of it was refused.
        Extra,
        /// A read returned a different document than requested.
        WrongDocument,
        /// The response does not meet what the plan expects of the operation.
        Unexpected,
    }
}

/// What is known about a write that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// It was certainly not carried out: if its data is there nevertheless, that is a finding.
    NotDone,
    /// The server says that it failed, which does not mean that nothing was stored: of ten thousand
    /// documents that a CouchDB on a full disk failed with status 500, 220 were stored.
    Failed,
    /// There was no answer, or none that says.
    Unknown,
}

impl Failure {
    /// Whether the server answered. If not, it is unknown how long it would have taken.
    pub const fn answered(self) -> bool {
        !matches!(
            self,
            Self::Connect
                | Self::Unreachable
                | Self::Local
                | Self::Timeout
                | Self::Reset
                | Self::Unanswered
                | Self::Protocol
                | Self::NotReady
        )
    }

    /// Whether nothing was done because no server could be reached that might have done it.
    pub const fn unconnected(self) -> bool {
        matches!(self, Self::Connect | Self::Unreachable | Self::Local | Self::NotReady)
    }

    /// The class of a connection attempt that failed with `error`.
    pub fn of_connect(error: &io::Error) -> Self {
        match Errno::from_io_error(error) {
            Some(
                Errno::ADDRNOTAVAIL | Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM,
            ) => Self::Local,
            Some(Errno::NETUNREACH | Errno::HOSTUNREACH | Errno::NETDOWN) => Self::Unreachable,
            _ => Self::Connect,
        }
    }

    /// What is known about a write that failed in this way. `docs/trust.md` has the same as a
    /// table.
    pub const fn certainty(self) -> Certainty {
        match self {
            Self::Authentication
            | Self::Conflict
            | Self::Connect
            | Self::Unreachable
            | Self::Local
            | Self::NotFound
            | Self::NotReady
            | Self::PreconditionFailed
            | Self::Rejected
            | Self::TooLarge
            | Self::TooManyRequests => Certainty::NotDone,
            Self::ServerError | Self::UnexpectedState => Certainty::Failed,
            Self::Timeout
            | Self::Reset
            | Self::Unanswered
            | Self::Protocol
            | Self::Lost
            | Self::Resurrected
            | Self::Stale
            | Self::UnknownRevision
            | Self::WrongBody
            | Self::Extra
            | Self::WrongDocument
            | Self::Unexpected => Certainty::Unknown,
        }
    }

    /// Whether the request certainly changed nothing.
    pub const fn refuses(self) -> bool {
        matches!(self.certainty(), Certainty::NotDone)
    }

    /// Whether data is not what it should be.
    pub const fn is_wrong_data(self) -> bool {
        matches!(
            self,
            Self::UnexpectedState
                | Self::Lost
                | Self::Resurrected
                | Self::Stale
                | Self::UnknownRevision
                | Self::WrongBody
                | Self::Extra
                | Self::WrongDocument
        )
    }

    /// The number of classes: the length of every per-class table.
    pub const COUNT: usize = Self::ALL.len();

    /// The name used in JSON and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Conflict => "conflict",
            Self::NotFound => "not_found",
            Self::PreconditionFailed => "precondition_failed",
            Self::TooLarge => "too_large",
            Self::TooManyRequests => "too_many_requests",
            Self::Authentication => "authentication",
            Self::Rejected => "rejected",
            Self::ServerError => "server_error",
            Self::Timeout => "timeout",
            Self::Connect => "connect",
            Self::Unreachable => "unreachable",
            Self::Local => "local",
            Self::Reset => "reset",
            Self::Unanswered => "unanswered",
            Self::Protocol => "protocol",
            Self::NotReady => "not_ready",
            Self::UnexpectedState => "unexpected_state",
            Self::Lost => "lost",
            Self::Resurrected => "resurrected",
            Self::Stale => "stale",
            Self::UnknownRevision => "unknown_revision",
            Self::WrongBody => "wrong_body",
            Self::Extra => "extra",
            Self::WrongDocument => "wrong_document",
            Self::Unexpected => "unexpected",
        }
    }

    /// The name in words, such as `not found`.
    pub fn words(self) -> String {
        match self {
            Self::Local => "out of ports or files".to_owned(),
            _ => self.name().replace('_', " "),
        }
    }

    /// Whether the machine that springload runs on is at fault.
    pub const fn by_client(self) -> bool {
        matches!(self, Self::Local)
    }

    /// Whether the network or the server's host is at fault; the two cannot be distinguished.
    pub const fn by_network(self) -> bool {
        matches!(self, Self::Unreachable)
    }

    /// Whether the server did not serve the request, through its own fault or the network's.
    pub const fn unserved(self) -> bool {
        self.by_server() || self.by_network()
    }

    /// Whether the server is at fault, not the request.
    pub const fn by_server(self) -> bool {
        matches!(
            self,
            Self::Connect
                | Self::NotReady
                | Self::Protocol
                | Self::Reset
                | Self::ServerError
                | Self::Timeout
                | Self::TooManyRequests
                | Self::Unanswered
        )
    }

    /// The index into per-class tables.
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The reason for a failure, as given by the server or the operating system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reason {
    /// The status of the response; `None` if there was no response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 100, max = 999)))]
    pub status: Option<u16>,
    /// The text, shortened if necessary, without control characters or credentials.
    #[cfg_attr(feature = "schema", schemars(length(max = Reason::MOST)))]
    pub reason: String,
}

impl Reason {
    /// The most characters to keep.
    pub const MOST: usize = 200;

    /// Cleans `text`: a single line without control characters, credentials or known
    /// secrets, not too long.
    pub fn new(status: Option<u16>, text: &str) -> Self {
        // Before the text is cut: the beginning of a secret would not be recognized.
        let text = &crate::redact::strike(text);
        let spaced = |c: char| steers(c) || c.is_whitespace();
        let (mut reason, mut after_scheme) = (String::new(), false);
        for word in text.split(spaced).filter(|word| !word.is_empty()) {
            if reason.len() > 4 * Self::MOST {
                break;
            }
            if !reason.is_empty() {
                reason.push(' ');
            }
            if after_scheme {
                reason.push('…');
            } else {
                reason.push_str(&without_secrets(word));
            }
            after_scheme = ["basic", "bearer"].iter().any(|it| it.eq_ignore_ascii_case(word));
        }
        if let Some((end, _)) = reason.char_indices().nth(Self::MOST) {
            let last = reason[..end].char_indices().next_back().map_or(0, |(at, _)| at);
            reason.replace_range(last.., "…");
        }
        Self { status, reason }
    }
}

/// A word without the credentials of a URL or a session, or a JSON Web Token: three parts in
/// base64url separated by dots, the first of which is an object (RFC 7519).
fn without_secrets(word: &str) -> String {
    let mut clean = word.to_owned();
    if let Some(start) = clean.find("://").map(|at| at + 3) {
        let end = clean[start..].find('/').map_or(clean.len(), |at| start + at);
        if let Some(at) = clean[start..end].rfind('@') {
            clean.replace_range(start..start + at, "…");
        }
    }
    if let Some(start) = clean.find("AuthSession=").map(|at| at + "AuthSession=".len()) {
        let end = clean[start..].find(';').map_or(clean.len(), |at| start + at);
        clean.replace_range(start..end, "…");
    }
    if let Some(start) = clean.find("eyJ") {
        let part = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let end = clean[start..].find(|c| !part(c)).map_or(clean.len(), |at| start + at);
        if clean[start..end].matches('.').count() >= 2 {
            clean.replace_range(start..end, "…");
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_says_whose_fault_it_is_that_there_is_no_connection() {
        let class = |errno: Errno| Failure::of_connect(&io::Error::from(errno));
        for errno in [Errno::ADDRNOTAVAIL, Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM]
        {
            assert_eq!(class(errno), Failure::Local, "{errno}");
        }
        for errno in [Errno::NETUNREACH, Errno::HOSTUNREACH, Errno::NETDOWN] {
            assert_eq!(class(errno), Failure::Unreachable, "{errno}");
        }
        for errno in [Errno::CONNREFUSED, Errno::CONNRESET, Errno::TIMEDOUT, Errno::ACCESS] {
            assert_eq!(class(errno), Failure::Connect, "{errno}");
        }
        // As when a name has no address: the error does not come from the operating system.
        let own = io::Error::from(io::ErrorKind::AddrNotAvailable);
        assert_eq!(Failure::of_connect(&own), Failure::Connect);
    }

    #[test]
    fn every_failure_is_at_most_one_party_s() {
        for class in Failure::ALL {
            let parties = [class.by_client(), class.by_server(), class.by_network()];
            assert!(parties.iter().filter(|it| **it).count() <= 1, "{class}");
            assert!(!class.unconnected() || class.refuses() && !class.answered(), "{class}");
        }
        assert!(Failure::Local.by_client() && !Failure::Local.unserved());
        assert!(Failure::Unreachable.by_network() && Failure::Unreachable.unserved());
        assert!(Failure::Connect.by_server() && Failure::Connect.unserved());
        assert!(!Failure::Conflict.unserved());
    }

    #[test]
    fn a_reason_is_one_short_line_without_secrets() {
        let clean = |text: &str| Reason::new(None, text).reason;
        assert_eq!(clean("  a\n\tb\u{7}c\u{1b}[31m\u{202e}\r\n"), "a b c [31m");
        assert_eq!(clean("at http://ann:se@cret@host/x now"), "at http://…@host/x now");
        assert_eq!(clean("Authorization: Basic YTpi, ok"), "Authorization: Basic … ok");
        assert_eq!(clean("Cookie: AuthSession=YTpi; x"), "Cookie: AuthSession=…; x");
        // The example of RFC 7519, 3.1, shortened; without its signature it is not a token.
        let token = "eyJ0eXAiOiJKV1QifQ.eyJpc3MiOiJqb2UifQ.dBjftJeZ4CVP-mB92K_";
        assert_eq!(clean(&format!("bad token={token}\"")), "bad token=…\"");
        assert_eq!(clean("eyJ0eXAiOiJKV1QifQ"), "eyJ0eXAiOiJKV1QifQ");
        assert_eq!(clean(&"ü".repeat(200)), "ü".repeat(200));
        assert_eq!(clean(&"ü".repeat(201)), format!("{}…", "ü".repeat(199)));
        assert_eq!(clean(&"word ".repeat(1_000)).chars().count(), 200);
        assert_eq!(clean(""), "");
    }
}
