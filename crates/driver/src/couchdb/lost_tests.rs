//! Writes without an answer: how long they are looked for, and what counts as an answer.

use super::scripted_tests::{Answer, MISSING, NEVER, answers, carry_out, scripted, session_of};
use super::{CouchSession, Credentials};
use crate::clock::Clock;
use crate::net::ShardContext;
use crate::op::{Failure, Op, OpKind};

const LOST: Answer = ("", "");
const FOUND: Answer =
    ("200 OK", r#"{"_id":"7","_rev":"1-abababababababababababababababab","a":1}"#);
const BUSY: Answer = ("503 Busy", r#"{"error":"busy"}"#);
const EXPIRED: Answer = ("401 Unauthorized", "{}");
const GRANTED: Answer = ("200 OK\r\nSet-Cookie: AuthSession=new; Path=/", "{}");
const BODY: &str = r#"{"_id":"7","a":1}"#;

#[tokio::test]
async fn a_write_is_looked_for_until_an_answer_says_what_became_of_it() {
    let log_in = r#"POST /_session {"name":"ann","password":"secret"}"#;
    let again = "GET /db/7 [Cookie: AuthSession=new]";
    for (looked, log_ins, wanted, sent) in [
        ([BUSY, FOUND], GRANTED, 1, vec!["GET /db/7", "GET /db/7"]),
        ([EXPIRED, FOUND], GRANTED, 1, vec!["GET /db/7", log_in, again]),
        // Refusals are counted by the server.
        ([EXPIRED, FOUND], EXPIRED, 0, vec!["GET /db/7", log_in]),
    ] {
        let rules = vec![
            ("PUT /db/7", answers([LOST])),
            ("GET /db/7", answers(looked)),
            ("POST /_session", answers([log_ins])),
        ];
        let server = scripted(rules);
        let (name, password) = ("ann".to_owned(), "secret".to_owned());
        let cookie = "AuthSession=old".to_owned();
        let target = server.database_for(Credentials::Cookie { name, password, cookie });
        let create = Op::single(OpKind::Create, 7, None);
        let outcome = carry_out(&mut session_of(&target), create, ("7", BODY)).await;
        assert_eq!(outcome.result.err(), Some(Failure::Unanswered));
        assert_eq!(outcome.wire.carried_out, wanted, "{looked:?}");
        assert_eq!(outcome.wire.not_carried_out, 0, "{looked:?}");
        assert_eq!(server.seen()[1..], sent);
    }
}

/// A server that was stopped may carry out a write after it has answered that there is none.
#[tokio::test]
async fn a_write_that_timed_out_may_still_come() {
    for (looked, carried_out) in [(vec![MISSING, FOUND], 1), (vec![MISSING], 0)] {
        let rules = vec![("PUT /db/7", answers([(NEVER, "")])), ("GET /db/7", answers(looked))];
        let server = scripted(rules);
        let context = ShardContext::new(Clock::system(), 600_000_000);
        let mut session = CouchSession::new(&server.database(), &context, None);
        let work = async {
            tokio::task::spawn_local(context.clone().sweep());
            carry_out(&mut session, Op::single(OpKind::Create, 7, None), ("7", BODY)).await
        };
        let outcome = tokio::task::LocalSet::new().run_until(work).await;
        assert_eq!(outcome.result.err(), Some(Failure::Unanswered));
        assert_eq!(outcome.wire.carried_out, carried_out);
        assert_eq!(outcome.wire.not_carried_out, 0, "it is not known");
    }
}
