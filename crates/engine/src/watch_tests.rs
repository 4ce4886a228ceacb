//! Checks what a watch notes about operations that begin and end.

use super::*;
use crate::clock::{Clock, SECOND_NS};
use crate::measure::Outage;
use crate::op::OpKind;

const MS: Nanos = 1_000_000;

fn watch(open: bool) -> (Watch, Arc<Pulse>) {
    let pulse = Arc::new(Pulse::new(1));
    (Watch::new(0, 8 * SECOND_NS, open, pulse.clone(), 0), pulse)
}

fn outage(watched: &Watched) -> Outage {
    watched.outage.finish(0, &watched.outage.spans(0), &Spans::default())
}

/// The end of a request that was begun at `from_ms`.
fn whole(failure: Option<Failure>, from_ms: Nanos, timing: &Timing) -> RequestEnd<'_> {
    RequestEnd { part: Part::Whole, failure, began: from_ms * MS, silent_until: 0, timing }
}

#[test]
fn failures_by_the_servers_fault_alone_put_a_connection_down() {
    for (failure, down_ms) in [
        (Failure::Reset, 500),
        (Failure::Connect, 500),
        (Failure::ServerError, 500),
        (Failure::Unreachable, 500),
        (Failure::Local, 0),
        (Failure::NotFound, 0),
        (Failure::Conflict, 0),
    ] {
        let (watch, _pulse) = watch(false);
        let mut connection = Connection::default();
        let mut ended = |result, from_ms, to_ms| {
            let timing = Timing::between(from_ms * MS, to_ms * MS);
            watch.ended(whole(result, from_ms, &timing), &mut connection);
        };
        ended(None, 0, 100);
        ended(Some(failure), 100, 200);
        ended(Some(failure), 200, 300);
        ended(None, 600, 700);
        assert_eq!(connection.times.down_ns, down_ms * MS, "{failure}");
        let watched = watch.finish(Clock::system());
        let outage = outage(&watched);
        assert!((outage.total_s - down_ms as f64 / 1e3).abs() < 1e-9, "{failure}: {outage:?}");
        assert_eq!(outage.answered, failure == Failure::ServerError);
        assert!(watched.backlog.is_none(), "a closed loop has none");
        assert!(watched.loss.late.is_empty());
    }
}

#[test]
fn a_server_that_does_not_say_what_became_of_a_write_is_away() {
    let total_s = |asked_until_ms: Nanos, served_meanwhile: bool| {
        let (watch, _pulse) = watch(false);
        let (mut one, mut other) = (Connection::default(), Connection::default());
        let served = Timing::between(0, 100 * MS);
        watch.ended(whole(None, 0, &served), &mut one);
        if served_meanwhile {
            let served = Timing::between(150 * MS, 4_000 * MS);
            watch.ended(whole(None, 150, &served), &mut other);
        }
        let lost = Timing::between(100 * MS, 101 * MS);
        let silent_until = asked_until_ms * MS;
        let lost = whole(Some(Failure::Unanswered), 100, &lost);
        watch.ended(RequestEnd { silent_until, ..lost }, &mut one);
        watch.leave(&mut one, 5_000 * MS, None);
        outage(&watch.finish(Clock::system())).total_s
    };
    assert!((total_s(3_000, false) - 2.9).abs() < 0.01, "{}", total_s(3_000, false));
    assert!(total_s(0, false) < 0.01, "the write alone, which was answered at once");
    assert!(total_s(3_000, true) < 0.06, "others were served meanwhile");
}

#[test]
fn a_write_that_timed_out_is_known_to_have_failed_only_after_others_have_succeeded() {
    for (open, asked_until_ms, away_s) in [(false, 0, 1.0), (true, 0, 1.0), (false, 2_500, 1.5)] {
        let (watch, _pulse) = watch(open);
        let (mut one, mut other) = (Connection::default(), Connection::default());
        let mut served = |from_ms, to_ms| {
            let timing = Timing::between(from_ms * MS, to_ms * MS);
            watch.ended(whole(None, from_ms, &timing), &mut other);
        };
        served(900, 1_000);
        served(2_500, 2_800);
        served(2_800, 2_810);
        let timing = Timing::between(1_000 * MS, 2_000 * MS);
        let lost = whole(Some(Failure::Timeout), 1_000, &timing);
        watch.ended(RequestEnd { silent_until: asked_until_ms * MS, ..lost }, &mut one);
        watch.leave(&mut one, 8_000 * MS, None);
        let total_s = outage(&watch.finish(Clock::system())).total_s;
        assert!((total_s - away_s).abs() < 1e-6, "{open}, {asked_until_ms}: {total_s}");
    }
}

