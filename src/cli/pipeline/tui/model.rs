//! The state of the live view. Pure: the observer feeds it, and it reads no clock.

use crate::plan::stage_title;
use crate::record::RunRecord;
use crate::redact::strike;
use crate::run::Progress;

/// A run, as far as the observer has reported it.
#[derive(Debug, Default)]
pub(super) struct Model {
    /// The server, the connections and the database.
    pub(super) head: Vec<String>,
    stages: Vec<String>,
    /// The name of the stage, and its place in the plan.
    pub(super) stage: String,
    pub(super) nth: usize,
    pub(super) progress: Progress,
    /// The stage second by second; `None`: nothing ended in that second.
    pub(super) seconds: Vec<Option<Second>>,
    /// Whether the run is being stopped early.
    pub(super) stopping: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Second {
    /// Documents that succeeded.
    pub(super) ok: u64,
    /// The median of response times, in nanoseconds.
    pub(super) p50_ns: u64,
    pub(super) p99_ns: u64,
}

impl Model {
    /// A run that has not begun.
    pub(super) fn new(record: &RunRecord) -> Self {
        let server = if record.server.stand_in {
            "embedded stand-in".to_owned()
        } else {
            record.server.url.clone()
        };
        let connections = match record.plan.connections {
            1 => "1 connection".to_owned(),
            count => format!("{count} connections"),
        };
        // Last, so that a narrow terminal cuts it: names of scratch databases are long.
        let head = [server, connections, record.server.database.clone()];
        let head = head.iter().map(|it| strike(it).into_owned()).collect();
        let stages = record.plan.stages.iter().map(|stage| stage.name.clone()).collect();
        let progress = Progress { unit: record.nouns().short, ..Progress::default() };
        Self { head, stages, progress, ..Self::default() }
    }

    /// A stage begins: resets the state of the previous one.
    pub(super) fn stage_begins(&mut self, name: &str) {
        self.stage = stage_title(name);
        self.nth += 1;
        self.seconds.clear();
        self.progress = Progress { unit: self.progress.unit, ..Progress::default() };
    }

    pub(super) fn progress(&mut self, progress: &Progress, stopping: bool) {
        self.stopping = stopping;
        self.progress = progress.clone();
        let Some(second) = progress.second else { return };
        let second = second as usize;
        if self.seconds.len() <= second {
            self.seconds.resize(second + 1, None);
        }
        // Threads report a second one after the other: only the last report is complete.
        self.seconds[second] = Some(Second {
            ok: progress.rate_per_s,
            p50_ns: progress.p50_ns,
            p99_ns: progress.p99_ns,
        });
    }

    /// The stage's name and place: `mixed 2 of 2`.
    pub(super) fn place(&self) -> String {
        match self.stages.len() {
            0 | 1 => self.stage.clone(),
            count => format!("{} {} of {count}", self.stage, self.nth),
        }
    }

    /// Whether the last measured second is recent enough to be shown as current.
    pub(super) fn fresh(&self) -> bool {
        self.progress.is_current()
    }

    /// How much of the stage is done, from 0 to 1; `None` if the plan does not say.
    pub(super) fn share(&self) -> Option<f64> {
        let Progress { elapsed_s, length_s, planned, ok, failed, .. } = self.progress;
        let time = length_s.map(|length| elapsed_s / length);
        let work = planned.map(|planned| (ok + failed) as f64 / planned.max(1) as f64);
        let share = time.into_iter().chain(work).fold(None, |most: Option<f64>, share| {
            Some(most.map_or(share, |most| most.max(share)))
        });
        share.map(|share| share.clamp(0.0, 1.0))
    }

    /// How many more seconds the stage will take: the time left by the plan, or the work left at
    /// the mean rate so far, whichever is less. `None`: not known, or none.
    pub(super) fn left_s(&self) -> Option<f64> {
        let Progress { elapsed_s, length_s, planned, ok, failed, second, .. } = self.progress;
        let time = length_s.map(|length| length - elapsed_s);
        let work = planned.zip(second).and_then(|(planned, second)| {
            // What has ended is known up to that second. If it was some time ago, nothing has
            // ended since: with a low rate, nothing may have been due.
            let in_s = if self.fresh() { f64::from(second) + 1.0 } else { elapsed_s };
            let done = (ok + failed) as f64;
            (done > 0.0).then(|| planned as f64 * in_s / done - elapsed_s)
        });
        let left = time.into_iter().chain(work).reduce(f64::min);
        left.filter(|left_s| *left_s > 0.0)
    }

