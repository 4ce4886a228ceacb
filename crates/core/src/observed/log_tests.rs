//! Answers of servers that arrive one by one, and what is kept of them.

use super::*;

const WRITES: Meter = Meter::rate("writes_per_s", "writes", "disk");
const QUEUE: Meter = Meter::gauge("queue", "queue", "", "queues");

fn reading(writes: f64, queue: f64) -> Reading {
    Reading { values: vec![(WRITES, writes), (QUEUE, queue)], ..Reading::default() }
}

fn log() -> ObservedLog {
    ObservedLog::new(["n1".to_owned()])
}

fn column(log: &ObservedLog, name: &str) -> Vec<Option<f64>> {
    let table = log.so_far().sources.remove(0).tables.remove(0);
    table.columns.into_iter().find(|it| it.meter.name == name).unwrap().values
}

#[test]
fn rates_are_differences_and_gauges_are_as_they_are() {
    let mut log = log();
    for (at_s, writes, queue) in [(1.0, 100.0, 3.0), (3.0, 300.0, 0.0), (4.0, 300.0, 7.0)] {
        log.answered(0, 0, at_s, &reading(writes, queue));
    }
    assert_eq!(column(&log, "writes_per_s"), [None, Some(100.0), Some(0.0)]);
    assert_eq!(column(&log, "queue"), [Some(3.0), Some(0.0), Some(7.0)]);
}

#[test]
fn what_is_reported_for_each_is_divided_by_how_many_there_were() {
    const EACH: Meter = Meter::each("write_us", "time of a write", "µs", "times", "writes_per_s");
    let mut log = log();
    for (at_s, us, writes) in [(1.0, 500.0, 10.0), (3.0, 2_500.0, 50.0), (4.0, 2_500.0, 50.0)] {
        let values = vec![(EACH, us), (WRITES, writes)];
        log.answered(0, 0, at_s, &Reading { values, ..Reading::default() });
    }
    assert_eq!(column(&log, "write_us"), [None, Some(50.0), None]);
}

#[test]
fn a_restart_is_no_negative_rate_and_no_spike() {
    let mut log = log();
    for (at_s, writes) in [(1.0, 1_000.0), (2.0, 1_100.0), (3.0, 40.0), (4.0, 90.0)] {
        log.answered(0, 0, at_s, &reading(writes, 1.0));
    }
    assert_eq!(column(&log, "writes_per_s"), [None, Some(100.0), None, Some(50.0)]);
    assert_eq!(log.so_far().sources[0].restarts_s, [3.0]);
}

#[test]
fn a_server_that_counts_faster_after_its_restart_than_before_is_seen_by_its_uptime() {
    let mut log = log();
    for (at_s, up_s) in [(1.0, 500.0), (3.0, 502.0), (5.0, 1.0)] {
        let reading = Reading { uptime_s: Some(up_s), ..Reading::default() };
        log.answered(0, 1, at_s, &reading);
    }
    assert_eq!(log.so_far().sources[0].restarts_s, [5.0]);
}

#[test]
fn a_missing_answer_is_a_gap() {
    let mut log = log();
    log.answered(0, 0, 1.0, &reading(10.0, 1.0));
    log.missed(0, 0, 3.0, "no answer within 2 s");
    log.answered(0, 0, 5.0, &reading(50.0, 1.0));
    assert_eq!(column(&log, "writes_per_s"), [None, None, Some(10.0)]);
    assert_eq!(column(&log, "queue"), [Some(1.0), None, Some(1.0)]);
    let source = log.so_far().sources.remove(0);
    assert_eq!((source.polls, source.missed), (3, 1));
    assert_eq!(source.reason.as_deref(), Some("no answer within 2 s"));
}

#[test]
fn days_take_no_more_rows_than_minutes_and_hide_no_peak_and_no_gap() {
    let mut log = log();
    let seconds = 100_000;
    for second in 1..=seconds {
        if (70_000..71_000).contains(&second) {
            log.missed(0, 0, f64::from(second), "away");
        } else {
            let queue = if second == 30_000 { 99.0 } else { 1.0 };
            log.answered(0, 0, f64::from(second), &reading(f64::from(second) * 7.0, queue));
        }
    }
    let observed = log.so_far();
    let table = &observed.sources[0].tables[0];
    assert!(table.at_s.len() <= MOST_ROWS, "{}", table.at_s.len());
    assert!(table.at_s.is_sorted());
    let longest_s = table.at_s.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
    assert!(longest_s <= 600.0, "a row of {longest_s} s");
    let rates = column(&log, "writes_per_s");
    assert!(rates.iter().flatten().all(|rate| (rate - 7.0).abs() < 1e-3), "{rates:?}");
    let queue = column(&log, "queue");
    assert!(queue.iter().flatten().any(|value| (value - 99.0).abs() < f64::EPSILON));
    assert!(queue.iter().any(Option::is_none));
}

