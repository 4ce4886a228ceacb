//! How often a link looks, and how it ends if markers or documents do not come.

use super::super::beside::tests::{Fake, NO_TIME, ends, lookout, notices, on_thread};
use super::super::quiet::{Refusals, quiet_ns};
use super::{Limits, MarkerLookout, Queue, Quiet, SentMarker, seconds};
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::driver::{DocumentCount, ReplicationPhase, ReplicationState};
use crate::measure::LinkEnd;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::spawn_local;

const MS: Nanos = 1_000_000;

/// One that awaits markers, each with its number and when it was acknowledged.
fn awaiting(markers: &[(u64, Nanos)]) -> MarkerLookout {
    let fake = Fake::default();
    let mut it = lookout(ends(&fake, &fake), &Rc::new(Queue::default()), &notices(), NO_TIME);
    let sent = |&(number, acknowledged): &(u64, Nanos)| SentMarker {
        id: format!("m_{number}"),
        number,
        acknowledged,
        is_last: false,
    };
    it.outstanding = markers.iter().map(sent).collect();
    it
}

#[test]
fn the_longer_a_marker_is_awaited_the_rarer_are_the_looks() {
    let now = 100 * SECOND_NS;
    for (age_ms, pause_ns) in [(5, MS), (1_000, 100 * MS), (2_000, 200 * MS), (9_000, 250 * MS)] {
        let it = awaiting(&[(1, now - age_ms * MS)]);
        assert_eq!(it.pause_ns(now), Some(pause_ns), "{age_ms} ms");
    }
    assert_eq!(awaiting(&[]).pause_ns(now), None);
}

#[test]
fn a_marker_that_was_overtaken_does_not_prolong_the_wait() {
    let now = 100 * SECOND_NS;
    let ages = [(5, now - 2_000 * MS), (7, now - 1_000 * MS), (8, now - 500 * MS)];
    let mut it = awaiting(&ages);
    it.newest_seen = Some(6);
    assert_eq!(it.pause_ns(now), Some(100 * MS), "the seventh is next");
    it.newest_seen = Some(9);
    assert_eq!(it.pause_ns(now), Some(50 * MS), "all were overtaken");
}

/// However old its markers are, a target that does not respond is asked again soon.
#[tokio::test(start_paused = true)]
async fn a_look_that_failed_is_repeated_after_a_tenth_of_a_second() {
    let now = Clock::system().now();
    let mut it = awaiting(&[(1, now.saturating_sub(60 * SECOND_NS))]);
    it.silent = Some((now, "it is down".to_owned()));
    assert_eq!(it.pause_ns(now), Some(100 * MS));
    assert!(tokio::time::timeout(Duration::from_millis(90), it.pause()).await.is_err());
    assert!(tokio::time::timeout(Duration::from_millis(120), it.pause()).await.is_ok());
}

#[test]
fn it_is_quiet_since_the_last_change() {
    let count = |documents| DocumentCount { documents, deleted: 0 };
    let mut quiet = Quiet::default();
    for (documents, now, lasted) in [(1, 100, 0), (1, 250, 150), (2, 300, 0), (2, 310, 10)] {
        quiet.counts(count(documents), now);
        assert_eq!(quiet.lasted(now), lasted, "{documents} at {now}");
    }
    // From then on, only what is wrong counts.
    for (wrong, now, lasted) in [(0, 400, 0), (0, 450, 50), (3, 500, 0), (3, 700, 200), (2, 800, 0)]
    {
        quiet.note(wrong, now);
        assert_eq!(quiet.lasted(now), lasted, "{wrong} at {now}");
    }
}

/// One look is for the oldest and the newest of many.
#[test]
fn all_markers_that_are_there_are_seen_before_the_end() {
    for (written, lost) in [(2_600, 0), (2_600, 700)] {
        let (source, target) = (Fake::default(), Fake::default());
        let (queue, notices) = (Rc::new(Queue::default()), notices());
        let acknowledged = Clock::system().now();
        for number in 0..written {
            let id = format!("m_{number:05}");
            source.put(&id, "1-m");
            // The first ones never arrive.
            if number >= lost {
                target.put(&id, "1-m");
            }
            let is_last = number + 1 == written;
            queue.push(SentMarker { id, number, acknowledged, is_last });
        }
        let mut limits = NO_TIME;
        limits.converge_ns = 100 * MS;
        let lookout = lookout(ends(&source, &target), &queue, &notices, limits);
        notices.end();
        let found = on_thread(lookout.go_on(|| true));
        let (markers, end) = (found.markers, found.end);
        assert_eq!((markers.written, markers.unseen), (written, lost));
        assert_eq!(end, if lost == 0 { LinkEnd::Converged } else { LinkEnd::Behind });
        let looks = &target.0.borrow().looks;
        assert!(looks.iter().all(|ids| ids.len() <= 1_000), "no request is for more");
    }
}

