//! Checks which times without an answer count as silences of the server.

use super::*;

const MS: Nanos = 1_000_000;

/// The silences of a shard with operations due and answered at these times, in milliseconds.
fn shard(operations: &[(u64, u64)]) -> Silences {
    paused(operations, &[])
}

fn paused(operations: &[(u64, u64)], pauses: &[(u64, u64)]) -> Silences {
    let answers = Answers::new(0);
    for &(due, done) in operations {
        let timing = Timing::between(due * MS, done * MS);
        answers.add(&timing);
    }
    let mut spans = Spans::default();
    for (from, to) in pauses {
        spans.add(from * MS, to * MS);
    }
    answers.finish(&spans)
}

/// Start and length, in milliseconds.
fn listed(silences: &Silences) -> Vec<(u64, u64)> {
    let ms = |s: f64| (s * 1e3).round() as u64;
    silences.finish(0).iter().map(|it| (ms(it.from_s), ms(it.length_s))).collect()
}

/// A closed loop on one connection with an answer every millisecond between these times.
fn steady(from: u64, to: u64) -> Vec<(u64, u64)> {
    (from..to).map(|ms| (ms, ms + 1)).collect()
}

#[test]
fn a_stall_of_a_closed_loop_lasts_from_the_last_answer_to_the_next() {
    let stall = [steady(0, 2_000), vec![(2_000, 2_800)], steady(2_800, 5_000)].concat();
    assert_eq!(listed(&shard(&stall)), [(2_000, 800)]);
    let short = [steady(0, 2_000), vec![(2_000, 2_099)], steady(2_099, 5_000)].concat();
    assert!(listed(&shard(&short)).is_empty(), "99 ms are not noted");
    assert_eq!(listed(&shard(&[(0, 700), (700, 701)])), [(0, 700)], "from the start on");
}

#[test]
fn where_nothing_was_due_the_server_is_not_silent() {
    // Two per second, answered after 1 ms; then one after 300 ms.
    let slow = [(0, 1), (500, 501), (1_000, 1_001), (1_500, 1_800), (2_000, 2_001)];
    assert_eq!(listed(&shard(&slow)), [(1_500, 300)]);
}

#[test]
fn an_operation_that_is_answered_later_was_waiting_all_the_same() {
    // An open loop with ten per second: after the stall, the latest operation is answered first.
    let operations = [(0, 1), (950, 1_000), (900, 1_001), (300, 1_002), (200, 1_003)];
    assert_eq!(listed(&shard(&operations)), [(200, 800)]);
    // One operation hangs while others are answered, so the server was not silent.
    let hanging = [steady(0, 3_000), vec![(10, 3_001)]].concat();
    assert!(listed(&shard(&hanging)).is_empty());
}

#[test]
fn slow_answers_one_after_the_other_are_not_one_silence() {
    let slow: Vec<_> = (0..20).map(|n| (n * 150, n * 150 + 150)).collect();
    let listed = listed(&shard(&slow));
    assert_eq!(listed.len(), 20);
    assert!(listed.iter().all(|it| it.1 == 150), "{listed:?}");
}

#[test]
fn the_server_is_silent_when_it_is_to_all_shards() {
    let stalled = |from, to| [steady(0, from), vec![(from, to)], steady(to, 5_000)].concat();
    let (one, two) = (shard(&stalled(1_000, 2_000)), shard(&stalled(1_500, 2_500)));
    assert_eq!(listed(&one.common(&two)), [(1_500, 500)]);
    assert_eq!(one.common(&two), two.common(&one));
    let busy = shard(&steady(0, 5_000));
    assert!(listed(&one.common(&busy)).is_empty(), "the other one was answered");
    // A shard without work, from the start or after some time, says nothing about the server.
    for idle in [shard(&[]), shard(&steady(0, 900))] {
        assert_eq!(listed(&idle), []);
        assert_eq!(listed(&one.common(&idle)), [(1_000, 1_000)]);
        assert_eq!(listed(&idle.common(&one)), [(1_000, 1_000)]);
    }
    // A shard about which nothing is known counts as answered all the time.
    assert!(listed(&one.common(&Silences::default())).is_empty());
}

#[test]
fn what_ends_with_a_pause_of_the_thread_ended_at_an_unknown_time_in_it() {
    let operations = [steady(0, 1_000), vec![(1_000, 2_000)], steady(2_000, 3_000)].concat();
    let listed = |pauses: &[(u64, u64)]| listed(&paused(&operations, pauses));
    assert_eq!(listed(&[(1_000, 2_000)]), []);
    assert_eq!(listed(&[(1_700, 2_001)]), [(1_000, 700)]);
    assert_eq!(listed(&[(1_700, 1_999)]), [(1_000, 700)], "read just after it");
    // If there had been an answer, it would have been read after the pause.
    assert_eq!(listed(&[(1_300, 1_400), (2_500, 2_700)]), [(1_000, 1_000)]);
}

#[test]
fn another_clock_changes_when_and_not_how_long() {
    let mut silences = shard(&[steady(0, 1_000), vec![(1_000, 1_500)]].concat());
    let before = listed(&silences);
    silences.convert(0, 70 * MS);
    let moved: Vec<_> = before.iter().map(|(from, length)| (from + 70, *length)).collect();
    assert_eq!(listed(&silences), moved);
    silences.convert(70 * MS, 0);
    assert_eq!(listed(&silences), before);
}

