//! What a server's refusals mean.

use super::answer::Value;
use crate::call::CallError;
use crate::op::Failure;

/// The contents of an answer, unless it is a refusal.
pub(super) fn checked(answer: &[u8]) -> Result<Value<'_>, CallError> {
    match Value::of(answer) {
        Value::Error(words) => Err(of_refusal(words)),
        value => Ok(value),
    }
}

/// A refusal, in the words of the server.
pub(super) fn of_refusal(words: &[u8]) -> CallError {
    let words = String::from_utf8_lossy(words);
    let code = words.split(' ').next().unwrap_or_default();
    CallError::new(of_code(code, &words), words)
}

/// The meaning of a refusal by the server, by its first word.
fn of_code(code: &str, words: &str) -> Failure {
    match code {
        "NOAUTH" | "WRONGPASS" => Failure::Authentication,
        "CLUSTERDOWN" | "LOADING" | "MASTERDOWN" | "READONLY" => Failure::NotReady,
        "BUSY" | "MISCONF" | "NOREPLICAS" | "OOM" | "TRYAGAIN" => Failure::ServerError,
        "ERR" if words.contains("max number of clients") => Failure::TooManyRequests,
        // Infinispan's own errors have numbers. It may pass on any of them, whether or not the
        // command was carried out.
        "ERR" if words.starts_with("ERR ISPN") => Failure::ServerError,
        "ERR" if words.contains("invalid password") => Failure::Authentication,
        _ => Failure::Rejected,
    }
}

/// Where a node of a cluster redirects a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Redirect {
    /// The node, `host:port`; without a host, it is on that of the node that redirects.
    pub(super) to: String,
    /// Whether only this command is redirected, because its slot is being moved.
    pub(super) asks: bool,
}

impl Redirect {
    /// The redirection in an answer, if it is one.
    pub(super) fn of(answer: &[u8]) -> Option<Self> {
        let asks = answer.starts_with(b"-ASK ");
        if !asks && !answer.starts_with(b"-MOVED ") {
            return None;
        }
        let line = std::str::from_utf8(answer).ok()?.trim_end();
        Some(Self { to: line.split(' ').nth(2)?.to_owned(), asks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_known_by_the_word_they_begin_with() {
        for (line, failure) in [
            ("-NOAUTH Authentication required.", Failure::Authentication),
            ("-WRONGPASS invalid username-password pair", Failure::Authentication),
            ("-ERR invalid password", Failure::Authentication),
            ("-NOPERM this user has no permissions to run hset", Failure::Rejected),
            ("-WRONGTYPE Operation against a key holding another kind", Failure::Rejected),
            ("-MOVED 3999 127.0.0.1:6381", Failure::Rejected),
            ("-ERR unknown command 'HSET'", Failure::Rejected),
            ("-ERR ISPN000299: Unable to acquire lock", Failure::ServerError),
            ("-ERR max number of clients reached", Failure::TooManyRequests),
            ("-OOM command not allowed when used memory > 'maxmemory'.", Failure::ServerError),
            ("-LOADING Redis is loading the dataset in memory", Failure::NotReady),
            ("-READONLY You can't write against a read only replica.", Failure::NotReady),
            ("-CLUSTERDOWN The cluster is down", Failure::NotReady),
            ("-MASTERDOWN Link with MASTER is down", Failure::NotReady),
        ] {
            let found = checked(format!("{line}\r\n").as_bytes()).map(|_| ());
            assert_eq!(found, Err(CallError::new(failure, &line[1..])), "{line}");
        }
    }

    #[test]
    fn redirections_name_a_node() {
        let of = |line: &str| Redirect::of(line.as_bytes()).map(|it| (it.to, it.asks));
        let there = |to: &str, asks| Some((to.to_owned(), asks));
        assert_eq!(of("-MOVED 3999 127.0.0.1:6381\r\n"), there("127.0.0.1:6381", false));
        assert_eq!(of("-ASK 3999 ::1:6381\r\n"), there("::1:6381", true));
        assert_eq!(of("-MOVED 3999 :6381\r\n"), there(":6381", false));
        for other in ["-MOVED\r\n", "-ERR MOVED 1 a:1\r\n", "+MOVED 1 a:1\r\n", ""] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
