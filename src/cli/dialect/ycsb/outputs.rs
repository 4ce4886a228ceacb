//! What YCSB's dialect prints and writes during a run and after it.

use super::args::wrong;
use super::show::{self, Uniques};
use crate::cli::pipeline::dialect::{Dialect, deliver, render};
use crate::cli::print::print;
use crate::clock::{Nanos, wall_ns};
use crate::driver::{Echo, Shown};
use crate::measure::RawRow;
use crate::plan::{Invalid, MeasurementPlan, Plan, StagePlan};
use crate::record::{RunRecord, Running};
use crate::report::Format;
use crate::report::ycsb::{Status, hdr_logs, raw_rows};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::sync::Arc;

/// Prints status lines to stderr, and writes rows of `raw`, the report and logs.
pub(super) struct Outputs {
    plan: MeasurementPlan,
    stages: Vec<StagePlan>,
    connections: usize,
    status: Option<Status>,
    /// How many stages have had their last status line printed.
    ended: usize,
    /// The file for rows of `raw`; `None`: stdout.
    raw: Option<File>,
    /// The error that caused rows to be missing from that file, if any are.
    unwritten: Option<io::Error>,
    shown: Shown,
    /// Counts distinct operations, if the plan asks for that.
    uniques: Option<Arc<Uniques>>,
}

impl Outputs {
    /// The outputs that `plan` and `measurement` ask for.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub(super) fn open(
        plan: &Plan,
        measurement: MeasurementPlan,
        shown: Shown,
    ) -> Result<Self, Invalid> {
        let raw = measurement.measurement.is_raw() && !measurement.raw_file.is_empty();
        let raw = raw.then(|| append("measurement.raw.output_file", &measurement.raw_file));
        if !measurement.export_file.is_empty() {
            append("exportfile", &measurement.export_file)?;
        }
        Ok(Self {
            shown,
            uniques: shown.counted.then(Arc::default),
            raw: raw.transpose()?,
            unwritten: None,
            plan: measurement,
            stages: plan.stages.clone(),
            connections: plan.connections,
            status: None,
            ended: 0,
        })
    }

    fn tell(&mut self, running: &Running, last: bool) {
        let status = self.status.as_mut();
        if let Some(line) = status.and_then(|it| it.line(wall_ns(), running, last)) {
            eprintln!("{line}");
        }
    }
}

impl Dialect for Outputs {
    fn shows_progress(&self) -> bool {
        self.plan.status_s.is_some()
    }

    fn echo(&self) -> Option<Echo> {
        show::echo(self.shown, self.uniques.clone())
    }

    fn stage_begins(&mut self, stage: &str) {
        let stage = self.stages.iter().find(|it| it.name == stage);
        let planned = stage.and_then(|stage| stage.work.documents(self.connections));
        self.status = Status::new(&self.plan, planned);
    }

    fn running(&mut self, running: &Running) {
        self.tell(running, false);
    }

    fn raw(&mut self, rows: &[RawRow], epoch_ns: Nanos) {
        let text = raw_rows(&self.plan, rows, epoch_ns);
        match &mut self.raw {
            Some(file) => {
                // Reported at the end; the run continues.
                self.unwritten = file.write_all(text.as_bytes()).err().or(self.unwritten.take());
            }
            None => print(text.as_bytes()),
        }
    }

    // Prints the last status line of a stage once its record is complete.
    fn keep(&mut self, record: &RunRecord) {
        if let Some(stage) = record.stages.get(self.ended) {
            self.ended += 1;
            let (elapsed_s, operations) = (stage.elapsed_s, stage.operations.clone());
            let name = stage.name.clone();
            self.tell(&Running { name, elapsed_s, operations, ..Running::default() }, true);
        }
    }

    fn report(&mut self, record: &RunRecord, format: Option<Format>) -> Result<(), String> {
        let report = render(record, format, self.plan.exporter.format())?;
        let named = |name: &str, result: io::Result<()>| {
            result.map_err(|error| {
                format!("the report cannot be written: cannot write {name}: {error}")
            })
        };
        if let Some(uniques) = &self.uniques {
            uniques.print();
        }
        if self.plan.export_file.is_empty() {
            deliver(&report)?;
        } else {
            named(&self.plan.export_file, std::fs::write(&self.plan.export_file, &report))?;
        }
        for (name, log) in hdr_logs(record) {
            named(&name, std::fs::write(&name, log))?;
        }
        match self.unwritten.take() {
            Some(error) => named(&self.plan.raw_file, Err(error)),
            None => Ok(()),
        }
    }
}

/// Opens a file to append rows to.
fn append(property: &str, path: &str) -> Result<File, Invalid> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.map_err(|error| wrong(property, format!("{path}: {error}"), "choose a writable file"))
}