#[test]
fn what_this_machine_lacks_does_not_end_an_outage() {
    let (watch, _pulse) = watch(false);
    let mut connection = Connection::default();
    for (result, from_ms, to_ms) in [
        (None, 0, 100),
        (Some(Failure::Reset), 100, 200),
        (Some(Failure::Local), 200, 300),
        (Some(Failure::NotFound), 600, 700),
    ] {
        let timing = Timing::between(from_ms * MS, to_ms * MS);
        watch.ended(whole(result, from_ms, &timing), &mut connection);
    }
    assert_eq!(connection.times.down_ns, 500 * MS);
}

/// What a connection spent, in milliseconds: down, of that in no phase of a request, and locally.
/// Each request waits for its answer all the time from its beginning to its end.
fn spent_ms(requests: &[(Option<Failure>, Nanos, Nanos)], left_ms: Nanos) -> [Nanos; 3] {
    let (watch, _pulse) = watch(false);
    let mut connection = Connection::default();
    for &(failure, from_ms, to_ms) in requests {
        let remote_ns = (to_ms - from_ms) * MS;
        let timing = Timing { remote_ns, ..Timing::between(from_ms * MS, to_ms * MS) };
        connection.times.add(OpKind::Read, &timing, 1);
        watch.ended(whole(failure, from_ms, &timing), &mut connection);
    }
    watch.leave(&mut connection, left_ms * MS, None);
    connection.times.close(left_ms * MS);
    let ConnectionTimes { down_ns, away_ns, local_ns, .. } = connection.times;
    assert_eq!(local_ns + connection.times.counted_ns() + away_ns, left_ms * MS);
    [down_ns, away_ns, local_ns].map(|it| it / MS)
}

#[test]
fn the_time_without_a_server_is_not_local() {
    let refused = Some(Failure::Connect);
    // 10 ms between requests are the client's.
    let well = [(None, 0, 100), (None, 110, 200), (Some(Failure::NotFound), 210, 300)];
    assert_eq!(spent_ms(&well, 310), [0, 0, 30], "no outage");
    // Pauses of 90 and 290 ms between attempts that are refused.
    let partly = [
        (None, 0, 100),
        (refused, 110, 120),
        (refused, 210, 220),
        (None, 510, 600),
        (None, 610, 700),
    ];
    assert_eq!(spent_ms(&partly, 710), [400, 380, 30]);
    // A request without an answer waits for it: that is in its phase already.
    assert_eq!(spent_ms(&[(Some(Failure::Timeout), 10, 900)], 1_000), [990, 100, 10]);
    // It never answers.
    let dead: Vec<_> = (0..10).map(|it| (refused, it * 500, it * 500 + 1)).collect();
    assert_eq!(spent_ms(&dead, 5_000), [5_000, 4_990, 0]);
    // Two outages, the second up to the end.
    let twice = [(refused, 0, 10), (None, 100, 200), (refused, 210, 220)];
    assert_eq!(spent_ms(&twice, 300), [190, 170, 10]);
}

#[test]
fn a_node_that_refuses_connections_is_not_silent() {
    for (failure, silent) in [(Failure::Timeout, 1), (Failure::Connect, 0), (Failure::Local, 0)] {
        let (watch, _pulse) = watch(false);
        watch.ended_at(2, None, &Timing::between(0, 10 * MS));
        watch.ended_at(2, Some(failure), &Timing::between(10 * MS, 2_000 * MS));
        watch.ended_at(2, None, &Timing::between(2_000 * MS, 2_010 * MS));
        let nodes = watch.finish(Clock::system()).nodes;
        let silences: Vec<_> = nodes.iter().map(|node| node.finish(0).len()).collect();
        assert_eq!(silences, [0, 0, silent], "{failure}");
    }
}

