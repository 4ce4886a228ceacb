//! The warnings about a stage: each with a stage that deserves it and one that does not.

use super::blame::{outage_words, pause_words};
use super::code::{Code, Warning};
use super::{Hindrance, RunRecord, StageRecord, Verdict, fixture};
use crate::measure::{
    Compaction, Comparison, FollowedBy, Following, Latency, LinkEnd, Markers, Outage, ReplicaPlace,
    Replication, ReplicationLink, Span, Visibility, VisibleBy,
};
use crate::observed::{Evicted, Observed, Source};
use crate::op::{Failure, OpKind, Way};

/// The warnings that a change adds to a stage in which nothing is wrong.
fn warnings_after(change: impl FnOnce(&mut StageRecord)) -> Vec<(Code, String)> {
    let mut record = fixture::without_failures(&[]);
    record.refresh_warnings();
    let before = record.warnings.clone();
    change(fixture::crud(&mut record));
    record.refresh_warnings();
    let new = record.warnings.into_iter().filter(|it: &Warning| !before.contains(it));
    new.map(|it| (it.code, it.message)).collect()
}

/// The only warning that a change adds; none: an empty message.
fn only(change: impl FnOnce(&mut StageRecord)) -> (Option<Code>, String) {
    let mut warnings = warnings_after(change);
    assert!(warnings.len() < 2, "{warnings:?}");
    warnings.pop().map_or_else(Default::default, |(code, message)| (Some(code), message))
}

fn by(way: Way, probes: u64, unseen: u64) -> VisibleBy {
    let (node, reason, time) = (None, None, Latency::default());
    VisibleBy { way, node, probes, stale_first: 0, unseen, failures: 0, reason, time }
}

#[test]
fn probes_that_were_not_seen_or_not_removed_are_reported() {
    let found = |found: Visibility| only(|stage| stage.visibility = Some(found));
    let fine = Visibility { written: 9, by: vec![by(Way::Get, 9, 0)], ..Visibility::default() };
    assert_eq!(found(fine.clone()).0, None);
    let unseen = Visibility { by: vec![by(Way::Get, 9, 2)], ..fine.clone() };
    let (code, words) = found(unseen);
    assert_eq!(code, Some(Code::NotVisible));
    assert!(words.starts_with("2 of 9 acknowledged probes were never seen by get;"), "{words}");
    let node = Some("n1".to_owned());
    let reason = Some("no index".to_owned());
    let idle = VisibleBy { node, reason: reason.clone(), ..by(Way::Find, 0, 0) };
    let (code, words) = found(Visibility { by: vec![idle.clone()], ..fine.clone() });
    assert_eq!(code, Some(Code::ProbesFailed));
    assert_eq!(words, "no probe was looked for by find at n1: no index");
    let none = Visibility { written: 0, by: vec![idle], reason, ..fine.clone() };
    assert_eq!(found(none).1, "no probe was acknowledged: no index", "and no more than that");
    let left = Visibility { left: 3, ..fine };
    let warning = (Some(Code::NotRemoved), "3 probe documents could not be removed".to_owned());
    assert_eq!(found(left), warning);
}

