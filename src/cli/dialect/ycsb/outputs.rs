//! What YCSB's dialect prints and writes while a run goes on and after it.

use super::show::{self, Uniques};
use crate::cli::pipeline::output::print;
use crate::clock::{Nanos, wall_ns};
use crate::driver::basic::Echo;
use crate::measure::RawRow;
use crate::plan::{BasicPlan, Invalid, MeasurementPlan, Plan, StageKind, StagePlan};
use crate::record::{RunRecord, Running};
use crate::report::ycsb::{Status, hdr_logs, raw_rows};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::sync::Arc;

/// Status lines on stderr, rows of `raw`, report and logs.
pub(in crate::cli) struct Outputs {
    plan: MeasurementPlan,
    stages: Vec<StagePlan>,
    status: Option<Status>,
    /// Stages whose last status line was printed.
    ended: usize,
    /// Where rows of `raw` go; `None`: to stdout.
    raw: Option<File>,
    basic: BasicPlan,
    /// Where different operations are counted, if they are.
    uniques: Option<Arc<Uniques>>,
}

impl Outputs {
    /// What `plan` asks for; `None`: the dialect is not spoken.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(in crate::cli) fn open(plan: &Plan) -> Result<Option<Self>, Invalid> {
        let Some(measurement) = plan.ycsb.clone() else { return Ok(None) };
        let raw = measurement.measurement.is_raw() && !measurement.raw_file.is_empty();
        let raw = raw.then(|| append("measurement.raw.output_file", &measurement.raw_file));
        if !measurement.export_file.is_empty() {
            append("exportfile", &measurement.export_file)?;
        }
        let basic = plan.target.basic.unwrap_or_default();
        Ok(Some(Self {
            basic,
            uniques: basic.counted.then(Arc::default),
            raw: raw.transpose()?,
            plan: measurement,
            stages: plan.stages.clone(),
            status: None,
            ended: 0,
        }))
    }

    /// Whether status lines take the place of other progress.
    pub(in crate::cli) const fn tells_status(&self) -> bool {
        self.plan.status_s.is_some()
    }

    /// Who is handed the operations that `basic` shows, if it does.
    pub(in crate::cli) fn echo(&self) -> Option<Echo> {
        show::echo(self.basic, self.uniques.clone())
    }

    pub(in crate::cli) fn stage_begins(&mut self, stage: &str) {
        let stage = self.stages.iter().find(|it| it.name == stage).map(|it| &it.kind);
        let planned = stage.and_then(|kind| match kind {
            StageKind::Ycsb(ycsb) => ycsb.records().or(ycsb.operations),
            _ => None,
        });
        self.status = Status::new(&self.plan, planned);
    }

    pub(in crate::cli) fn running(&mut self, running: &Running) {
        self.tell(running, false);
    }

    fn tell(&mut self, running: &Running, last: bool) {
        let status = self.status.as_mut();
        if let Some(line) = status.and_then(|it| it.line(wall_ns(), running, last)) {
            eprintln!("{line}");
        }
    }

    pub(in crate::cli) fn raw(&mut self, rows: &[RawRow], epoch_ns: Nanos) {
        let text = raw_rows(&self.plan, rows, epoch_ns);
        match &mut self.raw {
            Some(file) => {
                // A full disk is told of when the report is written, if not here.
                let _ = file.write_all(text.as_bytes());
            }
            None => print(text.as_bytes()),
        }
    }

    /// Tells the end of a stage, once it is on record.
    pub(in crate::cli) fn keep(&mut self, record: &RunRecord) {
        if let Some(stage) = record.stages.get(self.ended) {
            self.ended += 1;
            let (elapsed_s, operations) = (stage.elapsed_s, stage.operations.clone());
            let name = stage.name.clone();
            self.tell(&Running { name, elapsed_s, operations, ..Running::default() }, true);
        }
    }

    /// Writes the report to its file, or prints it, and the logs. Counts that `basic` has made come
    /// before.
    ///
    /// # Errors
    /// When a file cannot be written; which one is told with the reason.
    pub(in crate::cli) fn report(&self, record: &RunRecord, report: &[u8]) -> io::Result<()> {
        let named = |name: &str, result: io::Result<()>| {
            result.map_err(|error| io::Error::other(format!("{name} cannot be written: {error}")))
        };
        if let Some(uniques) = &self.uniques {
            uniques.print();
        }
        if self.plan.export_file.is_empty() {
            print(report);
        } else {
            named(&self.plan.export_file, std::fs::write(&self.plan.export_file, report))?;
        }
        for (name, log) in hdr_logs(record) {
            named(&name, std::fs::write(&name, log))?;
        }
        Ok(())
    }
}

/// Opens a file that rows are added to.
fn append(property: &str, path: &str) -> Result<File, Invalid> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.map_err(|error| {
        super::wrong(property, format!("{path}: {error}"), "name a file that can be written")
    })
}
