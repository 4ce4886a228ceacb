//! Progress on stderr: the live view or a bar on a terminal, a line every few seconds elsewhere,
//! nothing with --quiet.

use super::bar::Bar;
use super::bench::Bench;
use super::dialect::Dialect;
use super::tui::Tui;
use crate::cli::flags::output::OutputArgs;
use crate::cli::look;
use crate::clock::Nanos;
use crate::driver::Echo;
use crate::http1::Watcher;
use crate::journal::Journal;
use crate::measure::{RawRow, Second};
use crate::plan::stage_title;
use crate::record::{RunRecord, Running};
use crate::report;
use crate::run::{Observer, Progress};
use std::ffi::OsStr;
use std::io::{self, IsTerminal as _};
use std::sync::Arc;

/// Seconds between two lines if stderr is not a terminal.
const LINE_EVERY_S: f64 = 5.0;

/// Shows progress, saves the record, and passes everything on to the dialect.
pub(super) struct View<'a> {
    bench: &'a Bench,
    dialect: &'a mut dyn Dialect,
    mode: Mode,
    stage: String,
    /// Whether the locale has no Unicode.
    ascii: bool,
    /// The journal in which writes are noted, if there is one.
    journal: Option<Arc<Journal>>,
    /// Why the last save of the record failed.
    unsaved: Option<io::Error>,
}

enum Mode {
    Quiet,
    Lines { next_s: f64 },
    Bar(Bar),
    Tui(Box<Tui>),
}

/// The kind of progress display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Nothing,
    Lines,
    Bar,
    Tui,
}

/// Chooses by the flags, by whether stderr is a terminal, and by `TERM`.
fn choose(output: &OutputArgs, terminal: bool, term: Option<&OsStr>) -> Choice {
    // Other output to the terminal would be lost in a view.
    let lines = output.live.lines_on_stdout() && terminal && io::stdout().is_terminal();
    match (output.quiet || lines, terminal && term.is_none_or(|term| term != "dumb"), output.no_tui)
    {
        (true, _, _) => Choice::Nothing,
        (false, false, _) => Choice::Lines,
        (false, true, true) => Choice::Bar,
        (false, true, false) => Choice::Tui,
    }
}

impl<'a> View<'a> {
    /// The view that suits stderr.
    pub(super) fn new(output: &OutputArgs, bench: &'a Bench, dialect: &'a mut dyn Dialect) -> Self {
        let terminal = io::stderr().is_terminal();
        let choice = choose(output, terminal, std::env::var_os("TERM").as_deref());
        let ascii = look::ascii();
        let mode = match choice {
            _ if dialect.shows_progress() => Mode::Quiet,
            Choice::Nothing => Mode::Quiet,
            Choice::Lines => Mode::Lines { next_s: LINE_EVERY_S },
            Choice::Bar => Mode::Bar(Bar::default()),
            Choice::Tui => {
                // https://no-color.org: set, and not empty.
                let color = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
                Mode::Tui(Box::new(Tui::new(color, ascii, bench.ending.clone())))
            }
        };
        let (stage, journal) = (String::new(), None);
        Self { bench, dialect, mode, stage, ascii, journal, unsaved: None }
    }

    /// The same, with a journal of the writes.
    pub(super) fn noting(self, journal: Option<Arc<Journal>>) -> Self {
        Self { journal, ..self }
    }

    /// Removes the display, so that other output can be printed. Returns the error of the last save
    /// of the record, if it failed.
    pub(super) fn finish(mut self) -> Option<io::Error> {
        match &mut self.mode {
            Mode::Quiet | Mode::Lines { .. } => {}
            Mode::Bar(bar) => bar.clear(),
            Mode::Tui(tui) => tui.close(),
        }
        self.unsaved
    }
}

