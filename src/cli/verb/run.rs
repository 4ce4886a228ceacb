//! `springload run`: the native verb.

use crate::cli::call::{Call, Example, Family, Verb, VerbEntry};
use crate::cli::exit::{Exit, Trouble};
use crate::cli::flags::batch::{Batched, batch_of_many, default_batch};
use crate::cli::flags::checks::CheckArgs;
use crate::cli::flags::client::ClientArgs;
use crate::cli::flags::credentials::{CredentialArgs, as_for};
use crate::cli::flags::database::DatabaseArgs;
use crate::cli::flags::docs::{Docs, docs};
use crate::cli::flags::gate::GateArgs;
use crate::cli::flags::known::choice;
use crate::cli::flags::load::{Connections, LoadArgs, connections};
use crate::cli::flags::observe::ObserveArgs;
use crate::cli::flags::output::{OutputArgs, VerboseArgs};
use crate::cli::flags::target::{TargetArgs, named_nodes};
use crate::cli::flags::{designs, schema_source};
use crate::cli::pipeline::dialect::Printed;
use crate::cli::pipeline::{Job, carry_out};
use crate::cli::scenario::Scenario;
use crate::cli::secrets::command_line;
use crate::cli::verb::baseline::gated;
use crate::cli::verb::scenario::{is_plan, no_script, scenario};
use crate::cli::verb::stored;
use crate::driver::CompactionPlan;
use crate::plan::{self, Existing, FillPlan, Flagged, Invalid, MixAsked, Plan, PlanSpec, check};
use crate::workload::{self, DocumentsAsked, RunAsked};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args as _, Command, Parser as _};
use serde_json::Value;
use std::ffi::OsString;
use std::path::PathBuf;

/// `springload run`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Run {
    /// A plan file, .toml or .json
    ///
    /// A plan: a .toml file, as printed by springload init, whose keys are this verb's flags; or a
    /// .json file (a run.json, or the output of --dry-run), which is run as it is
    plan: Option<String>,
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    credentials: CredentialArgs,
    #[command(flatten)]
    gate: GateArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    show: VerboseArgs,
}

/// What to run: all flags except those about results.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Settings {
    #[command(flatten)]
    pub(in crate::cli) target: TargetArgs,
    /// Number of concurrent connections
    ///
    /// Number of concurrent connections; auto: 50, or with a rate, as many as needed
    #[arg(short, long, value_name = "N", value_parser = connections, default_value = "auto")]
    connections: Connections,
    /// Documents to insert first
    ///
    /// Documents to insert first; auto: up to 100,000, as many as can be stored in 10 s. Exactly
    /// 100,000 if the fill is what is measured (--ops 0), or with --growth or --wait-for-server
    #[arg(long, value_name = "N", value_parser = docs, default_value = "auto")]
    docs: Docs,
    /// Documents in one bulk request [default: at most 1000, and 5000 over all connections]
    #[arg(long, value_name = "N", value_parser = plan::count)]
    batch: Option<u64>,
    /// Number of operations after the fill
    ///
    /// Total number of operations after the fill; 0 for none
    #[arg(short = 'n', long, value_name = "N", value_parser = plan::count)]
    ops: Option<u64>,
    /// How long to run operations [default: 15s]
    ///
    /// How long to run operations [default: 15s, unless --ops or --stages is given]
    #[arg(short, long, value_name = "TIME", value_parser = plan::duration_ns)]
    duration: Option<u64>,
    /// How long to run operations before measuring
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = plan::duration_ns)]
    warmup: u64,
    /// Weights of the operations, such as read=9,update=1
    ///
    /// Relative weights of the operations [default: create=2,read=3,update=2,delete=1]
    #[arg(long, value_name = "MIX", value_parser = plan::mix)]
    mix: Option<MixAsked>,
    /// An operation of your own: NAME=WORD and what follows it; may be repeated
    ///
    /// An operation of your own for --mix, in the words of the database, such as
    /// 'recent=view app/date?limit=20'; may be repeated
    #[arg(long, value_name = "NAME=WORD...")]
    op: Vec<String>,
    /// A list of values for your own operations: NAME=VALUE,VALUE; may be repeated
    #[arg(long = "data", id = "data_list", value_name = "NAME=VALUES")]
    data: Vec<String>,
    /// A folder with design documents to store before the load
    ///
    /// A folder with design documents (NAME.json, or NAME/views/VIEW/map.js) that are stored before
    /// the load. Their indexes are built in a stage of its own
    #[arg(long, value_name = "DIR")]
    ddocs: Option<PathBuf>,
    /// Store them before the documents, and let the server build the indexes
    #[arg(long, requires = "ddocs")]
    no_build: bool,
    /// A view, DESIGN/VIEW, that must have one row for each document; may be repeated
    ///
    /// A view, DESIGN/VIEW, that must have one row for each document: at the end, the audit looks
    /// for missing and duplicate rows, and for rows of deleted documents. May be repeated
    #[arg(long = "audit-view", value_name = "VIEW", requires = "audit")]
    audit_view: Vec<String>,
    /// Spread the documents over this many databases
    ///
    /// Spread the documents over this many databases, such as one for each user: the run creates
    /// them (NAME-00000 and so on) and removes them at the end, in stages of their own
    #[arg(long, value_name = "N", value_parser = plan::count)]
    databases: Option<u64>,
    /// What to do about compaction during the run
    ///
    /// What to do about compaction during the run: leave it to CouchDB, prevent it for the run's
    /// databases, or ask for it as the measured operations begin
    #[arg(long, value_name = "MODE", default_value = "auto", value_parser = choice(&COMPACTIONS))]
    compaction: CompactionPlan,
    /// The workload to run
    #[arg(long, value_name = "NAME", value_parser = workloads(), default_value = "mixed")]
    workload: String,
    /// The schema of documents: [WEIGHT:]FILE or [WEIGHT:]URL of a document; may be repeated
    #[arg(long, value_name = "SCHEMA")]
    schema: Vec<String>,
    /// Number of threads; they share the connections [default: one per core; half as many with the
    /// stand-in]
    #[arg(short, long, value_name = "N", value_parser = plan::count)]
    threads: Option<u64>,
    #[command(flatten)]
    pub(in crate::cli) client: ClientArgs,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    database: DatabaseArgs,
    /// If the server disappears during the fill, wait this long for it and resend unanswered
    /// requests [default: wait as long as --give-up and resend nothing]
    #[arg(long, value_name = "TIME", value_parser = plan::duration_ns)]
    wait_for_server: Option<u64>,
    /// Record how the fill rate changes with the size of the database
    #[arg(long)]
    growth: bool,
    #[command(flatten)]
    checks: CheckArgs,
    #[command(flatten)]
    observe: ObserveArgs,
}