#[test]
fn memory_has_an_end_and_the_longest_are_kept() {
    let answers = Answers::new(0);
    let mut now = 0;
    for n in 0..10_000_u64 {
        let length = if n % 100 == 7 { 900 + n / 100 } else { 110 };
        answers.add(&Timing::between(now * MS, (now + length) * MS));
        now += length;
    }
    assert!(answers.gaps.borrow().len() < 2 * MOST_KEPT);
    let listed = listed(&answers.finish(&Spans::default()));
    assert_eq!(listed.len(), MOST_LISTED);
    assert!(listed.iter().all(|it| it.1 >= 900), "{listed:?}");
    assert!(listed.windows(2).all(|it| it[0].0 < it[1].0), "in order");
}

#[test]
fn a_silence_begins_at_a_tenth_of_a_second() {
    let gap = |ms: u64| [steady(0, 1_000), vec![(1_000, 1_000 + ms)]].concat();
    assert_eq!(listed(&shard(&gap(100))), [(1_000, 100)]);
    assert_eq!(listed(&shard(&gap(99))), []);
    // If a pause cuts it to less than that, nothing is left.
    let cut = |from| listed(&paused(&gap(300), &[(from, 1_300)]));
    assert_eq!((cut(1_100), cut(1_099)), (vec![(1_000, 100)], vec![]));
    // Answers to operations that became due in the last tenth of a gap: the server was not asked
    // before.
    let due = |ms| listed(&shard(&[(0, 1), (ms, 1_000)]));
    assert_eq!((due(900), due(901)), (vec![(900, 100)], vec![]));
    // The same for gaps that two shards have in common.
    let both = |from| {
        let other = [steady(0, from), vec![(from, 2_000)]].concat();
        let one = [gap(500), steady(1_500, 2_000)].concat();
        listed(&shard(&one).common(&shard(&other)))
    };
    assert_eq!((both(1_400), both(1_401)), (vec![(1_400, 100)], vec![]));
}

#[test]
fn only_silences_that_are_long_enough_are_spans() {
    let gaps = [steady(0, 1_000), vec![(1_000, 1_300)], steady(1_300, 2_000), vec![(2_000, 2_500)]];
    let spans = |ms: u64| -> Vec<(u64, u64)> {
        let spans = shard(&gaps.concat()).of_at_least(ms * MS);
        spans.bounds().map(|(from, to)| (from / MS, to / MS)).collect()
    };
    assert_eq!(spans(0), [(1_000, 1_300), (2_000, 2_500)]);
    assert_eq!(spans(300), [(1_000, 1_300), (2_000, 2_500)]);
    assert_eq!(spans(301), [(2_000, 2_500)]);
}

#[test]
fn answers_read_out_of_order_open_no_gap() {
    // According to the kernel, the second arrived before the first.
    let late = [steady(0, 1_000), vec![(999, 1_050), (999, 1_010), (1_050, 1_145)]].concat();
    assert_eq!(listed(&shard(&late)), []);
}

/// The silences of a node with operations sent and ended at these times, answered or not.
fn node(operations: &[(u64, u64, bool)]) -> Silences {
    let answers = NodeAnswers::new(0);
    for &(sent, done, answered) in operations {
        // The node does not know how long the operation waited for a connection before that.
        let between = Timing::between(sent * MS, done * MS);
        let timing = Timing { response_ns: done * MS, ..between };
        answers.add(&timing, answered);
    }
    answers.finish(&Spans::default())
}

/// From when until when something was waiting, in milliseconds.
fn waited(silences: &Silences) -> Vec<(u64, u64)> {
    let spans = silences.of_at_least(0);
    spans.bounds().filter(|bound| bound.1 < NEVER).map(|(a, b)| (a / MS, b / MS)).collect()
}

#[test]
fn a_node_is_silent_to_what_was_sent_to_it() {
    assert_eq!(waited(&node(&[(0, 10, true), (500, 800, true)])), [(500, 800)]);
    assert_eq!(waited(&node(&[(0, 10, true), (790, 800, true)])), [], "it was not asked before");
    // Two that were never answered, until one was.
    let lost = [(0, 10, true), (300, 600, false), (200, 500, false), (790, 800, true)];
    assert_eq!(waited(&node(&lost)), [(200, 800)]);
    // An operation that was refused at once was not waiting.
    let refused = |ms: u64| [(0, 10, true), (300, 300 + ms, false), (790, 800, true)];
    assert_eq!(waited(&node(&refused(99))), []);
    assert_eq!(waited(&node(&refused(100))), [(300, 800)]);
}

#[test]
fn what_a_node_left_unanswered_counts_for_the_gap_it_was_in() {
    // It ended so soon after the last answer that it may not belong to this gap.
    let soon = |done: u64| [(0, 400, true), (290, done, false), (890, 900, true)];
    assert_eq!(waited(&node(&soon(499))), [(0, 400)]);
    assert_eq!(waited(&node(&soon(500))), [(0, 900)]);
    // What was counted before an answer is not counted again for a later gap.
    let requests = [(0, 10, true), (100, 300, false), (490, 500, true), (990, 1_000, true)];
    assert_eq!(waited(&node(&requests)), [(100, 500)]);
}

#[test]
fn a_node_that_never_answers_again_is_silent_as_long_as_it_was_asked() {
    let silences = node(&[(0, 10, true), (200, 700, false), (100, 400, false)]);
    assert_eq!(waited(&silences), [(100, 700)]);
    // Another shard waited until later, and was not answered either.
    let other = node(&[(0, 10, true), (650, 900, false)]);
    let both = silences.common(&other);
    assert_eq!(waited(&both), [(100, 900)]);
    assert_eq!(listed(&both), [(100, 600), (700, 200)], "no time is in two of them");
    assert_eq!(waited(&node(&[(0, 10, true)])), []);
}