#[test]
fn what_followers_missed_is_wrong_data_and_what_they_could_not_read_is_not() {
    let followed = |by: Vec<FollowedBy>, late_us: u64| {
        let own_delay = fixture::times(&[(late_us * 1_000, 10_000)]);
        only(|stage| stage.following = Some(Following { by, own_delay, ..Following::default() }))
    };
    let lag = fixture::times(&[(5_000_000, 10_000)]);
    let fine = FollowedBy { missing: Some(0), lag, ..FollowedBy::default() };
    assert_eq!(followed(vec![fine.clone()], 900).0, None);
    let lacks = FollowedBy { missing: Some(2), ..fine.clone() };
    let (code, words) = followed(vec![lacks.clone(), lacks], 900);
    assert_eq!(code, Some(Code::DataWrong));
    assert!(words.starts_with("data wrong: 4 times, the last acknowledged change"), "{words}");
    let (code, words) = followed(Vec::new(), 900);
    assert_eq!(code, Some(Code::ChangesUnread));
    assert_eq!(words, "changes were not read: the thread of the followers ended");
    let (node, reason) = (Some("n1".to_owned()), Some("reset".to_owned()));
    let unread = FollowedBy { missing: None, node, reason, ..fine.clone() };
    let (_, words) = followed(vec![fine.clone(), unread.clone()], 900);
    assert_eq!(words, "changes at n1 were not read to the end: reset");
    let filtered = FollowedBy { reason: None, ..unread };
    assert!(followed(vec![filtered], 900).1.contains("a filter with one follower"));
    // Its own lateness counts if it is more than a timer's, and not small beside the times.
    let (code, words) = followed(vec![fine.clone()], 3_000);
    assert_eq!(code, Some(Code::FollowersLate));
    assert!(words.contains("itself more than 3.0 ms late"), "{words}");
    assert_eq!(followed(vec![fine.clone()], 2_400).0, None);
    let slow = FollowedBy { lag: fixture::times(&[(60_000_000, 10_000)]), ..fine };
    assert_eq!(followed(vec![slow], 3_000).0, None);
}

#[test]
fn evictions_are_named_where_documents_are_lost_and_only_there() {
    let of = |lost: u64, evicted: &[(u64, &str)]| {
        let mut record = fixture::without_failures(&[]);
        let stage = fixture::crud(&mut record);
        let mut verify = stage.operations[0].clone();
        verify.kind = OpKind::Verify;
        verify.failures.extend((lost > 0).then_some((Failure::Lost, lost)));
        stage.operations.push(verify);
        let source = |(documents, policy): &(u64, &str)| {
            let policy = format!("maxmemory-policy {policy}");
            let evicted = Some(Evicted { documents: *documents, policy });
            Source { evicted, ..Source::default() }
        };
        let sources = evicted.iter().map(source).collect();
        record.observed = Some(Observed { sources, ..Observed::default() });
        record.conclude();
        let wrong = record.warnings.iter().filter(|it| it.code == Code::DataWrong);
        let words: Vec<String> = wrong.map(|it| it.message.clone()).collect();
        (words, record.result().exit_status)
    };
    let (words, exit) = of(12, &[(1_200, "allkeys-lru"), (34, "allkeys-lru")]);
    let evicted = "during the run, the server evicted 1,234 keys to save memory";
    let evicted = evicted.replace("keys", "documents") + " (maxmemory-policy allkeys-lru)";
    assert!(words[0].starts_with("data wrong: 12 lost, of "), "{words:?}");
    assert_eq!((&words[1..], exit), (&[evicted][..], 6));
    let (words, _) = of(1, &[(1, "volatile-ttl"), (0, "noeviction")]);
    let policies = "maxmemory-policy noeviction, maxmemory-policy volatile-ttl";
    let evicted = format!("the server evicted 1 document to save memory ({policies})");
    assert!(words[1].ends_with(&evicted), "{words:?}");
    assert_eq!(of(12, &[]).0.len(), 1, "it evicted nothing");
    assert_eq!(of(0, &[(9, "allkeys-lru")]), (vec![], 0), "nothing of this run");
}

#[test]
fn a_compaction_that_was_refused_or_went_on_is_reported() {
    let of = |found| only(|stage| stage.compaction = Some(found));
    let ended = Compaction { ended: true, length_s: 7.0, ..Compaction::default() };
    assert_eq!(of(ended.clone()).0, None);
    let refused = Compaction { refused: Some("not you".to_owned()), ..ended.clone() };
    let warning = (Some(Code::Compaction), "the server did not compact: not you".to_owned());
    assert_eq!(of(refused), warning);
    let words = "the compaction went on when it was given up after 7 s";
    assert_eq!(of(Compaction { ended: false, ..ended }).1, words);
}

