//! A record made by hand, for tests of code that reads records.

use super::{
    AgentRecord, AgentSecond, AgentStage, ClientRecord, Code, Environment, LoadRecord, Lost,
    RunRecord, SCHEMA_VERSION, ServerRecord, StageRecord, Verdict,
};
use crate::measure::{Histogram, Interval, KindInterval, Latency, PhaseTable, SeriesLog, Totals};
use crate::op::{Failure, OpKind};
use crate::plan::{FleetPlan, PlanRecord, Threshold};
use serde_json::json;

/// A distribution of response times: pairs of nanoseconds and the number of requests that took
/// them.
pub fn times(of: &[(u64, u64)]) -> Latency {
    let mut times = Histogram::coarse();
    for &(ns, count) in of {
        times.record_many(ns, count);
    }
    Latency::new(times)
}

/// A stage from its seconds; each part is a second, a kind and what was measured.
pub fn stage(name: &str, parts: Vec<(u32, OpKind, KindInterval)>) -> StageRecord {
    let (mut totals, mut series) = (Totals::default(), SeriesLog::default());
    for (second, kind, part) in parts {
        let mut interval = Interval::new(second);
        *interval.kind_mut(kind) = part;
        totals.add(&interval);
        series.add(&interval);
    }
    for (kind, part) in totals.sum().clone().iter() {
        *totals.issued.of(kind) = part.ok + part.failed();
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
        silences: Vec::new(),
        load: LoadRecord::default(),
        client,
        verdict: Verdict::Closed,
        account: None,
        operations: totals.summarize(elapsed_s),
        connections: PhaseTable::default(),
        series: series.finish().0,
        estimates: None,
        slots: Vec::new(),
        growth: None,
        visibility: None,
        following: None,
        drill: None,
        unasked: None,
        compaction: None,
        start: None,
        nodes: Vec::new(),
        sent: crate::measure::Served::default(),
        agents: Vec::new(),
    }
}

/// `count` requests, the slowest `conflicts` of which failed; response times are 1 to `count` µs,
/// and service times half of that.
pub fn part(count: u64, conflicts: u64) -> KindInterval {
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
pub fn record(thresholds: &[&str]) -> RunRecord {
    let plan = json!({
        "command": "springload run", "connections": 4, "threads": 2, "seed": 42,
        "target": { "auth": "cookie", "database": { "kind": "scratch", "keep": false } },
        "timeout_ns": 1_000_000_000, "schemas": [], "stages": [],
    });
    let mut plan: PlanRecord = serde_json::from_value(plan).expect("a plan");
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
        regressions: Vec::new(),
        journal_broken: None,
        extra_documents: None,
        observed: None,
        replication: None,
        copies: None,
        ended: None,
        result: None,
        seen_running_ns: None,
    };
    record.conclude();
    record
}

/// The same without failures.
pub fn without_failures(thresholds: &[&str]) -> RunRecord {
    let mut record = record(thresholds);
    for operation in record.stages.iter_mut().flat_map(|stage| &mut stage.operations) {
        operation.failures.clear();
        operation.ok = operation.issued;
    }
    record
}

/// The same measured by agents, each with one connection and 100 documents a second for 10 s; agent
/// n began n times 0.1 ms after the first.
pub fn fleet(agents: usize) -> RunRecord {
    let mut record = record(&[]);
    "1.2.3".clone_into(&mut record.environment.springload);
    (record.plan.connections, record.plan.threads) = (agents, agents);
    record.plan.fleet = Some(FleetPlan { agents, allow_lost: false });
    let agent = |index| AgentRecord {
        index,
        host: format!("load-{}", index / 2),
        pid: 100 + index as u32,
        version: "1.2.3".to_owned(),
        cores: 2,
        threads: 1,
        connections: 1,
        clock_offset_us: 1_600_000.0,
        clock_error_us: 100.0,
        lost: None,
    };
    record.agents = (0..agents).map(agent).collect();
    let second = |second| AgentSecond {
        second,
        seconds: 1,
        requests: 101,
        ok: 100,
        failed: 1,
        timed: 100,
        response_mean_us: 1_500.0,
        response_max_us: 40_000.0,
    };
    let done = |index| AgentStage {
        index,
        start_us: Some(250.0 + index as f64 * 100.0),
        requests: 1_010,
        ok: 1_000,
        failed: 10,
        cpu_s: 1.5,
        busiest_thread: 0.15,
        response: Some(times(&[(1_000_000, 900), (6_000_000, 100)])),
        account: None,
        client: None,
        lost: false,
        series: (0..10).map(second).collect(),
    };
    let crud = record.stages.last_mut().expect("a stage");
    (crud.elapsed_s, crud.measured_s, crud.load.open) = (10.0, 10.0, false);
    crud.agents = (0..agents).map(done).collect();
    for operation in &mut crud.operations {
        operation.failures.clear();
        operation.ok = operation.issued;
    }
    record.conclude();
    record
}

/// The same, changed and judged again.
pub fn changed(agents: usize, change: impl FnOnce(&mut RunRecord)) -> RunRecord {
    let mut record = fleet(agents);
    change(&mut record);
    record.conclude();
    record
}

/// The main stage.
pub fn crud(record: &mut RunRecord) -> &mut StageRecord {
    record.stages.last_mut().expect("a stage")
}

/// The messages of all warnings with this code.
pub fn messages_of(record: &RunRecord, code: Code) -> Vec<String> {
    let warnings = record.warnings.iter().filter(|it| it.code == code);
    warnings.map(|it| it.message.clone()).collect()
}

/// Loses an agent in the main stage, this many seconds after that stage's start.
pub fn lose(record: &mut RunRecord, index: usize, after_s: u32) {
    let crud = record.stages.last_mut().expect("a stage");
    let done = &mut crud.agents[index];
    (done.lost, done.start_us, done.cpu_s, done.busiest_thread) = (true, None, 0.0, 0.0);
    done.series.truncate(after_s as usize);
    let seconds = done.series.len() as u64;
    (done.requests, done.ok, done.failed) = (101 * seconds, 100 * seconds, seconds);
    let at_s = crud.began_s + f64::from(after_s) + 3.0;
    let (stage, why) = (Some(crud.name.clone()), "nothing heard for 3 s".to_owned());
    record.agents[index].lost = Some(Lost { at_s, stage, why, handed_in: false });
    record.conclude();
}
