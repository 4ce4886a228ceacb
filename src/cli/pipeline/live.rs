//! Ways to follow a run from outside while it is in progress, as far as they are asked for.

use super::lines::Lines;
use super::live_page::LivePage;
use super::metrics::Metrics;
use super::push;
use super::sends::Sends;
use crate::cli::flags::output::OutputArgs;
use crate::clock::{Nanos, wall_ns};
use crate::measure::{Second, Series};
use crate::plan::Invalid;
use crate::record::{RunRecord, Running};
use std::sync::Arc;

/// The live outputs of a run, besides the view on the terminal.
#[derive(Debug, Default)]
pub(in crate::cli) struct Live {
    metrics: Option<Metrics>,
    page: Option<LivePage>,
    lines: Option<Lines>,
    pushes: Vec<Box<dyn Sends>>,
}

impl Live {
    /// The outputs that the flags ask for, except those that need the name of the run.
    ///
    /// # Errors
    /// Fails if one of them cannot be opened.
    pub(super) fn asked(output: &OutputArgs) -> Result<Self, Invalid> {
        let live = &output.live;
        let metrics = Metrics::asked(&output.metrics).transpose()?;
        let page = LivePage::asked(&live.page).transpose()?;
        Ok(Self { metrics, page, ..Self::default() })
    }

    /// Adds the outputs that need the name of the run.
    ///
    /// # Errors
    /// Fails if one of them cannot be opened.
    pub(super) fn named(self, output: &OutputArgs, run: &str) -> Result<Self, Invalid> {
        let lines = Lines::asked(output.live.jsonl.as_deref(), run).transpose()?;
        let pushes = push::asked(&output.live.push, run)?;
        Ok(Self { lines, pushes, ..self })
    }

    /// Prints where to look.
    pub(super) fn announce(&self) {
        if let Some(metrics) = &self.metrics {
            eprintln!("metrics: {}", metrics.url());
        }
        if let Some(page) = &self.page {
            eprintln!("live page: {}", page.url());
        }
    }

    /// Whether totals of the running stage are needed.
    pub(super) const fn watches(&self) -> bool {
        self.metrics.is_some() || !self.pushes.is_empty()
    }

    pub(super) const fn takes_seconds(&self) -> bool {
        self.lines.is_some()
    }

    /// Takes the record so far, which has no running stage.
    pub(super) fn keep(&self, record: &RunRecord) {
        if self.watches() {
            let mut totals = record.clone();
            totals.stages.iter_mut().for_each(|stage| stage.series = Series::default());
            let totals =
                Arc::new(if totals.has_no_end() { totals.seen_running(wall_ns()) } else { totals });
            self.pushes.iter().for_each(|push| push.keep(totals.clone()));
            if let Some(metrics) = &self.metrics {
                metrics.keep(totals);
            }
        }
        self.unfinished(record);
    }

    /// Takes the record so far, with the running stage.
    pub(super) fn unfinished(&self, record: &RunRecord) {
        if let Some(page) = &self.page {
            page.keep(record);
        }
    }

    /// Takes the measurements of the running stage so far.
    pub(super) fn running(&self, running: Running) {
        let running = Arc::new(running);
        self.pushes.iter().for_each(|push| push.running(running.clone()));
        if let Some(metrics) = &self.metrics {
            metrics.running(running);
        }
    }

    /// Takes a second of the running stage.
    pub(super) fn second(&self, stage: &str, began_ns: Nanos, second: &Second) {
        if let Some(lines) = &self.lines {
            lines.second(stage, began_ns, second);
        }
    }

    /// News for the user, if there is any.
    pub(super) fn news(&self) -> Option<String> {
        let lines = self.lines.as_ref().and_then(Lines::news);
        lines.or_else(|| self.pushes.iter().find_map(|push| push.news()))
    }

    /// The run is over. Returns whether everything was delivered.
    pub(super) fn finish(&self) -> bool {
        self.pushes.iter().for_each(|push| push.end());
        self.lines.as_ref().is_none_or(Lines::finish)
    }

    /// The report of the run has been written: readers of the page get theirs.
    pub(super) fn end(&self, record: &RunRecord) {
        if let Some(page) = &self.page {
            page.end(record);
        }
        self.pushes.iter().for_each(|push| push.finish());
    }
}