const COMPACTIONS: [(&str, &str, CompactionPlan); 3] = [
    ("auto", "CouchDB compacts as it likes", CompactionPlan::Auto),
    ("off", "CouchDB does not compact the databases of this run", CompactionPlan::Off),
    (
        "force",
        "Compacts them as the operations begin, and waits for the end",
        CompactionPlan::Force,
    ),
];

/// The names of workloads, with descriptions.
fn workloads() -> PossibleValuesParser {
    let value = |(name, help)| PossibleValue::new(name).help(help);
    workload::names().map(value).collect::<Vec<_>>().into()
}

impl Verb for Run {
    const NAME: &'static str = "run";
    const ABOUT: &'static str = "Fill a database, then run a mix of operations on its documents";
    const FAMILY: Family = Family::Measure;
    const OFTEN: bool = true;
    const BRIEF: &'static str =
        "plan target user connections rate duration ops docs mix workload fail_if output format";
    const EXAMPLES: [Example; 3] = [
        ("The stand-in, to try springload", "run"),
        (
            "A CouchDB of your own, 500 operations per second for a minute",
            "run http://ann@localhost:5984 -r 500 -d 1m",
        ),
        (
            "Fail in CI if reads are slow or anything fails",
            "run localhost:5984 --fail-if 'read.p99 > 20ms' --fail-if 'err > 0'",
        ),
    ];

    fn carry_out(self, call: &Call<'_>) -> Result<Exit, Trouble> {
        let mut words = self.plan.iter().chain(&self.settings.target.target);
        no_script(words.clone())?;
        let file = words.find(|word| is_plan(word, "json"));
        if let Some(file) = file.cloned() {
            return self.again(&file, call);
        }
        let Run { plan, mut settings, credentials, gate, output, show } = self;
        let located = |mistakes| call.scenario.locate_all(mistakes);
        let words = plan.into_iter().chain(std::mem::take(&mut settings.target.target));
        let mut given: Vec<_> = words.filter(|word| !is_plan(word, "toml")).collect();
        if given.is_empty() {
            given.clone_from(&call.scenario.target);
        }
        let named = named_nodes(given);
        let servers = credentials.servers(&named, std::mem::take(&mut settings.client.header));
        let servers = servers.map_err(|mistake| located(mistake.into()))?;
        (settings.target.target, settings.client.header) = (servers.targets, servers.headers);
        let (mut spec, mistakes) = spec_of(settings, &named.on(call.line), &output.fail_if);
        spec.target_flag = named.flag;
        let plan = gated(check(&spec), &gate, output.quiet).map_err(located);
        let mistakes = located(mistakes);
        carry_out(Job { plan, mistakes, noise: Self::FAMILY.noise(), output: &output }, |_| {
            Ok(Printed::native(show))
        })
    }

