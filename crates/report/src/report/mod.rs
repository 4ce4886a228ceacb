//! Formats: pure functions of a [`RunRecord`], or of several. The same records give the same
//! bytes, whenever and wherever they are rendered.

/// The modules of formats, each with its formats, in the order of the help. Everything else about a
/// format is in its own module.
macro_rules! formats {
    ($($vis:vis $module:ident: $($FORMAT:ident)+,)*) => {
        $($vis mod $module;)*

        /// Every format.
        pub const FORMATS: &[Format] = &[$($($module::$FORMAT,)+)*];
    };
}

formats! {
    text: FORMAT,
    json: FORMAT,
    csv: FORMAT,
    hlog: FORMAT,
    openmetrics: FORMAT,
    cushion: FORMAT,
    siege: FORMAT JSON,
    agents_csv: FORMAT,
    junit: FORMAT,
    html: FORMAT,
    picture: SVG PNG,
    pub ycsb: TEXT JSON JSON_ARRAY,
}

mod agents;
mod beside;
mod burst;
mod chart;
mod clean;
mod comparison;
mod detail;
mod drawn;
mod drill;
mod estimates;
mod exposition;
mod failures;
mod followed;
mod headline;
mod look;
mod max;
mod nodes;
mod number;
mod observed;
mod pill;
#[cfg(feature = "push")]
mod push;
mod replicated;
mod sane;
mod second;
mod sizing;
mod story;
mod study;
mod sweep;
mod table;
mod threshold;
mod title;
mod trend;
mod visible;
mod words;

pub use burst::{BurstSecond, burst_csv, burst_seconds, burst_text};
pub use chart::ChartKind;
pub use clean::{cleaned, json as struck_json, terminal_json};
pub use comparison::{beforehand_text, verdict_words};
pub use drawn::{bulk_perf_picture, burst_picture, sweep_picture};
pub use exposition::Exposition;
pub use headline::{Headline, headline};
pub use html::{LIVE_PAGE, sweep_page, sweep_pill};
pub use json::{RunFileError, read as read_json};
pub use look::{Look, shown};
pub use max::{step_words, verdict as max_pill};
pub use number::{bytes, grouped, millis};
pub use openmetrics::expose;
pub use picture::Picture;
pub use pill::{Mood, Pill};
#[cfg(feature = "push")]
pub use push::{Pushed, RemoteWrite, otlp, otlp_rejected};
pub use sane::sane;
pub use second::second_line;
pub use siege::{SIEGE_LOG_HEAD, SiegeHit, siege_figures, siege_log_line};
pub use study::{ComparisonReport, Study, StudyFormat, endings};
pub use sweep::{bulk_perf_dat, sweep_csv, sweep_text};
pub use text::{SavedRow, one_line, saved_text};
pub use threshold::{missed_lines, threshold_lines};

use crate::record::RunRecord;
use std::io::{self, Write};

/// A format that records can be rendered in.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The name that `--format` takes.
    pub name: &'static str,
    /// One line for the help.
    pub summary: &'static str,
    /// The endings of its files, the usual one first; empty: they may have any.
    pub endings: &'static [&'static str],
    /// The function that renders it.
    pub render: Render,
}

/// How a format is rendered.
#[derive(Clone, Copy, Debug)]
pub enum Render {
    /// Text of one record, with a look.
    Text(fn(&RunRecord, Look) -> String),
    /// Text of one record.
    One(fn(&RunRecord) -> String),
    /// The record itself, byte for byte; all other formats get it with plain texts only.
    Exact(fn(&RunRecord, &mut dyn Write) -> io::Result<()>),
    /// Text of one record, or of several side by side.
    Several(fn(&[RunRecord], &mut dyn Write) -> io::Result<()>),
    /// A picture of all charts, or of one kind.
    Picture(fn(&[RunRecord], Option<ChartKind>) -> Vec<u8>),
}

