//! What the library's errors mean.

use crate::library::CallError;
use crate::op::Failure;
use ::scylla::errors::{
    ConnectionError, ConnectionPoolError, ConnectionSetupRequestErrorKind, DbError, ExecutionError,
    MetadataError, NewSessionError, PrepareError, RequestAttemptError,
};

/// The failure that an error of the library amounts to, in the words of the server.
pub(super) fn of(error: &ExecutionError) -> CallError {
    let failure = match error {
        ExecutionError::LastAttemptError(error) => return of_attempt(error),
        ExecutionError::PrepareError(error) => return of_prepare(error),
        ExecutionError::ConnectionPoolError(error) => return of_pool(error),
        ExecutionError::EmptyPlan => Failure::Connect,
        ExecutionError::RequestTimeout(_) => Failure::Timeout,
        ExecutionError::SchemaAgreementError(_) | ExecutionError::MetadataError(_) => {
            Failure::ServerError
        }
        _ => Failure::Rejected,
    };
    CallError::new(failure, error.to_string())
}

/// The same for a statement that could not be prepared.
pub(super) fn of_prepare(error: &PrepareError) -> CallError {
    match error {
        PrepareError::ConnectionPoolError(error) => of_pool(error),
        PrepareError::AllAttemptsFailed { first_attempt } => of_attempt(first_attempt),
        _ => CallError::new(Failure::Protocol, error.to_string()),
    }
}

/// The same for a cluster that could not be connected to.
pub(super) fn of_new_session(error: &NewSessionError) -> CallError {
    match error {
        NewSessionError::MetadataError(MetadataError::ConnectionPoolError(error)) => of_pool(error),
        NewSessionError::MetadataError(_) => CallError::new(Failure::Protocol, error.to_string()),
        _ => CallError::new(Failure::Connect, error.to_string()),
    }
}

fn of_attempt(error: &RequestAttemptError) -> CallError {
    let failure = match error {
        RequestAttemptError::DbError(error, words) => {
            return CallError::new(of_refusal(error, words), words);
        }
        RequestAttemptError::BrokenConnectionError(_) => Failure::Reset,
        RequestAttemptError::UnableToAllocStreamId => Failure::Connect,
        RequestAttemptError::SerializationError(_)
        | RequestAttemptError::CqlRequestSerialization(_) => Failure::Rejected,
        _ => Failure::Protocol,
    };
    CallError::new(failure, error.to_string())
}

fn of_pool(error: &ConnectionPoolError) -> CallError {
    let ConnectionPoolError::Broken { last_connection_error } = error else {
        return CallError::new(Failure::Connect, error.to_string());
    };
    let failure = match last_connection_error {
        ConnectionError::ConnectionSetupRequestError(setup) => match &setup.error {
            ConnectionSetupRequestErrorKind::DbError(
                DbError::AuthenticationError | DbError::Unauthorized,
                words,
            ) => return CallError::new(Failure::Authentication, words),
            ConnectionSetupRequestErrorKind::MissingAuthentication => {
                return CallError::new(
                    Failure::Authentication,
                    "it requires a user and a password",
                );
            }
            ConnectionSetupRequestErrorKind::BrokenConnection(_) => Failure::Reset,
            _ => Failure::Protocol,
        },
        ConnectionError::BrokenConnection(_) => Failure::Reset,
        ConnectionError::IoError(error) => {
            let (failure, reason) = crate::net::Trouble::refused(error);
            return CallError { failure, reason };
        }
        _ => Failure::Connect,
    };
    CallError::new(failure, last_connection_error.to_string())
}

/// What a refusal by the server means.
fn of_refusal(error: &DbError, words: &str) -> Failure {
    match error {
        DbError::AuthenticationError => Failure::Authentication,
        DbError::Overloaded | DbError::RateLimitReached { .. } => Failure::TooManyRequests,
        DbError::Unavailable { .. }
        | DbError::IsBootstrapping
        | DbError::TruncateError
        | DbError::ReadTimeout { .. }
        | DbError::WriteTimeout { .. }
        | DbError::ReadFailure { .. }
        | DbError::WriteFailure { .. }
        | DbError::Unprepared { .. }
        | DbError::ServerError => Failure::ServerError,
        DbError::ProtocolError => Failure::Protocol,
        DbError::Invalid if is_missing(words) => Failure::NotFound,
        _ => Failure::Rejected,
    }
}

/// Whether the server says that the table or keyspace does not exist.
fn is_missing(words: &str) -> bool {
    let words = words.to_ascii_lowercase();
    words.starts_with("unconfigured table")
        || words.starts_with("keyspace ") && words.ends_with(" does not exist")
        || words.starts_with("table ") && words.ends_with(" does not exist")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_have_their_classes() {
        let class = |error, words: &str| {
            of(&ExecutionError::LastAttemptError(RequestAttemptError::DbError(
                error,
                words.to_owned(),
            )))
        };
        for (error, words, failure) in [
            (DbError::Invalid, "unconfigured table usertable", Failure::NotFound),
            (DbError::Invalid, "Keyspace ycsb does not exist", Failure::NotFound),
            (DbError::Invalid, "Undefined column name \"x\"", Failure::Rejected),
            (DbError::SyntaxError, "line 1:0 no viable alternative", Failure::Rejected),
            (DbError::Overloaded, "too busy", Failure::TooManyRequests),
            (DbError::IsBootstrapping, "wait", Failure::ServerError),
            (DbError::AuthenticationError, "wrong password", Failure::Authentication),
            (DbError::Unauthorized, "no MODIFY permission", Failure::Rejected),
        ] {
            assert_eq!(class(error, words), CallError::new(failure, words), "{words}");
        }
    }

    #[test]
    fn without_a_connection_nothing_was_sent() {
        let pool = ExecutionError::ConnectionPoolError(ConnectionPoolError::Initializing);
        assert_eq!(of(&pool).failure, Failure::Connect);
        assert_eq!(of(&ExecutionError::EmptyPlan).failure, Failure::Connect);
    }
}
