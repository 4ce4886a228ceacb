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
    let cure = match code {
        // A node that is known to be one of a cluster has its redirections followed.
        "ASK" | "MOVED" => {
            ": a cluster that springload could not know as one; allow HELLO or INFO, and CLUSTER \
             SLOTS"
        }
        _ => "",
    };
    CallError::new(of_code(code, &words), format!("{words}{cure}"))
}

/// The first words of Redis's refusals of a command that did nothing.
const REFUSALS: [&str; 12] = [
    "ASK",
    "BUSYGROUP",
    "BUSYKEY",
    "CROSSSLOT",
    "DENIED",
    "EXECABORT",
    "MOVED",
    "NOGROUP",
    "NOPERM",
    "NOPROTO",
    "NOSCRIPT",
    "WRONGTYPE",
];

/// What follows `ERR` in such refusals. Proxies have texts of their own after it, such as `unknown`
/// or `Invalid argument`, and use them for lost answers, too.
const TEXTS: [&str; 19] = [
    "DB index is out of range",
    "Unknown subcommand",
    "hash value is not ",
    "increment or decrement would overflow",
    "increment would produce NaN",
    "index out of range",
    "invalid DB index",
    "invalid cursor",
    "invalid expire time",
    "invalid longitude,latitude pair",
    "min or max is not ",
    "no such key",
    "offset is out of range",
    "string exceeds maximum allowed size",
    "syntax error",
    "unknown command",
    "unknown subcommand",
    "value is ",
    "wrong number of arguments",
];

/// The meaning of a refusal by the server, by its first word. A command that met an unknown error
/// may have been carried out: a proxy may have lost the answer, and Infinispan passes on any error
/// of its own.
fn of_code(code: &str, words: &str) -> Failure {
    // What a script has done before the command that failed stays done.
    if words.contains(" script: ") {
        return Failure::ServerError;
    }
    match code {
        "NOAUTH" | "WRONGPASS" => Failure::Authentication,
        "CLUSTERDOWN" | "LOADING" | "MASTERDOWN" | "READONLY" => Failure::NotReady,
        "ERR" => of_text(words.strip_prefix("ERR ").unwrap_or_default()),
        code if REFUSALS.contains(&code) => Failure::Rejected,
        _ => Failure::ServerError,
    }
}

/// The meaning of a refusal that begins with `ERR`.
fn of_text(text: &str) -> Failure {
    if text.starts_with("max number of clients") {
        Failure::TooManyRequests
    } else if text.starts_with("invalid password") {
        Failure::Authentication
    } else if TEXTS.iter().any(|start| text.starts_with(start)) {
        Failure::Rejected
    } else {
        Failure::ServerError
    }
}

/// Where a node of a cluster redirects a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NodeRedirect {
    /// The node, `host:port`; without a host, it is on that of the node that redirects.
    pub(super) to: String,
    /// Whether only this command is redirected, because its slot is being moved.
    pub(super) asks: bool,
}

impl NodeRedirect {
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
            ("-ERR unknown command 'HSET'", Failure::Rejected),
            ("-ERR wrong number of arguments for 'hset' command", Failure::Rejected),
            ("-ERR syntax error", Failure::Rejected),
            ("-ERR value is not an integer or out of range", Failure::Rejected),
            ("-EXECABORT Transaction discarded because of previous errors.", Failure::Rejected),
            ("-CROSSSLOT Keys in request don't hash to the same slot", Failure::Rejected),
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

    /// They come from proxies, modules and scripts: the command may have been carried out.
    #[test]
    fn errors_that_are_not_known_do_not_say_that_nothing_was_done() {
        for line in [
            "-ERR Connection timed out",
            "-ERR Invalid argument",
            "-ERR unknown",
            "-ERR",
            "-upstream failure",
            "-UNAVAILABLE no answer from the upstream",
            "-finished with 1 error(s)",
            "-ERR Error running script (call to f_1): @user_script:1: WRONGTYPE Operation",
            "-WRONGTYPE Operation against a key script: 2f, on @user_script:1.",
        ] {
            let found = checked(format!("{line}\r\n").as_bytes()).map(|_| ());
            assert_eq!(found, Err(CallError::new(Failure::ServerError, &line[1..])), "{line}");
        }
    }

    #[test]
    fn redirections_that_are_not_followed_say_what_to_do() {
        for line in ["-MOVED 3999 127.0.0.1:6381", "-ASK 3999 127.0.0.1:6381"] {
            let refusal = checked(format!("{line}\r\n").as_bytes()).unwrap_err();
            let start = format!("{}: a cluster that springload could not know", &line[1..]);
            assert!(refusal.reason.starts_with(&start), "{refusal:?}");
            assert_eq!(refusal.failure, Failure::Rejected);
        }
    }

    #[test]
    fn redirections_name_a_node() {
        let of = |line: &str| NodeRedirect::of(line.as_bytes()).map(|it| (it.to, it.asks));
        let there = |to: &str, asks| Some((to.to_owned(), asks));
        assert_eq!(of("-MOVED 3999 127.0.0.1:6381\r\n"), there("127.0.0.1:6381", false));
        assert_eq!(of("-ASK 3999 ::1:6381\r\n"), there("::1:6381", true));
        assert_eq!(of("-MOVED 3999 :6381\r\n"), there(":6381", false));
        for other in ["-MOVED\r\n", "-ERR MOVED 1 a:1\r\n", "+MOVED 1 a:1\r\n", ""] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
