//! A record made by hand, for the tests of what reads records.

use super::{
    ClientRecord, Environment, LoadRecord, RunRecord, SCHEMA_VERSION, ServerRecord, StageRecord,
    Verdict,
};
use crate::measure::{Interval, KindInterval, PhaseTable, Series, Totals};
use crate::op::{Failure, OpKind};
use crate::plan::{Plan, Threshold};
use serde_json::json;

/// A stage from its seconds; each part is a second, a kind and what was measured.
pub(crate) fn stage(name: &str, parts: Vec<(u32, OpKind, KindInterval)>) -> StageRecord {
    let (mut totals, mut series) = (Totals::default(), Series::default());
    for (second, kind, part) in parts {
        let mut interval = Interval::new(second);
        *interval.kind_mut(kind) = part;
        totals.add(&interval);
        series.add(&interval);
    }
    for (kind, part) in totals.sum().clone().iter() {
        totals.issued[kind.index()] = part.ok + part.failed();
    }
    let elapsed_s = 2.5;
    let client = ClientRecord { cpu_s: 0.5, busiest_thread: 0.2, ..ClientRecord::default() };
    StageRecord {
        name: name.to_owned(),
        plan: None,
        began_s: 0.25,
        elapsed_s,
        measured_s: elapsed_s,
        outage: crate::measure::Outage::default(),
        load: LoadRecord::default(),
        client,
        verdict: Verdict::Closed,
        operations: totals.summarise(elapsed_s),
        connections: PhaseTable::default(),
        series,
        slots: Vec::new(),
        growth: None,
        start: None,
        agents: Vec::new(),
    }
}

/// `count` requests, of which the slowest `conflicts` failed; response times of 1 to `count` µs,
/// service times half of them.
pub(crate) fn part(count: u64, conflicts: u64) -> KindInterval {
    let mut part = KindInterval { requests: count, ok: count - conflicts, ..Default::default() };
    part.failures[Failure::Conflict.index()] = conflicts;
    for us in 1..=count {
        part.lag.record(0);
        let (response, service) = if us <= count - conflicts {
            (&mut part.response, &mut part.service)
        } else {
            let failed = part.failed_times.entry(Failure::Conflict).or_default();
            (&mut failed.response, &mut failed.service)
        };
        response.record(us * 1_000);
        service.record(us * 500);
    }
    part
}

/// A bulk insert, a warm-up and a CRUD stage with 3,000 reads and 100 updates.
pub(crate) fn record(thresholds: &[&str]) -> RunRecord {
    let plan = json!({
        "command": "springload run", "connections": 4, "threads": 2, "seed": 42,
        "target": { "auth": "cookie", "database": { "kind": "scratch", "keep": false } },
        "timeout_ns": 1_000_000_000, "schemas": [], "stages": [],
    });
    let mut plan: Plan = serde_json::from_value(plan).expect("a plan");
    let read = |text: &&str| text.parse::<Threshold>().expect("a threshold");
    plan.thresholds = thresholds.iter().map(read).collect();
    let bulk = KindInterval { ok: 2_000, ..part(20, 0) };
    let crud = vec![
        (0, OpKind::Read, part(1_000, 0)),
        (1, OpKind::Read, part(2_000, 30)),
        (0, OpKind::Update, part(50, 3)),
        (2, OpKind::Update, part(50, 2)),
    ];
    let mut crud = stage("crud", crud);
    crud.began_s = 2.75;
    crud.load = LoadRecord { open: true, offered: 3_200, begun: 3_100, dropped: 100, ..crud.load };
    let mut record = RunRecord {
        schema_version: SCHEMA_VERSION,
        started_at: "2026-01-02T03:04:05.250Z".to_owned(),
        partial: false,
        plan,
        server: ServerRecord { stand_in: true, ..ServerRecord::default() },
        environment: Environment::default(),
        agents: Vec::new(),
        stages: vec![
            stage("bulk_insert", vec![(0, OpKind::BulkInsert, bulk)]),
            stage("warm_up", vec![(0, OpKind::Read, part(10_000, 5_000))]),
            crud,
        ],
        warnings: Vec::new(),
        thresholds: Vec::new(),
        ended: None,
        result: None,
    };
    record.conclude();
    record
}
