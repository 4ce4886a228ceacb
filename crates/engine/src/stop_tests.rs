//! Checks when a silent server is given up.

use super::*;

const MS: Nanos = 1_000_000;
const SILENT: Option<Result<(), Failure>> = Some(Err(Failure::Timeout));

#[test]
fn every_reason_to_stop_is_reported_and_the_more_urgent_one_stays() {
    for (place, reason) in StopReason::ALL.into_iter().enumerate() {
        let stop = Stop::default();
        assert_eq!(stop.reason(), None);
        stop.raise(reason);
        assert_eq!(stop.reason(), Some(reason));
        stop.raise(StopReason::ALL[0]);
        assert_eq!(stop.reason(), Some(reason), "number {place}");
        let gone_on = stop.resume();
        assert_eq!(gone_on, Some(reason).filter(|it| it.gave_up()));
        assert_eq!(stop.reason(), Some(reason).filter(|it| !it.gave_up()));
    }
}

#[test]
fn the_server_has_the_last_word() {
    let patience = Patience::new(100 * MS);
    assert!(!patience.failed(1_000 * MS) && !patience.failed(1_100 * MS));
    assert!(!patience.ask(1_100 * MS), "it is not time yet");
    assert!(patience.failed(1_101 * MS));
    assert!(patience.ask(1_101 * MS) && !patience.ask(1_101 * MS), "one of the shards asks");
    assert_eq!(patience.judge(Some(Ok(())), Failure::Timeout, 1_200 * MS), None);
    // The server is there, and is checked again after the same time.
    assert!(!patience.failed(1_300 * MS));
    assert!(patience.failed(1_301 * MS) && patience.ask(1_301 * MS));
    let gone = patience.judge(SILENT, Failure::Timeout, 1_400 * MS);
    assert_eq!(gone, Some(StopReason::Unreachable));
}

#[test]
fn an_answer_while_the_server_is_asked_counts() {
    let patience = Patience::new(100 * MS);
    assert!(
        !patience.failed(1_000 * MS) && patience.failed(1_200 * MS) && patience.ask(1_200 * MS)
    );
    patience.answered();
    assert_eq!(patience.judge(SILENT, Failure::Timeout, 1_300 * MS), None);
    assert!(!patience.failed(1_300 * MS) && patience.failed(1_500 * MS));
    assert!(patience.ask(1_500 * MS), "another time");
}

#[test]
fn whose_fault_it_is_that_nobody_answers_is_reported() {
    let why = |answer, failure| {
        let patience = Patience::new(100 * MS);
        assert!(!patience.failed(1_000 * MS) && patience.ask(1_200 * MS));
        patience.judge(answer, failure, 1_200 * MS)
    };
    let (starved, gone) = (Some(StopReason::Starved), Some(StopReason::Unreachable));
    assert_eq!(why(SILENT, Failure::Local), gone, "there was a port for that");
    assert_eq!(why(Some(Err(Failure::Local)), Failure::Timeout), starved);
    // A server that cannot be checked.
    assert_eq!(why(None, Failure::Connect), gone);
    assert_eq!(why(None, Failure::Local), starved);
}

#[test]
fn a_server_that_serves_nobody_is_given_up_in_the_end() {
    let patience = Patience::new(100 * MS);
    let mut now = 1_000 * MS;
    for _ in 1..MOST_ASKED {
        patience.failed(now);
        now += 101 * MS;
        assert!(patience.failed(now) && patience.ask(now));
        assert_eq!(patience.judge(Some(Ok(())), Failure::Timeout, now), None);
    }
    now += 101 * MS;
    assert!(patience.ask(now));
    let unserved = patience.judge(Some(Ok(())), Failure::Timeout, now);
    assert_eq!(unserved, Some(StopReason::Unserved));
    // An answer to an operation resets the patience.
    patience.answered();
    assert!(!patience.failed(now) && patience.ask(now + 101 * MS));
    assert_eq!(patience.judge(Some(Ok(())), Failure::Timeout, now + 101 * MS), None);
}

/// Bursts, for example, are stages shorter than the patience.
#[test]
fn silence_counts_across_stages_but_not_the_pause_between_them() {
    let silent = |millis: [u64; 2]| {
        let patience = Patience::new(100 * MS);
        assert!(!patience.failed(1_000 * MS) && !patience.failed(1_060 * MS));
        patience.begin(100 * MS);
        // A stage without any operation changes nothing.
        patience.begin(100 * MS);
        let again = millis.map(|at| patience.failed(at * MS));
        (patience, again)
    };
    let (patience, over) = silent([5_000, 5_041]);
    assert_eq!(over, [false, true]);
    assert!(patience.ask(5_041 * MS), "the server is checked before that");
    // The third stage has only as much patience as is left.
    let (patience, _) = silent([5_000, 5_030]);
    patience.begin(100 * MS);
    assert!(!patience.failed(9_000 * MS) && patience.failed(9_011 * MS));
    // An answer in between, and a stage with more patience.
    let (patience, _) = silent([5_000, 5_030]);
    patience.begin(100 * MS);
    patience.answered();
    assert!(!patience.failed(9_000 * MS) && !patience.failed(9_100 * MS));
    let (patience, _) = silent([5_000, 5_030]);
    patience.begin(200 * MS);
    assert!(!patience.failed(9_000 * MS) && !patience.failed(9_110 * MS));
    // What follows after giving up, such as an audit, has all the time again.
    let (patience, over) = silent([5_000, 5_050]);
    assert_eq!(over, [false, true]);
    assert!(patience.ask(5_050 * MS));
    let gone = patience.judge(SILENT, Failure::Timeout, 5_060 * MS);
    assert_eq!(gone, Some(StopReason::Unreachable));
    patience.begin(100 * MS);
    assert!(!patience.failed(9_000 * MS) && !patience.failed(9_100 * MS));
    assert!(patience.failed(9_101 * MS));
}

#[test]
fn checks_that_stages_cut_off_go_on_in_the_next() {
    let patience = Patience::new(2 * SECOND_NS);
    let mut now = SECOND_NS;
    let mut stage = |over: bool| {
        patience.begin(2 * SECOND_NS);
        assert!(!over || patience.failed(now) && patience.ask(now) && !patience.ask(now));
        let answer_ns = patience.answer_ns();
        for _ in 0..7 {
            patience.failed(now);
            now += SECOND_NS / 10;
        }
        // The pause before the next one.
        now += 60 * SECOND_NS;
        answer_ns / (SECOND_NS / 10)
    };
    assert_eq!([false; 4].map(&mut stage), [20; 4], "2.4 s of silence");
    assert_eq!([true; 5].map(&mut stage), [20, 14, 8, 2, 1]);
    // An answer to a check shows that there was nothing to wait for before.
    assert_eq!(patience.judge(Some(Ok(())), Failure::Timeout, Nanos::MAX / 2), None);
    assert_eq!(patience.answer_ns(), 2 * SECOND_NS);
    patience.answered();
    assert_eq!(patience.answer_ns(), 2 * SECOND_NS);
}