#[test]
fn what_happened_on_the_wire_is_reported_with_its_counts() {
    for (change, code, words) in [
        (
            (|stage| stage.operations[0].unfinished = 7) as fn(&mut StageRecord),
            Code::Unfinished,
            "7 of 3,000 read operations had no answer at the end",
        ),
        (|stage| stage.operations[0].accepted = 7, Code::Accepted, "7 of 3,000 read operations "),
        (
            |stage| stage.operations[0].wire.resent = 7,
            Code::Resent,
            "7 read operations were resent: the server had closed the connection",
        ),
        (
            |stage| stage.operations[0].wire.unsolicited = 7,
            Code::Unsolicited,
            "7 times the server sent data that was not requested",
        ),
        (
            |stage| stage.operations[0].warned = 7,
            Code::ServerWarned,
            "the server added a warning to 7 of 3,000 answers to read;",
        ),
        (
            |stage| stage.operations[0].outdated = 7,
            Code::Outdated,
            "7 of 3,000 answers to read were outdated: without the last write",
        ),
        (
            |stage| stage.operations[0].wire.from_cache = 7,
            Code::FromCache,
            "7 of 3,000 answers to read came from a cache on the way",
        ),
        (
            |stage| {
                let wire = &mut stage.operations[0].wire;
                (wire.retry_after, wire.requests) = (7, Some(9));
            },
            Code::RetryAfter,
            "7 of 9 answers to read asked to wait",
        ),
    ] {
        let (found, message) = only(change);
        assert_eq!(found, Some(code), "{message}");
        assert!(message.starts_with(words), "{message}, not {words}");
    }
    let (_, words) = only(|stage| {
        stage.operations[0].outdated = 1;
        stage.operations[0].behind = Some(fixture::times(&[(4_000_000, 99), (9_000_000, 1)]));
    });
    let half = "half of these writes were more than 4 ms old, the oldest 9 ms";
    assert!(words.ends_with(half), "{words}");
}

#[test]
fn a_stage_that_cannot_be_trusted_is_reported_with_what_was_the_limit() {
    let bound = |by: Hindrance, change: fn(&mut StageRecord)| {
        let (code, words) = only(|stage| {
            stage.verdict = Verdict::ClientBound { busiest_thread: 0.4, late_p99_us: 0.0, by };
            change(stage);
        });
        assert_eq!(code, Some(Code::ClientBound));
        words
    };
    let machine = "; use a quieter machine, or another one";
    for (by, words) in [
        (Hindrance::Unknown, "was busy 40 % of the time"),
        (Hindrance::Computed(0.45), "kept its busiest thread busy 45 % of the time"),
        (Hindrance::Waited(0.3), "waited for CPU 30 % of the time"),
        (Hindrance::Held(0.2), "itself took 20 % of the response times"),
        (Hindrance::Late(2_500.0), "began operations up to 2.5 ms late (p99)"),
    ] {
        let message = bound(by, |_| ());
        assert_eq!(message, format!("client-bound: springload {words}{machine}"));
    }
    for (change, words) in [
        ((|it| it.client.waited_thread = 0.05) as fn(&mut StageRecord), "waited 5 %"),
        (|it| it.client.paused_thread = 0.01, "stood still 1 %"),
        (
            |it| (it.client.waited_thread, it.client.paused_thread) = (0.2, 0.1),
            "waited 20 %, stood still 10 %",
        ),
    ] {
        let message = bound(Hindrance::Unknown, change);
        let words = format!(" (not enough CPU: {words} of the time)");
        assert!(message.contains(&words), "{message}, not {words}");
    }
    let little = bound(Hindrance::Unknown, |it| {
        (it.client.waited_thread, it.client.paused_thread) = (0.049, 0.009);
    });
    assert!(!little.contains("not enough CPU"), "{little}");
    let verdict = |verdict| only(|stage| stage.verdict = verdict);
    let (code, words) = verdict(Verdict::BoundByConnections { connections: 1, needed: 9 });
    assert_eq!(code, Some(Code::BoundByConnections));
    assert!(words.starts_with("bound by 1 connection; about 9 needed (-c 9); "), "{words}");
    let (offered_per_s, served_per_s, backlog_per_s) = (900.0, 600.0, 300.0);
    for (dropped, missing) in [
        (0, ", the backlog grew by 300/s; response percentiles depend on the length of the run"),
        (7, "; 7 of 3,200 were dropped, and have no response times"),
    ] {
        let (code, words) = only(|stage| {
            (stage.load.offered, stage.load.dropped) = (3_200, dropped);
            stage.verdict = Verdict::NotSustained { offered_per_s, served_per_s, backlog_per_s };
        });
        assert_eq!(code, Some(Code::NotSustained));
        assert_eq!(words, format!("not sustained: offered 900/s, served 600/s{missing}"));
    }
    for fine in [Verdict::Sustained, Verdict::Closed, Verdict::Drilled, Verdict::TooShort] {
        assert_eq!(verdict(fine).0, None, "{fine:?}");
    }
}

