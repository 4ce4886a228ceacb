//! What the refusals of a target explain, and what they do not.

use super::beside::tests::{Fake, NO_TIME, ends, lookout, notices, on_thread};
use super::compare::MayShow;
use super::link::{Limits, Queue, SentMarker};
use super::quiet::Refusals;
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::driver::{ReplicationPhase, ReplicationState};
use crate::measure::LinkEnd;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::spawn_local;

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

/// Once the last marker has come, the comparison decides.
#[test]
fn a_refused_marker_does_not_hide_lost_documents_behind_a_source_that_refuses_others() {
    for (refused, end) in [(1, LinkEnd::Lost), (2, LinkEnd::Behind)] {
        let (source, target) = (Fake::with(&[("a", "1-a")]), Fake::with(&[("m_1", "1-m")]));
        let (queue, notices) = (Rc::new(Queue::default()), notices());
        queue.push(sent(&source, 0, false));
        queue.push(sent(&source, 1, true));
        let quiet_ns = if end == LinkEnd::Lost { 600 * MS } else { 30 * SECOND_NS };
        let limits = Limits { converge_ns: 60 * SECOND_NS, quiet_ns, ..NO_TIME };
        let mut ends = ends(&source, &target);
        ends.refusals = Some(told(&target, refused, "3"));
        ends.cut = Some(Rc::new(Cell::new(true)));
        let lookout = lookout(ends, &queue, &notices, limits);
        notices.end();
        let found = on_thread(lookout.go_on(|| true));
        assert_eq!((found.end, found.is_refused()), (end, end == LinkEnd::Behind), "{refused}");
        assert_eq!(found.comparison.map(|it| it.missing), Some(2), "{refused}");
    }
}

/// That the source answers does not mean that the target does.
#[test]
fn a_target_that_goes_silent_while_it_lacks_documents_is_gone() {
    let (source, target) = (Fake::with(&[("a", "2-a")]), Fake::with(&[("a", "4-x")]));
    let (queue, notices) = (Rc::new(Queue::default()), notices());
    queue.push(sent(&source, 0, true));
    target.put("m_0", "1-m");
    let limits = Limits { converge_ns: 60 * SECOND_NS, quiet_ns: 5 * SECOND_NS, ..NO_TIME };
    let mut ends = ends(&source, &target);
    ends.refusals = Some(told(&target, 1, "2"));
    let lookout = lookout(ends, &queue, &notices, limits);
    notices.end();
    let found = on_thread(async {
        let looking = spawn_local(lookout.go_on(|| true));
        // The first look is for the marker; the second compares.
        while target.0.borrow().looks.len() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        target.refuse(Some("it is down"));
        looking.await.unwrap()
    });
    assert_eq!((found.end, found.reason.as_deref()), (LinkEnd::Gone, Some("it is down")));
}

/// A document with a revision, such as `2-b`, or `2-b gone` if it is deleted.
fn shows(fake: &Fake, id: &str, rev: &str) {
    match rev.strip_suffix(" gone") {
        Some(rev) => fake.delete(id, rev),
        None => fake.put(id, rev),
    }
}

/// The server counts writes: one document that was refused several times could stand in for others
/// that were lost.
#[test]
fn a_revision_that_the_source_never_had_was_not_refused() {
    use MayShow::{Preferred, Same};
    // What the target shows for 3-b, whether the source has had that, which revisions may be
    // shown, and whether it can be that of a target which has refused 3-b.
    for (shown, is_known, may_show, is_refused) in [
        // The source has been there before, ...
        ("2-b", true, Same, true),
        ("2-b gone", true, Same, true),
        // ... or has it beside the other, in conflict.
        ("3-a", true, Same, true),
        ("5-a gone", true, Same, true),
        // The source does not keep the names of all old ones.
        ("2-b", false, Same, true),
        // Somebody else has changed or deleted it there, ...
        ("4-x", false, Same, false),
        ("4-x gone", false, Same, false),
        ("3-x", false, Same, false),
        ("2-x gone", false, Same, false),
        // ... perhaps before the run.
        ("4-x gone", false, Preferred, true),
    ] {
        let source = Fake::with(&[("a", "1-a"), ("b", "3-b"), ("m", "1-m")]);
        let target = Fake::with(&[("m", "1-m")]);
        shows(&target, "b", shown);
        if is_known {
            source.0.borrow_mut().hidden.push(shown.trim_end_matches(" gone").to_owned());
        }
        let (queue, notices) = (Rc::new(Queue::default()), notices());
        let acknowledged = Clock::system().now();
        queue.push(SentMarker { id: "m".to_owned(), number: 0, acknowledged, is_last: true });
        let quiet_ns = if is_refused { 30 * SECOND_NS } else { 600 * MS };
        let limits = Limits { converge_ns: 60 * SECOND_NS, quiet_ns, ..NO_TIME };
        let mut ends = ends(&source, &target);
        ends.refusals = Some(told(&target, 23, "3"));
        ends.may_show = may_show;
        let lookout = lookout(ends, &queue, &notices, limits);
        notices.end();
        let found = on_thread(lookout.go_on(|| true));
        let what = format!("{shown}, {is_known}, {may_show:?}");
        let reason = "the target refused 23 writes, and nothing more will come";
        let (end, reason, examples) = if is_refused {
            (LinkEnd::Behind, Some(reason), ["a", "b"])
        } else {
            (LinkEnd::Lost, None, ["b", "a"])
        };
        assert_eq!((found.end, found.reason.as_deref()), (end, reason), "{what}");
        let comparison = found.comparison.unwrap();
        assert_eq!((comparison.missing, comparison.different), (1, 1), "{what}");
        assert_eq!(comparison.examples, examples, "{what}");
    }
}

/// Nor if the last marker was refused.
#[test]
fn a_refused_marker_does_not_hide_what_somebody_else_has_deleted() {
    for (shown, end) in [("1-b", LinkEnd::Behind), ("3-x gone", LinkEnd::Lost)] {
        let (source, target) = (Fake::with(&[("b", "2-b")]), Fake::default());
        shows(&target, "b", shown);
        let (queue, notices) = (Rc::new(Queue::default()), notices());
        queue.push(sent(&source, 0, true));
        let limits = Limits { converge_ns: 60 * SECOND_NS, ..NO_TIME };
        let mut ends = ends(&source, &target);
        ends.refusals = Some(told(&target, 23, "2"));
        let lookout = lookout(ends, &queue, &notices, limits);
        notices.end();
        let found = on_thread(lookout.go_on(|| true));
        assert_eq!((found.end, found.reason.is_some()), (end, end == LinkEnd::Behind), "{shown}");
        assert_eq!(found.comparison.map(|it| it.wrong()), Some(2), "{shown}");
    }
}
