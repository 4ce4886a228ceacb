//! What the refusals of a target explain, and what they do not.

use super::beside::tests::{Fake, NO_TIME, ends, lookout, notices, on_thread};
use super::link::{Limits, Queue, SentMarker};
use super::quiet::Refusals;
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::driver::{ReplicationPhase, ReplicationState};
use crate::measure::LinkEnd;
use std::cell::Cell;
use std::rc::Rc;

const MS: Nanos = 1_000_000;

/// A marker that the source has accepted.
fn sent(source: &Fake, number: u64, is_last: bool) -> SentMarker {
    let id = format!("m_{number}");
    source.put(&id, "1-m");
    SentMarker { id, number, acknowledged: Clock::system().now(), is_last }
}

/// A server that says that it replicates, how far it has got, and what the target has refused.
fn told(target: &Fake, refused: u64, through: &str) -> Refusals {
    let (phase, through) = (ReplicationPhase::Running, Some(through.to_owned()));
    let state =
        ReplicationState { phase, through, write_failures: Some(refused), ..<_>::default() };
    target.0.borrow_mut().state = state;
    Refusals { runner: target.connect(), job: "job".to_owned() }
}

/// The middle of a chain refuses everything from some moment on, its last marker included. The rule
/// for that has been replicated to the target, which refuses the middle's last markers.
#[test]
fn the_refused_markers_of_a_source_that_refuses_its_own_are_not_waited_for() {
    // Whether the link before was cut, how many of two markers are missing, how many writes were
    // refused, how far the replication has got of three changes, and whether that is the end.
    for (cut, missing, refused, through, is_over) in [
        (Some(true), 1, 1, "3", true),
        (Some(true), 2, 10, "3", true),
        // They are still on their way, ...
        (Some(true), 2, 1, "3", false),
        (Some(true), 1, 1, "2", false),
        (Some(true), 1, 0, "3", false),
        // ... or the last one is.
        (Some(false), 1, 1, "3", false),
        (None, 1, 1, "3", false),
    ] {
        let (source, target) = (Fake::with(&[("a", "1-a")]), Fake::with(&[("a", "1-a")]));
        let (queue, notices) = (Rc::new(Queue::default()), notices());
        for number in 0..2 {
            queue.push(sent(&source, number, false));
            if number + missing < 2 {
                target.put(&format!("m_{number}"), "1-m");
            }
        }
        let converge_ns = if is_over { 60 * SECOND_NS } else { 600 * MS };
        let limits = Limits { converge_ns, ..NO_TIME };
        let mut ends = ends(&source, &target);
        ends.refusals = Some(told(&target, refused, through));
        ends.cut = cut.map(|it| Rc::new(Cell::new(it)));
        let lookout = lookout(ends, &queue, &notices, limits);
        let clock = Clock::system();
        let began = clock.now();
        notices.end();
        let found = on_thread(lookout.go_on(|| true));
        let took_ns = clock.now() - began;
        let what = format!("{cut:?}, {missing}, {refused}, {through}");
        assert_eq!((found.end, found.markers.unseen), (LinkEnd::Behind, missing), "{what}");
        assert_eq!(found.is_refused(), is_over, "{what}: {:?}", found.reason);
        let fits = if is_over { took_ns < 30 * SECOND_NS } else { took_ns >= 600 * MS };
        assert!(fits, "{what}: {took_ns}");
    }
}