/// The comparison, too, is a look at the target: what has arrived by then was seen.
#[test]
fn a_marker_that_arrives_after_the_last_one_and_before_the_comparison_is_seen() {
    for (is_there, unseen) in [(true, 0), (false, 1)] {
        let (source, target) = (Fake::with(&[("a", "1-a")]), Fake::with(&[("a", "1-a")]));
        let (queue, notices) = (Rc::new(Queue::default()), notices());
        let acknowledged = Clock::system().now();
        for number in 0..2 {
            let (id, is_last) = (format!("m_{number}"), number == 1);
            if is_last || is_there {
                source.put(&id, "1-m");
                target.put(&id, "1-m");
            }
            queue.push(SentMarker { id, number, acknowledged, is_last });
        }
        // The first look finds the last marker; the second finds none, and ends the search.
        target.0.borrow_mut().late.insert("m_0".to_owned(), 2);
        let limits = Limits { converge_ns: 60 * SECOND_NS, ..NO_TIME };
        let lookout = lookout(ends(&source, &target), &queue, &notices, limits);
        notices.end();
        let found = on_thread(lookout.go_on(|| true));
        assert_eq!((found.end, found.markers.unseen), (LinkEnd::Converged, unseen));
        assert_eq!(found.markers.lag.histogram.len(), 2 - unseen, "each has a lag");
        let seen = found.markers.over_time.iter().map(|it| it.markers).sum::<u64>();
        assert_eq!(seen, 2 - unseen);
    }
}

/// A replication may pause for some seconds between several attempts, and for 30 s if a request is
/// not answered.
#[test]
fn what_a_replication_tries_again_is_not_lost_meanwhile() {
    for (converge_s, quiet_s) in [(0, 10), (6, 10), (30, 10), (90, 30), (600, 60), (7_200, 60)] {
        assert_eq!(quiet_ns(converge_s * SECOND_NS), quiet_s * SECOND_NS, "{converge_s} s");
    }
}

/// It is behind until nothing has arrived for long enough, and lost then.
#[test]
fn what_is_missing_when_the_time_is_up_is_lost_only_after_a_while() {
    for (quiet_ms, end) in [(10_000, LinkEnd::Behind), (50, LinkEnd::Lost)] {
        let (source, target) = (Fake::with(&[("a", "1-a"), ("m", "1-m")]), Fake::default());
        target.put("m", "1-m");
        let (queue, notices) = (Rc::new(Queue::default()), notices());
        let mut limits = NO_TIME;
        (limits.converge_ns, limits.quiet_ns) = (1_000 * MS, quiet_ms * MS);
        let acknowledged = Clock::system().now();
        queue.push(SentMarker { id: "m".to_owned(), number: 0, acknowledged, is_last: true });
        let lookout = lookout(ends(&source, &target), &queue, &notices, limits);
        notices.end();
        let found = on_thread(lookout.go_on(|| true));
        assert_eq!(found.end, end, "{quiet_ms} ms");
        assert_eq!(found.comparison.map(|it| it.examples), Some(vec!["a".to_owned()]));
    }
}

