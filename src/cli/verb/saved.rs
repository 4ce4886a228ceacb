//! Outlines of the runs, sweeps, searches and comparisons saved in a folder, or elsewhere and
//! remembered.
//!
//! An outline is read without the rest of its record. Other files are reported as unreadable.

use super::kept::Several;
use super::kinds;
use super::reading::{Unreadable, broken, read_text};
use crate::cli::pipeline::folder::RUNS;
use crate::cli::remembered::{self, Remembered};
use crate::plan::Purpose;
use crate::record::{RunResult, SCHEMA_VERSION, Verdict, too_short_for_a_rate};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The outline of a run, sweep, search or comparison, for a list.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct Saved {
    /// The name that `show` and `report` take; the folder, if it is saved elsewhere.
    pub(in crate::cli) id: String,
    /// The path of the record.
    pub(in crate::cli) file: PathBuf,
    /// Whether it is in `springload-runs` or elsewhere below the current folder.
    #[serde(skip)]
    pub(in crate::cli) here: bool,
    pub(in crate::cli) size_bytes: u64,
    #[serde(flatten)]
    pub(in crate::cli) state: Content,
}

/// An outline, or the reason there is none.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(in crate::cli) enum Content {
    Readable(Outline),
    /// The outline of a sweep, search or comparison.
    Several(Several),
    /// The reason there is none.
    Unreadable {
        unreadable: Unreadable,
    },
}

/// The parts of a record that a list shows.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::cli) struct Outline {
    #[serde(skip_serializing)]
    schema_version: u32,
    /// When the run began, in UTC, as RFC 3339.
    pub(in crate::cli) started_at: String,
    /// Whether the run was stopped.
    pub(in crate::cli) partial: bool,
    pub(in crate::cli) plan: PlanOutline,
    pub(in crate::cli) server: ServerOutline,
    pub(in crate::cli) stages: Vec<StageOutline>,
    #[serde(default, skip_serializing)]
    thresholds: Vec<JudgmentOutline>,
    #[serde(default, skip_serializing)]
    regressions: Vec<JudgmentOutline>,
    /// As stored; older records have none.
    #[serde(default)]
    pub(in crate::cli) result: Option<RunResult>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::cli) struct PlanOutline {
    /// The command line, without any password.
    pub(in crate::cli) command: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) label: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::cli) struct ServerOutline {
    pub(in crate::cli) url: String,
    pub(in crate::cli) stand_in: bool,
    pub(in crate::cli) database: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::cli) struct StageOutline {
    pub(in crate::cli) name: String,
    #[serde(default, skip_serializing)]
    plan: Option<StagePlanOutline>,
    pub(in crate::cli) elapsed_s: f64,
    #[serde(default, skip_serializing)]
    measured_s: f64,
    pub(in crate::cli) verdict: Verdict,
    pub(in crate::cli) operations: Vec<OperationOutline>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::cli) struct OperationOutline {
    kind: String,
    ok: u64,
    throughput_per_s: f64,
}

#[derive(Debug, Deserialize)]
struct JudgmentOutline {
    broken: bool,
}

#[derive(Debug, Deserialize)]
struct StagePlanOutline {
    purpose: Option<Purpose>,
}

impl StageOutline {
    fn purpose(&self) -> Purpose {
        let stated = self.plan.as_ref().and_then(|plan| plan.purpose);
        stated.unwrap_or_else(|| Purpose::of_name(&self.name))
    }
}

impl Outline {
    fn measured(&self) -> impl DoubleEndedIterator<Item = &StageOutline> {
        self.stages.iter().filter(|stage| stage.purpose().is_measured())
    }

    /// Documents that succeeded per second in the last stage, of all kinds; `None` if it was too
    /// short for a rate.
    pub(in crate::cli) fn ok_per_s(&self) -> Option<f64> {
        let last = self.measured().next_back()?;
        let per_s: f64 = last.operations.iter().map(|it| it.throughput_per_s).sum();
        let seconds = if last.measured_s > 0.0 { last.measured_s } else { last.elapsed_s };
        let all = last.operations.iter().map(|it| it.ok).sum();
        let ok = (per_s * seconds).round() as u64;
        too_short_for_a_rate(ok, all, seconds).is_none().then_some(per_s)
    }

    /// How the run ended: the most important reason, in the order of exit statuses.
    pub(in crate::cli) fn verdict(&self) -> &'static str {
        let spoilt = self.measured().find(|stage| !stage.verdict.trustworthy());
        match spoilt.or_else(|| self.measured().next_back()).map(|stage| stage.verdict) {
            _ if self.partial => "partial",
            Some(Verdict::Unfinished) => "unfinished",
            None | Some(Verdict::Empty) => "nothing measured",
            Some(Verdict::ClientBound { .. }) => "client-bound",
            Some(Verdict::Degraded { .. }) => "degraded",
            Some(Verdict::AgentsLost { .. }) => "agents lost",
            Some(Verdict::NotSustained { .. }) => "not sustained",
            Some(Verdict::BoundByConnections { .. }) => "bound by its connections",
            _ if self.thresholds.iter().any(|it| it.broken) => "threshold missed",
            _ if self.regressions.iter().any(|it| it.broken) => "worse than the baseline",
            Some(Verdict::Sustained) => "sustained",
            Some(Verdict::Closed) => "valid",
            Some(Verdict::Drilled) => "drilled",
            Some(Verdict::TooShort) => "too short to judge",
        }
    }
}

impl Saved {
    fn read(id: String, file: PathBuf) -> Self {
        // Opening a pipe would block, and a device could be read forever.
        if file.exists() && !file.is_file() {
            return Self::foreign(id, file, "not a regular file");
        }
        let state = match kinds::of_file(&file) {
            Some(kind) => (kind.outline)(&file).map(Content::Several),
            None => outline(&file).map(Content::Readable),
        };
        Self::new(id, file, state)
    }

