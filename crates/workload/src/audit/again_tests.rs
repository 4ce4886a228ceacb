//! How often an audit requests what it gets no answer for.

use super::*;
use crate::FromSchemas;
use crate::journal::{Act, Fate, JournalEntry};
use crate::op::Draft;
use crate::schema::{DEFAULT, Documents, Template};

/// The audit of this many documents that were deleted.
fn audit(documents: u64) -> Audit {
    let mut ledger = Ledger::default();
    for key in 0..documents {
        let (act, fate, token) = (Act::Delete, Fate::Acknowledged, Token::default());
        ledger.add(&JournalEntry { key, act, fate, version: 0, token }, false);
    }
    let pages = ledger.part(0, 1);
    let schemas = Documents::new(1, vec![(Template::parse(DEFAULT).unwrap(), 1)]);
    Audit::new(Box::new(FromSchemas::new(Arc::new(schemas))), true, Arc::new(ledger), pages)
}

/// What became of the documents of an audit.
#[derive(Debug, Default, PartialEq)]
struct Course {
    right: u64,
    unread: u64,
    requests: u64,
    waited_ns: u64,
}

impl Course {
    /// Carries out the audit. `fails` says how a request for a document fails at that time, if it
    /// does; otherwise the server answers that the document does not exist. Requests take no time.
    fn of(lane: &mut Audit, fails: impl Fn(Key, u64) -> Option<Failure>) -> Self {
        let mut course = Self::default();
        loop {
            let op = match lane.next(&mut Draft::default()) {
                Next::Op(op) => op,
                Next::Wait(wait_ns) => {
                    course.waited_ns += wait_ns;
                    continue;
                }
                Next::End => return course,
            };
            course.requests += 1;
            let failure = fails(op.key, course.waited_ns).unwrap_or(Failure::NotFound);
            match lane.observe(&op, Err(failure), &Answered::default()) {
                Check::Checked(Ok(())) => course.right += 1,
                Check::Checked(Err(class)) => {
                    assert_eq!((class, lane.finding()), (failure, None));
                    course.unread += 1;
                }
                check => assert_eq!(check, Check::Unchecked),
            }
        }
    }
}

const SECOND_NS: u64 = 1_000_000_000;

#[test]
fn what_the_server_refuses_is_requested_once() {
    for (class, requests) in [
        (Failure::Rejected, 1),
        (Failure::Authentication, 1),
        (Failure::TooLarge, 1),
        (Failure::PreconditionFailed, 1),
        // What may go by.
        (Failure::Connect, TRIES),
        (Failure::NotReady, TRIES),
        (Failure::ServerError, TRIES),
        (Failure::Timeout, TRIES),
        (Failure::TooManyRequests, TRIES),
    ] {
        let course = Course::of(&mut audit(1), |_, _| Some(class));
        let waited_ns = u64::from(requests - 1) * PAUSE_NS;
        let expected = Course { right: 0, unread: 1, requests: requests.into(), waited_ns };
        assert_eq!(course, expected, "{class}");
    }
}

#[test]
fn a_node_that_is_gone_costs_little_and_the_others_are_audited() {
    let gone = |key: Key, _: u64| key.is_multiple_of(3).then_some(Failure::Connect);
    let course = Course::of(&mut audit(9_000), gone);
    assert_eq!((course.right, course.unread), (6_000, 3_000));
    // Each document once, and some of the 3,000 until it was certain.
    let in_full = MOST_IN_VAIN + 6_000 / ANSWERS;
    let again = course.requests - 9_000;
    assert!((1..=u64::from(in_full * (TRIES - 1))).contains(&again), "{course:?}");
    assert_eq!(course.waited_ns, again * PAUSE_NS);
    // Nothing answers at all.
    let course = Course::of(&mut audit(9_000), |_, _| Some(Failure::ServerError));
    let again = u64::from(MOST_IN_VAIN * (TRIES - 1));
    let (requests, waited_ns) = (9_000 + again, again * PAUSE_NS);
    assert_eq!(course, Course { right: 0, unread: 9_000, requests, waited_ns });
}

#[test]
fn a_server_that_is_away_for_a_second_is_audited_completely() {
    let away = |_: Key, now_ns: u64| (now_ns < SECOND_NS).then_some(Failure::Connect);
    let course = Course::of(&mut audit(300), away);
    assert_eq!((course.right, course.unread), (300, 0));
    // Again and again: requests that led to an answer do not count against it.
    let mut lane = audit(3_000);
    let course = Course::of(&mut lane, |key, now_ns| {
        let outage = key / 100;
        (now_ns < (outage + 1) * SECOND_NS).then_some(Failure::Reset)
    });
    assert_eq!((course.right, course.unread, lane.in_vain), (3_000, 0, 0));
}

#[test]
fn answers_bring_all_tries_back() {
    // Away for a minute at first, in which nearly all is requested once; and later for a second.
    let (first, answered) = (200, u64::from(MOST_IN_VAIN * ANSWERS));
    let course = Course::of(&mut audit(1_000), |key, now_ns| {
        let vain_ns = u64::from(MOST_IN_VAIN * (TRIES - 1)) * PAUSE_NS;
        let again = key == first + answered && now_ns < vain_ns + SECOND_NS;
        (key < first || again).then_some(Failure::Connect)
    });
    assert_eq!((course.right, course.unread), (1_000 - first, first));
}

#[test]
fn an_index_that_may_not_be_read_is_requested_once() {
    for (class, requests) in [(Failure::Rejected, 1), (Failure::Timeout, TRIES)] {
        let mut lane = audit(0).and_indexes(vec![(0, "app/by".to_owned())]);
        let course = Course::of(&mut lane, |_, _| Some(class));
        assert_eq!((course.unread, course.requests), (1, requests.into()), "{class}");
    }
}