#[test]
fn what_was_zero_throughout_is_left_out() {
    let mut log = log();
    log.answered(0, 0, 1.0, &reading(5.0, 0.0));
    log.answered(0, 0, 2.0, &reading(9.0, 0.0));
    let table = log.so_far().sources.remove(0).tables.remove(0);
    let names: Vec<_> = table.columns.iter().map(|it| it.meter.name.as_ref()).collect();
    assert_eq!(names, ["writes_per_s"]);
}

#[test]
fn activities_last_from_the_first_answer_with_them_to_the_first_without() {
    let task = |what: &str| Task { kind: "indexer".to_owned(), what: what.to_owned() };
    let tasks = |tasks: &[Task]| Reading { tasks: Some(tasks.to_vec()), ..Reading::default() };
    let mut log = log();
    log.answered(0, 0, 1.0, &tasks(&[task("a")]));
    log.answered(0, 0, 2.0, &tasks(&[task("a"), task("b")]));
    // An answer to another question has no effect on these tasks, nor does a missing one.
    log.answered(0, 1, 2.5, &reading(1.0, 1.0));
    log.missed(0, 0, 2.7, "away");
    log.answered(0, 0, 3.0, &tasks(&[task("b")]));
    let times: Vec<_> = log.so_far().activities.iter().map(|it| (it.from_s, it.to_s)).collect();
    assert_eq!(times, [(1.0, Some(3.0)), (2.0, None)]);
}

#[test]
fn what_several_nodes_tell_is_one_and_what_one_no_longer_tells_may_still_be_so() {
    let down = || vec![Task { kind: "node_down".to_owned(), what: "n3".to_owned() }];
    let reading_of = |tasks, of_all| Reading { tasks: Some(tasks), of_all, ..Reading::default() };
    let mut log = ObservedLog::new(["n1".to_owned(), "n2".to_owned()]);
    log.answered(0, 0, 1.0, &reading_of(down(), false));
    log.answered(1, 0, 1.5, &reading_of(down(), false));
    log.answered(0, 0, 2.0, &reading_of(Vec::new(), false));
    let only = |log: &ObservedLog| {
        let activities = log.so_far().activities;
        assert_eq!(activities.len(), 1, "{activities:?}");
        (activities[0].from_s, activities[0].to_s)
    };
    assert_eq!(only(&log), (1.0, None));
    log.answered(1, 0, 3.0, &reading_of(Vec::new(), false));
    assert_eq!(only(&log), (1.0, Some(3.0)));
    // One node answers in place of another.
    let mut log = ObservedLog::new(["n1".to_owned(), "n2".to_owned()]);
    log.answered(0, 0, 1.0, &reading_of(down(), true));
    log.answered(1, 0, 2.0, &reading_of(Vec::new(), true));
    assert_eq!(only(&log), (1.0, Some(2.0)));
}

#[test]
fn a_limit_is_no_number_and_a_server_does_nothing_to_a_terminal() {
    let mut log = log();
    log.answered(0, 0, 1.0, &reading(0.0, 1.8e19));
    log.answered(0, 0, 2.0, &reading(5.0, 7.0));
    assert_eq!(column(&log, "queue"), [None, Some(7.0)]);
    let hostile = Task { kind: "in\u{1b}[2Jdexer".to_owned(), what: "a\nb".to_owned() };
    let busy = Reading { tasks: Some(vec![hostile]), ..Reading::default() };
    log.answered(0, 1, 3.0, &busy);
    log.missed(0, 1, 4.0, "\u{7}no");
    log.set(&[("a\r".to_owned(), "\u{9b}b".to_owned())].into());
    let text = format!("{:?}", log.so_far());
    assert!(!text.contains("\\u{") && !text.contains("\\n") && !text.contains("\\r"), "{text}");
}

#[test]
fn many_activities_lose_the_shortest() {
    let mut log = log();
    let tasks = |what: String| Reading {
        tasks: Some(vec![Task { kind: "compaction".to_owned(), what }]),
        ..Reading::default()
    };
    log.answered(0, 0, 0.0, &tasks("long".to_owned()));
    for n in 0..2 * MOST_ACTIVITIES {
        log.answered(0, 0, 1_000.0 + n as f64, &tasks(n.to_string()));
    }
    let activities = log.so_far().activities;
    assert!(activities.len() <= MOST_ACTIVITIES + 1);
    assert_eq!(activities[0].what, "long");
}