impl Observer for View<'_> {
    fn echo(&self) -> Option<Echo> {
        self.dialect.echo()
    }

    fn stage_begins(&mut self, stage: &str) {
        self.stage = stage_title(stage);
        self.dialect.stage_begins(stage);
        match &mut self.mode {
            Mode::Quiet | Mode::Bar(_) => {}
            Mode::Lines { next_s } => *next_s = LINE_EVERY_S,
            Mode::Tui(tui) => tui.stage_begins(stage),
        }
    }

    fn progress(&mut self, progress: &Progress) {
        if let Some(sentence) = self.bench.live.news() {
            self.news(&sentence);
        }
        let text = report::shown(&describe(progress), self.ascii);
        match &mut self.mode {
            Mode::Quiet => {}
            Mode::Lines { next_s } => {
                if progress.elapsed_s >= *next_s {
                    eprintln!("{}: {text}", self.stage);
                    *next_s += LINE_EVERY_S;
                }
            }
            Mode::Bar(bar) => bar.progress(&self.stage, share(progress), &text),
            Mode::Tui(tui) => {
                if tui.progress(progress).is_err() {
                    // The run continues with a bar.
                    self.mode = Mode::Bar(Bar::default());
                }
            }
        }
    }

    fn news(&mut self, sentence: &str) {
        // There is no stage name before the first stage.
        let stage = if self.stage.is_empty() { "" } else { &format!("{}: ", self.stage) };
        let line = format!("{stage}{sentence}");
        match &self.mode {
            Mode::Lines { .. } => eprintln!("{line}"),
            Mode::Bar(bar) => bar.tell(&line),
            // The live view shows it in its rates.
            Mode::Quiet | Mode::Tui(_) => {}
        }
    }

    fn run_begins(&mut self, record: &RunRecord) {
        if let Mode::Tui(tui) = &mut self.mode {
            tui.run_begins(record);
        }
        if self.journal.is_some() {
            // An audit after a kill needs to know the plan and the database.
            self.unsaved = self.bench.folder.save(record).err();
        }
        self.bench.live.keep(record);
    }

    fn journal(&mut self) -> Option<Arc<Journal>> {
        self.journal.clone()
    }

    fn exchanges(&mut self) -> Option<Watcher> {
        self.dialect.exchanges()
    }

    fn watches(&self) -> bool {
        self.bench.live.watches() || self.dialect.shows_progress()
    }

    fn running(&mut self, running: Running) {
        self.dialect.running(&running);
        self.bench.live.running(running);
    }

    fn takes_seconds(&self) -> bool {
        self.bench.live.takes_seconds()
    }

    fn second(&mut self, stage: &str, began_ns: Nanos, second: &Second) {
        self.bench.live.second(stage, began_ns, second);
    }

    fn raw(&mut self, rows: &[RawRow], epoch_ns: Nanos) {
        self.dialect.raw(rows, epoch_ns);
    }

    fn saves(&self) -> bool {
        true
    }

    fn unfinished(&mut self, record: &RunRecord) {
        self.bench.live.unfinished(record);
        self.unsaved = self.bench.folder.save(record).err();
    }

    fn keep(&mut self, record: &RunRecord) {
        self.dialect.keep(record);
        self.bench.live.keep(record);
        self.unsaved = self.bench.folder.save(record).err();
    }
}

/// The share of the stage that is done, from 0 to 1, as far as the plan defines it.
fn share(progress: &Progress) -> f64 {
    let time = progress.length_s.map_or(0.0, |length| progress.elapsed_s / length);
    let done = (progress.ok + progress.failed) as f64;
    let work = progress.planned.map_or(0.0, |planned| done / planned.max(1) as f64);
    time.max(work).min(1.0)
}

fn describe(progress: &Progress) -> String {
    let most = progress.planned.filter(|_| progress.is_most);
    let most = most.map_or_else(String::new, |most| format!(" of at most {most}"));
    // While nothing is answered, there is no time to show, and no rate.
    let current = progress.is_current();
    let p99 = match progress.p99_ns {
        p99_ns if current && p99_ns > 0 => format!("{:.2} ms", p99_ns as f64 / 1e6),
        _ => "-".to_owned(),
    };
    let rate_per_s = if current { progress.rate_per_s } else { 0 };
    format!(
        "{:.0} s · {rate_per_s} {}/s · p99 {p99} · {} ok{most} · {} failed",
        progress.elapsed_s, progress.unit, progress.ok, progress.failed,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::flags::agents::AgentsArgs;
    use crate::cli::flags::output::{LiveArgs, MetricsArgs};

    #[test]
    fn a_second_without_answers_has_no_percentile() {
        let line = |p99_ns, second| {
            describe(&Progress {
                p99_ns,
                second,
                elapsed_s: 5.0,
                unit: "docs",
                ok: 9,
                rate_per_s: 600,
                ..Progress::default()
            })
        };
        let counts = "9 ok · 0 failed";
        assert_eq!(line(1_234_567, Some(4)), format!("5 s · 600 docs/s · p99 1.23 ms · {counts}"));
        assert_eq!(line(0, Some(2)), format!("5 s · 600 docs/s · p99 - · {counts}"));
        // Operations of some time ago do not count for the current rate.
        for second in [Some(1), None] {
            assert_eq!(line(1_234_567, second), format!("5 s · 0 docs/s · p99 - · {counts}"));
        }
    }

    fn flags(quiet: bool, no_tui: bool) -> OutputArgs {
        OutputArgs {
            output: None,
            label: None,
            format: None,
            fail_if: Vec::new(),
            noise: None,
            metrics: MetricsArgs::default(),
            live: LiveArgs::default(),
            quiet,
            no_tui,
            dry_run: false,
            agents: AgentsArgs::default(),
        }
    }

    #[test]
    fn the_live_view_is_for_terminals_that_can_show_it() {
        let xterm = Some(OsStr::new("xterm"));
        let dumb = Some(OsStr::new("dumb"));
        for (quiet, no_tui, terminal, term, choice) in [
            (false, false, true, xterm, Choice::Tui),
            (false, false, true, None, Choice::Tui),
            (false, false, true, dumb, Choice::Lines),
            (false, true, true, dumb, Choice::Lines),
            (false, true, true, xterm, Choice::Bar),
            (false, false, false, xterm, Choice::Lines),
            (false, true, false, xterm, Choice::Lines),
            (true, false, true, xterm, Choice::Nothing),
            (true, true, false, dumb, Choice::Nothing),
        ] {
            let chosen = choose(&flags(quiet, no_tui), terminal, term);
            assert_eq!(chosen, choice, "{quiet} {no_tui} {terminal} {term:?}");
        }
    }
}
