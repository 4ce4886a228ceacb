//! Requests for YCSB's workloads, from its own dialect or from `run --workload`.

use super::{Class, CoreConfig, YcsbPhase, YcsbStage, builtin};
use crate::demand::{MOST_BATCH, MOST_DOCUMENTS};
use crate::mistake::{Flagged, Invalid};
use crate::properties::Properties;
use crate::schema::Ids;
use crate::{Demand, Due, Offer, Purpose, RunAsked, Step, WorkloadPlan};
use std::sync::Arc;

/// A request for one of YCSB's workloads.
#[derive(Clone, Debug)]
pub struct YcsbDemand {
    /// Its configuration.
    pub config: CoreConfig,
    /// Which workload it is.
    pub class: Class,
    /// The phases to run, in order.
    pub phases: Vec<YcsbPhase>,
    /// Records in one request of the load phase.
    pub batch: Flagged<u64>,
    /// Counts of records and operations, as given.
    pub counts: Vec<Flagged<u64>>,
    /// Whether the load phase is also paced as requested, because it does more than prepare the run
    /// phase.
    pub paced_load: bool,
    /// The warm-up before the run phase, in nanoseconds.
    pub warmup_ns: u64,
}

impl YcsbDemand {
    fn plan(&self, phase: YcsbPhase, operations: Option<u64>) -> WorkloadPlan {
        WorkloadPlan::from(YcsbStage {
            phase,
            batch: self.batch.value.clamp(1, MOST_BATCH) as u32,
            operations,
            config: self.config.clone(),
            class: self.class.clone(),
        })
    }
}

impl Demand for YcsbDemand {
    fn check(&self, _: &Ids, mistakes: &mut Vec<Invalid>) {
        mistakes.extend(self.counts.iter().filter_map(|it| it.out_of_range(0, MOST_DOCUMENTS)));
        mistakes.extend(self.batch.out_of_range(1, MOST_BATCH));
    }

    fn steps(&self) -> Vec<Step> {
        let step = |name: &str, purpose, work, timing| {
            let name = name.to_owned();
            Step { name, purpose, work, timing }
        };
        let mut steps = Vec::new();
        for &phase in &self.phases {
            if phase == YcsbPhase::Load {
                let timing = if self.paced_load { Due::Asked } else { Due::Free };
                steps.push(step("load", Purpose::Fill, self.plan(phase, None), timing));
                continue;
            }
            if self.warmup_ns > 0 {
                let timing = Due::AskedFor(self.warmup_ns);
                steps.push(step("warm_up", Purpose::WarmUp, self.plan(phase, None), timing));
            }
            let operations = (self.config.operations > 0).then_some(self.config.operations);
            let work = self.plan(phase, operations);
            steps.push(step("run", Purpose::Main, work, Due::Asked));
        }
        steps
    }

    fn id_prefix(&self) -> Option<&str> {
        Some(&self.config.keys.prefix)
    }
}

impl Offer for YcsbStage {
    const NAMES: &'static [(&'static str, &'static str)] = &[
        ("ycsb-a", "Half reads, half updates"),
        ("ycsb-b", "95 % reads, 5 % updates"),
        ("ycsb-c", "Reads only"),
        ("ycsb-d", "95 % reads of the newest records, 5 % inserts"),
        ("ycsb-e", "95 % scans, 5 % inserts"),
        ("ycsb-f", "Half reads, half read-modify-writes"),
        ("ycsb", "Any other YCSB workload: use springload ycsb"),
    ];

    /// A standard workload with the numbers of records and operations given by flags.
    fn demand(name: &str, asked: &RunAsked) -> Result<Arc<dyn Demand>, Invalid> {
        let wrong = |problem: &str| Invalid::new("--workload", problem, "choose another");
        let places = Self::NAMES.iter().zip(builtin::WORKLOADS);
        let Some((_, (_, text))) = places.into_iter().find(|((known, _), _)| *known == name) else {
            let problem = "its workload has properties that run has no flags for";
            return Err(Invalid::new("--workload", problem, "use springload ycsb"));
        };
        asked.refuse(&["--mix"], "the workload has its own mix")?;
        let about_fill = "it applies only to a fill with documents of a schema";
        asked.refuse(&["--schema", "--wait-for-server", "--growth"], about_fill)?;
        let (documents, operations) = (asked.documents.documents, asked.documents.operations);
        if documents.value == 0 {
            let cure = "insert some; springload ycsb run uses existing records";
            return Err(Invalid::new(documents.flag, "a workload needs records", cure));
        }
        let mut properties = Properties::parse(text.as_bytes()).map_err(|it| wrong(&it))?;
        properties.set("recordcount", documents.value.to_string());
        properties.set("operationcount", operations.value.unwrap_or(0).to_string());
        match &asked.ids {
            Ids::Prefix(text) => properties.set("keyprefix", &**text),
            Ids::Sequential if !asked.given.contains(&"--id") => {}
            _ => {
                let cure = "give prefix:TEXT, or leave it out";
                let problem = "the keys of YCSB's workloads are hashes";
                return Err(Invalid::new("--id", problem, cure));
            }
        }
        let config = CoreConfig::read(&properties, false, &|_| Err(String::new()))
            .map_err(|errors| wrong(&errors[0].to_string()))?;
        let phases = match operations.value {
            Some(0) => vec![YcsbPhase::Load],
            _ => vec![YcsbPhase::Load, YcsbPhase::Run],
        };
        // With a batch size of one, records are inserted one by one, not in bulk.
        let least = if asked.own_batch { 0 } else { 2 };
        Ok(Arc::new(YcsbDemand {
            config,
            class: Class::Core,
            phases,
            batch: asked.documents.batch.map(|batch| batch.max(least)),
            counts: vec![documents, operations.map(|it| it.unwrap_or(0))],
            paced_load: false,
            warmup_ns: asked.documents.warmup_ns,
        }))
    }
}
