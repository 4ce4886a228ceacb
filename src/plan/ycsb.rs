//! YCSB's part of a plan. Knows nothing of where properties come from.

use super::spec::PlanSpec;
use super::stage::{StageKind, StagePlan};
use super::ycsb_measurement::MeasurementPlan;
use crate::clock::Nanos;
use crate::driver::basic::BasicOptions;
use crate::driver::http::{HttpPlan, RequestPlan};
use crate::engine::Pace;
use crate::op::OpKind;
use crate::schema::Pattern;
use crate::workload::Purpose;
use crate::workload::ycsb::{Class, CoreConfig};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A workload of YCSB's that was asked for.
#[derive(Clone, Debug)]
pub struct YcsbSpec {
    /// What it is to do.
    pub config: CoreConfig,
    /// Which workload it is.
    pub class: Class,
    /// The phases that are carried out, in order.
    pub phases: Vec<YcsbPhase>,
    /// The database is made where it is missing, and stays.
    pub kept: bool,
    /// Drivers update what they have last seen of a document, and look only after a conflict.
    pub cached_updates: bool,
    /// What `basic` does beside answering, where that is the driver.
    pub basic: Option<BasicOptions>,
    /// How YCSB's reports tell the measurements, where its dialect is spoken.
    pub measurement: Option<MeasurementPlan>,
}

impl YcsbSpec {
    /// The settings of the driver's own.
    pub(super) fn options(&self) -> Map<String, Value> {
        let mut options = Map::new();
        if self.cached_updates {
            options.insert("cached_updates".to_owned(), true.into());
        }
        if let Some(basic) = self.basic {
            options.insert("basic".to_owned(), serde_json::json!(basic));
        }
        options
    }
}

/// A phase of a YCSB workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum YcsbPhase {
    /// Inserts the records.
    Load,
    /// Operations on them, by their proportions.
    Run,
}

/// One phase of a workload of YCSB's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct YcsbStage {
    /// Which.
    pub phase: YcsbPhase,
    /// Records in one request of the load phase.
    pub batch: u32,
    /// Operations of the run phase; `None`: until the time is over.
    pub operations: Option<u64>,
    /// The workload.
    pub config: CoreConfig,
    /// Which one it is.
    #[serde(default, skip_serializing_if = "Class::is_core")]
    pub class: Class,
}

impl YcsbStage {
    /// Whether operations of this kind are done.
    pub fn does(&self, kind: OpKind) -> bool {
        let p = &self.config.proportions;
        let load = self.phase == YcsbPhase::Load;
        match kind {
            OpKind::BulkInsert => load && self.batch > 1,
            OpKind::Create if load => self.batch == 1,
            _ if load => false,
            OpKind::Create => p.insert > 0.0,
            OpKind::Read => p.read + p.read_modify_write > 0.0,
            OpKind::Update => p.update + p.read_modify_write > 0.0,
            OpKind::Delete => p.delete > 0.0,
            OpKind::Scan => p.scan > 0.0,
            OpKind::ReadModifyWrite => p.read_modify_write > 0.0,
            OpKind::Verify => self.config.fields.integrity,
            OpKind::Request => false,
        }
    }

    /// How many records the load phase is to insert; `None`: this is the run phase.
    pub fn records(&self) -> Option<u64> {
        (self.phase == YcsbPhase::Load).then_some(self.config.insert_count)
    }

    /// How many operations connection `k` of `connections` is to do, where they are counted.
    pub fn operations(&self, k: usize, connections: usize) -> Option<u64> {
        if self.phase == YcsbPhase::Load && !self.class.is_core() {
            return Some(self.records_of(k, connections).div_ceil(u64::from(self.batch)));
        }
        let all = match self.phase {
            // Each that is tried again is one more.
            YcsbPhase::Load if self.config.retry.limit > 0 => return None,
            YcsbPhase::Load => self.config.insert_count.div_ceil(u64::from(self.batch)),
            YcsbPhase::Run => self.operations?,
        };
        Some(share(all, k, connections))
    }

    /// How many records connection `k` of `connections` inserts in the load phase, where
    /// connections do not take them in turn.
    pub const fn records_of(&self, k: usize, connections: usize) -> u64 {
        share(self.config.insert_count, k, connections)
    }
}

/// What connection `k` of `connections` has of `all`: the first ones have one more, if need be.
const fn share(all: u64, k: usize, connections: usize) -> u64 {
    let (k, connections) = (k as u64, connections as u64);
    all / connections + (k < all % connections) as u64
}

/// The server and the requests of a replay of traces, where `spec` asks for one that is sent: a
/// request for each trace, whose paths come from the workload.
pub(super) fn http(spec: &PlanSpec) -> Option<HttpPlan> {
    let Class::Rest(rest) = &spec.ycsb.as_ref().filter(|ycsb| ycsb.basic.is_none())?.class else {
        return None;
    };
    let request = |method: &str| RequestPlan {
        method: method.to_owned(),
        server: rest.server.clone(),
        path: "/".to_owned(),
        content_type: None,
        body: None,
        target: Pattern::default(),
        user: rest.user.clone(),
    };
    Some(HttpPlan {
        requests: ["GET", "POST", "PUT", "DELETE"].map(request).to_vec(),
        headers: rest.headers.clone(),
        keep_alive: true,
        ..HttpPlan::default()
    })
}

/// The stages of a plan for `ycsb`. The run phase falls due as `pace` says. So does the load phase
/// where its data stay: it is not there for the sake of the run phase alone then.
pub(super) fn stages(
    spec: &PlanSpec,
    ycsb: &YcsbSpec,
    (pace, length_ns): (Pace, Option<Nanos>),
) -> Vec<StagePlan> {
    let stage = |phase, operations| {
        StageKind::Ycsb(Box::new(YcsbStage {
            phase,
            batch: spec.batch.clamp(1, super::check::MOST_BATCH) as u32,
            operations,
            config: ycsb.config.clone(),
            class: ycsb.class.clone(),
        }))
    };
    let mut stages = Vec::new();
    for &phase in &ycsb.phases {
        let (name, purpose, operations) = match phase {
            YcsbPhase::Load => ("load", Purpose::Fill, None),
            YcsbPhase::Run => (
                "run",
                Purpose::Main,
                (ycsb.config.operations > 0).then_some(ycsb.config.operations),
            ),
        };
        let (pace, length_ns) = if ycsb.kept || phase == YcsbPhase::Run {
            (pace.clone(), length_ns)
        } else {
            (Pace::Closed { think_ns: 0 }, None)
        };
        if phase == YcsbPhase::Run && spec.warmup_ns > 0 {
            let length_ns = Some(spec.warmup_ns);
            let (name, kind, pace) = ("warm_up".to_owned(), stage(phase, None), pace.clone());
            stages.push(StagePlan { name, purpose: Some(Purpose::WarmUp), kind, pace, length_ns });
        }
        let kind = stage(phase, operations);
        stages.push(StagePlan {
            name: name.to_owned(),
            purpose: Some(purpose),
            kind,
            pace,
            length_ns,
        });
    }
    stages
}
