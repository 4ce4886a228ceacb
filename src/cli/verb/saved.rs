//! The runs saved in a folder: an outline of each for lists, and finding one by name.
//!
//! A list reads only the outlines of records; other files in the folder are listed as unreadable.

use crate::cli::pipeline::folder::RUNS;
use crate::plan::Purpose;
use crate::record::{RunRecord, SCHEMA_VERSION, Verdict};
use crate::report::{RunFileError, read_json};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The file of a sweep in its folder.
const SWEEP: &str = "sweep.json";

/// A run as a list shows it.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct Saved {
    /// The name that `show` and `report` take.
    pub(in crate::cli) id: String,
    /// Where the record is.
    pub(in crate::cli) file: PathBuf,
    /// The record's size, in bytes.
    pub(in crate::cli) size_bytes: u64,
    #[serde(flatten)]
    pub(in crate::cli) state: Content,
}

/// A run's outline, or why there is none.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(in crate::cli) enum Content {
    /// The outline of its record.
    Readable(Outline),
    /// Why not.
    Unreadable { unreadable: String },
}

/// The parts of a record that a list shows.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::cli) struct Outline {
    #[serde(skip_serializing)]
    schema_version: u32,
    /// When the run began, in UTC, as RFC 3339.
    pub(in crate::cli) started_at: String,
    /// The run was stopped.
    pub(in crate::cli) partial: bool,
    pub(in crate::cli) plan: PlanOutline,
    pub(in crate::cli) server: ServerOutline,
    pub(in crate::cli) stages: Vec<StageOutline>,
    #[serde(default, skip_serializing)]
    thresholds: Vec<JudgementOutline>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::cli) struct PlanOutline {
    /// The command line, without any password.
    pub(in crate::cli) command: String,
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
struct JudgementOutline {
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
    /// The stages whose numbers count.
    fn measured(&self) -> impl DoubleEndedIterator<Item = &StageOutline> {
        self.stages.iter().filter(|stage| stage.purpose().is_measured())
    }

    /// Documents that succeeded per second in the last stage, over all kinds.
    pub(in crate::cli) fn ok_per_s(&self) -> Option<f64> {
        let last = self.measured().next_back()?;
        Some(last.operations.iter().map(|operation| operation.throughput_per_s).sum())
    }

    /// How the run ended; the most important reason, in the order of exit statuses.
    pub(in crate::cli) fn verdict(&self) -> &'static str {
        let spoilt = self.measured().find(|stage| !stage.verdict.trustworthy());
        match spoilt.or_else(|| self.measured().next_back()).map(|stage| stage.verdict) {
            _ if self.partial => "partial",
            None | Some(Verdict::Empty) => "nothing measured",
            Some(Verdict::ClientBound { .. }) => "client-bound",
            Some(Verdict::Degraded { .. }) => "degraded",
            Some(Verdict::AgentsLost { .. }) => "agents lost",
            Some(Verdict::NotSustained { .. }) => "not sustained",
            _ if self.thresholds.iter().any(|it| it.broken) => "threshold missed",
            Some(Verdict::Sustained) => "sustained",
            Some(Verdict::Closed) => "valid",
            Some(Verdict::TooShort) => "too short to judge",
        }
    }
}

impl Saved {
    fn read(id: String, file: PathBuf) -> Self {
        let size_bytes = fs::metadata(&file).map_or(0, |data| data.len());
        let state = match outline(&file) {
            Ok(outline) => Content::Readable(outline),
            Err(unreadable) => Content::Unreadable { unreadable },
        };
        Self { id, file, size_bytes, state }
    }

    fn foreign(id: String, file: PathBuf, why: &str) -> Self {
        let size_bytes = fs::metadata(&file).map_or(0, |data| data.len());
        Self { id, file, size_bytes, state: Content::Unreadable { unreadable: why.to_owned() } }
    }

    /// When the run began; empty if unknown.
    fn began(&self) -> &str {
        match &self.state {
            Content::Readable(outline) => &outline.started_at,
            Content::Unreadable { .. } => "",
        }
    }
}