    fn foreign(id: String, file: PathBuf, why: &str) -> Self {
        Self::new(id, file, Err(Unreadable::Other(why.to_owned())))
    }

    fn new(id: String, file: PathBuf, state: Result<Content, Unreadable>) -> Self {
        let size_bytes = fs::metadata(&file).map_or(0, |data| data.len());
        let state = state.unwrap_or_else(|unreadable| Content::Unreadable { unreadable });
        Self { id, file, here: true, size_bytes, state }
    }

    /// When it began, in UTC, as RFC 3339; empty if unknown.
    pub(in crate::cli) fn began(&self) -> &str {
        match &self.state {
            Content::Readable(outline) => &outline.started_at,
            Content::Several(outline) => &outline.started_at,
            Content::Unreadable { .. } => "",
        }
    }

    pub(in crate::cli) fn label(&self) -> Option<&str> {
        match &self.state {
            Content::Readable(outline) => outline.plan.label.as_deref(),
            Content::Several(outline) => outline.label.as_deref(),
            Content::Unreadable { .. } => None,
        }
    }

    pub(in crate::cli) const fn is_readable(&self) -> bool {
        !matches!(self.state, Content::Unreadable { .. })
    }

    /// Whether it is a run that can be read.
    pub(in crate::cli) const fn is_run(&self) -> bool {
        matches!(self.state, Content::Readable(_))
    }

    /// Whether it marks its folder as one of springload's, unlike any other file.
    pub(in crate::cli) fn is_own(&self) -> bool {
        let own = self.file.ends_with("run.json") || kinds::of_file(&self.file).is_some();
        // A file next to the folders of runs has its file name as its ID.
        own && self.file.is_file() && !self.file.ends_with(&self.id)
    }
}

fn outline(file: &Path) -> Result<Outline, Unreadable> {
    let text = read_text(file)?;
    let outline = serde_json::from_str::<Outline>(&text).map_err(|error| error.to_string());
    let known = |it: Outline| match it.schema_version {
        0..=SCHEMA_VERSION => Ok(it),
        other => Err(format!("unknown schema_version {other}")),
    };
    outline.and_then(known).map_err(|error| broken("run.json", &text, SCHEMA_VERSION, &error))
}

/// The contents of `springload-runs` and what is remembered, newest first; then everything else in
/// that folder.
pub(in crate::cli) fn everywhere() -> Vec<Saved> {
    // The folder may not exist yet, or not any more.
    let mut found = list(Path::new(RUNS)).unwrap_or_default();
    let (here, local) = (std::env::current_dir().ok(), Path::new(RUNS).canonicalize().ok());
    let elsewhere = remembered::all().into_iter().filter(|it| it.path.parent() != local.as_deref());
    for Remembered { path, .. } in elsewhere {
        let near = here.as_deref().and_then(|here| path.strip_prefix(here).ok());
        let is_near = near.is_some();
        let id = near.filter(|it| !it.as_os_str().is_empty()).unwrap_or(&path);
        let id = id.display().to_string();
        let several = kinds::in_folder(&path).map(|(_, file)| file);
        let file = several.unwrap_or_else(|| path.join("run.json"));
        found.push(Saved { here: is_near, ..Saved::read(id, file) });
    }
    sort(&mut found);
    found
}

/// Those in this folder or, if there are none, all of them: runs of two projects are not mixed.
pub(super) fn nearest(saved: &[Saved], wanted: impl Fn(&Saved) -> bool) -> Vec<&Saved> {
    let found: Vec<_> = saved.iter().filter(|it| wanted(it)).collect();
    let here: Vec<_> = found.iter().copied().filter(|it| it.here).collect();
    if here.is_empty() { found } else { here }
}

/// Everything in `folder`: the readable entries, newest first, then the rest.
///
/// # Errors
/// Fails if the folder cannot be read.
pub(in crate::cli) fn list(folder: &Path) -> io::Result<Vec<Saved>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        if !path.is_dir() {
            let json = path.extension().is_some_and(|it| it == "json");
            let foreign = || Saved::foreign(name.clone(), path.clone(), "not a run.json");
            found.push(if json { Saved::read(name.clone(), path.clone()) } else { foreign() });
            continue;
        }
        let records = records(&path);
        if let Some((_, file)) = kinds::in_folder(&path) {
            found.push(Saved::read(name.clone(), file));
        } else if records.is_empty() {
            found.push(Saved::foreign(name.clone(), path, "contains no run.json"));
        }
        found.extend(records.into_iter().map(|file| {
            let own = file.file_name().unwrap_or_default().to_string_lossy();
            let id = if own == "run.json" { name.clone() } else { format!("{name}/{own}") };
            Saved::read(id, file)
        }));
    }
    sort(&mut found);
    Ok(found)
}

fn sort(found: &mut [Saved]) {
    let order = |a: &Saved, b: &Saved| {
        let unreadable = a.is_readable().cmp(&b.is_readable()).reverse();
        unreadable.then_with(|| b.began().cmp(a.began())).then_with(|| a.id.cmp(&b.id))
    };
    found.sort_by(order);
}

/// `run.json` in a run's folder, and older ones that later runs moved aside.
pub(super) fn records(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let is_record = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let middle = name.strip_prefix("run").and_then(|rest| rest.strip_suffix(".json"));
        let number = |rest: &str| rest.strip_prefix('-').is_some_and(|n| n.parse::<u32>().is_ok());
        middle.is_some_and(|middle| middle.is_empty() || number(middle))
    };
    paths.filter(is_record).collect()
}

#[cfg(test)]
#[path = "saved_tests.rs"]
mod tests;