/// A target that refuses markers never shows the last one.
#[test]
fn a_marker_that_the_target_has_refused_is_not_waited_for() {
    use ReplicationPhase::{Failing, Running};
    // What the target has refused, how far the replication has got of two changes, and its phase.
    for (refused, through, phase, is_over) in [
        (Some(1), Some("2"), Running, true),
        // It is slow, ...
        (Some(1), Some("1"), Running, false),
        (Some(1), None, Running, false),
        // ... or tried again, ...
        (Some(1), Some("2"), Failing, false),
        // ... or nothing was refused.
        (Some(0), Some("2"), Running, false),
        (None, Some("2"), Running, false),
    ] {
        let (source, target) =
            (Fake::with(&[("a", "1-a"), ("m", "1-m")]), Fake::with(&[("a", "1-a")]));
        let (queue, notices) = (Rc::new(Queue::default()), notices());
        let through = through.map(str::to_owned);
        let state = ReplicationState { phase, through, write_failures: refused, ..<_>::default() };
        let what = format!("{state:?}");
        target.0.borrow_mut().state = state;
        let converge_ns = if is_over { 60 * SECOND_NS } else { 600 * MS };
        let limits = Limits { converge_ns, ..NO_TIME };
        let mut ends = ends(&source, &target);
        ends.refusals = Some(Refusals { runner: target.connect(), job: "job".to_owned() });
        let clock = Clock::system();
        let acknowledged = clock.now();
        queue.push(SentMarker { id: "m".to_owned(), number: 0, acknowledged, is_last: true });
        let lookout = lookout(ends, &queue, &notices, limits);
        let began = clock.now();
        notices.end();
        let found = on_thread(lookout.go_on(|| true));
        let took_ns = clock.now() - began;
        assert_eq!((found.end, found.markers.unseen), (LinkEnd::Behind, 1), "{what}");
        assert_eq!(found.comparison.map(|it| it.missing), Some(1), "{what}");
        let reason = "the target refused 1 write, and nothing more will come";
        assert_eq!(found.reason.as_deref(), Some(reason).filter(|_| is_over), "{what}");
        let fits = if is_over { took_ns < 30 * SECOND_NS } else { took_ns >= 600 * MS };
        assert!(fits, "{what}: {took_ns}");
    }
}

/// The last marker passes, and others of the documents do not.
#[test]
fn what_the_target_has_refused_is_not_lost() {
    use ReplicationPhase::{Failing, Running};
    // What the target has refused, how far the replication has got of four changes, its phase, and
    // what the source does not list.
    for (refused, through, phase, unlisted, is_refused) in [
        (Some(2), "4", Running, None, true),
        (Some(3), "4", Running, None, true),
        // More are wrong than were refused, ...
        (Some(1), "4", Running, None, false),
        // ... or none, or nobody knows.
        (Some(0), "4", Running, None, false),
        (None, "4", Running, None, false),
        // More may come.
        (Some(2), "3", Running, None, false),
        (Some(2), "4", Failing, None, false),
        // What was not sent was not refused.
        (Some(2), "3", Running, Some("d"), false),
    ] {
        let source = Fake::with(&[("a", "1-a"), ("b", "2-b"), ("c", "1-c"), ("m", "1-m")]);
        let target = Fake::with(&[("b", "1-b"), ("c", "1-c"), ("m", "1-m")]);
        if let Some(id) = unlisted {
            source.put(id, "1-a");
            target.put("b", "2-b");
            target.put("x", "1-x");
            source.0.borrow_mut().unlisted = vec!["a".to_owned(), id.to_owned()];
        }
        let (queue, notices) = (Rc::new(Queue::default()), notices());
        let through = Some(through.to_owned());
        let state = ReplicationState { phase, through, write_failures: refused, ..<_>::default() };
        let what = format!("{state:?}, {unlisted:?}");
        target.0.borrow_mut().state = state;
        let quiet_ns = if is_refused { 30 * SECOND_NS } else { 600 * MS };
        let limits = Limits { converge_ns: 60 * SECOND_NS, quiet_ns, ..NO_TIME };
        let mut ends = ends(&source, &target);
        ends.refusals = Some(Refusals { runner: target.connect(), job: "job".to_owned() });
        ends.counted = unlisted.iter().map(|_| source.connect()).collect();
        let acknowledged = Clock::system().now();
        queue.push(SentMarker { id: "m".to_owned(), number: 0, acknowledged, is_last: true });
        let lookout = lookout(ends, &queue, &notices, limits);
        notices.end();
        let found = on_thread(lookout.go_on(|| true));
        let (end, reason) = if is_refused {
            let reason = format!("the target refused {} writes", refused.unwrap_or_default());
            (LinkEnd::Behind, Some(reason + ", and nothing more will come"))
        } else {
            (LinkEnd::Lost, None)
        };
        assert_eq!((found.end, found.reason), (end, reason), "{what}");
        let wrong = found.comparison.map(|it| (it.missing, it.different));
        let wanted = if unlisted.is_some() { (2, 0) } else { (1, 1) };
        assert_eq!(wrong, Some(wanted), "{what}");
    }
}

