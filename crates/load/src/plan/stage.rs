//! One measured step of a run.

use crate::clock::Nanos;
use crate::engine::Pace;
use crate::workload::{Purpose, REPLICATED, WorkloadPlan};
use serde::{Deserialize, Serialize};

/// The names that stages have, as a regular expression.
#[cfg(feature = "schema")]
pub const STAGE_NAME: &str = "^(bulk_insert|load|index_build|database_(create|delete)|warm_up|crud|hot|\
    run|urls|replicated|audit(_[0-9]+)?|burst_(prepare|write|read)(_[0-9]+)?)$";

/// One stage of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StagePlan {
    /// Its name in reports.
    #[cfg_attr(feature = "schema", schemars(extend("pattern" = STAGE_NAME)))]
    pub name: String,
    /// Its purpose; `None` in older records, where it follows from the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<Purpose>,
    /// What is done.
    #[serde(flatten)]
    pub work: WorkloadPlan,
    /// When operations are due.
    pub pace: Pace,
    /// How long operations are started, in nanoseconds; `None` if the stage ends when all are done.
    pub length_ns: Option<Nanos>,
}

impl StagePlan {
    /// Its purpose.
    pub fn purpose(&self) -> Purpose {
        // Older records call the stage with replication a main one, too.
        let is_known = |it: &Purpose| *it != Purpose::Main || self.name != REPLICATED;
        let stored = self.purpose.filter(is_known);
        stored.unwrap_or_else(|| Purpose::of_name(&self.name))
    }

    /// The mean pause of a connection between two operations, in nanoseconds; `None` in an open
    /// loop, which has no pauses.
    pub const fn mean_pause_ns(&self) -> Option<Nanos> {
        self.pace.mean_pause_ns()
    }

    /// How many of `threads` take part. The limit on operations in flight is divided among threads,
    /// and a thread with a limit of 0 has nothing to do.
    pub fn shards(&self, threads: usize) -> usize {
        match self.pace {
            Pace::Open { max_in_flight, .. } => {
                threads.min(usize::try_from(max_in_flight).unwrap_or(usize::MAX)).max(1)
            }
            Pace::Closed { .. } | Pace::Thinking { .. } => threads,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_stage_stored_without_its_purpose_has_the_one_that_its_name_tells() {
        let read = |name: &str, purpose: Option<&str>| {
            let mut stored = json!({
                "name": name, "workload": "bulk_insert", "documents": 1, "batch": 1,
                "pace": { "loop": "closed", "think_ns": 0 }, "length_ns": null,
            });
            if let Some(purpose) = purpose {
                stored["purpose"] = json!(purpose);
            }
            serde_json::from_value::<StagePlan>(stored).expect("a stage").purpose()
        };
        assert_eq!(read("bulk_insert", None), Purpose::Fill);
        assert_eq!(read("load", None), Purpose::Fill);
        assert_eq!(read("burst_prepare", None), Purpose::Prepare);
        assert_eq!(read("index_build", None), Purpose::Index);
        assert_eq!(read("warm_up", None), Purpose::WarmUp);
        assert_eq!(read("crud", None), Purpose::Main);
        assert_eq!(read("warm_up", Some("main")), Purpose::Main);
        for stored in [None, Some("main"), Some("replicated")] {
            assert_eq!(read("replicated", stored), Purpose::Replicated, "{stored:?}");
        }
        assert_eq!(read("crud", Some("replicated")), Purpose::Replicated);
        assert_eq!(read("replicated", Some("fill")), Purpose::Fill);
    }
}
