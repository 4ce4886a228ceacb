//! `springload burst`, and `springload bm-couchdb`, the command line of Dahk's
//! `couchdb_benchmark`.

use crate::cli::exit::Exit;
use crate::cli::flags::shared::{ClientArgs, DatabaseArgs};
use crate::cli::pipeline::carry::{carry_out, checked, ready};
use crate::cli::pipeline::output::{OutputArgs, print};
use crate::cli::pipeline::{Execution, execute};
use crate::clock::SECOND_NS;
use crate::engine::{Arrivals, DEFAULT_SLACK_NS, Segment};
use crate::plan::{self, BurstSpec, CrudOrder, FillPlan, Invalid, LoadSpec, PlanSpec};
use crate::record::RunRecord;
use crate::report::{burst_csv, burst_picture, burst_seconds, burst_text};
use crate::workload::{BodySize, Filling, Mix, Role};
use clap::ValueEnum;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// What both command lines have in common.
#[derive(Debug, clap::Args)]
struct Common {
    /// http(s)://[user:password@]host:port[/database]; without it, the embedded stand-in
    target: Option<String>,
    /// What the body of a document is made of
    #[arg(long, value_enum, value_name = "FILLING")]
    body: Option<FillingArg>,
    /// SIZE is that of the whole JSON body on the wire, not of the string in it
    #[arg(long)]
    wire_size: bool,
    /// Readers send If-None-Match with what they have read, as clients that keep it do
    #[arg(long)]
    conditional: bool,
    /// How long the start waits for workers to connect
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = plan::duration_ns)]
    gather: u64,
    /// Threads to share the workers [default: one per core, half of them for the stand-in]
    #[arg(long, value_name = "N", value_parser = plan::count)]
    threads: Option<u64>,
    #[command(flatten)]
    client: ClientArgs,
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// `springload burst`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Workers: each has one connection and one document
    #[arg(short = 'n', long, value_name = "N", default_value = "100", value_parser = plan::count)]
    workers: u64,
    /// How long each burst is
    #[arg(short, long, value_name = "TIME", default_value = "20s", value_parser = plan::duration_ns)]
    time: u64,
    /// Bytes of the string in each document
    #[arg(short, long, value_name = "SIZE", default_value = "250", value_parser = plan::count)]
    size: u64,
    /// Create the document, then update it again and again [default]
    #[arg(long, conflicts_with_all = ["read", "both"])]
    write: bool,
    /// Read the document again and again
    #[arg(long, conflicts_with = "both")]
    read: bool,
    /// A burst of writes, then one of reads
    #[arg(long)]
    both: bool,
    /// Operations due per second over all workers, whether or not the server keeps up
    #[arg(short, long, value_name = "N", value_parser = plan::rate)]
    rate: Option<f64>,
    /// How many times
    #[arg(long, value_name = "N", default_value = "1", value_parser = plan::count)]
    repeat: u64,
    /// From the start of one time to that of the next [default: one follows the other]
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = plan::duration_ns)]
    every: u64,
    #[command(flatten)]
    common: Common,
}

/// `springload bm-couchdb`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct OriginalArgs {
    /// Workers
    #[arg(short = 'n', value_name = "N", default_value = "1", value_parser = plan::count)]
    workers: u64,
    /// Seconds of the burst
    #[arg(short = 't', value_name = "SECONDS", default_value = "5", value_parser = plan::count)]
    seconds: u64,
    /// Bytes of the string in each document
    #[arg(short = 's', value_name = "SIZE", default_value = "10", value_parser = plan::count)]
    size: u64,
    /// Writers [default; also if both are given]
    #[arg(long)]
    write: bool,
    /// Readers
    #[arg(long)]
    read: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FillingArg {
    /// Letters drawn anew for each write: they do not compress
    Random,
    /// Zeros, as the original has them: they do
    Zeros,
}

impl From<FillingArg> for Filling {
    fn from(filling: FillingArg) -> Self {
        match filling {
            FillingArg::Random => Self::Random,
            FillingArg::Zeros => Self::Zeros,
        }
    }
}

/// Carries out `springload burst`.
pub(in crate::cli) fn main(args: &Args, command: &str) -> Exit {
    let roles = match (args.read, args.both) {
        (_, true) => vec![Role::Write, Role::Read],
        (true, _) => vec![Role::Read],
        _ => vec![Role::Write],
    };
    let filling = args.common.body.map_or(Filling::Random, Filling::from);
    let burst = BurstSpec {
        roles,
        length_ns: args.time,
        size: BodySize { bytes: args.size, wire: args.common.wire_size },
        filling,
        conditional: args.common.conditional,
        gather_ns: args.common.gather,
        rounds: args.repeat,
        every_ns: args.every,
    };
    let load = args.rate.map_or(LoadSpec::Closed { think_ns: 0 }, |rate| LoadSpec::Open {
        segments: vec![Segment { length_ns: 0, from: rate, to: rate }],
        arrivals: Arrivals::Constant,
        max_in_flight: None,
        slack_ns: DEFAULT_SLACK_NS,
    });
    let (spec, mistakes) = spec((&args.common, args.workers), burst, load, command);
    execute(Execution { spec: &spec, mistakes, output: &args.common.output, preamble: None })
}