    fn scenario(arguments: &[OsString]) -> Result<Option<Scenario>, Vec<Invalid>> {
        // Without a file, the definition of the flags is not needed.
        let named = arguments.iter().any(|it| is_plan(&it.to_string_lossy(), "toml"));
        if named { scenario(&Self::grammar(), arguments) } else { Ok(None) }
    }
}

impl Run {
    /// Runs the plan in a file unchanged.
    fn again(self, file: &str, call: &Call<'_>) -> Result<Exit, Trouble> {
        let Self { credentials, gate, output, show, .. } = self;
        let fixed = fixed(file, call.matches);
        if !fixed.is_empty() {
            return Err(fixed.into());
        }
        let plan = stored::read(file, &credentials).and_then(|plan| {
            let agents = &output.agents;
            let Some(fleet) = plan.fleet else { return Ok(plan) };
            let other = agents.count().filter(|&agents| agents != fleet.agents);
            let flag = if agents.agents.is_some() { "--agents" } else { "--on" };
            let refused = [
                other.map(|_| flag),
                (agents.allow_lost && !fleet.allow_lost).then_some("--allow-lost"),
            ];
            let mistakes: Vec<_> =
                refused.into_iter().flatten().map(|flag| is_fixed(file, flag)).collect();
            if mistakes.is_empty() { Ok(plan) } else { Err(mistakes) }
        });
        let plan = gated(plan, &gate, output.quiet);
        let noise = plan.as_ref().map_or(Self::FAMILY.noise(), |plan| plan.noise);
        let job = Job { plan, mistakes: Vec::new(), noise, output: &output };
        carry_out(job, |_| Ok(Printed::native(show)))
    }

    /// The definition of its flags, with their groups.
    pub(super) fn grammar() -> Command {
        let mut grammar = VerbEntry::of::<Self>().grammar();
        grammar.build();
        grammar
    }
}

/// The mistakes for flags that were given although the plan in `file` determines them.
fn fixed(file: &str, matches: &ArgMatches) -> Vec<Invalid> {
    let given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let settings = Settings::augment_args(Command::new("run"));
    let flags = settings.get_arguments().filter(|it| given(it.get_id().as_str()));
    let flags = flags.filter_map(Arg::get_long).chain(given("fail_if").then_some("fail-if"));
    let mut mistakes: Vec<_> = flags.map(|long| is_fixed(file, &format!("--{long}"))).collect();
    if given("plan") && given("target") {
        mistakes.push(is_fixed(file, "TARGET"));
    }
    mistakes
}

fn is_fixed(file: &str, flag: &str) -> Invalid {
    let problem = format!("the plan in {file} already settles that");
    Invalid::new(flag, problem, "leave it out, or use a .toml plan, which flags can override")
}

