//! The heartbeat on paused time: which pauses it notes, what was used, and until when.

use super::*;
use crate::clock::{Clock, Nanos, SECOND_NS, thread_cpu_ns};
use crate::measure::{Interval, Pulse, Recorder, Spans};
use crate::pace::Pace;
use crate::share::Share;
use crate::stop::{Patience, Stop};
use crate::tickets::{Ticket, Tickets};
use crate::watch::{Late, Watch};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

const MS: Nanos = 1_000_000;

/// The shared state of one connection of an open loop, for this long.
fn shared(length_ms: Nanos, sink: Sender<Interval>) -> Rc<Shared> {
    let clock = Clock::virtual_time();
    let start = clock.now();
    let end = start + length_ms * MS;
    let stop = Arc::<Stop>::default();
    let share = Share { shard: (0, 1), own: 1, open: 1, all: 1, operations: None };
    Rc::new(Shared {
        clock,
        start,
        tickets: Tickets::new(
            clock,
            stop.clone(),
            &Pace::Closed { think_ns: 0 },
            share,
            (start, end),
        ),
        recorder: RefCell::new(Recorder::new(start, end, false, sink)),
        issued: crate::op::ByKind::default(),
        watch: Watch::new(start, end, true, Arc::new(Pulse::new(1)), 0),
        stop,
        patience: Arc::new(Patience::new(SECOND_NS)),
        doubt: crate::drive::Suspicion::default(),
        fill: None,
        within: None,
        acks: false,
        written: None,
        journal: None,
    })
}

fn sleeper(shared: &Shared) -> Sleeper {
    Sleeper::new(shared.clock).unwrap()
}

