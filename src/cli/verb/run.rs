//! `springload run`: the native verb.

use crate::cli::call::{Call, Verb};
use crate::cli::exit::Exit;
use crate::cli::flags::client::ClientArgs;
use crate::cli::flags::database::DatabaseArgs;
use crate::cli::flags::load::LoadArgs;
use crate::cli::flags::output::OutputArgs;
use crate::cli::flags::schema_source;
use crate::cli::pipeline::dialect::Printed;
use crate::cli::pipeline::{Job, carry_out};
use crate::plan::{self, CrudOrder, FillPlan, Invalid, PlanSpec, YcsbPhase, YcsbSpec, check};
use crate::schema::Ids;
use crate::workload::Mix;
use crate::workload::ycsb::{Class, CoreConfig, Properties, builtin};
use clap::ValueEnum;
use serde_json::Map;

/// `springload run`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Run {
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    output: OutputArgs,
}

/// What to run: all flags except those about results.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Settings {
    /// http(s)://[user:password@]host:port[/database], or basic: no server, every operation
    /// succeeds at once [default: the embedded stand-in]
    pub(in crate::cli) target: Option<String>,
    /// Number of concurrent connections
    #[arg(short, long, value_name = "N", value_parser = plan::count)]
    #[arg(default_value_t = DEFAULT_CONNECTIONS)]
    connections: u64,
    /// Documents to insert in bulk before anything else
    #[arg(long, value_name = "N", value_parser = plan::count)]
    #[arg(default_value_t = DEFAULT_DOCS)]
    docs: u64,
    /// Documents in one bulk request [default: at most 1000, and 5000 over all connections]
    #[arg(long, value_name = "N", value_parser = plan::count)]
    batch: Option<u64>,
    /// Total number of operations after that; 0 for none
    #[arg(short = 'n', long, value_name = "N", value_parser = plan::count)]
    ops: Option<u64>,
    /// How long to run operations [default: 15s, unless --ops or --stages is given]
    #[arg(short, long, value_name = "TIME", value_parser = plan::duration_ns)]
    duration: Option<u64>,
    /// How long to run operations before measuring
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = plan::duration_ns)]
    warmup: u64,
    /// Relative weights of the operations
    #[arg(long, default_value = "create=2,read=3,update=2,delete=1", value_parser = plan::mix)]
    mix: Mix,
    /// Run a YCSB workload on --docs records, instead of a mix
    #[arg(long, value_enum, value_name = "NAME", conflicts_with_all = ["mix", "schema"])]
    workload: Option<WorkloadArg>,
    /// The schema of documents: [WEIGHT:]FILE or [WEIGHT:]URL of a document; may be repeated
    #[arg(long, value_name = "SCHEMA")]
    schema: Vec<String>,
    /// Number of threads; they share the connections [default: one per core; half as many with the
    /// stand-in]
    #[arg(short, long, value_name = "N", value_parser = plan::count)]
    threads: Option<u64>,
    #[command(flatten)]
    client: ClientArgs,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    database: DatabaseArgs,
    /// Wait this long for a server that goes away during the fill, and resend what it did not
    /// answer [default: wait as long as --timeout and resend nothing]
    #[arg(long, value_name = "TIME", value_parser = plan::duration_ns)]
    wait_for_server: Option<u64>,
    /// Record the rate of the fill by the size of the database
    #[arg(long)]
    growth: bool,
}

pub(in crate::cli) const DEFAULT_CONNECTIONS: u64 = 50;
pub(in crate::cli) const DEFAULT_DOCS: u64 = 100_000;
/// The default limit on documents of a fill in flight. A small CouchDB takes about 2,000 per
/// second, so they are answered in about 3 s, a tenth of the timeout.
const MOST_AT_ONCE: u64 = 5_000;
/// The default limit on documents in one request: larger requests gain little.
const MOST_IN_REQUEST: u64 = 1_000;