#[test]
fn a_degraded_stage_is_reported_with_its_outages() {
    let span = |from_s, length_s| Span { from_s, length_s };
    let degraded = |failed_share, outage_s, open| {
        let warnings = warnings_after(|stage| {
            stage.verdict = Verdict::Degraded { failed_share, outage_s };
            stage.load.open = open;
            if outage_s > 0.0 {
                let spans = vec![span(0.5, outage_s)];
                stage.outage = Outage { spans, total_s: outage_s, ..Outage::default() };
            }
        });
        let codes: Vec<Code> = warnings.iter().map(|it| it.0).collect();
        assert!(codes.contains(&Code::Degraded) && !codes.contains(&Code::Outage), "{codes:?}");
        warnings.into_iter().find(|it| it.0 == Code::Degraded).expect("a warning").1
    };
    let failed = "of the operations failed through the server's fault";
    assert_eq!(degraded(0.125, 0.0, false), format!("degraded: 12.5 % {failed}"));
    assert_eq!(degraded(0.0, 1.5, true), "degraded: no answer for 1.5 s from 0.5 s on");
    // A brief outage is not the reason, but it is not left out either.
    let brief = format!("degraded: 62.0 % {failed}; no answer for 30 ms from 0.5 s on");
    assert_eq!(degraded(0.62, 0.03, true), brief);
    let words = "no answer for 30 ms from 0.5 s on".to_owned();
    let sustained = only(|stage| {
        let spans = vec![span(0.5, 0.03)];
        stage.verdict = Verdict::Sustained;
        stage.outage = Outage { spans, total_s: 0.03, ..Outage::default() };
    });
    assert_eq!(sustained, (Some(Code::Outage), words));
    assert_eq!(
        degraded(0.001, 1.5, true),
        format!("degraded: no answer for 1.5 s from 0.5 s on, 0.1 % {failed}")
    );
    let closed = degraded(0.000_9, 1.5, false);
    let words = "degraded: no answer for 1.5 s from 0.5 s on; a closed loop sends";
    assert!(closed.starts_with(words), "{closed}");

    let mut stage = fixture::stage("crud", Vec::new());
    assert_eq!(outage_words(&stage), None);
    let spans = vec![span(0.5, 0.25), span(1.0, 0.75)];
    stage.outage = Outage { spans, total_s: 1.0, ..Outage::default() };
    let words = "no answer for 1.0 s in 2 outages, the longest 0.8 s from 1.0 s on";
    assert_eq!(outage_words(&stage).as_deref(), Some(words));
    stage.silences = vec![span(1.25, 1.5)];
    let words = "no answer for 2.0 s in 2 outages, the longest 1.8 s from 1.0 s on";
    assert_eq!(outage_words(&stage).as_deref(), Some(words), "as listed");
    stage.silences = vec![span(0.625, 0.5)];
    assert_eq!(outage_words(&stage).as_deref(), Some("no answer for 1.2 s from 0.5 s on"));
    stage.silences.clear();
    stage.outage.spans.truncate(1);
    assert_eq!(outage_words(&stage).as_deref(), Some("no answer for 1.0 s from 0.5 s on"));
    stage.outage.spans = (0..100).map(|n| span(f64::from(n), 0.25)).collect();
    assert!(outage_words(&stage).unwrap().contains(" in 100 or more outages, "));
}