/// A source that refuses the documents of the link before may refuse its own markers as well.
#[test]
fn the_last_marker_of_a_source_that_refuses_documents_is_not_waited_for() {
    // Whether the link before has ended because of that, whether a marker is on its way, and
    // whether the target has all the rest.
    for (cut, is_sent, has_all) in [
        (Some(true), false, true),
        (Some(true), true, true),
        // It may be slow: only after its last marker is anything lost.
        (Some(true), false, false),
        (Some(false), false, true),
        (None, false, true),
    ] {
        let (source, target) = (Fake::with(&[("a", "1-a")]), Fake::default());
        if has_all {
            target.put("a", "1-a");
        }
        let (queue, notices) = (Rc::new(Queue::default()), notices());
        let clock = Clock::system();
        let acknowledged = clock.now();
        if is_sent {
            source.put("m", "1-m");
            queue.push(SentMarker { id: "m".to_owned(), number: 0, acknowledged, is_last: false });
        }
        let is_early = cut == Some(true) && has_all && !is_sent;
        let converge_ns = if is_early { 60 * SECOND_NS } else { 600 * MS };
        let limits = Limits { converge_ns, quiet_ns: 100 * MS, ..NO_TIME };
        let mut ends = ends(&source, &target);
        ends.cut = cut.map(|it| Rc::new(Cell::new(it)));
        let lookout = lookout(ends, &queue, &notices, limits);
        let began = clock.now();
        notices.end();
        let found = on_thread(lookout.go_on(|| true));
        let took_ns = clock.now() - began;
        let what = format!("{cut:?}, {is_sent}, {has_all}");
        let end = if has_all && !is_sent { LinkEnd::Converged } else { LinkEnd::Behind };
        assert_eq!((found.end, &found.reason), (end, &None), "{what}");
        assert!(!found.is_refused(), "{what}");
        let fits = if is_early { took_ns < 30 * SECOND_NS } else { took_ns >= 600 * MS };
        assert!(fits, "{what}: {took_ns}");
    }
}

/// What was refused before may be another document.
#[test]
fn markers_are_waited_for_if_more_are_missing_than_were_refused_or_the_last_is_not_written() {
    for (written, is_last) in [(2, true), (1, false)] {
        let (source, target) = (Fake::default(), Fake::default());
        let (queue, notices) = (Rc::new(Queue::default()), notices());
        let acknowledged = Clock::system().now();
        for number in 0..written {
            let (id, is_last) = (format!("m_{number}"), is_last && number + 1 == written);
            source.put(&id, "1-m");
            queue.push(SentMarker { id, number, acknowledged, is_last });
        }
        let (phase, through) = (ReplicationPhase::Running, Some(written.to_string()));
        let state = ReplicationState { phase, through, write_failures: Some(1), ..<_>::default() };
        target.0.borrow_mut().state = state;
        let limits = Limits { converge_ns: 600 * MS, ..NO_TIME };
        let mut ends = ends(&source, &target);
        ends.refusals = Some(Refusals { runner: target.connect(), job: "job".to_owned() });
        let lookout = lookout(ends, &queue, &notices, limits);
        notices.end();
        let found = on_thread(lookout.go_on(|| true));
        assert_eq!((found.end, found.reason), (LinkEnd::Behind, None), "{written}, {is_last}");
    }
}

/// The documents of a target whose number stays wrong are compared after half of the time in which
/// nothing more arrives; what is missing then has the whole of it to come.
#[test]
fn a_target_with_too_few_documents_is_compared_after_a_while() {
    let source = Fake::with(&[("a", "1-a"), ("b", "1-b"), ("m", "1-m")]);
    let target = Fake::with(&[("a", "1-a"), ("m", "1-m")]);
    let (queue, notices) = (Rc::new(Queue::default()), notices());
    let mut limits = NO_TIME;
    (limits.converge_ns, limits.quiet_ns) = (30 * SECOND_NS, 1_500 * MS);
    let mut ends = ends(&source, &target);
    ends.counted = vec![source.connect()];
    let clock = Clock::system();
    let acknowledged = clock.now();
    queue.push(SentMarker { id: "m".to_owned(), number: 0, acknowledged, is_last: true });
    let lookout = lookout(ends, &queue, &notices, limits);
    let began = clock.now();
    notices.end();
    let found = on_thread(lookout.go_on(|| true));
    let took_ns = clock.now() - began;
    assert_eq!(found.end, LinkEnd::Lost);
    assert_eq!(found.comparison.map(|it| (it.documents, it.missing)), Some((3, 1)));
    assert!(took_ns >= 2_250 * MS, "half of 1.5 s, and 1.5 s: {took_ns}");
    let seen = found.markers.over_time.iter().map(|it| it.markers).sum::<u64>();
    assert_eq!((found.markers.unseen, seen), (0, 1));
}