/// The default batch size: no more than a small server answers well within the timeout, and no
/// more than each connection has to insert.
pub(in crate::cli) fn default_batch(connections: u64, documents: u64) -> u64 {
    let connections = connections.max(1);
    let each = documents.div_ceil(connections);
    (MOST_AT_ONCE / connections).min(MOST_IN_REQUEST).min(each).max(1)
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

impl Verb for Run {
    const NAME: &'static str = "run";
    const ABOUT: &'static str =
        "Fill a database, then mix creates, reads, updates and deletes, and report";

    fn carry_out(self, call: &Call<'_>) -> Exit {
        let Run { settings, output } = self;
        let (spec, mistakes) = spec_of(settings, call.line, &output.fail_if);
        carry_out(Job { plan: check(&spec), mistakes, output: &output }, |_| Ok(Printed::NATIVE))
    }
}

/// What the settings ask for, and the mistakes that can be found without a full check.
pub(in crate::cli) fn spec_of(
    settings: Settings,
    command: &str,
    thresholds: &[String],
) -> (PlanSpec, Vec<Invalid>) {
    let mut mistakes = Vec::new();
    let mut schemas = Vec::new();
    for text in &settings.schema {
        match schema_source::read(text, settings.client.tls_ca.as_deref()) {
            Ok((source, weight)) => schemas.push(("--schema", source, weight)),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    mistakes.extend(settings.database.mistake(settings.target.as_ref()));
    mistakes.extend(settings.batch_mistake());
    mistakes.extend(settings.ignored());
    let ycsb = settings.workload.and_then(|workload| {
        ycsb_spec(workload, &settings).map_err(|mistake| mistakes.push(mistake)).ok()
    });
    let spec = PlanSpec { ycsb, ..spec(settings, command, schemas) };
    (PlanSpec { thresholds: thresholds.to_vec(), ..spec }, mistakes)
}

impl Settings {
    /// Flags about something that will not be done.
    fn ignored(&self) -> Vec<Invalid> {
        let mut mistakes = Vec::new();
        let mut refuse = |given: bool, flag: &str, problem: &str, cure: &str| {
            if given {
                mistakes.push(Invalid::new(flag, problem, cure));
            }
        };
        let (problem, cure) = ("--ops 0 runs no operations", "leave one of them out");
        let none = self.ops == Some(0);
        refuse(none && self.duration.is_some(), "--duration", problem, cure);
        refuse(none && self.warmup > 0, "--warmup", problem, cure);
        let load = self.load.given();
        refuse(none && load.is_some(), load.unwrap_or_default(), problem, cure);
        let fill = [
            ("--batch", self.batch.is_some(), false),
            ("--wait-for-server", self.wait_for_server.is_some(), true),
            ("--growth", self.growth, true),
        ];
        for (flag, given, own) in fill {
            refuse(given && self.docs == 0, flag, "--docs 0 inserts nothing", cure);
            let problem = "it applies only to a fill with documents of a schema";
            let workload = self.workload.is_some() && self.docs > 0;
            refuse(given && own && workload, flag, problem, "leave this out, or --workload");
        }
        mistakes
    }

    /// Refuses a batch size that leaves connections without a request.
    fn batch_mistake(&self) -> Option<Invalid> {
        let (batch, docs, connections) = (self.batch?, self.docs, self.connections);
        let requests = docs.checked_div(batch)? + u64::from(docs % batch > 0);
        if batch == 1 || requests == 0 || requests >= connections {
            return None;
        }
        let problem = format!(
            "{docs} documents make {requests} requests of {batch} for {connections} connections"
        );
        let cure = format!(
            "give --docs {} or more, --batch {} or less, or --connections {requests}",
            (connections - 1).saturating_mul(batch).saturating_add(1),
            (docs / connections).max(1),
        );
        Some(Invalid::new("--batch", problem, cure))
    }
}

/// A standard workload, on the records and operations that the flags ask for.
fn ycsb_spec(workload: WorkloadArg, args: &Settings) -> Result<YcsbSpec, Invalid> {
    let wrong = |flag: &str, problem: &str, cure: &str| Invalid::new(flag, problem, cure);
    if args.docs == 0 {
        let cure = "insert some; springload ycsb run uses existing records";
        return Err(wrong("--docs", "a workload needs records", cure));
    }
    let (_, text) = builtin::WORKLOADS[workload as usize];
    let mut properties = Properties::parse(text.as_bytes())
        .map_err(|problem| wrong("--workload", &problem, "name another"))?;
    properties.set("recordcount", args.docs.to_string());
    properties.set("operationcount", args.ops.unwrap_or(0).to_string());
    match args.database.ids(args.client.seed) {
        Ids::Prefix(text) => properties.set("keyprefix", &*text),
        Ids::Sequential if args.database.id.is_none() => {}
        _ => {
            let cure = "give prefix:TEXT, or leave it out";
            return Err(wrong("--id", "the keys of YCSB's workloads are hashes", cure));
        }
    }
    let config = CoreConfig::read(&properties, false, &|_| Err(String::new()))
        .map_err(|errors| wrong("--workload", &errors[0].to_string(), "name another"))?;
    let phases = match args.ops {
        Some(0) => vec![YcsbPhase::Load],
        _ => vec![YcsbPhase::Load, YcsbPhase::Run],
    };
    let (kept, options, measurement) = (false, Map::new(), None);
    let class = Class::Core;
    Ok(YcsbSpec { config, class, phases, kept, options, measurement })
}

fn spec(
    args: Settings,
    command: &str,
    schemas: Vec<(&'static str, plan::SchemaSource, u32)>,
) -> PlanSpec {
    // With a batch of one, YCSB's records are inserted one by one, not in bulk.
    let least = if args.workload.is_some() { 2 } else { 1 };
    let default = || default_batch(args.connections, args.docs).max(least);
    let batch = args.batch.unwrap_or_else(default);
    let (seed, ids) = (args.client.seed(), args.database.ids(args.client.seed));
    let (load, default_ns) = args.load.read(args.ops.is_none());
    PlanSpec {
        command: command.to_owned(),
        target: args.target,
        target_flag: "TARGET",
        database: None,
        use_existing: args.database.use_existing,
        keep: args.database.keep,
        auth: args.database.auth.into(),
        tls_ca: args.client.tls_ca,
        connections: args.connections,
        threads: args.threads,
        seed,
        ids,
        timeout_ns: args.client.timeout,
        max_answer: args.client.max_answer,
        schemas,
        documents: args.docs,
        batch,
        operations: args.ops,
        duration_ns: args.duration.or(default_ns),
        warmup_ns: args.warmup,
        mix: args.mix,
        order: CrudOrder::Uniform,
        load,
        fill: FillPlan { wait_for_server_ns: args.wait_for_server, growth: args.growth },
        burst: None,
        ycsb: None,
        thresholds: Vec::new(),
    }
}
