//! What workers send, and how they evaluate what they read.

use super::*;
use crate::op::{Answered, Draft, Failure, Fields as _, Reply, Token};
use crate::{Check, Next, Workload as _};
use proptest::prelude::*;

fn token(number: u32) -> Token {
    Token { number, ..Token::default() }
}

fn bodies(bytes: u64, wire: bool, filling: Filling) -> Bodies {
    Bodies::new(1, BodySize { bytes, wire }, filling)
}

fn burst(bytes: u64, wire: bool, filling: Filling) -> Burst {
    Burst::new(12, bodies(bytes, wire, filling)).with_role(Role::Write)
}

fn step(burst: &mut Burst, result: Result<u32, Failure>) -> (OpKind, Vec<u8>) {
    let mut draft = Draft::default();
    let op = burst.next(&mut draft).op().unwrap();
    let reply = result.map(|it| Reply { token: Some(token(it)), ..Reply::default() });
    burst.observe(&op, reply, &Answered::default());
    (op.kind, draft.body)
}

#[test]
fn a_writer_creates_and_then_updates_and_finds_back_after_a_loss() {
    let mut writer = burst(10, false, Filling::Zeros);
    let (kind, body) = step(&mut writer, Ok(1));
    assert_eq!((kind, &body[..]), (OpKind::Create, &br#"{"_id":"12","body":"0000000000"}"#[..]));
    let (kind, body) = step(&mut writer, Err(Failure::Timeout));
    assert_eq!(kind, OpKind::Update);
    assert!(String::from_utf8(body).unwrap().contains("\"token\":1"));
    assert_eq!(step(&mut writer, Ok(2)).0, OpKind::Read);
    assert_eq!(step(&mut writer, Err(Failure::Reset)).0, OpKind::Update);
    assert_eq!(step(&mut writer, Err(Failure::NotFound)).0, OpKind::Read);
    assert_eq!(step(&mut writer, Ok(1)).0, OpKind::Create);
}

#[test]
fn a_conditional_reader_names_what_it_has_read() {
    let mut reader = burst(10, false, Filling::Zeros).with_role(Role::Read).conditional(true);
    let mut read = |result: Result<u32, Failure>| {
        let op = reader.next(&mut Draft::default()).op().unwrap();
        let reply = result.map(|it| Reply { token: Some(token(it)), ..Reply::default() });
        reader.observe(&op, reply, &Answered::default());
        (op.conditional, op.token.map(|it| it.number))
    };
    assert_eq!(read(Ok(3)), (true, None));
    assert_eq!(read(Ok(3)), (true, Some(3)));
    assert_eq!(read(Err(Failure::NotFound)), (true, Some(3)));
    assert_eq!(read(Ok(4)), (true, None));
    assert_eq!(read(Ok(4)), (true, Some(4)));
}

#[test]
fn a_wire_size_is_that_of_the_whole_body_and_a_random_one_never_repeats() {
    let mut writer = burst(250, true, Filling::Random);
    let (_, first) = step(&mut writer, Ok(1));
    let (_, second) = step(&mut writer, Ok(1_000_000));
    let (_, third) = step(&mut writer, Ok(3));
    assert_eq!([first.len(), second.len(), third.len()], [250; 3]);
    let text = |body: &[u8]| -> String {
        let document: serde_json::Value = serde_json::from_slice(body).unwrap();
        document["body"].as_str().unwrap().to_owned()
    };
    assert_ne!(text(&first)[..100], text(&second)[..100]);
}

#[test]
fn preparing_writes_once_and_reading_never() {
    let mut worker = burst(10, false, Filling::Random).with_role(Role::Prepare);
    assert_eq!(step(&mut worker, Ok(1)).0, OpKind::Create);
    assert_eq!(worker.next(&mut Draft::default()), Next::End);
    let mut worker = worker.with_role(Role::Read);
    for _ in 0..3 {
        assert_eq!(step(&mut worker, Ok(1)), (OpKind::Read, Vec::new()));
    }
    assert_eq!(worker.with_role(Role::Prepare).next(&mut Draft::default()), Next::End);
}

/// What a server would return for this version, formatted as CouchDB does; written with `first`.
fn stored(of: &Bodies, version: u32, first: &str) -> Vec<u8> {
    let mut out = Vec::new();
    of.body(12, version).write(first.as_bytes(), &mut out);
    let end = out.iter().position(|byte| *byte == b',').map_or(1, |at| at + 1);
    [br#"{"_id":"12","_rev":"9-abc","#, &out[if first.is_empty() { 1 } else { end }..]].concat()
}

proptest! {
    #[test]
    fn what_was_written_is_known_again_and_nothing_else(
        bytes in 80..400u64, wire: bool, version in 0..1_000u32, other in 0..1_000u32,
    ) {
        let bodies = bodies(bytes, wire, Filling::Random);
        let mut original = bodies.clone().original();
        let found = stored(&bodies, version, "\"_rev\":\"1-0123456789abcdef\"");
        prop_assert!(original.holds(12, version, &found));
        prop_assert_eq!(original.holds(12, other, &found), version == other);
        prop_assert!(!original.holds(13, version, &found));
        if other < version && version - other <= 16 {
            prop_assert_eq!(original.older(12, version, &found), None);
            prop_assert_eq!(original.older(12, version + 16, &found), Some(version));
        }
        let mut changed = found;
        let last = changed.len() - 3;
        changed[last] = if changed[last] == b'a' { b'b' } else { b'a' };
        prop_assert!(!original.holds(12, version, &changed));
        prop_assert!(!original.difference(12, version, &changed).is_empty());
    }
}

/// One step of a verifying worker: the kind of operation, and the check.
fn look(worker: &mut Burst, result: Result<(u32, &[u8]), Failure>) -> (OpKind, Check) {
    let op = worker.next(&mut Draft::default()).op().unwrap();
    let document = result.ok().map(|(_, document)| document);
    let answered = Answered { document, ..Answered::default() };
    let reply = result.map(|(it, _)| Reply { token: Some(token(it)), ..Reply::default() });
    let check = worker.observe(&op, reply, &answered);
    let finding = worker.finding().map(|it| Check::Checked(Err(it.class)));
    assert_eq!(matches!(check, Check::Checked(Err(_))), finding == Some(check));
    (op.kind, check)
}

#[test]
fn what_is_read_is_compared_with_what_this_worker_wrote() {
    let (create, read, update) = (OpKind::Create, OpKind::Read, OpKind::Update);
    let (right, wrong) = (Check::Checked(Ok(())), |class| Check::Checked(Err(class)));
    let of = bodies(100, false, Filling::Random);
    let version = |number| stored(&of, number, "");
    let mut worker = Burst::new(12, of.clone()).verifying(true).with_role(Role::Write);
    assert_eq!(look(&mut worker, Ok((1, b""))), (create, Check::Unchecked));
    // Carried out or not: both are right.
    assert_eq!(look(&mut worker, Err(Failure::Timeout)), (update, Check::Unchecked));
    assert_eq!(look(&mut worker, Ok((2, &version(1)))), (read, right));
    assert_eq!(look(&mut worker, Ok((3, b""))), (update, Check::Unchecked));
    // The write is slow this time: a read in between does not show it yet.
    assert_eq!(look(&mut worker, Err(Failure::Timeout)), (update, Check::Unchecked));
    assert_eq!(look(&mut worker, Ok((3, &version(2)))), (read, right));
    assert_eq!(look(&mut worker, Err(Failure::Conflict)), (update, Check::Unchecked));
    assert_eq!(look(&mut worker, Ok((4, &version(3)))), (read, right));
    // A writer continues with what is there, although a write was lost.
    assert_eq!(look(&mut worker, Err(Failure::Conflict)), (update, Check::Unchecked));
    assert_eq!(look(&mut worker, Ok((3, &version(2)))), (read, wrong(Failure::Stale)));
    assert_eq!(look(&mut worker, Ok((4, b""))), (update, Check::Unchecked));
    let mut worker = worker.with_role(Role::Read);
    assert_eq!(look(&mut worker, Ok((4, &version(4)))), (read, right));
    assert_eq!(look(&mut worker, Ok((3, &version(2)))), (read, wrong(Failure::Stale)));
    assert_eq!(look(&mut worker, Ok((4, &version(2)))), (read, wrong(Failure::WrongBody)));
    assert_eq!(look(&mut worker, Ok((4, &version(4)))), (read, right));
    assert_eq!(look(&mut worker, Err(Failure::NotFound)), (read, wrong(Failure::Lost)));
    // The document is gone, which is reported only once.
    assert_eq!(look(&mut worker, Err(Failure::NotFound)), (read, Check::Unchecked));
}

#[test]
fn what_others_wrote_is_not_compared() {
    let of = bodies(100, false, Filling::Random);
    let mut worker = Burst::new(12, of.clone()).verifying(true);
    let refused = look(&mut worker, Err(Failure::Conflict));
    assert_eq!(refused, (OpKind::Create, Check::Unchecked));
    let mut worker = worker.with_role(Role::Read);
    for _ in 0..2 {
        let read = look(&mut worker, Ok((7, b"{}")));
        assert_eq!(read, (OpKind::Read, Check::Unchecked));
    }
    // If an unanswered create was carried out, the document belongs to this worker.
    let mut worker = Burst::new(12, of.clone()).verifying(true).with_role(Role::Write);
    look(&mut worker, Err(Failure::Timeout));
    assert_eq!(look(&mut worker, Ok((1, &stored(&of, 0, "")))).1, Check::Checked(Ok(())));
    let mut worker = Burst::new(12, of).verifying(true).with_role(Role::Write);
    // But not if the document existed before.
    look(&mut worker, Err(Failure::Timeout));
    assert_eq!(look(&mut worker, Ok((1, b"{}"))).1, Check::Unchecked);
}
