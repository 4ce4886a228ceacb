//! Iron Cushion's order against a server where everything succeeds.

use super::*;
use crate::op::{Draft, Token};
use proptest::prelude::*;

fn sample() -> Documents {
    Documents::new(1, vec![(crate::schema::Template::parse(crate::schema::DEFAULT).unwrap(), 1)])
}

fn token(number: u32) -> Token {
    Token { number, ..Token::default() }
}

/// Runs the workload against a server where everything succeeds; returns kinds and keys.
fn run(left: [u64; 4], bulk: u64) -> Vec<(OpKind, u64)> {
    let mut live = Live::default();
    (0..bulk).for_each(|key| live.add(LiveEntry::new(key, 0, Some(token(1)))));
    let keys = KeySequence { next: 1000, step: 1 };
    let documents = Arc::new(sample());
    let mut workload = CurrentDocument::new(documents, 3, 1, Mix::crud(left), &live, keys);
    let (mut done, mut draft) = (Vec::new(), Draft::default());
    while let Next::Op(op) = workload.next(&mut draft) {
        done.push((op.kind, op.key));
        let reply = Reply { token: Some(token(done.len() as u32)), ..Reply::default() };
        workload.observe(&op, Ok(reply), &Answered::default());
        draft = Draft::default();
    }
    done
}

proptest! {
    #[test]
    fn all_counts_are_met_and_writes_go_to_the_current_document(
        creates in 0u64..40, reads in 0u64..40, updates in 0u64..40, deletes in 0u64..40,
        bulk in 0u64..30,
    ) {
        // The rules in Iron Cushion's README for a plan that can be completed.
        prop_assume!(deletes <= creates + reads && deletes < creates + bulk);
        prop_assume!(updates == 0 || creates + reads > 0);
        prop_assume!(bulk > 0 || reads == 0 || creates > deletes);
        let done = run([creates, reads, updates, deletes], bulk);
        prop_assert_eq!(done.len() as u64, creates + reads + updates + deletes);
        let mut current = None;
        for (kind, key) in done {
            match kind {
                OpKind::Create | OpKind::Read => current = Some(key),
                OpKind::Update => prop_assert_eq!(current, Some(key)),
                OpKind::Delete => prop_assert_eq!(current.take(), Some(key)),
                _ => unreachable!(),
            }
        }
    }
}

#[test]
fn bulk_documents_are_read_in_order_and_around() {
    let keys: Vec<_> = run([0, 7, 0, 0], 3).into_iter().map(|(_, key)| key).collect();
    assert_eq!(keys[..3], [0, 1, 2]);
    assert_eq!(keys.len(), 7);
}
