//! `springload burst`: many workers at once, one document each.

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Trouble};
use crate::cli::flags::checks::CheckArgs;
use crate::cli::flags::client::ClientArgs;
use crate::cli::flags::credentials::CredentialArgs;
use crate::cli::flags::database::DatabaseArgs;
use crate::cli::flags::gate::GateArgs;
use crate::cli::flags::known::choice;
use crate::cli::flags::load::at_rate;
use crate::cli::flags::observe::ObserveArgs;
use crate::cli::flags::output::{OutputArgs, VerboseArgs};
use crate::cli::flags::target::{TargetArgs, named_nodes};
use crate::cli::pipeline::dialect::Printed;
use crate::cli::pipeline::{Job, carry_out};
use crate::cli::verb::baseline::gated;
use crate::plan::{self, Existing, Flagged, Invalid, LoadSpec, PlanSpec, check};
use crate::workload::burst::{BodySize, BurstDemand, Filling, Role};
use std::sync::Arc;

/// Flags that `burst` and `bm-couchdb` share.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct BurstArgs {
    #[command(flatten)]
    pub(in crate::cli) target: TargetArgs,
    /// The content of documents
    #[arg(long, value_name = "FILLING", value_parser = choice(&FILLINGS))]
    pub(in crate::cli) body: Option<Filling>,
    /// SIZE is the size of the whole JSON body, not of the string in it
    #[arg(long)]
    pub(in crate::cli) wire_size: bool,
    /// Readers send If-None-Match, as clients with a cache do
    #[arg(long)]
    pub(in crate::cli) conditional: bool,
    /// How long to wait for all workers to connect before the start
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = plan::duration_ns)]
    pub(in crate::cli) gather: u64,
    /// Number of threads; they share the workers [default: one per core; half as many with the
    /// stand-in]
    #[arg(long, value_name = "N", value_parser = plan::count)]
    pub(in crate::cli) threads: Option<u64>,
    #[command(flatten)]
    pub(in crate::cli) checks: CheckArgs,
    #[command(flatten)]
    pub(in crate::cli) client: ClientArgs,
    #[command(flatten)]
    pub(in crate::cli) database: DatabaseArgs,
    #[command(flatten)]
    pub(in crate::cli) output: OutputArgs,
}

/// `springload burst`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Burst {
    /// Workers, each with its own document
    #[arg(short, long, alias = "workers", value_name = "N", default_value = "100")]
    #[arg(value_parser = plan::count)]
    connections: u64,
    /// Length of each burst
    #[arg(short, long, alias = "time", value_name = "TIME", default_value = "20s")]
    #[arg(value_parser = plan::duration_ns)]
    duration: u64,
    /// Size of the string in each document
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
    /// Operations per second, over all workers
    ///
    /// Operations to start per second over all workers, whether or not the server keeps up
    #[arg(short, long, value_name = "N", value_parser = plan::rate)]
    rate: Option<f64>,
    /// Number of bursts
    #[arg(long, value_name = "N", default_value = "1", value_parser = plan::count)]
    repeat: u64,
    /// Time between the starts of two bursts
    ///
    /// Time between the starts of two bursts; 0s: back to back
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = plan::duration_ns)]
    every: u64,
    #[command(flatten)]
    credentials: CredentialArgs,
    #[command(flatten)]
    gate: GateArgs,
    #[command(flatten)]
    common: BurstArgs,
    #[command(flatten)]
    observe: ObserveArgs,
    #[command(flatten)]
    show: VerboseArgs,
}

const FILLINGS: [(&str, &str, Filling); 2] = [
    ("random", "Random letters, new ones for each write: they do not compress", Filling::Random),
    ("zeros", "Zeros, as in the original: they compress", Filling::Zeros),
];

impl Verb for Burst {
    const NAME: &'static str = "burst";
    const ABOUT: &'static str = "Start many workers at one instant, each with its own \
        document";
    const FAMILY: Family = Family::Measure;
    const BRIEF: &'static str =
        "target user connections duration size read both rate repeat fail_if output quiet";
    const EXAMPLES: [Example; 3] = [
        (
            "Many writers at the same instant, each with its own document",
            "burst localhost:5984 -c 950",
        ),
        ("Readers instead", "burst localhost:5984 -c 950 -d 30s --read"),
        (
            "Writers, then readers, five times, every half minute",
            "burst localhost:5984 -c 200 --both --repeat 5 --every 30s",
        ),
    ];

    fn carry_out(mut self, call: &Call<'_>) -> Result<Exit, Trouble> {
        let named = named_nodes(std::mem::take(&mut self.common.target.target));
        let headers = std::mem::take(&mut self.common.client.header);
        let servers = self.credentials.servers(&named, headers)?;
        self.common.target.target = servers.targets;
        self.common.client.header = servers.headers;
        let roles = match (self.read, self.both) {
            (_, true) => vec![Role::Write, Role::Read],
            (true, _) => vec![Role::Read],
            _ => vec![Role::Write],
        };
        let filling = self.common.body.unwrap_or(Filling::Random);
        let burst = BurstDemand {
            roles,
            length_ns: Flagged::new("--duration", self.duration),
            size: Flagged::new(
                "--size",
                BodySize { bytes: self.size, wire: self.common.wire_size },
            ),
            filling,
            conditional: self.common.conditional,
            gather_ns: self.common.gather,
            rounds: self.repeat,
            every_ns: self.every,
        };
        let closed = LoadSpec::Closed { think_ns: 0 };
        let load = self.rate.map_or(closed, |rate| at_rate(rate, None));
        let (connections, line) =
            (Flagged::new("--connections", self.connections), named.on(call.line));
        let (mut spec, mistakes) = spec(&self.common, connections, burst, load, &line);
        spec.target_flag = named.flag;
        spec.observe = self.observe.spec();
        let show = self.show;
        let plan = gated(check(&spec), &self.gate, self.common.output.quiet);
        let job = Job { plan, mistakes, noise: Self::FAMILY.noise(), output: &self.common.output };
        carry_out(job, |_| Ok(Printed::native(show)))
    }
}

/// The plan that the flags ask for, and the mistakes that can be found without a full check.
pub(in crate::cli) fn spec(
    common: &BurstArgs,
    workers: Flagged<u64>,
    burst: BurstDemand,
    load: LoadSpec,
    command: &str,
) -> (PlanSpec, Vec<Invalid>) {
    let mistakes = common.database.mistake(common.target.first()).into_iter().collect();
    let existing = if common.database.use_existing { Existing::Yes } else { Existing::No };
    let spec = PlanSpec {
        target: common.target.first().cloned(),
        nodes: common.target.others(),
        pin: common.target.pin,
        existing,
        keep: common.database.keep,
        auth: Flagged::new("--auth", common.database.auth),
        options: common.database.options(),
        threads: common.threads,
        ids: common.database.ids(common.client.seed),
        load,
        thresholds: common.output.fail_if.clone(),
        ..common.client.complete(PlanSpec::new(command, workers, Arc::new(burst)))
    };
    (common.checks.complete(spec), mistakes)
}