#[test]
fn a_connection_that_leaves_is_down_until_then_and_not_beyond_the_end() {
    // After the time that a retry takes, a connection is no longer waiting for the server.
    for (left_ms, down_ms, stopped) in [
        (1_500, 500, None),
        (3_000, 1_200, None),
        (20_000, 1_200, None),
        (3_000, 1_200, Some(StopReason::Interrupted)),
        // The server was asked, and did not answer.
        (3_000, 2_000, Some(StopReason::Unreachable)),
        (20_000, 7_000, Some(StopReason::Unreachable)),
    ] {
        let (watch, _pulse) = watch(false);
        let mut connection = Connection::default();
        let timing = Timing::between(1_000 * MS, 1_100 * MS);
        watch.ended(whole(Some(Failure::Timeout), 1_000, &timing), &mut connection);
        watch.leave(&mut connection, left_ms * MS, stopped);
        assert_eq!(connection.times.down_ns, down_ms * MS);
        watch.leave(&mut connection, 30_000 * MS, stopped);
        assert_eq!(connection.times.down_ns, down_ms * MS, "it has left");
    }
}

#[test]
fn a_request_begun_late_was_held_up_from_when_it_could_have_begun() {
    let (watch, _pulse) = watch(true);
    // Due at 990 ms, begun at 993 ms, answered at 1 s.
    let timing =
        Timing { lag_ns: 3 * MS, response_ns: 10 * MS, ..Timing::between(993 * MS, 1_000 * MS) };
    let held = |ns| watch.held(Late { from: 990 * MS, ns }, &timing, true);
    assert_eq!([HELD_NS - 1, HELD_NS, 3 * MS].map(held), [0, HELD_NS, 3 * MS]);
    let loss = watch.finish(Clock::system()).loss;
    assert_eq!((loss.held, loss.held_ns), (2, 3 * MS + HELD_NS));
    let mut holding = Spans::default();
    holding.add(990 * MS, 993 * MS);
    assert_eq!(loss.holding, holding);
}

#[test]
fn what_waited_for_a_connection_after_a_pause_was_held_up_by_the_pause_alone() {
    for (due_ms, awaited, from_ms, to_ms) in [
        (1_500, false, 1_500, 3_000),
        (500, false, 1_000, 3_000),
        // A connection was free, so nothing but the client kept it waiting.
        (1_500, true, 1_500, 5_000),
    ] {
        let (watch, _pulse) = watch(true);
        watch.pause.set(Pause { from: 1_000 * MS, to: 3_000 * MS });
        let (intended, began) = (due_ms * MS, 5_000 * MS);
        let late = watch.begin(&Ticket { intended, began, idle_ns: 0, awaited });
        let (lag_ns, done) = (began - intended, began + 10 * MS);
        let response_ns = done - intended;
        let timing = Timing { lag_ns, response_ns, ..Timing::between(began, done) };
        assert_eq!(watch.held(late, &timing, true), (to_ms - from_ms) * MS);
        let mut holding = Spans::default();
        holding.add(from_ms * MS, to_ms * MS);
        assert_eq!(watch.finish(Clock::system()).loss.holding, holding, "{due_ms} {awaited}");
    }
}

#[test]
fn the_backlog_has_each_operation_once_from_when_it_was_due() {
    let (watch, _pulse) = watch(true);
    let mut expected = Backlog::new(0, 8 * SECOND_NS);
    for (part, counts) in [(Part::Whole, true), (Part::First, true), (Part::Last, false)] {
        for n in 0..80 {
            let (due, done) = (n * 100 * MS, (n * 100 + 350) * MS);
            // Begun 300 ms after it became due.
            let began = due + 300 * MS;
            let timing = Timing { response_ns: done - due, ..Timing::between(began, done) };
            let ended = RequestEnd { part, failure: None, began, silent_until: 0, timing: &timing };
            watch.ended(ended, &mut Connection::default());
            if counts {
                expected.add(due, done);
            }
        }
    }
    watch.left_over([5_000 * MS, 7_500 * MS].into_iter());
    expected.add(5_000 * MS, Nanos::MAX);
    expected.add(7_500 * MS, Nanos::MAX);
    let backlog = watch.finish(Clock::system()).backlog.expect("an open loop has one");
    assert_eq!(format!("{backlog:?}"), format!("{expected:?}"));
}
