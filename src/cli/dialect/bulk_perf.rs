//! `springload bulk-perf`: the command line and output files of svetlyak40wt's
//! couchdb-performance-tests (2008).

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Trouble};
use crate::cli::flags::checks::WriteArgs;
use crate::cli::flags::client::ClientArgs;
use crate::cli::flags::credentials::completed;
use crate::cli::flags::database::AUTHS;
use crate::cli::flags::known::choice;
use crate::cli::flags::output::OutputArgs;
use crate::cli::flags::target::addresses;
use crate::cli::pipeline::dialect::{Dialect, deliver};
use crate::cli::pipeline::{Job, carry_out};
use crate::cli::verb::sweep::preset::document;
use crate::plan::{self, Auth, FillPlan, Flagged, Invalid, PlanSpec, check};
use crate::record::RunRecord;
use crate::report::{Format, bulk_perf_dat, bulk_perf_picture};
use crate::sweep::CellResult;
use crate::workload::DocumentsAsked;
use crate::workload::bulk_insert::FillDemand;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::{fs, io};

/// `springload bulk-perf`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct BulkPerf {
    /// Documents in each request
    #[arg(value_parser = plan::count)]
    bulk_size: u64,
    /// Total number of documents
    ///
    /// Total number of documents; a last, incomplete request is left out
    #[arg(value_parser = plan::count)]
    doc_count: u64,
    /// Number of connections
    #[arg(value_parser = plan::count)]
    num_threads: u64,
    /// Server or database [default: the stand-in]
    #[arg(long_help = addresses())]
    target: Option<String>,
    /// How long to wait for a server that goes away
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = plan::duration_ns)]
    wait_for_server: u64,
    #[command(flatten)]
    writes: WriteArgs,
    #[command(flatten)]
    client: ClientArgs,
    /// Keep the database that this run creates
    #[arg(long)]
    keep: bool,
    /// How to authenticate
    #[arg(long, default_value = "cookie", value_parser = choice(&AUTHS))]
    auth: Auth,
    /// The folder for the series and for run.json
    ///
    /// The folder for the series and for run.json [default: the current folder; for run.json
    /// springload-runs/TIME]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

fn spec(args: &BulkPerf, command: &str) -> PlanSpec {
    let batch = args.bulk_size;
    let work = FillDemand(DocumentsAsked {
        documents: Flagged::new("DOC_COUNT", args.doc_count / batch.max(1) * batch),
        batch: Flagged::new("BULK_SIZE", batch),
        within_ns: None,
        operations: Flagged::new("DOC_COUNT", Some(0)),
        warmup_ns: 0,
    });
    let connections = Flagged::new("NUM_THREADS", args.num_threads);
    args.writes.complete(PlanSpec {
        target: args.target.clone(),
        keep: args.keep,
        auth: Flagged::new("--auth", args.auth),
        schemas: vec![("--schema", document(), 1)],
        fill: FillPlan { wait_for_server_ns: Some(args.wait_for_server), growth: true },
        ..args.client.complete(PlanSpec::new(command, connections, Arc::new(work)))
    })
}

impl Verb for BulkPerf {
    const NAME: &'static str = "bulk-perf";
    const ABOUT: &'static str = "couchdb-performance-tests (2008): rates as a database grows";
    const FAMILY: Family = Family::Dialect;
    const BRIEF: &'static str =
        "bulk_size doc_count num_threads target keep wait_for_server output quiet seed timeout";
    const EXAMPLES: [Example; 3] = [
        (
            "Documents in batches of 100, over 4 connections, into the stand-in",
            "bulk-perf 100 100000 4",
        ),
        ("The same into a CouchDB", "bulk-perf 100 100k 4 localhost:5984"),
        ("Files in another folder", "bulk-perf 1000 1M 1 localhost:5984 -o results"),
    ];

    fn carry_out(mut self, call: &Call<'_>) -> Result<Exit, Trouble> {
        if let Some(target) = &mut self.target {
            *target = completed(target)?;
        }
        let BulkPerf { bulk_size, doc_count, num_threads, .. } = self;
        let mistake = if bulk_size == 0 || doc_count < bulk_size {
            let problem = "there are too few documents for one request";
            let cure = "give a BULK_SIZE above 0, and at least as many documents";
            Some(Invalid::new("DOC_COUNT", problem, cure))
        } else if num_threads == 0 {
            Some(Invalid::new("NUM_THREADS", "there would be no workers", "give at least 1"))
        } else {
            None
        };
        let plan = mistake.map_or_else(|| check(&spec(&self, call.line)), |it| Err(vec![it]));
        let output = OutputArgs::bare(self.output.clone(), self.quiet);
        let job = Job { plan, mistakes: Vec::new(), noise: Self::FAMILY.noise(), output: &output };
        carry_out(job, |_| Ok(FillSeries(&self)))
    }
}

/// Writes the series of a fill, its legend and its plot.
struct FillSeries<'a>(&'a BulkPerf);

impl Dialect for FillSeries<'_> {
    fn tells_folder(&self) -> bool {
        false
    }

    fn report(&mut self, record: &RunRecord, _format: Option<Format>) -> Result<(), String> {
        let headline = CellResult::of(record, true).unwrap_or_default();
        let file = write(self.0, &headline)
            .map_err(|error| format!("cannot write the series: {error}"))?;
        let mut text = format!("{:.1} docs/s, {} documents\n", headline.per_s, headline.ok);
        for warning in &headline.warnings {
            let _ = writeln!(text, "! {warning}");
        }
        let _ = writeln!(text, "{}", file.display());
        deliver(text.as_bytes())
    }
}

/// Writes all three files, the first two under the original's names.
fn write(args: &BulkPerf, headline: &CellResult) -> io::Result<PathBuf> {
    let (bulk, documents, threads) = (args.bulk_size, args.doc_count, args.num_threads);
    let base = args.output.clone().unwrap_or_default();
    let file = base.join(format!("bulk-perf-{bulk}-{documents}-{threads}.dat"));
    let curve = headline.curve.clone().unwrap_or_default();
    fs::write(&file, bulk_perf_dat(&curve))?;
    let legend = format!("Bulk size: {bulk}, num threads: {threads}");
    fs::write(file.with_extension("dat.meta"), format!("{legend}\n"))?;
    let picture = bulk_perf_picture(&curve, &legend, &headline.warnings);
    fs::write(file.with_extension("png"), picture)?;
    Ok(file)
}