fn spec(
    (common, workers): (&Common, u64),
    burst: BurstSpec,
    load: LoadSpec,
    command: &str,
) -> (PlanSpec, Vec<Invalid>) {
    let mistakes = common.database.mistake(common.target.as_ref()).into_iter().collect();
    let spec = PlanSpec {
        command: command.to_owned(),
        target: common.target.clone(),
        target_flag: "TARGET",
        database: None,
        use_existing: common.database.use_existing,
        keep: common.database.keep,
        auth: common.database.auth.into(),
        tls_ca: common.client.tls_ca.clone(),
        connections: workers,
        threads: common.threads,
        seed: common.client.seed(),
        ids: common.database.ids(common.client.seed),
        timeout_ns: common.client.timeout,
        max_answer: common.client.max_answer,
        schemas: Vec::new(),
        documents: 0,
        batch: 1,
        operations: None,
        duration_ns: None,
        warmup_ns: 0,
        mix: Mix { create: 1, read: 0, update: 0, delete: 0 },
        order: CrudOrder::Uniform,
        load,
        fill: FillPlan::default(),
        burst: Some(burst),
        ycsb: None,
        thresholds: common.output.fail_if.clone(),
    };
    (spec, mistakes)
}

/// Carries out `springload bm-couchdb`.
pub(in crate::cli) fn original(args: &OriginalArgs, command: &str) -> Exit {
    let reads = args.read && !args.write;
    let common = &args.common;
    let burst = BurstSpec {
        roles: vec![if reads { Role::Read } else { Role::Write }],
        length_ns: args.seconds.saturating_mul(SECOND_NS),
        size: BodySize { bytes: args.size, wire: common.wire_size },
        filling: common.body.map_or(Filling::Zeros, Filling::from),
        conditional: common.conditional,
        gather_ns: common.gather,
        rounds: 1,
        every_ns: 0,
    };
    let closed = LoadSpec::Closed { think_ns: 0 };
    let (spec, mistakes) = spec((common, args.workers), burst, closed, command);
    let Some(plan) = checked(&spec, mistakes) else { return Exit::Usage };
    let output = &common.output;
    if output.dry_run || output.metrics.is_some() || output.format.is_some() {
        let flag = if output.dry_run {
            "--dry-run"
        } else if output.metrics.is_some() {
            "--metrics"
        } else {
            "--format"
        };
        eprintln!("error: {flag}: bm-couchdb has a report of its own; use springload burst");
        return Exit::Usage;
    }
    let Some((folder, stop)) = ready(output) else { return Exit::Usage };
    let base = output.output.clone().unwrap_or_else(|| PathBuf::from("."));
    match carry_out(&plan, &folder, output, &stop) {
        Ok((record, exit)) => {
            let role = if reads { "readers" } else { "writers" };
            let OriginalArgs { workers, seconds, size, .. } = args;
            let name = format!("couchdb_{workers}{role}_{seconds}sec_{size}bytes");
            let title = format!("{workers} {role}, {seconds} sec, {size} bytes");
            print(burst_text(&record, if reads { "reads" } else { "writes" }).as_bytes());
            match write_files(&record, &base, (&name, &title)) {
                Ok(files) => {
                    for file in files {
                        print(format!("Writing {}\n", file.display()).as_bytes());
                    }
                    exit
                }
                Err(error) => {
                    eprintln!("error: cannot write in {}: {error}", base.display());
                    Exit::Failed
                }
            }
        }
        Err(error) => {
            eprintln!("error: {error}");
            Exit::of_error(&error)
        }
    }
}

/// The original's two tables and two plots.
fn write_files(
    record: &RunRecord,
    base: &Path,
    (name, title): (&str, &str),
) -> io::Result<Vec<PathBuf>> {
    let Some(stage) = record.measured().next() else { return Ok(Vec::new()) };
    let plan = record.plan.stages.iter().find(|plan| plan.name == stage.name);
    let seconds = burst_seconds(stage, plan.and_then(|plan| plan.length_ns));
    let actions = if name.contains("readers") { "reads" } else { "writes" };
    let warnings: Vec<String> = record.warnings.iter().map(|it| it.message.clone()).collect();
    let (tables, plots) = (base.join("csv"), base.join("plots"));
    fs::create_dir_all(&tables)?;
    fs::create_dir_all(&plots)?;
    let mut files = Vec::new();
    for (kind, per_worker) in [("average", true), ("sum", false)] {
        let table = tables.join(format!("{name}_{kind}.csv"));
        fs::write(&table, burst_csv(&seconds, per_worker))?;
        let plot = plots.join(format!("{name}_{kind}.png"));
        fs::write(&plot, burst_picture(&seconds, (title, actions), per_worker, &warnings))?;
        files.extend([table, plot]);
    }
    Ok(files)
}
