//! What went wrong with a stream, a connection or a handshake, as messages.

use super::tap::Arrivals;
use crate::net::{TLS_ALERT, TLS_SPOKEN, Trouble};
use crate::op::Failure;
use h2::Reason;
use std::io;

/// The words of `h2` for its limits, for which it ends a connection, and what they mean.
const LIMITS: [(&str, &str); 4] = [
    ("too_many_data_frames", "the server sent too many empty or very small DATA frames"),
    ("header_list_way_too_large", "the headers are much longer than 64 KiB"),
    ("too_many_continuations", "the headers come in too many pieces"),
    ("too_many_internal_resets", "the server sent too many answers that break rules of HTTP/2"),
];

/// How a request, or the connection for it, failed.
#[derive(Clone, Debug)]
pub(super) struct Broken {
    pub(super) failure: Failure,
    /// Details beyond the failure class, if they are known.
    pub(super) trouble: Option<Trouble>,
    /// Whether the server is about to close the connection and has certainly not processed the
    /// request.
    pub(super) goes_away: bool,
    /// Whether the connection was closed, rather than the one stream reset.
    pub(super) closed: bool,
}

/// The server does not speak HTTP/2, with the advice to leave the flag out.
pub(super) fn not_http2() -> Trouble {
    Trouble::new("the server does not speak HTTP/2", "leave --http2 out")
}

impl Broken {
    pub(super) const fn new(failure: Failure, trouble: Option<Trouble>) -> Self {
        Self { failure, trouble, goes_away: false, closed: false }
    }

    fn explained(failure: Failure, words: impl Into<String>) -> Self {
        Self::new(failure, Some(Trouble::new(words, "")))
    }

    pub(super) fn connecting(error: &io::Error) -> Self {
        Self::new(Failure::of_connect(error), Some(Trouble::of(error)))
    }

    /// TLS negotiated another protocol, or none.
    pub(super) fn not_spoken() -> Self {
        Self::new(Failure::Protocol, Some(not_http2()))
    }

    pub(super) const fn timed_out() -> Self {
        Self::new(Failure::Timeout, None)
    }

    pub(super) fn too_large() -> Self {
        Self::explained(Failure::Protocol, "the answer is larger than --max-answer")
    }

    /// A request that cannot be expressed in HTTP/2.
    pub(super) fn unspeakable(words: &str) -> Self {
        Self::explained(Failure::Protocol, format!("HTTP/2 cannot carry this request: {words}"))
    }

    /// Interprets an error of `h2` on a connection on which `arrivals` has arrived.
    pub(super) fn of(error: &h2::Error, arrivals: &Arrivals) -> Self {
        let reason = error.reason().unwrap_or(Reason::NO_ERROR);
        let name = format!("{reason:?}");
        if error.is_go_away() && error.is_remote() {
            let words = format!("the server closes the connection without it (GOAWAY, {name})");
            return Self { goes_away: true, ..Self::explained(Failure::NotReady, words) };
        }
        if error.is_reset() && error.is_remote() {
            return match reason {
                Reason::REFUSED_STREAM => Self::explained(
                    Failure::NotReady,
                    "the server refused the stream (REFUSED_STREAM)",
                ),
                Reason::HTTP_1_1_REQUIRED => {
                    let words = "the server wants HTTP/1.1 for this: leave --http2 out";
                    Self::explained(Failure::Rejected, words)
                }
                _ => {
                    Self::explained(Failure::Reset, format!("the server reset the stream ({name})"))
                }
            };
        }
        if arrivals.begin_with(b"HTTP/1.") {
            return Self::not_spoken();
        }
        if arrivals.begin_with(&TLS_ALERT) {
            return Self::explained(Failure::Protocol, TLS_SPOKEN);
        }
        if error.is_io() {
            return Self { closed: true, ..Self::new(Failure::Reset, None) };
        }
        if error.is_library() {
            return Self::explained(Failure::Protocol, refused(error, reason));
        }
        Self::explained(Failure::Protocol, format!("the request could not be sent: {error}"))
    }
}

/// Says what `h2`, which is a part of springload, refused of what the server sent.
fn refused(error: &h2::Error, reason: Reason) -> String {
    // The words for its limits are nowhere but in the text.
    let text = error.to_string();
    let limit = LIMITS.iter().find(|(word, _)| text.contains(word));
    let what = match (limit, reason) {
        (Some(&(_, what)), _) => what,
        (None, Reason::PROTOCOL_ERROR) if error.is_reset() => {
            "its body is not as long as it says, or its headers are malformed or longer than 64 KiB"
        }
        (None, Reason::PROTOCOL_ERROR) => {
            "the server sent a frame that HTTP/2 does not allow there, such as PUSH_PROMISE, or \
             headers that cannot be read"
        }
        (None, _) => "what the server sent breaks a rule of HTTP/2",
    };
    let done = if error.is_reset() { "refused the answer" } else { "closed the connection" };
    format!("springload {done} ({reason:?}): {what}")
}
