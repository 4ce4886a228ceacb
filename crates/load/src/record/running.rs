//! A record without an end: the run is still going on, or springload was killed. Only its reader
//! can tell which; it is not stored. Neither is the state of a running stage.

use super::{AgentStage, Code, RunRecord, Verdict};
use crate::measure::OperationSummary;

/// The state of a running stage; never stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Running {
    /// The stage's name.
    pub name: String,
    /// The time since its start, in seconds.
    pub elapsed_s: f64,
    /// Requests that have fallen due so far, in an open loop.
    pub offered: Option<u64>,
    /// The measurements up to the last full second.
    pub operations: Vec<OperationSummary>,
    /// What each agent has reported so far, if there are any.
    pub agents: Vec<AgentStage>,
}

impl RunRecord {
    /// Marks the run as seen running at this time, in nanoseconds since 1970.
    #[must_use]
    pub fn seen_running(mut self, at_ns: u64) -> Self {
        self.seen_running_ns = Some(at_ns);
        // What is missing may still come.
        let last = self.stages.last().map(|it| it.name.clone());
        self.warnings.retain(|it| match it.code {
            Code::Partial => false,
            Code::NotAllBegun => it.stage != last,
            _ => true,
        });
        self
    }

    /// Whether the run is still going on or springload was killed.
    pub const fn has_no_end(&self) -> bool {
        self.partial && self.ended.is_none() && self.result.is_none()
    }

    /// The reason there is no end, for a record that does not say why the run ended.
    pub(super) fn cut_short(&self) -> String {
        let unfinished = self.stages.last().filter(|it| it.verdict == Verdict::Unfinished);
        let known = unfinished.map(|stage| {
            format!("the {} stage is known up to {:.0} s", stage.title(), stage.elapsed_s)
        });
        match (self.seen_running_ns, known) {
            (Some(_), known) => known.unwrap_or_else(|| "the next stage is not known yet".into()),
            (None, Some(known)) => format!("springload was killed, or still runs: {known}"),
            (None, None) => "the run was stopped early".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{ResultKind, fixture};

    /// A record as saved while its last stage is running.
    fn saved() -> RunRecord {
        let mut record = fixture::record(&[]);
        (record.partial, record.result) = (true, None);
        let stage = record.stages.last_mut().expect("a stage");
        (stage.verdict, stage.account) = (Verdict::Unfinished, None);
        stage.load.planned = Some(stage.load.begun + 69);
        record.refresh_warnings();
        record
    }

    #[test]
    fn what_is_missing_of_a_run_that_goes_on_is_no_warning() {
        let codes =
            |record: &RunRecord| record.warnings.iter().map(|it| it.code).collect::<Vec<_>>();
        let killed = saved();
        assert!(killed.has_no_end());
        assert_eq!(killed.result().kind, ResultKind::Stopped);
        assert!(codes(&killed).contains(&Code::Partial));
        assert!(codes(&killed).contains(&Code::NotAllBegun));
        let running = saved().seen_running(1);
        assert_eq!(running.result().kind, ResultKind::Running);
        assert!(!codes(&running).contains(&Code::Partial));
        assert!(!codes(&running).contains(&Code::NotAllBegun));
        let reason = running.result().reason.expect("a reason");
        assert!(reason.starts_with("the mixed stage is known up to "), "{reason}");
        let text = serde_json::to_string(&running).expect("JSON");
        assert!(!text.contains("running"), "that is never stored");
    }
}
