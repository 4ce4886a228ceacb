//! The table of cases: the facts about a stage, and the account, trust and verdict that follow, on
//! both sides of each bound. `docs/load-shapes.md` describes them in words.

use super::*;
use crate::clock::{Nanos, SECOND_NS};
use crate::measure::{Interval, KindInterval, OperationSummary, Totals};
use crate::op::{Failure, OpKind};

const MS: Nanos = 1_000_000;

/// A closed stage of 100 s that began at 7 s, with 10,000 reads of 5 ms each.
fn closed() -> Facts {
    let load = LoadFacts { offered: 10_000, ..LoadFacts::default() };
    let threads = ThreadFacts { busiest: 0.5, occupied: 0.5, ..ThreadFacts::default() };
    let (elapsed_s, measured_s, start) = (100.0, 100.0, 7 * SECOND_NS);
    Facts { elapsed_s, measured_s, start, load, threads, ..Facts::default() }.answered(10_000, 5)
}

/// Like [`closed`], in an open loop at 100/s.
fn open() -> Facts {
    let mut facts = closed();
    facts.load = LoadFacts { open: true, offered_per_s: 100.0, served_per_s: 100.0, ..facts.load };
    facts
}

impl Facts {
    /// `count` requests, each answered after `ms`.
    fn answered(self, count: u64, ms: Nanos) -> Self {
        self.with(|part| {
            (part.requests, part.ok) = (count, count);
            part.response.record_many(ms * MS, count);
            part.service.record_many(ms * MS, count);
        })
    }

    fn with(mut self, change: impl FnOnce(&mut KindInterval)) -> Self {
        let mut interval = Interval::new(0);
        change(interval.kind_mut(OpKind::Read));
        let mut totals = Totals::default();
        let part = interval.kind(OpKind::Read).unwrap();
        *totals.issued.of(OpKind::Read) = part.ok + part.failed();
        totals.add(&interval);
        let summaries: Vec<OperationSummary> = totals.summarize(self.measured_s);
        (self.response, self.without_client) = Default::default();
        (self.served, self.documents) = (0, (0, 0));
        self.failed.clear();
        self.of_requests(summaries.iter())
    }

    /// 10,000 requests of 5 ms, `count` of which failed with `class`.
    fn failing(self, class: Failure, count: u64) -> Self {
        self.with(|part| {
            (part.requests, part.ok) = (10_000, 10_000 - count);
            part.failures[class.index()] = count;
            part.response.record_many(5 * MS, part.ok);
            part.failed_times.entry(class).or_default().response.record_many(9 * MS, count);
        })
    }

    /// Of 10,000 requests of 5 ms, `count` took `ms` longer because the client held them up.
    fn held(mut self, count: u64, ms: Nanos) -> Self {
        self.threads.held = (count, count * ms * MS);
        self.with(|part| {
            (part.requests, part.ok) = (10_000, 10_000);
            part.response.record_many(5 * MS, 10_000 - count);
            part.response.record_many((5 + ms) * MS, count);
            let held = part.held.get_or_insert_default();
            held.measured.record_many((5 + ms) * MS, count);
            held.without.record_many(5 * MS, count);
        })
    }

    fn load(mut self, change: fn(&mut LoadFacts)) -> Self {
        change(&mut self.load);
        self
    }

    fn threads(mut self, change: fn(&mut ThreadFacts)) -> Self {
        change(&mut self.threads);
        self
    }

    /// Nothing succeeded for `ms`, from 3 s on.
    fn away(mut self, ms: Nanos) -> Self {
        self.away.add(10 * SECOND_NS, 10 * SECOND_NS + ms * MS);
        self
    }
}

fn verdict(facts: &Facts) -> &'static str {
    Verdict::of(facts, &Account::of(facts)).name()
}