    /// Whether nothing more begins, because the time is over, and not all is known to have ended.
    pub(super) fn is_waiting(&self) -> bool {
        let Progress { elapsed_s, length_s, planned, ok, failed, .. } = self.progress;
        length_s.is_some_and(|length_s| elapsed_s >= length_s)
            && planned.is_none_or(|planned| ok + failed < planned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::earned;
    use crate::record::fixture;

    fn advance(model: &mut Model, elapsed_s: f64, second: Option<u32>, ok: u64) {
        let length_s = model.progress.length_s;
        let planned = model.progress.planned;
        let progress = Progress {
            elapsed_s,
            second,
            ok,
            length_s,
            planned,
            rate_per_s: ok,
            ..Progress::default()
        };
        model.progress(&progress, false);
    }

    #[test]
    fn seconds_have_their_places_and_a_stage_starts_afresh() {
        let mut model = Model::default();
        model.stage_begins("bulk_insert");
        advance(&mut model, 0.5, None, 0);
        assert!(model.seconds.is_empty() && !model.fresh());
        advance(&mut model, 1.1, Some(0), 10);
        advance(&mut model, 1.2, Some(0), 12);
        advance(&mut model, 4.2, Some(3), 9);
        let rates: Vec<_> = model.seconds.iter().map(|it| it.map(|it| it.ok)).collect();
        assert_eq!(rates, [Some(12), None, None, Some(9)]);
        assert!(model.fresh());
        advance(&mut model, 7.1, Some(3), 9);
        assert!(!model.fresh(), "nothing has ended for three seconds");
        model.stage_begins("crud");
        assert!(model.seconds.is_empty());
        assert_eq!((model.nth, model.share()), (2, None));
    }

    #[test]
    fn time_or_work_tell_what_is_left_whichever_ends_first() {
        let mut model = Model::default();
        advance(&mut model, 1.5, Some(0), 10);
        assert_eq!((model.share(), model.left_s()), (None, None));
        model.progress.length_s = Some(10.0);
        advance(&mut model, 4.0, Some(3), 40);
        assert_eq!((model.share(), model.left_s()), (Some(0.4), Some(6.0)));
        model.progress.planned = Some(50);
        advance(&mut model, 4.5, Some(3), 40);
        assert_eq!((model.share(), model.left_s()), (Some(0.8), Some(0.5)));
        advance(&mut model, 11.0, Some(10), 50);
        assert_eq!((model.share(), model.left_s()), (Some(1.0), None));
    }

    #[test]
    fn answers_are_waited_for_only_past_the_end_and_until_all_are_there() {
        for (elapsed_s, length_s, planned, ok, waits) in [
            (10.5, Some(10.0), None, 400, true),
            // A fill of at most so many documents.
            (10.0, Some(10.0), Some(500), 400, true),
            (10.5, Some(10.0), Some(400), 400, false),
            (9.9, Some(10.0), None, 400, false),
            (9.9, Some(10.0), Some(500), 400, false),
            (600.0, None, Some(500), 499, false),
            (600.0, None, None, 499, false),
        ] {
            let mut model = Model::default();
            (model.progress.length_s, model.progress.planned) = (length_s, planned);
            advance(&mut model, elapsed_s, Some(8), ok);
            assert_eq!(model.is_waiting(), waits, "{:?}", model.progress);
        }
    }

    /// Ten operations, one every ten seconds: most of the time, none is due.
    #[test]
    fn the_time_left_at_a_low_rate_is_not_used_up_between_two_operations() {
        let mut model = Model::default();
        model.progress.planned = Some(10);
        advance(&mut model, 2.0, Some(0), 1);
        assert_eq!(model.left_s(), Some(8.0));
        for (elapsed_s, left_s) in [(4.0, 36.0), (9.0, 81.0), (11.0, 99.0)] {
            advance(&mut model, elapsed_s, Some(0), 1);
            assert_eq!(model.left_s(), Some(left_s));
        }
    }

    #[test]
    fn the_head_tells_what_is_measured() {
        let mut record = fixture::record(&[]);
        (record.server.url, record.server.database) = ("http://h:5984".into(), "db".into());
        record.server.stand_in = false;
        let model = Model::new(&record);
        assert_eq!(model.head, ["http://h:5984", "4 connections", "db"]);
        record.server.stand_in = true;
        assert_eq!(Model::new(&record).head[0], "embedded stand-in");
    }

    #[test]
    fn percentiles_are_earned_as_in_reports() {
        for (samples, percentile, yes) in
            [(19, 50.0, false), (20, 50.0, true), (999, 99.0, false), (1000, 99.0, true)]
        {
            assert_eq!(earned(samples, percentile), yes, "{samples} {percentile}");
        }
    }
}
