//! What the library's errors mean.

use crate::library::CallError;
use crate::op::Failure;
use ::redis::{ErrorKind, RedisError};
use std::io;

/// The failure that an error of the library amounts to, in the words of the server.
pub(super) fn of(error: &RedisError) -> CallError {
    let failure = match error.kind() {
        ErrorKind::AuthenticationFailed => Failure::Authentication,
        ErrorKind::Io if error.is_timeout() => Failure::Timeout,
        ErrorKind::Io => Failure::Reset,
        ErrorKind::Parse | ErrorKind::UnexpectedReturnType | ErrorKind::Client => Failure::Protocol,
        _ => of_code(error.code().unwrap_or_default(), error.detail().unwrap_or_default()),
    };
    let reason = match (error.code(), error.detail()) {
        (Some(code), Some(detail)) => format!("{code} {detail}"),
        (None, Some(detail)) if failure == Failure::Authentication => detail.to_owned(),
        _ => error.to_string(),
    };
    CallError::new(failure, reason)
}

/// The failure of a connection that could not be made.
pub(super) fn of_connect(error: &io::Error) -> CallError {
    let (failure, reason) = crate::net::Trouble::refused(error);
    CallError { failure, reason }
}

/// The meaning of a refusal by the server, by its first word.
fn of_code(code: &str, detail: &str) -> Failure {
    match code {
        "NOAUTH" | "WRONGPASS" => Failure::Authentication,
        "CLUSTERDOWN" | "LOADING" | "MASTERDOWN" | "READONLY" => Failure::NotReady,
        "BUSY" | "MISCONF" | "NOREPLICAS" | "OOM" | "TRYAGAIN" => Failure::ServerError,
        "ERR" if detail.contains("max number of clients") => Failure::TooManyRequests,
        "ERR" if detail.contains("invalid password") => Failure::Authentication,
        _ => Failure::Rejected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::redis::{Value, parse_redis_value};

    /// The failure that the server's refusal amounts to.
    fn refused(line: &str) -> CallError {
        let answer: Value = parse_redis_value(format!("{line}\r\n").as_bytes()).unwrap();
        of(&answer.extract_error().unwrap_err())
    }

    #[test]
    fn refusals_are_told_by_the_word_they_begin_with() {
        for (line, failure) in [
            ("-NOAUTH Authentication required.", Failure::Authentication),
            ("-WRONGPASS invalid username-password pair", Failure::Authentication),
            ("-ERR invalid password", Failure::Authentication),
            ("-NOPERM this user has no permissions to run hset", Failure::Rejected),
            ("-WRONGTYPE Operation against a key holding another kind", Failure::Rejected),
            ("-MOVED 3999 127.0.0.1:6381", Failure::Rejected),
            ("-ERR unknown command 'HSET'", Failure::Rejected),
            ("-ERR max number of clients reached", Failure::TooManyRequests),
            ("-OOM command not allowed when used memory > 'maxmemory'.", Failure::ServerError),
            ("-LOADING Redis is loading the dataset in memory", Failure::NotReady),
            ("-READONLY You can't write against a read only replica.", Failure::NotReady),
            ("-CLUSTERDOWN The cluster is down", Failure::NotReady),
            ("-MASTERDOWN Link with MASTER is down", Failure::NotReady),
        ] {
            assert_eq!(refused(line), CallError::new(failure, &line[1..]), "{line}");
        }
    }

    #[test]
    fn what_is_no_redis_violates_the_protocol() {
        let error = parse_redis_value(b"HTTP/1.1 400 Bad Request\r\n").unwrap_err();
        assert_eq!(of(&error).failure, Failure::Protocol);
    }
}