#[test]
fn a_closed_loop_is_judged_by_both_sides() {
    type Case = (&'static str, fn(Facts) -> Facts);
    let cases: [Case; 27] = [
        ("closed", |it| it),
        ("empty", |it| Facts { documents: (0, 0), ..it }),
        ("empty", |it| Facts { elapsed_s: 0.0, ..it }),
        ("closed", |it| it.failing(Failure::Reset, 1_000)),
        ("degraded", |it| it.failing(Failure::Reset, 1_001)),
        ("degraded", |it| it.failing(Failure::ServerError, 1_001)),
        ("closed", |it| it.failing(Failure::NotFound, 9_000)),
        ("closed", |it| it.away(1_000)),
        ("degraded", |it| it.away(1_001)),
        ("closed", |it| Facts { measured_s: 10.0, ..it }.away(100)),
        ("degraded", |it| Facts { measured_s: 10.0, ..it }.away(101)),
        // A small share of an hour, but too long all the same.
        ("degraded", |it| Facts { measured_s: 3_600.0, ..it }.away(1_001)),
        // A pause of the client is no outage of the server.
        ("closed", |mut it| {
            it.holding.add(0, 20 * SECOND_NS);
            it.away(5_000)
        }),
        // 12 % of the requests took 5 ms longer: 11 % of all time.
        ("closed", |it| it.held(1_200, 5)),
        // At most a fifth of all response times is the client's.
        ("closed", |it| it.held(2_499, 5)),
        ("client_bound", |it| it.held(2_501, 5)),
        // Late, but nothing was due at a given time.
        ("closed", |it| it.threads(|it| it.late_p99_us = 90_000.0)),
        // A client that was paused for a third of the time, without holding anything up.
        ("closed", |it| it.threads(|it| it.waited = 0.30)),
        ("closed", |it| it.threads(|it| it.reading_us.mean = 990.0)),
        ("client_bound", |it| it.threads(|it| it.reading_us.mean = 1_010.0)),
        // The 99th percentile does not count in a closed loop.
        ("closed", |it| it.threads(|it| it.reading_us.p99 = 4_900.0)),
        ("closed", |it| it.threads(|it| it.busiest = 0.95)),
        ("client_bound", |it| it.threads(|it| it.busiest = 0.96)),
        ("closed", |it| it.threads(|it| it.occupied = 0.95)),
        ("client_bound", |it| it.threads(|it| it.occupied = 0.96)),
        ("too_short", |mut it| {
            (it.elapsed_s, it.threads.busiest) = (0.09, 1.0);
            it
        }),
        ("client_bound", |mut it| {
            (it.elapsed_s, it.threads.busiest) = (0.1, 1.0);
            it
        }),
    ];
    for (number, (expected, change)) in cases.into_iter().enumerate() {
        assert_eq!(verdict(&change(closed())), expected, "case {number}");
    }
    let saturated = closed().threads(|it| it.busiest = 1.0);
    assert_eq!(verdict(&Facts { without_server: true, ..saturated }), "closed");
}

#[test]
fn an_open_loop_must_be_on_time_and_keep_up() {
    type Case = (&'static str, fn(Facts) -> Facts);
    let cases: [Case; 22] = [
        ("sustained", |it| it),
        ("sustained", |it| it.load(|it| it.unsent = 50)),
        ("not_sustained", |it| it.load(|it| it.unsent = 51)),
        // The same for lack of connections, and the case where they suffice for what was offered.
        ("bound_by_connections", |it| it.load(|it| (it.unsent, it.bound) = (51, Some((50, 110))))),
        ("sustained", |it| it.load(|it| (it.unsent, it.bound) = (50, Some((50, 110))))),
        ("not_sustained", |it| it.load(|it| (it.unsent, it.dropped) = (25, 26))),
        // The server could not serve what fell due in the client's last pause.
        ("sustained", |it| it.load(|it| (it.unsent, it.unsent_by_client) = (500, 460))),
        ("sustained", |it| it.load(|it| it.growth_per_s = 0.5)),
        ("not_sustained", |it| it.load(|it| it.growth_per_s = 0.51)),
        // Half of the 99th percentile, but less than a millisecond.
        ("sustained", |it| it.answered(10_000, 1).held(0, 0)),
        // One in a hundred and one was late: this does not affect the 99th percentile.
        ("sustained", |it| it.held(99, 50)),
        ("client_bound", |it| it.held(101, 50)),
        // Late by a sixth of the 99th percentile.
        ("sustained", |it| it.held(1_000, 1)),
        // The client has hardly any time to spare, but everything was served and nothing was late.
        ("sustained", |it| it.threads(|it| it.occupied = 0.99)),
        ("sustained", |it| it.threads(|it| it.waited = 0.9)),
        ("not_sustained", |it| it.threads(|it| it.waited = 0.20).load(|it| it.unsent = 51)),
        ("client_bound", |it| it.threads(|it| it.waited = 0.21).load(|it| it.unsent = 51)),
        ("not_sustained", |it| it.threads(|it| it.occupied = 0.80).load(|it| it.unsent = 51)),
        ("client_bound", |it| it.threads(|it| it.occupied = 0.81).load(|it| it.unsent = 51)),
        ("client_bound", |mut it| {
            it.holding.add(7 * SECOND_NS, 28 * SECOND_NS);
            it.load.unsent = 51;
            it
        }),
        ("not_sustained", |mut it| {
            it.holding.add(7 * SECOND_NS, 26 * SECOND_NS);
            it.load.unsent = 51;
            it
        }),
        ("degraded", |it| it.threads(|it| it.occupied = 0.81).away(2_000)),
    ];
    for (number, (expected, change)) in cases.into_iter().enumerate() {
        assert_eq!(verdict(&change(open())), expected, "case {number}");
    }
    let late = Facts { without_server: true, ..open().held(500, 90) };
    assert_eq!(verdict(&late), "sustained");
    assert_eq!(verdict(&late.failing(Failure::Timeout, 5_000)), "degraded");
}

#[test]
fn the_time_of_a_stage_is_divided_without_rest() {
    let mut facts = closed();
    // Away from 3 s to 8 s, unreachable from 6 s to 7 s; the client stood still from 4 s to 5 s,
    // and again after the end.
    facts.away.add(10 * SECOND_NS, 15 * SECOND_NS);
    facts.cut_off.add(13 * SECOND_NS, 14 * SECOND_NS);
    facts.holding.add(11 * SECOND_NS, 12 * SECOND_NS);
    facts.holding.add(106 * SECOND_NS, 200 * SECOND_NS);
    let TimeShares { client_s, server_s, network_s, nobody_s } = Account::of(&facts).time;
    let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-6, "{value}");
    near(client_s, 2.0);
    near(server_s, 3.0);
    near(network_s, 1.0);
    near(client_s + server_s + network_s + nobody_s, 100.0);
}

#[test]
fn what_had_no_connection_is_the_clients_or_the_networks() {
    for (class, verdict_of_it, shares) in [
        (Failure::Connect, "degraded", (0, 5_000, 0)),
        (Failure::Unreachable, "degraded", (0, 0, 5_000)),
        (Failure::Local, "closed", (5_000, 0, 0)),
    ] {
        let facts = closed().failing(class, 5_000);
        let RequestShares { due, client, server, network, nobody, .. } =
            Account::of(&facts).requests;
        assert_eq!((client, server, network), shares, "{class}");
        assert_eq!((due, nobody), (10_000, 0), "{class}");
        assert_eq!(verdict(&facts), verdict_of_it, "{class}");
    }
}

#[test]
fn each_request_that_was_due_is_somebodys() {
    let mut facts = open().failing(Failure::Timeout, 100);
    facts.failed.push((Failure::Conflict, 40));
    facts.load = LoadFacts {
        offered: 10_500,
        dropped: 200,
        unsent: 160,
        unsent_by_client: 60,
        ..facts.load
    };
    facts.threads.held = (7, 9);
    let requests = Account::of(&facts).requests;
    let expected = RequestShares {
        due: 10_500,
        served: 9_900,
        late: 7,
        client: 60,
        server: 100 + 200 + 100,
        network: 0,
        nobody: 140,
    };
    assert_eq!(requests, expected);
}

#[test]
fn a_figure_lies_between_what_was_measured_and_what_the_client_may_have_added() {
    let mut facts = closed().held(200, 10);
    facts.threads.reading_us = Reading { mean: 500.0, p99: 2_000.0 };
    let account = Account::of(&facts);
    let near = |value: f64, expected: f64| (value / expected - 1.0).abs() < 0.01;
    let (p50, p99) = (account.p50_us.unwrap(), account.p99_us.unwrap());
    assert!(near(p50.low, 4_000.0) && near(p50.high, 5_000.0), "{p50:?}");
    assert!(near(p99.low, 3_000.0) && near(p99.high, 15_000.0), "{p99:?}");
    assert!(!p50.is_disturbed() && p99.is_disturbed(), "a millisecond is little");
    // 200 of 10,000 were begun 10 ms late, and each lay unread for 0.5 ms.
    assert!(near(account.client_share, 7_000.0 / 52_000.0), "{}", account.client_share);
    assert_eq!(
        account.trust,
        Trust { throughput: Sureness::Disturbed, latency: Sureness::Unknown }
    );
}

#[test]
fn what_reading_adds_to_a_percentile_is_bounded() {
    let reading = Reading { mean: 2.0, p99: 7.0 };
    for (percentile, expected) in [(50.0, 4.0), (90.0, 4.0), (90.1, 7.0), (99.0, 7.0)] {
        assert!((reading.at(percentile) - expected).abs() < 1e-9, "{percentile}");
    }
}

#[test]
fn figures_are_sound_disturbed_or_unknown() {
    let of = |mean: f64| {
        let mut facts = closed();
        facts.threads.reading_us.mean = mean;
        Account::of(&facts).trust.throughput
    };
    let found = [240.0, 260.0, 990.0, 1_010.0].map(of);
    let expected = [Sureness::Sound, Sureness::Disturbed, Sureness::Disturbed, Sureness::Unknown];
    assert_eq!(found, expected);
}

#[test]
fn a_figure_is_less_sure_only_beyond_the_bound() {
    // An open loop that left more undone than allowed, in a stage of 100 s.
    let of = |stood_still_ms: Nanos| {
        let mut facts = open().load(|it| it.unsent = 51);
        facts.holding.add(7 * SECOND_NS, 7 * SECOND_NS + stood_still_ms * MS);
        Account::of(&facts).trust.throughput
    };
    assert_eq!([of(5_000), of(5_001)], [Sureness::Sound, Sureness::Disturbed]);
    assert_eq!([of(20_000), of(20_001)], [Sureness::Disturbed, Sureness::Unknown]);
}

#[test]
fn a_percentile_is_disturbed_by_its_share_unless_that_is_short() {
    let of = |low: f64, high: f64| {
        let mut facts = closed().with(|part| {
            (part.requests, part.ok) = (10_000, 10_000);
            part.response.record_many((high * 1e6) as Nanos, 10_000);
        });
        facts.threads.reading_us = Reading { mean: 0.0, p99: (high - low) * 1e3 };
        Account::of(&facts).trust.latency
    };
    assert_eq!([of(96.0, 100.0), of(94.0, 100.0)], [Sureness::Sound, Sureness::Disturbed]);
    assert_eq!([of(81.0, 100.0), of(79.0, 100.0)], [Sureness::Disturbed, Sureness::Unknown]);
    assert_eq!([of(0.1, 0.9), of(0.1, 1.2)], [Sureness::Sound, Sureness::Unknown]);
    let share = |low, high| Range { low, high }.client_share();
    assert!((share(3.0, 4.0) - 0.25).abs() < 1e-9 && share(0.0, 0.0).abs() < 1e-9);
    assert!((share(0.0, 0.5) - 1.0).abs() < 1e-9);
}

/// With 100 to 999 samples, that is p90.
#[test]
fn the_percentile_that_the_headline_shows_is_judged() {
    // Reads of 24 ms in an open loop, some of which the client held up by 57 ms.
    let of = |(count, held): (u64, u64)| {
        open().with(|part| {
            (part.requests, part.ok) = (count, count);
            part.response.record_many(24 * MS, count - held);
            part.response.record_many(81 * MS, held);
            let times = part.held.get_or_insert_default();
            times.measured.record_many(81 * MS, held);
            times.without.record_many(24 * MS, held);
        })
    };
    for (expected, reads) in [
        ("sustained", (800, 0)),
        ("sustained", (800, 79)),
        ("client_bound", (800, 81)),
        ("client_bound", (199, 40)),
        ("sustained", (999, 50)),
        ("client_bound", (1_000, 50)),
        // The median alone is shown.
        ("sustained", (99, 40)),
    ] {
        assert_eq!(verdict(&of(reads)), expected, "{reads:?}");
    }
    let ranges = |count| {
        let Account { p50_us, p90_us, p99_us, .. } = Account::of(&of((count, 0)));
        [p50_us, p90_us, p99_us].map(|it| it.is_some())
    };
    assert_eq!(ranges(99), [true, false, false]);
    assert_eq!(ranges(999), [true, true, false]);
    assert_eq!(ranges(1_000), [true, false, true]);
    let held = Account::of(&of((199, 40))).p90_us.expect("enough samples");
    let near = |us: f64, ms: f64| (us / ms / 1e3 - 1.0).abs() < 0.01;
    assert!(near(held.low, 24.0) && near(held.high, 81.0), "{held:?}");
}

#[test]
fn a_verdict_tells_by_what_and_by_how_much() {
    let by = |facts: &Facts| match Verdict::of(facts, &Account::of(facts)) {
        Verdict::ClientBound { by, .. } => by,
        other => panic!("{other:?}"),
    };
    let threads = |busiest, occupied, waited| {
        let mut facts = closed();
        facts.threads = ThreadFacts { busiest, occupied, waited, ..facts.threads };
        by(&facts)
    };
    assert_eq!(threads(0.97, 0.97, 0.0), Hindrance::Computed(0.97));
    assert_eq!(threads(0.40, 0.97, 0.57), Hindrance::Waited(0.57));
    let Hindrance::Held(share) = by(&closed().held(10_000, 5)) else { panic!("held") };
    assert!((share - 0.5).abs() < 0.01, "{share}");
    let mut late = open().held(500, 50);
    late.threads.late_p99_us = 50_000.0;
    assert_eq!(by(&late), Hindrance::Late(50_000.0));
    let facts = closed().failing(Failure::Timeout, 2_000).away(3_000);
    let expected = Verdict::Degraded { failed_share: 0.2, outage_s: 3.0 };
    assert_eq!(Verdict::of(&facts, &Account::of(&facts)), expected);
}

#[test]
fn the_backlog_counts_nothing_twice() {
    let mut facts = open();
    (facts.load.unsent, facts.load.dropped) = (2_000, 1_000);
    for (growth, expected) in [(25.0, 35.0), (15.0, 30.0)] {
        facts.load.growth_per_s = growth;
        let verdict = Verdict::of(&facts, &Account::of(&facts));
        let Verdict::NotSustained { backlog_per_s, offered_per_s, served_per_s } = verdict else {
            panic!("{verdict:?}");
        };
        assert!((backlog_per_s - expected).abs() < 1e-9, "{backlog_per_s} of {expected}");
        assert!((offered_per_s - 100.0).abs() < 1e-9 && (served_per_s - 100.0).abs() < 1e-9);
    }
}

#[test]
fn what_is_sustained_closed_or_short_can_be_believed() {
    let degraded = Verdict::Degraded { failed_share: 0.0, outage_s: 2.0 };
    let by = Hindrance::Unknown;
    let bound = Verdict::ClientBound { busiest_thread: 1.0, late_p99_us: 0.0, by };
    let behind =
        Verdict::NotSustained { offered_per_s: 2.0, served_per_s: 1.0, backlog_per_s: 1.0 };
    for verdict in [Verdict::Empty, bound, degraded, behind] {
        assert!(!verdict.trustworthy(), "{verdict:?}");
    }
    for verdict in [Verdict::Sustained, Verdict::Closed, Verdict::TooShort] {
        assert!(verdict.trustworthy(), "{verdict:?}");
    }
}

#[test]
fn a_silence_stands_out_from_what_is_usual() {
    let mut service = Histogram::default();
    service.record_many(2 * MS, 90);
    service.record_many(300 * MS, 10);
    let near = |ns: Nanos, ms: Nanos| assert!(ns.abs_diff(ms * MS) < ms * MS / 50, "{ns}");
    near(silence_ns(&service, 50), 10);
    near(silence_ns(&service, 3), 10);
    // On one connection a slow answer is no silence.
    near(silence_ns(&service, 2), 1_500);
}

#[test]
fn what_is_left_for_want_of_connections_is_the_clients() {
    let mut facts = open();
    (facts.load.offered, facts.load.dropped, facts.load.unsent) = (10_700, 300, 400);
    let of = |facts: &Facts| (facts.requests().client, facts.requests().server);
    assert_eq!(of(&facts), (0, 700));
    facts.load.bound = Some((50, 110));
    assert_eq!(of(&facts), (700, 0));
}

#[test]
fn answers_that_nobody_asked_for_are_the_servers_failures() {
    let with = |unsolicited| {
        closed().with(|part| {
            (part.requests, part.ok) = (10_000, 9_900);
            part.failures[Failure::Reset.index()] = 100;
            part.response.record_many(5 * MS, part.ok);
            part.wire.unsolicited = unsolicited;
        })
    };
    assert_eq!(verdict(&with(900)), "closed");
    assert_eq!(verdict(&with(901)), "degraded");
}

#[test]
fn of_no_answers_nothing_is_the_clients() {
    let account = Account::of(&closed().failing(Failure::NotFound, 10_000));
    assert_eq!((account.client_share, account.p50_us), (0.0, None));
}

#[test]
fn an_outage_is_known_by_its_time_unless_it_is_but_a_moment() {
    let of = |failed_share, outage_s| Verdict::Degraded { failed_share, outage_s }.is_outage();
    assert!(of(0.5, 0.1) && of(0.10, 0.09) && of(0.0, 0.01));
    assert!(!of(0.5, 0.09) && !of(0.5, 0.0) && !of(0.05, 0.0));
    assert!(!Verdict::Closed.is_outage());
}

#[test]
fn a_stage_that_lost_agents_says_so_unless_something_is_worse() {
    let lost = Verdict::AgentsLost { lost: 2, agents: 5 };
    let degraded = Verdict::Degraded { failed_share: 1.0, outage_s: 0.0 };
    assert_eq!(Verdict::Sustained.with_lost(2, 5), lost);
    assert_eq!(Verdict::Sustained.with_lost(0, 5), Verdict::Sustained);
    assert_eq!(degraded.with_lost(2, 5), degraded);
}