/// The replication reads the same list of changes as the comparison: what is not in it is neither
/// copied nor compared.
#[test]
fn what_the_source_counts_and_does_not_list_is_missing_unless_the_target_has_as_many() {
    let has = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    // What the target has, whether the source lists everything later, and how it ends.
    for (there, heals, end) in [
        (has(&["a", "m"]), false, LinkEnd::Lost),
        (has(&["a", "b", "m"]), false, LinkEnd::Converged),
        // With documents of its own, it has more than it should, and still not all.
        (has(&["a", "m", "x", "y"]), false, LinkEnd::Lost),
        (has(&["a", "m", "x", "y"]), true, LinkEnd::Converged),
    ] {
        let source = Fake::with(&[("a", "1-a"), ("b", "1-a"), ("m", "1-a")]);
        let target = Fake::default();
        for id in &there {
            target.put(id, "1-a");
        }
        source.0.borrow_mut().unlisted = has(&["b"]);
        let (queue, notices) = (Rc::new(Queue::default()), notices());
        let mut limits = NO_TIME;
        (limits.converge_ns, limits.quiet_ns) = (60 * SECOND_NS, 2_000 * MS);
        let mut ends = ends(&source, &target);
        ends.counted = vec![source.connect()];
        let acknowledged = Clock::system().now();
        queue.push(SentMarker { id: "m".to_owned(), number: 0, acknowledged, is_last: true });
        let lookout = lookout(ends, &queue, &notices, limits);
        notices.end();
        let found = on_thread(async {
            let looking = spawn_local(lookout.go_on(|| true));
            // The second time, it is counted because something was not listed.
            while heals && target.0.borrow().counts < 2 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            if heals {
                source.0.borrow_mut().unlisted.clear();
                target.put("b", "1-a");
            }
            looking.await.unwrap()
        });
        assert_eq!(found.end, end, "{there:?}");
        let missing = u64::from(end == LinkEnd::Lost);
        let listed = if there.len() == 3 { 2 } else { 3 };
        let numbers = found.comparison.map(|it| (it.documents, it.missing));
        assert_eq!(numbers, Some((listed, missing)), "{there:?}");
    }
}

/// A marker that never comes does not hide that everything else has.
#[test]
fn a_last_look_finds_that_everything_is_there() {
    let all = [("a", "1-a"), ("b", "1-b")];
    let (source, target) = (Fake::with(&all), Fake::with(&all));
    let (queue, notices) = (Rc::new(Queue::default()), notices());
    let mut limits = NO_TIME;
    limits.converge_ns = 50 * MS;
    let lookout = lookout(ends(&source, &target), &queue, &notices, limits);
    notices.end();
    let found = on_thread(lookout.go_on(|| true));
    assert_eq!(found.end, LinkEnd::Converged);
    assert!(found.converged_s >= Some(0.05), "{:?}", found.converged_s);
    assert_eq!(found.comparison.map(|it| (it.documents, it.missing)), Some((2, 0)));
}

/// A last look that takes too long proves nothing: the target is behind, and not gone.
#[tokio::test(start_paused = true)]
async fn a_last_look_without_end_is_given_up() {
    let (source, target) = (Fake::with(&[("a", "1-a")]), Fake::default());
    target.0.borrow_mut().hangs = true;
    let (queue, notices) = (Rc::new(Queue::default()), notices());
    let mut limits = NO_TIME;
    limits.converge_ns = 0;
    let lookout = lookout(ends(&source, &target), &queue, &notices, limits);
    notices.end();
    let found = lookout.go_on(|| true).await;
    assert_eq!((found.end, found.converged_s), (LinkEnd::Behind, None));
    assert_eq!((found.comparison, found.reason), (None, None));
}

#[test]
fn nanoseconds_are_reported_in_seconds() {
    let all = [0, 1_500_000_000, 60 * SECOND_NS].map(|ns| seconds(ns).to_string());
    assert_eq!(all, ["0", "1.5", "60"]);
}
