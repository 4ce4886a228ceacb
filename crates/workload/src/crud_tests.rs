//! The workload against an exact model of a database.

use super::*;
use crate::Mix;
use crate::op::{Draft, Token};
use std::collections::BTreeMap;

fn sample() -> Documents {
    Documents::new(1, vec![(crate::schema::Template::parse(crate::schema::DEFAULT).unwrap(), 1)])
}

fn token(number: u32) -> Token {
    Token { number, ..Token::default() }
}

fn workload(budget: Budget, documents: u64) -> Crud {
    let mut live = Live::default();
    (0..documents).for_each(|key| live.add(LiveEntry::new(key, 0, Some(token(1)))));
    let keys = KeySequence { next: documents, step: 3 };
    Crud::new(Arc::new(sample()), 7, 0, budget, live, keys)
}

/// Runs a workload against an exact model of a database and returns the operations done.
fn run(mut crud: Crud, limit: usize) -> Vec<(OpKind, Key)> {
    let mut stored: BTreeMap<Key, u32> =
        (0..crud.live.known()).map(|i| (crud.live.at(i).key, 1)).collect();
    let mut done = Vec::new();
    while done.len() < limit {
        let mut draft = Draft::default();
        let Next::Op(op) = crud.next(&mut draft) else { break };
        done.push((op.kind, op.key));
        let generation = stored.get(&op.key).copied();
        let reply = match op.kind {
            OpKind::Create => {
                assert_eq!(stored.insert(op.key, 1), None, "a key was created twice");
                1
            }
            OpKind::Read => generation.expect("a document that is there"),
            _ => {
                assert_eq!(op.token, Some(token(generation.unwrap())));
                if op.kind == OpKind::Delete {
                    stored.remove(&op.key);
                } else {
                    stored.insert(op.key, generation.unwrap() + 1);
                }
                generation.unwrap() + 1
            }
        };
        assert_eq!(draft.name, op.key.to_string().as_bytes());
        let document: Option<serde_json::Value> = (!draft.body.is_empty())
            .then(|| serde_json::from_slice(&draft.body).expect("the document is JSON"));
        if let Some(document) = document {
            assert_eq!(document["_id"], op.key.to_string());
        }
        let reply = Reply { token: Some(token(reply)), ..Reply::default() };
        crud.observe(&op, Ok(reply), &Answered::default());
    }
    done
}

fn counts(done: &[(OpKind, Key)]) -> [usize; 4] {
    [OpKind::Create, OpKind::Read, OpKind::Update, OpKind::Delete]
        .map(|kind| done.iter().filter(|(k, _)| *k == kind).count())
}

#[test]
fn every_counted_operation_is_done() {
    for (left, documents) in [
        ([25, 40, 25, 10], 10),
        ([0, 100, 0, 0], 5),
        ([0, 50, 50, 10], 10),
        ([5, 50, 50, 15], 10),
        ([1, 1, 1, 1], 0),
        ([0, 0, 0, 7], 7),
    ] {
        let done = run(workload(Budget::Counted(Mix::crud(left)), documents), usize::MAX);
        assert_eq!(counts(&done), left.map(|count| count as usize), "{left:?} on {documents}");
    }
}

#[test]
fn the_same_seed_gives_the_same_operations() {
    let mix = Mix::crud([2, 3, 2, 1]);
    let ops = || run(workload(Budget::Endless(mix), 20), 500);
    assert_eq!(ops(), ops());
}

#[test]
fn a_conflict_sets_the_document_aside_until_it_is_read() {
    let mut crud = workload(Budget::Counted(Mix::crud([0, 1, 2, 0])), 1);
    let mut draft = Draft::default();
    let mut conflicts = 0;
    while let Next::Op(op) = crud.next(&mut draft) {
        let result = if op.kind == OpKind::Update && conflicts == 0 {
            conflicts += 1;
            Err(Failure::Conflict)
        } else {
            let generation = if op.kind == OpKind::Read { 9 } else { 10 };
            if op.kind == OpKind::Update && conflicts > 0 {
                assert_eq!(op.token, Some(token(9)));
            }
            Ok(Reply { token: Some(token(generation)), ..Reply::default() })
        };
        crud.observe(&op, result, &Answered::default());
        draft = Draft::default();
        if conflicts == 1 && op.kind == OpKind::Update && result.is_err() {
            assert_eq!((crud.live.known(), crud.live.readable()), (0, 1));
        }
    }
}
