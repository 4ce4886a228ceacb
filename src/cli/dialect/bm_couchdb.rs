//! `springload bm-couchdb`: the command line, tables and plots of Dahk's `couchdb_benchmark`.

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Trouble};
use crate::cli::flags::credentials::completed_nodes;
use crate::cli::pipeline::dialect::{Dialect, deliver};
use crate::cli::pipeline::{Job, carry_out};
use crate::cli::verb::burst::{BurstArgs, spec};
use crate::clock::SECOND_NS;
use crate::plan::{self, Flagged, Invalid, LoadSpec, check};
use crate::record::RunRecord;
use crate::report::{self, Format, burst_csv, burst_picture, burst_seconds, burst_text};
use crate::workload::burst::{BodySize, BurstDemand, Filling, Role};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// `springload bm-couchdb`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct BmCouchdb {
    /// Number of workers
    #[arg(short = 'n', value_name = "N", default_value = "1", value_parser = plan::count)]
    workers: u64,
    /// Length of the burst in seconds
    #[arg(short = 't', value_name = "SECONDS", default_value = "5", value_parser = plan::count)]
    seconds: u64,
    /// Size of the string in each document, in bytes
    #[arg(short = 's', value_name = "SIZE", default_value = "10", value_parser = plan::count)]
    size: u64,
    /// Write documents [default, even if both are given]
    #[arg(long)]
    write: bool,
    /// Read documents
    #[arg(long)]
    read: bool,
    #[command(flatten)]
    common: BurstArgs,
}

impl Verb for BmCouchdb {
    const NAME: &'static str = "bm-couchdb";
    const ABOUT: &'static str = "Dahk's couchdb_benchmark: command line and output files";
    const FAMILY: Family = Family::Dialect;
    const BRIEF: &'static str = "target workers seconds size write read output quiet";
    const EXAMPLES: [Example; 3] = [
        ("Writers for 20 seconds", "bm-couchdb http://localhost:5984 -n 100 -t 20"),
        (
            "Readers of larger documents",
            "bm-couchdb http://localhost:5984 -n 100 -t 20 -s 250 --read",
        ),
        ("Tables and plots in another folder", "bm-couchdb http://localhost:5984 -n 10 -o results"),
    ];

    fn carry_out(mut self, call: &Call<'_>) -> Result<Exit, Trouble> {
        self.common.target.target = completed_nodes(&self.common.target.target)?;
        let reads = self.read && !self.write;
        let common = &self.common;
        let burst = BurstDemand {
            roles: vec![if reads { Role::Read } else { Role::Write }],
            length_ns: Flagged::new("-t", self.seconds.saturating_mul(SECOND_NS)),
            size: Flagged::new("-s", BodySize { bytes: self.size, wire: common.wire_size }),
            filling: common.body.unwrap_or(Filling::Zeros),
            conditional: common.conditional,
            gather_ns: common.gather,
            rounds: 1,
            every_ns: 0,
        };
        let closed = LoadSpec::Closed { think_ns: 0 };
        let (spec, mut mistakes) =
            spec(common, Flagged::new("-n", self.workers), burst, closed, call.line);
        let output = &common.output;
        let own = [
            ("--dry-run", output.dry_run),
            ("--metrics", output.metrics.address.is_some()),
            ("--jsonl", output.live.lines_on_stdout()),
            ("--format", output.format.is_some()),
        ];
        if let Some((flag, _)) = own.into_iter().find(|(_, given)| *given) {
            let problem = "bm-couchdb has its own report";
            mistakes.push(Invalid::new(flag, problem, "use springload burst"));
        }
        let files = Files { args: &self, actions: if reads { "reads" } else { "writes" } };
        carry_out(Job { plan: check(&spec), mistakes, noise: Self::FAMILY.noise(), output }, |_| {
            Ok(files)
        })
    }
}

/// The original's figures, its two tables and its two plots.
struct Files<'a> {
    args: &'a BmCouchdb,
    /// The operations of the workers.
    actions: &'static str,
}

impl Dialect for Files<'_> {
    fn tells_folder(&self) -> bool {
        false
    }

    fn report(&mut self, record: &RunRecord, _format: Option<Format>) -> Result<(), String> {
        deliver(burst_text(record, self.actions).as_bytes())?;
        let base = self.args.common.output.output.clone().unwrap_or_else(|| PathBuf::from("."));
        let written = self.write(record, &base);
        let files =
            written.map_err(|error| format!("cannot write to {}: {error}", base.display()))?;
        let lines = files.iter().map(|file| format!("Writing {}\n", file.display()));
        deliver(lines.collect::<String>().as_bytes())
    }
}

impl Files<'_> {
    fn write(&self, record: &RunRecord, base: &Path) -> io::Result<Vec<PathBuf>> {
        let Some(stage) = record.measured().next() else { return Ok(Vec::new()) };
        let plan = record.plan_of(stage);
        let seconds = burst_seconds(stage, plan.and_then(|plan| plan.length_ns));
        let warnings: Vec<String> = record.warnings.iter().map(|it| it.message.clone()).collect();
        let BmCouchdb { workers, seconds: length, size, .. } = self.args;
        let role = if self.actions == "reads" { "readers" } else { "writers" };
        let name = format!("couchdb_{workers}{role}_{length}sec_{size}bytes");
        let title = format!("{workers} {role}, {length} sec, {size} bytes");
        let (tables, plots) = (base.join("csv"), base.join("plots"));
        fs::create_dir_all(&tables)?;
        fs::create_dir_all(&plots)?;
        let mut files = Vec::new();
        for (kind, per_worker) in [("average", true), ("sum", false)] {
            let table = tables.join(format!("{name}_{kind}.csv"));
            fs::write(&table, burst_csv(&seconds, per_worker))?;
            let plot = plots.join(format!("{name}_{kind}.png"));
            let picture = burst_picture(&seconds, &title, self.actions, per_worker, &warnings);
            fs::write(&plot, picture)?;
            files.extend([table, plot]);
        }
        // Without agents, the files are those of the original.
        if let Some(format) = report::format("agents-csv").filter(|_| !record.agents.is_empty())
            && let Ok(csv) = format.render(std::slice::from_ref(record), None)
        {
            let table = tables.join(format!("{name}_agents.csv"));
            fs::write(&table, csv)?;
            files.push(table);
        }
        Ok(files)
    }
}