fn outline(file: &Path) -> Result<Outline, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("cannot be read: {error}"))?;
    let outline: Outline =
        serde_json::from_str(&text).map_err(|error| format!("not a complete run.json: {error}"))?;
    if outline.schema_version > SCHEMA_VERSION {
        return Err("written by a newer springload".to_owned());
    }
    Ok(outline)
}

/// Everything in `folder`: runs, newest first, then the rest.
///
/// # Errors
/// When the folder cannot be read.
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
        if records.is_empty() {
            found.push(Saved::foreign(name.clone(), path, "contains no run.json"));
        }
        found.extend(records.into_iter().map(|file| {
            let own = file.file_name().unwrap_or_default().to_string_lossy();
            let id = if own == "run.json" { name.clone() } else { format!("{name}/{own}") };
            Saved::read(id, file)
        }));
    }
    found.sort_by(|a, b| b.began().cmp(a.began()).then_with(|| a.id.cmp(&b.id)));
    Ok(found)
}

/// `run.json` of a run's folder, and older ones that later runs moved aside.
fn records(folder: &Path) -> Vec<PathBuf> {
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

/// Reads the record that `name` means: a path, a run's name or a unique start of it, `latest` or
/// `latest~N`.
///
/// # Errors
/// One line that names the mistake and the cure.
pub(in crate::cli) fn read(name: &Path) -> Result<RunRecord, String> {
    let path = find(name, Path::new(RUNS)).map_err(|mistake| format!("RUN: {mistake}"))?;
    let file = if path.is_dir() { path.join("run.json") } else { path };
    let shown = file.display();
    let text = fs::read_to_string(&file).map_err(|error| {
        format!("RUN: cannot read {shown}: {error}; name a run.json or its folder")
    })?;
    read_json(&text).map_err(|error| match error {
        RunFileError::Absent(_) => format!("RUN: {shown} is {error}"),
        _ => format!("RUN: {shown} is {error}; name a complete run.json"),
    })
}

/// The `sweep.json` that `name` means: the file, or a sweep's folder by path or name.
pub(in crate::cli) fn sweep_file(name: &Path) -> Option<PathBuf> {
    let path = find(name, Path::new(RUNS)).ok()?;
    let own = path.file_name().is_some_and(|own| own == SWEEP);
    let file = if own { path } else { path.join(SWEEP) };
    file.is_file().then_some(file)
}

/// Finds the run of that name in `folder`. An existing path takes precedence.
fn find(name: &Path, folder: &Path) -> Result<PathBuf, String> {
    let text = name.to_string_lossy();
    let is_path = text.contains(std::path::MAIN_SEPARATOR) || text.ends_with(".json");
    if name.exists() || text.is_empty() {
        return Ok(name.to_owned());
    }
    let saved = list(folder).unwrap_or_default();
    if let Some(back) = steps_back(&text) {
        let readable = saved.iter().filter(|it| matches!(it.state, Content::Readable(_)));
        let (mut newest, count) = (readable.clone(), readable.count());
        return newest.nth(back).map(|it| it.file.clone()).ok_or_else(|| {
            let place = folder.display();
            format!("{text} does not exist: {place} contains {count} runs; see springload list")
        });
    }
    if let Some(exact) = saved.iter().find(|it| it.id == text) {
        return Ok(exact.file.clone());
    }
    let begins = |it: &&Saved| it.id.starts_with(&*text) && !it.id.contains('/');
    let alike: Vec<&Saved> = saved.iter().filter(begins).collect();
    match alike[..] {
        [one] => Ok(one.file.clone()),
        // Reading it will report what is wrong.
        [] if is_path => Ok(name.to_owned()),
        [] => Err(format!("no run has a name that begins with {text:?}; see springload list")),
        [first, second, ..] => Err(format!(
            "{} runs begin with {text:?}, such as {} and {}; give more of the name",
            alike.len(),
            first.id,
            second.id
        )),
    }
}

/// `latest` is 0, `latest~N` is N.
fn steps_back(name: &str) -> Option<usize> {
    match name.strip_prefix("latest")? {
        "" => Some(0),
        rest => rest.strip_prefix('~')?.parse().ok(),
    }
}

#[cfg(test)]
#[path = "saved_tests.rs"]
mod tests;
