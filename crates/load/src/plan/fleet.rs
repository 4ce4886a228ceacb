//! The agents of a run.

use super::Plan;
use crate::engine::Pace;
use crate::mistake::Invalid;
use serde::{Deserialize, Serialize};

/// What one coordinator is made for; docs/scaling.md has the arithmetic.
const MOST_AGENTS: usize = 10_000;

/// The agents that share the load of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetPlan {
    /// How many there are.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub agents: usize,
    /// Whether the run may pass although agents were lost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_lost: bool,
}

impl Plan {
    /// This plan, carried out by agents. `local`: they share the processors of one machine.
    ///
    /// # Errors
    /// Why it cannot be shared among this many.
    pub fn shared(self, fleet: FleetPlan, local: bool) -> Result<Self, Invalid> {
        let FleetPlan { agents, .. } = fleet;
        if self.audit {
            let problem = "agents keep no journal of their writes";
            return Err(Invalid::new("--audit", problem, "leave out one of --audit and --agents"));
        }
        let wrong = |problem: String, cure: String| Err(Invalid::new("--agents", problem, cure));
        if agents == 0 || agents > MOST_AGENTS {
            return wrong(format!("{agents} agents"), format!("give 1 to {MOST_AGENTS}"));
        }
        if agents > self.connections {
            let problem = format!(
                "{agents} agents for {} connections leave some without one",
                self.connections
            );
            return wrong(problem, "give fewer, or more connections".to_owned());
        }
        if self.http.is_some() || self.target.shows() {
            let problem = "what is requested or printed stays with one process";
            return wrong(problem.to_owned(), "leave it out".to_owned());
        }
        for stage in &self.stages {
            if let Pace::Open { max_in_flight, .. } = stage.pace
                && max_in_flight < agents as u64
            {
                let problem = format!("--max-in-flight {max_in_flight} is less than one for each");
                return wrong(problem, format!("give --max-in-flight {agents} or more"));
            }
        }
        let threads = if local { self.threads / agents } else { self.threads };
        let threads = threads.clamp(1, self.connections / agents);
        Ok(Self { threads, fleet: Some(fleet), ..self })
    }
}