#[test]
fn pauses_of_springload_are_reported_if_they_are_long_or_many() {
    // The length of the longest, the share of the time, and the message.
    for (length_s, share, message) in [
        (0.099, 0.0, None),
        (0.1, 0.0, Some("springload itself was paused for 0.1 s from 0.5 s")),
        // The stage took 2.5 s.
        (0.06, 0.039, None),
        (
            0.06,
            0.041,
            Some("springload itself was paused for 0.1 s in total, up to 60 ms at a time"),
        ),
    ] {
        let mut stage = fixture::stage("crud", Vec::new());
        let short = Span { from_s: 0.1, length_s: 0.01 };
        stage.client.pauses = vec![short, Span { from_s: 0.5, length_s }, short];
        stage.client.paused_thread = share;
        assert_eq!(pause_words(&stage).as_deref(), message, "{length_s}, {share}");
    }
    assert_eq!(pause_words(&fixture::stage("crud", Vec::new())), None);
    // In a long stage, the sum counts only from 1 % of the time on.
    for (share, is_reported) in [(0.009, false), (0.011, true)] {
        let mut stage = fixture::stage("crud", Vec::new());
        (stage.elapsed_s, stage.measured_s, stage.client.paused_thread) = (100.0, 100.0, share);
        stage.client.pauses = vec![Span { from_s: 0.5, length_s: 0.06 }];
        assert_eq!(pause_words(&stage).is_some(), is_reported, "{share}");
    }
}

/// A run with one replication, after this change.
fn replicated(change: impl FnOnce(&mut Replication)) -> RunRecord {
    let place = |server: &str| ReplicaPlace { server: server.to_owned(), ..<_>::default() };
    let markers = Markers { written: 5, ..Markers::default() };
    let link = ReplicationLink { target: 1, end: LinkEnd::Converged, markers, ..<_>::default() };
    let mut replication = Replication {
        places: vec![place("http://a:1"), place("http://b:2")],
        links: vec![link],
        ..Replication::default()
    };
    change(&mut replication);
    let mut record = fixture::without_failures(&[]);
    record.replication = Some(replication);
    record.conclude();
    record
}