async fn sleep(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

/// The thread is stalled for this long, without timers noticing.
async fn stall(ms: u64) {
    tokio::time::advance(Duration::from_millis(ms)).await;
    // Whatever became due meanwhile wakes up now.
    sleep(1).await;
}

/// The pauses that a heartbeat notes during `act`, from the start, in milliseconds.
async fn pauses(length_ms: Nanos, act: impl Future<Output = ()>) -> Vec<(f64, f64)> {
    let (sink, _source) = channel();
    let shared = shared(length_ms, sink);
    let beating = beat(shared.clone(), sleeper(&shared));
    tokio::select! {
        () = act => {}
        () = beating => unreachable!("it beats for ever"),
    }
    let pauses: &Spans = &shared.watch.heartbeat.borrow().loss.pauses;
    let ms = |s: f64| (s * 1e3).round();
    pauses.longest(shared.start, 9).iter().map(|it| (ms(it.from_s), ms(it.length_s))).collect()
}

#[tokio::test(start_paused = true)]
async fn a_pause_is_noted_from_the_beat_that_was_missed() {
    let none: [(f64, f64); 0] = [];
    assert_eq!(pauses(10_000, sleep(2_000)).await, none);
    // Beats are at 20, 40 … 120 ms. A stall that ends less than 5 ms after a beat does not count.
    let short = async {
        sleep(110).await;
        stall(14).await;
    };
    assert_eq!(pauses(10_000, short).await, none);
    let least = async {
        sleep(110).await;
        stall(15).await;
    };
    assert_eq!(pauses(10_000, least).await, [(120.0, 5.0)]);
    let twice = async {
        sleep(110).await;
        stall(300).await;
        // After it the beats continue as before: 20 ms after the thread woke.
        sleep(100).await;
        stall(1_000).await;
    };
    let [(first, long), (second, longer)] = pauses(10_000, twice).await[..] else {
        panic!("two pauses");
    };
    assert_eq!((first, long), (120.0, 290.0));
    assert!((511.0..=531.0).contains(&second) && (second + longer - 1_511.0).abs() < 1.1);
}

#[tokio::test(start_paused = true)]
async fn a_pause_goes_on_across_the_end_and_counts_until_then() {
    let over_the_end = async {
        sleep(90).await;
        stall(60).await;
        sleep(100).await;
        stall(500).await;
    };
    let (sink, _source) = channel();
    let shared = shared(115, sink);
    tokio::select! {
        () = over_the_end => {}
        () = beat(shared.clone(), sleeper(&shared)) => unreachable!("it beats for ever"),
    }
    let (start, clock) = (shared.start, shared.clock);
    // One was due during the stall that lasted beyond the end, the other long after the thread was
    // back.
    shared.watch.left_over([start + 60 * MS, start + 110 * MS].into_iter());
    let loss = Rc::into_inner(shared).unwrap().watch.finish(clock).loss;
    let spans = loss.pauses.longest(start, 9);
    assert_eq!(spans.len(), 2, "{spans:?}");
    assert!((spans[0].from_s - 0.1).abs() < 1e-3 && spans[0].length_s > 0.049, "{spans:?}");
    assert!(spans[1].length_s > 0.4, "what was in flight waited to be read");
    assert_eq!(loss.paused_ns, 15 * MS);
    assert_eq!(loss.unsent, 0, "the last pause began after the end");
}

#[tokio::test(start_paused = true)]
async fn what_falls_due_in_a_pause_over_the_end_is_left_by_the_client() {
    let (sink, _source) = channel();
    let shared = shared(1_000, sink);
    let start = shared.start;
    tokio::select! {
        () = async {
            sleep(985).await;
            stall(3_000).await;
        } => {}
        () = beat(shared.clone(), sleeper(&shared)) => unreachable!("it beats for ever"),
    }
    shared.watch.left_over([900, 975, 985, 999].map(|ms| start + ms * MS).into_iter());
    let clock = shared.clock;
    let watched = Rc::into_inner(shared).unwrap().watch.finish(clock);
    // The thread was last seen alive at the beat at 980 ms.
    assert_eq!(watched.loss.unsent, 2);
    let mut expected = crate::measure::Backlog::new(start, 1_000 * MS);
    expected.add(start + 900 * MS, Nanos::MAX);
    expected.add(start + 975 * MS, Nanos::MAX);
    assert_eq!(watched.backlog, Some(expected));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_lay_unread_in_a_pause_was_held_up() {
    let (sink, _source) = channel();
    let shared = shared(10_000, sink);
    let (start, watch) = (shared.start, &shared.watch);
    let timing =
        |from_ms, to_ms| crate::measure::Timing::between(start + from_ms * MS, start + to_ms * MS);
    let late = |ns| Late { from: start + 407 * MS, ns };
    tokio::select! {
        () = async {
            sleep(110).await;
            tokio::time::advance(Duration::from_millis(300)).await;
            // Before the beat has noted that it was late.
            assert_eq!(watch.held(late(0), &timing(105, 410), false), 305 * MS);
            assert_eq!(watch.held(late(0), &timing(105, 410), true), 0, "the kernel knows better");
            // A connection whose answer was read begins another operation; the next answer has lain
            // unread just as long.
            let began = start + 410 * MS;
            watch.begin(&Ticket { intended: began, began, idle_ns: 0, awaited: false });
            assert_eq!(watch.held(late(0), &timing(105, 410), false), 305 * MS);
            sleep(1).await;
            assert_eq!(watch.held(late(0), &timing(90, 412), false), 310 * MS, "from the beat on");
            assert_eq!(watch.held(late(0), &timing(90, 425), false), 0, "it came later");
            assert_eq!(watch.held(late(0), &timing(411, 412), false), 0, "asked after it");
            assert_eq!(watch.held(late(MS - 1), &timing(420, 421), false), 0, "too little to tell");
            assert_eq!(watch.held(late(9 * MS), &timing(416, 426), false), 9 * MS);
        } => {}
        () = beat(shared.clone(), sleeper(&shared)) => unreachable!("it beats for ever"),
    }
    let clock = shared.clock;
    let loss = Rc::into_inner(shared).unwrap().watch.finish(clock).loss;
    assert_eq!((loss.held, loss.held_ns), (4, (305 + 305 + 310 + 9) * MS));
}

#[tokio::test(start_paused = true)]
async fn a_pause_makes_late_what_was_due_in_it_and_no_more() {
    let (sink, _source) = channel();
    let shared = shared(10_000, sink);
    let start = shared.start;
    let ticket = |intended_ms, began_ms, awaited| Ticket {
        intended: start + intended_ms * MS,
        began: start + began_ms * MS,
        idle_ns: 0,
        awaited,
    };
    tokio::select! {
        () = beat(shared.clone(), sleeper(&shared)) => unreachable!("it beats for ever"),
        () = async {
            sleep(110).await;
            // From 120 to 410 ms.
            stall(300).await;
        } => {}
    }
    for (intended_ms, began_ms) in [(200, 420), (50, 420), (415, 430), (50, 60)] {
        shared.watch.begin(&ticket(intended_ms, began_ms, false));
    }
    // A connection was free, so the client is at fault, whether it was paused or not.
    shared.watch.begin(&ticket(420, 427, true));
    shared.watch.begin(&ticket(420, 420, true));
    let clock = shared.clock;
    let late = Rc::into_inner(shared).unwrap().watch.finish(clock).loss.late;
    assert_eq!(late.len(), 6);
    let mut expected = crate::measure::Histogram::default();
    // The thread was last seen alive at the beat before the one that it missed.
    for ms in [210, 310, 0, 0, 7, 0] {
        expected.record(ms * MS);
    }
    assert_eq!(late, expected);
}

#[tokio::test(start_paused = true)]
async fn what_was_used_is_counted_until_the_end_and_no_longer() {
    let before = thread_cpu_ns();
    let (sink, _source) = channel();
    let shared = shared(100, sink);
    let clock = shared.clock;
    let mut at_end = 0;
    tokio::select! {
        () = beat(shared.clone(), sleeper(&shared)) => unreachable!("it beats for ever"),
        () = async {
            sleep(150).await;
            at_end = thread_cpu_ns();
            // Time spent on answers after the end does not count as load.
            while thread_cpu_ns() < at_end + 20 * MS {
                std::hint::spin_loop();
            }
            sleep(500).await;
        } => {}
    }
    let loss = Rc::into_inner(shared).unwrap().watch.finish(clock).loss;
    assert_eq!(loss.watched_ns, 100 * MS);
    let most = at_end - before;
    assert!(loss.cpu_ns > 0 && loss.cpu_ns <= most, "{} of {most} ns", loss.cpu_ns);
}

#[tokio::test(start_paused = true)]
async fn a_stage_that_ends_early_was_watched_until_then() {
    let (sink, _source) = channel();
    let shared = shared(10_000, sink);
    let clock = shared.clock;
    let used = thread_cpu_ns();
    tokio::select! {
        () = beat(shared.clone(), sleeper(&shared)) => unreachable!("it beats for ever"),
        () = sleep(250) => {}
    }
    while thread_cpu_ns() < used + 5 * MS {
        std::hint::spin_loop();
    }
    let loss = Rc::into_inner(shared).unwrap().watch.finish(clock).loss;
    assert_eq!(loss.watched_ns, 250 * MS);
    assert!(loss.cpu_ns >= 4 * MS, "{} ns", loss.cpu_ns);
}

#[tokio::test(start_paused = true)]
async fn a_second_is_handed_out_when_it_is_over_though_nothing_ends() {
    let (sink, source) = channel();
    let shared = shared(10_000, sink);
    let timing = crate::measure::Timing::between(shared.start, shared.start + MS);
    let sample = crate::measure::Sample::single(
        crate::op::OpKind::Read,
        &timing,
        Ok(crate::op::Reply::default()),
    );
    shared.recorder.borrow_mut().record(&sample);
    tokio::select! {
        () = beat(shared.clone(), sleeper(&shared)) => unreachable!("it beats for ever"),
        () = sleep(1_050) => {}
    }
    let seconds: Vec<_> =
        source.try_iter().filter(|it| it.iter().next().is_some()).map(|it| it.second).collect();
    assert_eq!(seconds, [0]);
}