/// The plan that these words after `springload run` ask for, without the flags about results.
///
/// # Errors
/// Returns all mistakes, one per line.
pub(in crate::cli) fn plan_of(words: Vec<OsString>) -> Result<Plan, String> {
    #[derive(Debug, clap::Parser)]
    #[command(name = "springload run")]
    struct Asked {
        #[command(flatten)]
        settings: Settings,
        #[arg(long)]
        fail_if: Vec<String>,
    }
    let line: Vec<_> = ["springload", "run"].map(OsString::from).into_iter().chain(words).collect();
    let Asked { settings, fail_if } =
        Asked::try_parse_from(&line[1..]).map_err(|error| error.to_string())?;
    let (spec, mut mistakes) = spec_of(settings, &command_line(&line), &fail_if);
    let plan = check(&spec).map_err(|wrong| mistakes.extend(wrong));
    mistakes.extend(plan.as_ref().ok().and_then(|plan| plan.baseline_mistake()));
    match plan {
        Ok(plan) if mistakes.is_empty() => Ok(plan),
        _ => Err(mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")),
    }
}

/// The plan that the settings ask for, and the mistakes that can be found without a full check.
pub(in crate::cli) fn spec_of(
    settings: Settings,
    command: &str,
    thresholds: &[String],
) -> (PlanSpec, Vec<Invalid>) {
    let mut mistakes = Vec::new();
    let mut schemas = Vec::new();
    for text in &settings.schema {
        let text = schema_source::placed(text, |place| {
            as_for(settings.target.first().map(String::as_str), place)
        });
        match schema_source::read(&text, &settings.client.tls.options()) {
            Ok((source, weight)) => schemas.push(("--schema", source, weight)),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    let mut options = settings.database.options();
    match settings.ddocs.as_deref().map(designs::read) {
        Some(Ok(designs)) => {
            options.insert("ddocs".to_owned(), designs.into());
            if settings.no_build {
                options.insert("no_build".to_owned(), true.into());
            }
        }
        Some(Err(mistake)) => mistakes.push(mistake),
        None => {}
    }
    if let Some(databases) = settings.databases {
        options.insert("databases".to_owned(), settings.spread(databases));
    }
    if settings.compaction != CompactionPlan::Auto {
        let asked = serde_json::to_value(settings.compaction).unwrap_or_default();
        options.insert("compaction".to_owned(), asked);
    }
    if !settings.audit_view.is_empty() {
        options.insert("audit_view".to_owned(), settings.audit_view.clone().into());
    }
    mistakes.extend(settings.database.mistake(settings.target.first()));
    mistakes.extend(settings.batch_mistake());
    mistakes.extend(settings.ignored());
    let asked = settings.asked();
    let mut thresholds = thresholds.to_vec();
    let work = workload::demand(&settings.workload, &asked).unwrap_or_else(|mistake| {
        mistakes.push(mistake);
        // The thresholds would have nothing to apply to.
        thresholds.clear();
        workload::nothing(&asked)
    });
    mistakes.extend(settings.load.mistake(settings.connections));
    let connections = Flagged::new("--connections", settings.connections.first());
    let spec = PlanSpec::new(command, connections, work);
    (PlanSpec { schemas, thresholds, options, ..settings.complete(spec) }, mistakes)
}

impl Settings {
    /// The mistakes for flags that would have no effect.
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
            ("--batch", self.batch.is_some()),
            ("--wait-for-server", self.wait_for_server.is_some()),
            ("--growth", self.growth),
        ];
        for (flag, given) in fill {
            refuse(given && self.docs.most() == 0, flag, "--docs 0 inserts nothing", cure);
        }
        mistakes
    }

    /// The mistake of a batch size that leaves connections without a request.
    fn batch_mistake(&self) -> Option<Invalid> {
        let (documents, connections) = (self.docs.most(), self.connections.first());
        let threads = self.threads;
        self.batch.and_then(|batch| Batched { batch, documents, connections, threads }.mistake())
    }

    /// Documents in one bulk request.
    fn batch(&self) -> u64 {
        let documents = self.docs.most();
        let usual = default_batch(self.connections.first(), documents);
        let of_many = self.databases.map(|databases| batch_of_many(usual, documents, databases));
        self.batch.or(of_many).unwrap_or(usual)
    }

    fn spread(&self, databases: u64) -> Value {
        // So many are refused later, by the check of the plan.
        let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let (count, batch) = (small(databases), small(self.batch()));
        serde_json::json!({ "count": count, "documents": self.docs.most(), "batch": batch.max(1) })
    }

    fn asked(&self) -> RunAsked {
        let flags = [
            ("--mix", self.mix.is_some()),
            ("--schema", !self.schema.is_empty()),
            ("--wait-for-server", self.wait_for_server.is_some()),
            ("--growth", self.growth),
            ("--verify", self.checks.verify),
            ("--ops", self.ops.is_some()),
            ("--duration", self.duration.is_some()),
            ("--warmup", self.warmup > 0),
            ("--id", self.database.id.is_some()),
        ];
        let given = flags.into_iter().filter(|(_, given)| *given).map(|(flag, _)| flag);
        // These options are about the whole fill.
        let whole = self.growth || self.wait_for_server.is_some();
        RunAsked {
            documents: DocumentsAsked {
                documents: Flagged::new("--docs", self.docs.most()),
                batch: Flagged::new("--batch", self.batch()),
                within_ns: self.docs.within_ns().filter(|_| !whole),
                operations: Flagged::new("--ops", self.ops),
                warmup_ns: self.warmup,
            },
            own_batch: self.batch.is_some(),
            mix: self.mix.as_ref().map(|asked| asked.mix),
            own: self.mix.as_ref().map(|asked| asked.own.clone()).unwrap_or_default(),
            ids: self.database.ids(self.client.seed),
            given: given.chain(self.load.given()).collect(),
        }
    }

    /// Completes the request with all other settings.
    fn complete(self, spec: PlanSpec) -> PlanSpec {
        let spec = self.client.complete(self.checks.complete(spec));
        let ids = self.database.ids(self.client.seed);
        let (load, default_ns) = self.load.read(self.connections, self.ops.is_none());
        PlanSpec {
            target: self.target.first().cloned(),
            nodes: self.target.others(),
            pin: self.target.pin,
            existing: if self.database.use_existing { Existing::Yes } else { Existing::No },
            keep: self.database.keep,
            auth: Flagged::new("--auth", self.database.auth),
            threads: self.threads,
            observe: self.observe.spec(),
            operations: self.op,
            data: self.data,
            ids,
            duration_ns: self.duration.or(default_ns),
            load,
            fill: FillPlan { wait_for_server_ns: self.wait_for_server, growth: self.growth },
            ..spec
        }
    }
}
