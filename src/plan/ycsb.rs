//! YCSB's part of a plan. Knows nothing of where properties come from.

use super::spec::PlanSpec;
use super::stage::StagePlan;
use super::ycsb_measurement::MeasurementPlan;
use crate::clock::Nanos;
use crate::driver::http::{HttpPlan, RequestPlan};
use crate::engine::Pace;
use crate::schema::Pattern;
use crate::workload::ycsb::{Class, CoreConfig, YcsbPhase, YcsbStage};
use crate::workload::{Purpose, WorkloadPlan};
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
    /// Settings of the driver's own.
    pub options: Map<String, Value>,
    /// How YCSB's reports tell the measurements, where its dialect is spoken.
    pub measurement: Option<MeasurementPlan>,
}

/// The server and the requests of a replay of traces, where `spec` names no other target: a
/// request for each trace, whose paths come from the workload.
pub(super) fn http(spec: &PlanSpec) -> Option<HttpPlan> {
    let Class::Rest(rest) = &spec.ycsb.as_ref().filter(|_| spec.target.is_none())?.class else {
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
        WorkloadPlan::from(YcsbStage {
            phase,
            batch: spec.batch.clamp(1, super::check::MOST_BATCH) as u32,
            operations,
            config: ycsb.config.clone(),
            class: ycsb.class.clone(),
        })
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
            let (name, work, pace) = ("warm_up".to_owned(), stage(phase, None), pace.clone());
            stages.push(StagePlan { name, purpose: Some(Purpose::WarmUp), work, pace, length_ns });
        }
        let work = stage(phase, operations);
        stages.push(StagePlan {
            name: name.to_owned(),
            purpose: Some(purpose),
            work,
            pace,
            length_ns,
        });
    }
    stages
}