#[test]
fn what_replication_left_undone_is_reported_with_its_links() {
    let messages_of =
        |code, change: fn(&mut Replication)| fixture::messages_of(&replicated(change), code);
    let link = "replication a:1 → b:2";
    let none: [&str; 0] = [];
    for code in [Code::NotReplicated, Code::NotVisible, Code::ProbesFailed, Code::NotRemoved] {
        assert_eq!(messages_of(code, |_| ()), none);
    }
    let unseen = messages_of(Code::NotVisible, |it| {
        it.links[0].markers.unseen = 2;
        it.links[0].markers.reason = Some("busy".to_owned());
    });
    let words = "2 of 5 acknowledged markers were never seen at the target: busy";
    assert_eq!(unseen, [format!("{link}: {words}")]);
    let none_written = |it: &mut Replication| it.links[0].markers.written = 0;
    let words = format!("{link}: no marker was acknowledged");
    assert_eq!(messages_of(Code::ProbesFailed, none_written), [words]);
    let unknown = |it: &mut Replication| {
        it.links[0].markers.written = 0;
        it.links[0].end = LinkEnd::Unknown;
    };
    assert_eq!(messages_of(Code::ProbesFailed, unknown), none, "it ended before");
    let refused = messages_of(Code::NotReplicated, |it| it.links[0].write_failures = Some(3));
    assert_eq!(refused, [format!("{link}: the target refused 3 writes")]);
    let refused = messages_of(Code::NotReplicated, |it| it.links[0].write_failures = Some(1));
    assert_eq!(refused, [format!("{link}: the target refused 1 write")]);
    assert_eq!(messages_of(Code::NotReplicated, |it| it.links[0].write_failures = Some(0)), none);
    let failed = |it: &mut Replication| {
        (it.links[0].failed, it.links[0].state) = (true, Some("failed".to_owned()));
        it.links[0].reason = Some("no such user".to_owned());
    };
    let words = "the target has everything, but its server calls the replication failed: no such \
                 user";
    assert_eq!(messages_of(Code::NotReplicated, failed), [format!("{link}: {words}")]);
    let running = |it: &mut Replication| it.links[0].state = Some("running".to_owned());
    assert_eq!(messages_of(Code::NotReplicated, running), none);
    let left = messages_of(Code::NotRemoved, |it| {
        it.markers_left = 4;
        it.left = vec!["the database x".to_owned()];
    });
    assert!(left[0].starts_with("4 marker documents may remain"), "{left:?}");
    assert_eq!(left[1..], ["not removed: the database x"]);
    let behind = messages_of(Code::NotReplicated, |it| {
        let link = &mut it.links[0];
        let (documents, missing, different) = (9, 1, 2);
        let found = Comparison { documents, missing, different, ..Comparison::default() };
        link.comparison = Some(found);
        (link.end, link.state) = (LinkEnd::Behind, Some("crashing".to_owned()));
        link.reason = Some("timeout".to_owned());
    });
    let words = "did not catch up: at the target, 1 of 9 documents are missing, 2 of 9 documents \
                 differ; it is crashing (timeout)";
    assert_eq!(behind, [format!("{link} {words}")]);
    let gone = messages_of(Code::NotReplicated, |it| {
        (it.links[0].end, it.links[0].reason) = (LinkEnd::Gone, Some("down".to_owned()));
    });
    let words = "a server no longer answers in time, so not compared (down)";
    assert_eq!(gone, [format!("{link}: {words}")]);
}

#[test]
fn a_stage_whose_documents_ran_out_before_its_time_is_reported() {
    let dry = |elapsed_s: f64, planned: Option<u64>, partial: bool| {
        let mut record = fixture::without_failures(&[]);
        let plan = serde_json::json!({
            "name": "crud", "workload": "crud", "operations": 10_000, "order": "uniform",
            "mix": { "create": 0, "read": 1, "update": 1, "delete": 0 },
            "pace": { "loop": "closed", "think_ns": 0 }, "length_ns": 100_000_000_000_u64,
        });
        record.plan.stages.push(serde_json::from_value(plan).expect("a stage"));
        let stage = fixture::crud(&mut record);
        (stage.elapsed_s, stage.load.planned) = (elapsed_s, planned);
        record.partial = partial;
        record.refresh_warnings();
        fixture::messages_of(&record, Code::RanDry).pop()
    };
    let words = "ended after 94.9 s of 100.0 s: no documents were left to work on";
    assert_eq!(dry(94.9, None, false).as_deref(), Some(words));
    assert_eq!(dry(95.0, None, false), None, "5 % are allowed");
    assert_eq!(dry(94.9, Some(3_100), false), None, "it ended with its last operation");
    assert_eq!(dry(94.9, None, true), None, "it was stopped");
}

#[test]
fn followers_later_than_a_timer_and_than_a_fifth_of_their_times_are_reported() {
    let times = |p99_us| Latency { p99_us: Some(p99_us), ..Latency::default() };
    for (late_us, lag_us, is_reported) in [
        (2_500.0, 0.0, false),
        (2_501.0, 0.0, true),
        (3_000.0, 15_000.0, false),
        (3_001.0, 15_000.0, true),
    ] {
        let by = vec![FollowedBy { missing: Some(0), lag: times(lag_us), ..<_>::default() }];
        let following = Following { by, own_delay: times(late_us), ..Following::default() };
        let (code, _) = only(|stage| stage.following = Some(following));
        assert_eq!(code, is_reported.then_some(Code::FollowersLate), "{late_us}, {lag_us}");
    }
}
