//! What became of a call to a server: why it failed, and in whose words.

use super::{LogIn, TargetError};
use crate::net::{Endpoint, Trouble, mixed_up, reach};
use crate::op::{Failure, Reason};
use std::time::Duration;

/// Why an operation failed, in the words of the server or the library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallError {
    /// The class.
    pub failure: Failure,
    /// The words; empty if there are none.
    pub reason: String,
}

impl CallError {
    /// A failure and its reason.
    pub fn new(failure: Failure, reason: impl Into<String>) -> Self {
        Self { failure, reason: reason.into() }
    }

    /// The same in the words of a server that repeats what it was sent, without this secret.
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

/// The result of `work`, unless it takes too long; `meaning` is that of an error.
///
/// # Errors
/// Why it failed, or that it took too long.
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

/// What is wrong with a server that was reached, if that can be told apart: TLS on one side alone,
/// or a certificate that is not trusted.
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
        _ => None,
    }
}

/// What is wrong with a server, in the words of a driver whose addresses have this scheme.
pub(super) fn in_scheme(server: &str, scheme: &str, known: &Trouble) -> TargetError {
    let cure = known.cure.replace("https://", &format!("{scheme}s://"));
    let cure = cure.replace("http://", &format!("{scheme}://"));
    TargetError(format!("cannot reach {server}: {}; {cure}", known.problem))
}

/// Why a server that was reached cannot be used, and what to do about it. `stranger` says what to
/// do about one that does not speak the protocol, for this reason.
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
