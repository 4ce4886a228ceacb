//! Operations that the plan defines: how they are sent, and which of their answers are looked at.

use super::kinds_tests::{own, with};
use super::scripted_tests::{Answer, MISSING, Rule, answers, scripted, session_of};
use crate::Session as _;
use crate::op::{Failure, Op, OpKind, Pen as _};
use serde_json::json;

const WELCOME: Rule = ("GET /", &[("200 OK", r#"{"couchdb":"Welcome"}"#)]);
const OK: Answer = ("200 OK", r#"{"ok":true}"#);

/// A view that is queried without an update may lack the last write; one that is brought up to date
/// may not.
#[tokio::test]
async fn only_an_index_that_is_asked_as_it_is_may_be_outdated() {
    let design = ("200 OK", r#"{"_id":"_design/a","views":{"b":{"map":"m"}}}"#);
    let (has, lacks) = (r#"{"rows":[{"id":"7"},{"id":"8"}]}"#, r#"{"rows":[{"id":"8"}]}"#);
    for (number, (update, body, wanted)) in [
        ("false", lacks, Ok((1, true))),
        ("false", has, Ok((2, false))),
        ("true", has, Ok((2, false))),
        ("true", lacks, Err(Failure::Unexpected)),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("own-outdated-{number}");
        let view = format!(r#""view":"a/b","params":{{"update":{update}}}"#);
        let text = format!(r#"{name}={{{view},"expect":{{"document":true}}}}"#);
        let rules = vec![
            WELCOME,
            ("GET /db", answers([OK])),
            ("GET /db/_design/a", answers([design])),
            ("GET /db/_design/a/_view/b*", answers([("200 OK", body)])),
        ];
        let server = scripted(rules);
        let target = with(&server, json!({}), &[&text]).await;
        let kind = OpKind::of_name(&name).unwrap();
        let outcome = own(&mut session_of(&target), kind, false).await;
        let found = outcome.result.map(|reply| (reply.rows, reply.outdated));
        assert_eq!(found, wanted, "{update}: {body}");
    }
}

/// A read from fewer copies may lag behind, so its document is not compared.
#[tokio::test]
async fn a_document_is_looked_at_if_somebody_wants_to_and_copies_agree() {
    let other = r#"{"_id":"8","_rev":"1-abababababababababababababababab"}"#;
    let wrong = Err(Failure::WrongDocument);
    let bulk_get = r#"=request POST _bulk_get {"docs":[{"id":"{{key}}"}]}"#;
    let read = r#"{"results":[{"id":"7","docs":[
        {"ok":{"_id":"7","_rev":"1-abababababababababababababababab"}}]}]}"#;
    let half_read = r#"{"results":[{"id":"7","docs":[
        {"ok":{"_id":"7","_rev":"1-abababababababababababababababab"}},
        {"error":{"id":"7","rev":"2-a","error":"timeout","reason":"x"}}]}]}"#;
    for (number, (text, answer, looks, wanted)) in [
        ("=get", ("200 OK", other), false, Ok(0)),
        ("=get", ("200 OK", other), true, wrong),
        ("=get {{key}}?r=1", ("200 OK", other), true, Ok(0)),
        (r#"={"get":"","expect":{"status":404}}"#, MISSING, true, Ok(0)),
        (bulk_get, ("200 OK", read), true, Ok(1)),
        (bulk_get, ("200 OK", half_read), true, Err(Failure::ServerError)),
        // Nobody wants to know which document it is.
        (bulk_get, ("200 OK", half_read), false, Ok(0)),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("own-looked-{number}");
        let rules = vec![WELCOME, ("GET /db", answers([OK])), ("*", answers([answer]))];
        let server = scripted(rules);
        let target = with(&server, json!({}), &[&format!("{name}{text}")]).await;
        let mut session = session_of(&target);
        let outcome = own(&mut session, OpKind::of_name(&name).unwrap(), looks).await;
        let found = outcome.result.map(|_| session.answered().rows.len());
        assert_eq!(found, wanted, "{text}, {looks}");
    }
}

/// A server waits for a body until it knows that there is none.
#[tokio::test]
async fn a_request_that_may_have_a_body_says_if_it_has_none() {
    let (post, get) = ("own-bodiless-post", "own-bodiless-get");
    let server = scripted(vec![WELCOME, ("GET /db", answers([OK]))]);
    let plans = [format!("{post}=request POST a"), format!("{get}=request GET a")];
    let target = with(&server, json!({}), &[&*plans[0], &*plans[1]]).await;
    for (name, says) in [(post, true), (get, false)] {
        let mut session = session_of(&target);
        let mut pen = session.pen();
        pen.name().push(b'7');
        session.prepare(&Op::single(OpKind::of_name(name).unwrap(), 7, None), &mut pen);
        let request = String::from_utf8_lossy(pen.payload.bytes()).into_owned();
        assert_eq!(request.contains("\r\nContent-Length: 0\r\n"), says, "{request}");
    }
}