/// The reason a format cannot show what was requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Several records, but the format shows one.
    #[error("--format {0} shows one run; name one RUN, or give one of {several}", several = several())]
    OneRun(&'static str),
    /// More records than can be distinguished.
    #[error("{0} runs are too many to tell apart; give at most {most}", most = chart::MOST_RUNS)]
    TooMany(usize),
    /// One chart, but the format has none or always shows all.
    #[error("--chart works with --format svg or png, not with {0}; leave it out")]
    NoPicture(&'static str),
    /// Texts that could steer a terminal, together with numbers that cannot be stored.
    #[error("it has control characters and impossible numbers; give a run.json as it was written")]
    Damaged,
}

impl Format {
    /// Renders records; pictures show only `chart`, if given.
    ///
    /// # Errors
    /// Returns an error if the format cannot show that many records, or has no charts to choose
    /// from.
    pub fn render(
        &self,
        records: &[RunRecord],
        chart: Option<ChartKind>,
    ) -> Result<Vec<u8>, Unfit> {
        self.render_as(records, chart, Look::default())
    }

    /// As [`Self::render`], with this look for text.
    ///
    /// # Errors
    /// Returns an error as [`Self::render`] does.
    pub fn render_as(
        &self,
        records: &[RunRecord],
        chart: Option<ChartKind>,
        look: Look,
    ) -> Result<Vec<u8>, Unfit> {
        let mut bytes = Vec::new();
        self.written(records, chart, look, &mut bytes)?.expect("memory takes everything");
        Ok(bytes)
    }

    /// Writes what [`Self::render`] returns for one record, without having all of it in memory.
    ///
    /// # Errors
    /// Returns the error of `out`.
    pub fn write(&self, record: &RunRecord, out: &mut dyn Write) -> io::Result<()> {
        let record = std::slice::from_ref(record);
        self.written(record, None, Look::default(), out).map_err(io::Error::other)?
    }

    fn written(
        &self,
        records: &[RunRecord],
        chart: Option<ChartKind>,
        look: Look,
        out: &mut dyn Write,
    ) -> Result<io::Result<()>, Unfit> {
        if records.len() > chart::MOST_RUNS {
            return Err(Unfit::TooMany(records.len()));
        }
        if let (Render::Exact(render), [record]) = (self.render, records) {
            return match chart {
                Some(_) => Err(Unfit::NoPicture(self.name)),
                None => Ok(render(record, out)),
            };
        }
        let mut cleaned: Option<Vec<RunRecord>> = cleaned(records).map_err(|_| Unfit::Damaged)?;
        // This is never stored, so it has to be copied.
        for (cleaned, record) in cleaned.iter_mut().flatten().zip(records) {
            cleaned.seen_running_ns = record.seen_running_ns;
        }
        let records = cleaned.as_deref().unwrap_or(records);
        match (self.render, records) {
            (Render::Picture(render), records) => Ok(out.write_all(&render(records, chart))),
            _ if chart.is_some() => Err(Unfit::NoPicture(self.name)),
            (Render::Several(render), records) => Ok(render(records, out)),
            (Render::Text(render), [record]) => Ok(out.write_all(render(record, look).as_bytes())),
            (Render::One(render), [record]) => Ok(out.write_all(render(record).as_bytes())),
            (Render::Text(_) | Render::One(_) | Render::Exact(_), _) => {
                Err(Unfit::OneRun(self.name))
            }
        }
    }

    /// Whether the output is binary, and unsuitable for a terminal.
    pub fn binary(&self) -> bool {
        self.name == "png"
    }
}

/// The names of the formats that show several runs.
fn several() -> String {
    let shows = |format: &&Format| matches!(format.render, Render::Several(_) | Render::Picture(_));
    let several = FORMATS.iter().filter(shows);
    several.map(|format| format.name).collect::<Vec<_>>().join(", ")
}

/// The format of this name.
pub fn format(name: &str) -> Option<Format> {
    FORMATS.iter().copied().find(|format| format.name == name)
}
