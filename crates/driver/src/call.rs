//! Failures of calls to a server, with the reasons that the server or the library gives.

use super::{LogIn, TargetError};
use crate::net::{Endpoint, Trouble, mixed_up, reach};
use crate::op::{Failure, Reason};
use std::time::Duration;

/// Why an operation failed, in the words of the server or the library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallError {
    /// The class.
    pub failure: Failure,
    /// The reason; empty if none was given.
    pub reason: String,
}

impl CallError {
    /// A failure and its reason.
    pub fn new(failure: Failure, reason: impl Into<String>) -> Self {
        Self { failure, reason: reason.into() }
    }

    /// The same error without `secret` in its reason, in case the server echoes what it was sent.
    pub(super) fn without(self, secret: &str) -> Self {
        if secret.is_empty() {
            return self;
        }
        Self { reason: self.reason.replace(secret, "***"), ..self }
    }

    /// An answer that is not as expected.
    pub fn unexpected(words: String) -> Self {
        Self::new(Failure::Unexpected, words)
    }
}

impl From<Failure> for CallError {
    fn from(failure: Failure) -> Self {
        Self::new(failure, "")
    }
}

/// The reasons of the failures of an operation, one for each class.
#[derive(Debug, Default)]
pub(super) struct Reasons(Vec<CallError>);

impl Reasons {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Keeps the reason of a failure, if it is the first of its class.
    pub(super) fn keep(&mut self, trouble: CallError) {
        if !trouble.reason.is_empty() && self.of(trouble.failure).is_none() {
            self.0.push(trouble);
        }
    }

    /// The reason of a failure.
    pub(super) fn of(&self, failure: Failure) -> Option<&str> {
        let of_class = |it: &&CallError| it.failure == failure;
        self.0.iter().find(of_class).map(|it| it.reason.as_str())
    }
}

/// Waits for `work` for at most `timeout`; `meaning` converts its error.
///
/// # Errors
/// Fails if `work` fails or takes too long.
pub async fn within<T, E>(
    timeout: Duration,
    work: impl Future<Output = Result<T, E>>,
    meaning: impl FnOnce(&E) -> CallError,
) -> Result<T, CallError> {
    match tokio::time::timeout(timeout, work).await {
        Ok(ended) => ended.map_err(|error| meaning(&error)),
        Err(_) => Err(CallError::new(Failure::Timeout, "no answer in time")),
    }
}

/// Diagnoses a server that was reached: TLS on only one side, or an untrusted certificate. `None`
/// if there is no diagnosis.
pub(super) async fn told_apart(
    trouble: &CallError,
    endpoint: &Endpoint,
    timeout: Duration,
) -> Option<Trouble> {
    match trouble.failure {
        failure if failure.unconnected() && failure != Failure::NotReady => {
            reach(endpoint, timeout.as_nanos() as u64).await.err()
        }
        Failure::Protocol | Failure::Reset => mixed_up(endpoint).await,
        // A server may take a handshake for the beginning of a request, and wait for its end.
        Failure::Timeout if endpoint.is_secure() => mixed_up(endpoint).await,
        _ => None,
    }
}

/// The error for a known problem of a server, worded for a driver whose addresses have this scheme.
pub(super) fn in_scheme(server: &str, scheme: &str, known: &Trouble) -> TargetError {
    let cure = known.cure.replace("https://", &format!("{scheme}s://"));
    let cure = cure.replace("http://", &format!("{scheme}://"));
    TargetError(format!("cannot reach {server}: {}; {cure}", known.problem))
}

/// The error for a server that was reached but cannot be used, with what to do about it. `stranger`
/// words it for a server that does not speak the protocol, given the reason.
pub fn unusable(
    server: &str,
    login: &LogIn,
    trouble: &CallError,
    stranger: impl FnOnce(&str) -> String,
) -> TargetError {
    let reason = Reason::new(None, &trouble.reason).reason;
    TargetError(match trouble.failure {
        Failure::Authentication => login.locked_out(server, &reason),
        Failure::NotReady => format!("{server} is not ready: {reason}"),
        failure if !failure.answered() => stranger(&reason),
        _ => format!("{server} cannot be used: {reason}"),
    })
}
