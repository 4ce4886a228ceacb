//! `springload run`: the native verb.

use super::execute::{Execution, execute};
use super::exit::Exit;
use super::output::OutputArgs;
use super::schema_source;
use crate::engine::{Arrivals, Segment};
use crate::plan::{self, Auth, CrudOrder, Invalid, LoadSpec, PlanSpec, YcsbPhase, YcsbSpec};
use crate::workload::Mix;
use crate::workload::ycsb::{CoreConfig, Properties, builtin};
use clap::ValueEnum;
use std::path::PathBuf;

/// `springload run`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// http(s)://[user:password@]host:port[/database], or basic: no server, all is answered at
    /// once; without it, the embedded stand-in
    target: Option<String>,
    /// Connections used at once
    #[arg(short, long, value_name = "N", default_value = "50", value_parser = plan::count)]
    connections: u64,
    /// Documents to insert in bulk first
    #[arg(long, value_name = "N", default_value = "100k", value_parser = plan::count)]
    docs: u64,
    /// Documents in one bulk request
    #[arg(long, value_name = "N", default_value = "1000", value_parser = plan::count)]
    batch: u64,
    /// Operations to do after that, in all; 0 for none
    #[arg(short = 'n', long, value_name = "N", value_parser = plan::count)]
    ops: Option<u64>,
    /// How long to do operations [default: 15s, unless --ops or --stages is given]
    #[arg(short, long, value_name = "TIME", value_parser = plan::duration_ns)]
    duration: Option<u64>,
    /// How long to do operations before they are measured
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = plan::duration_ns)]
    warmup: u64,
    /// Relative weights of operations
    #[arg(long, default_value = "create=2,read=3,update=2,delete=1", value_parser = plan::mix)]
    mix: Mix,
    /// A workload of YCSB on as many records as --docs says, instead of a mix
    #[arg(long, value_enum, value_name = "NAME", conflicts_with_all = ["mix", "schema"])]
    workload: Option<WorkloadArg>,
    /// What documents look like: [WEIGHT:]FILE or [WEIGHT:]URL of a document; may be repeated
    #[arg(long, value_name = "SCHEMA")]
    schema: Vec<String>,
    /// What documents and operations are drawn from: the same seed, the same run
    #[arg(long, value_name = "N", default_value = "42")]
    seed: u64,
    /// Threads to share the connections [default: one per core, half of them for the stand-in]
    #[arg(short, long, value_name = "N", value_parser = plan::count)]
    threads: Option<u64>,
    /// How long one operation may take
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = plan::duration_ns)]
    timeout: u64,
    /// Operations due per second, whether or not the server keeps up
    #[arg(short, long, value_name = "N", value_parser = plan::rate, group = "open")]
    rate: Option<f64>,
    /// Rates over time: TIME:RATE or TIME:FROM..TO, separated by commas
    #[arg(long, value_name = "STAGES", value_parser = stages, group = "open")]
    stages: Option<Stages>,
    /// The gaps between operations at a rate [default: constant]
    #[arg(long, value_enum, requires = "open")]
    arrivals: Option<ArrivalsArg>,
    /// Operations that may be due and not done before more are dropped [default: 10 s of them]
    #[arg(long, value_name = "N", value_parser = plan::count, requires = "open")]
    max_in_flight: Option<u64>,
    /// Pause of a connection between two operations, without a rate
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = plan::duration_ns)]
    #[arg(conflicts_with_all = ["rate", "stages"])]
    think: u64,
    /// Use the database in TARGET although it exists; it will not be deleted
    #[arg(long)]
    use_existing: bool,
    /// Leave the database that this run makes
    #[arg(long, conflicts_with = "use_existing")]
    keep: bool,
    /// How user and password are presented
    #[arg(long, value_enum, default_value = "cookie")]
    auth: AuthArg,
    /// A PEM file with the authorities to trust, instead of the system's
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// YCSB's standard workloads.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum WorkloadArg {
    /// Half reads, half updates
    YcsbA,
    /// 95 % reads, 5 % updates
    YcsbB,
    /// Reads only
    YcsbC,
    /// 95 % reads of the newest records, 5 % inserts
    YcsbD,
    /// 95 % scans, 5 % inserts
    YcsbE,
    /// Half reads, half read-modify-writes
    YcsbF,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ArrivalsArg {
    /// Equal gaps
    Constant,
    /// Exponential gaps, as independent users make
    Poisson,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum AuthArg {
    /// A session cookie
    Cookie,
    /// Basic authentication in every request
    Basic,
}

/// A list of rates over time.
#[derive(Clone, Debug)]
struct Stages(Vec<Segment>);

/// Reads `30s:1000,1m:1000..5000`.
fn stages(text: &str) -> Result<Stages, String> {
    let segment = |part: &str| {
        let (time, rates) = part.split_once(':').ok_or_else(|| {
            format!("{part:?} is not TIME:RATE or TIME:FROM..TO, such as 30s:1000")
        })?;
        let (from, to) = rates.split_once("..").unwrap_or((rates, rates));
        let length_ns = plan::duration_ns(time)?;
        if length_ns == 0 {
            return Err(format!("{part:?} lasts no time; give for example 30s:1000"));
        }
        Ok(Segment { length_ns, from: plan::rate(from)?, to: plan::rate(to)? })
    };
    text.split(',').map(|part| segment(part.trim())).collect::<Result<_, _>>().map(Stages)
}

/// Carries out `springload run`.
pub(super) fn main(args: Args, command: &str) -> Exit {
    let mut mistakes = Vec::new();
    let mut schemas = Vec::new();
    for text in &args.schema {
        match schema_source::read(text, args.tls_ca.as_deref()) {
            Ok((source, weight)) => schemas.push(("--schema", source, weight)),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    if args.target.is_none() && args.use_existing {
        let cure = "name the server and database, or leave the flag out";
        mistakes.push(Invalid::new("--use-existing", "the stand-in starts empty", cure));
    }
    let output = args.output.clone();
    let ycsb = args.workload.and_then(|workload| {
        ycsb_spec(workload, &args).map_err(|mistake| mistakes.push(mistake)).ok()
    });
    let spec = PlanSpec { ycsb, ..spec(args, command, schemas) };
    let execution = Execution { spec: &spec, mistakes, output: &output, preamble: None };
    execute(execution)
}

/// A standard workload on as many records and operations as flags say.
fn ycsb_spec(workload: WorkloadArg, args: &Args) -> Result<YcsbSpec, Invalid> {
    let wrong = |flag: &str, problem: &str, cure: &str| Invalid::new(flag, problem, cure);
    if args.docs == 0 {
        let cure = "insert some; springload ycsb run works on records that are there";
        return Err(wrong("--docs", "a workload needs records", cure));
    }
    let (_, text) = builtin::WORKLOADS[workload as usize];
    let mut properties = Properties::parse(text.as_bytes())
        .map_err(|problem| wrong("--workload", &problem, "name another"))?;
    properties.set("recordcount", args.docs.to_string());
    properties.set("operationcount", args.ops.unwrap_or(0).to_string());
    let config = CoreConfig::read(&properties, false, &|_| Err(String::new()))
        .map_err(|errors| wrong("--workload", &errors[0].to_string(), "name another"))?;
    let phases = match args.ops {
        Some(0) => vec![YcsbPhase::Load],
        _ => vec![YcsbPhase::Load, YcsbPhase::Run],
    };
    let (kept, cached_updates, shown, measurement) = (false, false, false, None);
    Ok(YcsbSpec { config, phases, kept, cached_updates, shown, measurement })
}

fn spec(
    args: Args,
    command: &str,
    schemas: Vec<(&'static str, plan::SchemaSource, u32)>,
) -> PlanSpec {
    let arrivals = match args.arrivals {
        None | Some(ArrivalsArg::Constant) => Arrivals::Constant,
        Some(ArrivalsArg::Poisson) => Arrivals::Poisson,
    };
    let segments = match (args.stages, args.rate) {
        (Some(stages), _) => Some(stages.0),
        (None, Some(rate)) => Some(vec![Segment { length_ns: 0, from: rate, to: rate }]),
        (None, None) => None,
    };
    let has_end = segments.as_ref().is_some_and(|s| s.iter().all(|s| s.length_ns > 0));
    let default_ns = (args.ops.is_none() && !has_end).then_some(15_000_000_000);
    let load = segments.map_or(LoadSpec::Closed { think_ns: args.think }, |segments| {
        LoadSpec::Open { segments, arrivals, max_in_flight: args.max_in_flight }
    });
    PlanSpec {
        command: command.to_owned(),
        target: args.target,
        target_flag: "TARGET",
        database: None,
        use_existing: args.use_existing,
        keep: args.keep,
        auth: match args.auth {
            AuthArg::Cookie => Auth::Cookie,
            AuthArg::Basic => Auth::Basic,
        },
        tls_ca: args.tls_ca,
        connections: args.connections,
        threads: args.threads,
        seed: args.seed,
        timeout_ns: args.timeout,
        schemas,
        documents: args.docs,
        batch: args.batch,
        operations: args.ops,
        duration_ns: args.duration.or(default_ns),
        warmup_ns: args.warmup,
        mix: args.mix,
        order: CrudOrder::Uniform,
        load,
        ycsb: None,
        thresholds: args.output.fail_if,
    }
}
