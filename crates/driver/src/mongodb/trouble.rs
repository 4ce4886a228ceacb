//! The meaning of the library's errors.

use crate::library::CallError;
use crate::net::Trouble;
use crate::op::Failure;
use ::mongodb::error::{Error, ErrorKind, WriteConcernError, WriteFailure};
use std::io;

/// The failure that an error of the library means, in the words of the server.
pub(super) fn of(error: &Error) -> CallError {
    use ErrorKind as Kind;
    let (failure, reason) = match &*error.kind {
        Kind::Authentication { message, .. } => (Failure::Authentication, message.clone()),
        Kind::Command(it) => (of_code(it.code), format!("{} {}", it.code_name, it.message)),
        Kind::Write(WriteFailure::WriteError(it)) => (of_code(it.code), it.message.clone()),
        Kind::Write(WriteFailure::WriteConcernError(it)) => return of_concern(it),
        Kind::Io(it) => of_io(it),
        Kind::ServerSelection { message, .. } => of_selection(why_none(message)),
        Kind::DnsResolve { message, .. } | Kind::InvalidTlsConfig { message, .. } => {
            (Failure::Connect, message.clone())
        }
        Kind::ConnectionPoolCleared { message, .. } => (Failure::Reset, message.clone()),
        Kind::InvalidResponse { message, .. } | Kind::Internal { message, .. } => {
            (Failure::Protocol, message.clone())
        }
        Kind::Bson(it) => (Failure::Protocol, it.to_string()),
        Kind::Shutdown => (Failure::Connect, "the client was shut down".to_owned()),
        _ => (Failure::Rejected, error.to_string()),
    };
    CallError::new(failure, reason)
}

/// A write that was carried out, but not on as many servers as requested.
pub(super) fn of_concern(error: &WriteConcernError) -> CallError {
    CallError::new(Failure::ServerError, format!("{} {}", error.code_name, error.message))
}

/// The meaning of an error code of the server, from MongoDB's `error_codes.yml`.
pub(super) const fn of_code(code: i32) -> Failure {
    match code {
        // DuplicateKey and its old form, WriteConflict.
        11_000 | 11_001 | 112 => Failure::Conflict,
        // Unauthorized, AuthenticationFailed.
        13 | 18 => Failure::Authentication,
        // NamespaceNotFound.
        26 => Failure::NotFound,
        // BSONObjectTooLarge, KeyTooLong.
        10_334 | 17_280 => Failure::TooLarge,
        // IngressRequestRateLimitExceeded.
        462 => Failure::TooManyRequests,
        // Errors in the request itself: BadValue, FailedToParse, TypeMismatch, InvalidLength,
        // IllegalOperation, EmptyArrayOperation, InvalidBSON, LockNotFound, PathNotViable,
        // ConflictingUpdateOperators, names and types of fields, CommandNotFound, ImmutableField,
        // InvalidOptions, InvalidNamespace, CommandNotSupported, DocumentValidationFailure,
        // NotAReplicaSet, CommandNotSupportedOnView, NotImplemented, ConversionFailure, and unknown
        // fields of commands.
        2
        | 9
        | 14
        | 16
        | 20
        | 21
        | 22
        | 28
        | 40
        | 52..=59
        | 66
        | 72
        | 73
        | 115
        | 121
        | 123
        | 166
        | 238
        | 241
        | 40_414
        | 40_415 => Failure::Rejected,
        // Errors of the server, such as InternalError, WriteConcernFailed and ShutdownInProgress,
        // and codes that are unknown here: the write may have been carried out.
        _ => Failure::ServerError,
    }
}

fn of_io(error: &io::Error) -> (Failure, String) {
    let failure = match error.kind() {
        io::ErrorKind::TimedOut => Failure::Timeout,
        io::ErrorKind::ConnectionRefused => Failure::Connect,
        _ => match Trouble::refused(error) {
            (Failure::Connect, _) => Failure::Reset,
            refused => return refused,
        },
    };
    (failure, Trouble::of_lost(error))
}

/// The failure when no server can be selected: the library gives only the text of the system's
/// error, which contains its number.
fn of_selection(why: &str) -> (Failure, String) {
    let number = why.split_once("(os error ").and_then(|(_, rest)| rest.split_once(')'));
    let error = number.and_then(|(number, _)| number.parse().ok());
    match error.map(|number| Trouble::refused(&io::Error::from_raw_os_error(number))) {
        Some(refused) if refused.0 != Failure::Connect => refused,
        _ => (Failure::Connect, why.to_owned()),
    }
}

/// The part of the library's long message that says what is wrong with a server.
fn why_none(message: &str) -> &str {
    let Some((_, why)) = message.split_once("Error: ") else { return message };
    let end = why.find(", labels").or_else(|| why.find(" }")).unwrap_or(why.len());
    why[..end].trim_start_matches("Kind: ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;

    #[test]
    fn io_errors_are_known_by_their_kind() {
        let trouble = |kind| of(&Error::from(io::Error::from(kind))).failure;
        assert_eq!(trouble(io::ErrorKind::TimedOut), Failure::Timeout);
        assert_eq!(trouble(io::ErrorKind::ConnectionRefused), Failure::Connect);
        assert_eq!(trouble(io::ErrorKind::UnexpectedEof), Failure::Reset);
    }

    #[test]
    fn what_this_machine_lacks_is_not_the_servers_fault() {
        for (errno, failure) in [
            (Errno::ADDRNOTAVAIL, Failure::Local),
            (Errno::MFILE, Failure::Local),
            (Errno::HOSTUNREACH, Failure::Unreachable),
            (Errno::CONNREFUSED, Failure::Connect),
        ] {
            let error = io::Error::from(errno);
            let why = format!("I/O error: {error}");
            assert_eq!(of(&Error::from(error)).failure, failure, "{errno}");
            assert_eq!(of_selection(&why).0, failure, "{why}");
        }
        assert_eq!(of_selection("no number"), (Failure::Connect, "no number".to_owned()));
    }

    #[test]
    fn codes_of_the_server_have_their_classes() {
        for (code, failure) in [
            (11_000, Failure::Conflict),
            (13, Failure::Authentication),
            (18, Failure::Authentication),
            (26, Failure::NotFound),
            (10_334, Failure::TooLarge),
            (462, Failure::TooManyRequests),
            (10_107, Failure::ServerError),
            (2, Failure::Rejected),
            (121, Failure::Rejected),
            (1, Failure::ServerError),
            (64, Failure::ServerError),
            (77_777, Failure::ServerError),
        ] {
            assert_eq!(of_code(code), failure, "{code}");
        }
    }

    #[test]
    fn of_a_long_message_the_cause_is_kept() {
        let long = "Server selection timeout: No available servers. Topology: { Type: Unknown, \
                    Servers: [ { Address: 127.0.0.1:1, Type: Unknown, Error: Kind: I/O error: \
                    Connection refused (os error 111), labels: {} } ] }";
        assert_eq!(why_none(long), "I/O error: Connection refused (os error 111)");
        assert_eq!(why_none("short"), "short");
    }
}
