//! Progress on stderr: a bar on a terminal, a line now and then elsewhere, nothing when quiet.

use super::metrics::Metrics;
use super::output::Folder;
use crate::record::{RunRecord, Running};
use crate::run::{Observer, Progress};
use crate::target::http::Exchange;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal as _};
use std::sync::mpsc::Sender;

/// Seconds between two lines where there is no terminal.
const LINE_EVERY_S: f64 = 5.0;
/// Steps of the bar: finer than any terminal is wide.
const STEPS: u64 = 1000;

/// Shows progress and keeps the record.
pub(super) struct View<'a> {
    folder: &'a Folder,
    metrics: Option<&'a Metrics>,
    mode: Mode,
    stage: String,
    /// Where each exchange is told to, if somebody wants to see it.
    pub(super) exchanges: Option<Sender<Exchange>>,
}

enum Mode {
    Quiet,
    Lines { next_s: f64 },
    Bar(ProgressBar),
}

impl<'a> View<'a> {
    /// A view for stderr as it is, and for scrapers if there is a page for them.
    pub(super) fn new(quiet: bool, folder: &'a Folder, metrics: Option<&'a Metrics>) -> Self {
        let mode = if quiet {
            Mode::Quiet
        } else if io::stderr().is_terminal() {
            let target = ProgressDrawTarget::stderr_with_hz(10);
            let bar = ProgressBar::with_draw_target(Some(STEPS), target);
            let style = ProgressStyle::with_template("{prefix:12} [{bar:30}] {msg}");
            bar.set_style(
                style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "),
            );
            Mode::Bar(bar)
        } else {
            Mode::Lines { next_s: LINE_EVERY_S }
        };
        Self { folder, metrics, mode, stage: String::new(), exchanges: None }
    }

    /// Takes the bar away.
    pub(super) fn clear(&self) {
        if let Mode::Bar(bar) = &self.mode {
            bar.finish_and_clear();
        }
    }
}

impl Observer for View<'_> {
    fn stage_begins(&mut self, stage: &str) {
        stage.clone_into(&mut self.stage);
        match &mut self.mode {
            Mode::Quiet => {}
            Mode::Lines { next_s } => *next_s = LINE_EVERY_S,
            Mode::Bar(bar) => {
                bar.set_prefix(self.stage.clone());
                bar.set_position(0);
            }
        }
    }

    fn progress(&mut self, progress: &Progress) {
        let text = describe(progress);
        match &mut self.mode {
            Mode::Quiet => {}
            Mode::Lines { next_s } => {
                if progress.elapsed_s >= *next_s {
                    eprintln!("{}: {text}", self.stage);
                    *next_s += LINE_EVERY_S;
                }
            }
            Mode::Bar(bar) => {
                bar.set_position((share(progress) * STEPS as f64) as u64);
                bar.set_message(text);
            }
        }
    }

    fn run_begins(&mut self, record: &RunRecord) {
        if let Some(metrics) = self.metrics {
            metrics.keep(record);
        }
    }

    fn exchanges(&mut self) -> Option<Sender<Exchange>> {
        self.exchanges.take()
    }

    fn watches(&self) -> bool {
        self.metrics.is_some()
    }

    fn running(&mut self, running: Running) {
        if let Some(metrics) = self.metrics {
            metrics.running(running);
        }
    }

    fn keep(&mut self, record: &RunRecord) -> io::Result<()> {
        if let Some(metrics) = self.metrics {
            metrics.keep(record);
        }
        self.folder.save(record)
    }
}

/// How much of the stage is done, 0 to 1, as far as the plan tells.
fn share(progress: &Progress) -> f64 {
    let time = progress.length_s.map_or(0.0, |length| progress.elapsed_s / length);
    let done = (progress.ok + progress.failed) as f64;
    let work = progress.planned.map_or(0.0, |planned| done / planned.max(1) as f64);
    time.max(work).min(1.0)
}

fn describe(progress: &Progress) -> String {
    format!(
        "{:.0} s · {} docs/s · p99 {:.2} ms · {} ok · {} failed",
        progress.elapsed_s,
        progress.rate_per_s,
        progress.p99_ns as f64 / 1e6,
        progress.ok,
        progress.failed,
    )
}