#[test]
fn requests_are_counted_between_the_first_answer_and_the_last_unless_it_was_started_again() {
    let served = |get| Served { methods: [("GET".to_owned(), get)].into(), ..Served::default() };
    let reading_of = |get| Reading { served: Some(served(get)), ..Reading::default() };
    let mut log = log();
    for get in [10, 15, 40] {
        log.answered(0, 0, get as f64, &reading_of(get));
    }
    assert_eq!(log.so_far().sources[0].served, Some(served(30)));
    // What the server has served since then is unknown until its next answer.
    log.missed(0, 0, 42.0, "away");
    assert_eq!(log.so_far().sources[0].served, None);
    log.answered(0, 0, 45.0, &reading_of(45));
    assert_eq!(log.so_far().sources[0].served, Some(served(35)));
    let mut late = ObservedLog::new(["n1".to_owned()]);
    late.missed(0, 0, 1.0, "away");
    late.answered(0, 0, 2.0, &reading_of(10));
    late.answered(0, 0, 4.0, &reading_of(20));
    assert_eq!(late.so_far().sources[0].served, None, "what came before is not known");
    log.answered(0, 0, 50.0, &Reading { uptime_s: Some(9.0), ..reading_of(50) });
    log.answered(0, 0, 60.0, &Reading { uptime_s: Some(3.0), ..reading_of(60) });
    assert_eq!(log.so_far().sources[0].served, None);
}

#[test]
fn only_what_is_evicted_between_the_first_answer_and_the_last_is_counted() {
    let reading_of = |documents| {
        let evicted = Evicted { documents, policy: "policy lru\n".to_owned() };
        Reading { evicted: Some(evicted), ..Reading::default() }
    };
    let mut log = log();
    let evicted = |log: &ObservedLog| log.so_far().sources[0].evicted.clone();
    assert_eq!(evicted(&log), None);
    log.answered(0, 0, 1.0, &reading_of(500));
    assert_eq!(evicted(&log), None, "before");
    log.answered(0, 0, 2.0, &reading_of(510));
    log.answered(0, 0, 3.0, &reading_of(512));
    let policy = "policy lru ".to_owned();
    assert_eq!(evicted(&log), Some(Evicted { documents: 12, policy }));
    log.answered(0, 0, 4.0, &Reading { uptime_s: Some(9.0), ..reading_of(513) });
    log.answered(0, 0, 5.0, &Reading { uptime_s: Some(1.0), ..reading_of(2) });
    assert_eq!(evicted(&log), None, "what was counted is gone with the restart");
}

#[test]
fn nonsense_is_left_out_and_reported_and_is_no_restart() {
    for nonsense in [-5.0, 1e300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut log = log();
        for (at_s, writes, queue) in
            [(1.0, 100.0, 3.0), (2.0, nonsense, nonsense), (3.0, 300.0, 4.0)]
        {
            log.answered(0, 0, at_s, &reading(writes, queue));
        }
        assert_eq!(column(&log, "writes_per_s"), [None, None, Some(100.0)], "{nonsense}");
        assert_eq!(column(&log, "queue"), [Some(3.0), None, Some(4.0)], "{nonsense}");
        let source = log.so_far().sources.remove(0);
        assert!(source.restarts_s.is_empty(), "{nonsense}");
        let note = source.note.expect("a note");
        let expected =
            format!("2 values that make no sense were left out, such as writes = {nonsense:e}");
        assert_eq!(note, expected);
    }
    // A gauge of an exporter may be a temperature.
    let mut log = log();
    let cold = Reading { lone_counts: true, ..reading(1.0, -20.0) };
    log.answered(0, 0, 1.0, &cold);
    assert_eq!(column(&log, "queue"), [Some(-20.0)]);
    assert_eq!(log.so_far().sources[0].note, None);
    // Time does not run backwards just because a server claims it does.
    for (at_s, up_s) in [(1.0, 500.0), (2.0, -1.0), (3.0, f64::NAN), (4.0, 503.0)] {
        log.answered(0, 1, at_s, &Reading { uptime_s: Some(up_s), ..Reading::default() });
    }
    assert!(log.so_far().sources[0].restarts_s.is_empty());
}

#[test]
fn no_server_fills_the_record_with_words() {
    let mut log = log();
    let task = |number: usize| Task { kind: "k".repeat(9_000), what: format!("{number:06}") };
    let tasks = Some((0..50_000).map(task).collect());
    log.answered(0, 0, 1.0, &Reading { tasks, ..Reading::default() });
    log.refused(0, &"w".repeat(1_000_000));
    let settings = (0..50_000).map(|it| (format!("{it:06}"), "v".repeat(9_000)));
    log.set(&settings.collect());
    let observed = log.so_far();
    assert!(observed.activities.len() <= MOST_ENTRIES && observed.settings.len() <= MOST_ENTRIES);
    assert!(serde_json::to_string(&observed).unwrap().len() < 1_000_000);
}
