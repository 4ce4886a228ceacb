//! `springload replicate`: the mix of `run` with and without concurrent replication, how far
//! targets lag behind, and whether everything arrives.

use super::baseline::gated;
use super::run::{Settings, spec_of};
use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Trouble};
use crate::cli::flags::credentials::CredentialArgs;
use crate::cli::flags::gate::GateArgs;
use crate::cli::flags::known::choice;
use crate::cli::flags::output::{OutputArgs, VerboseArgs};
use crate::cli::flags::target::named_nodes;
use crate::cli::pipeline::dialect::Printed;
use crate::cli::pipeline::{Job, carry_out};
use crate::plan::{self, PlanSpec, ReplicateSpec, Topology, check};

/// `springload replicate`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("target", |it| it.help(ADDRESSES).long_help(LONG_ADDRESSES)))]
pub(in crate::cli) struct Replicate {
    /// Which database is replicated to which
    #[arg(long, value_name = "TOPOLOGY", default_value = "fan-out")]
    #[arg(value_parser = choice(&TOPOLOGIES))]
    topology: Topology,
    /// Have the server of the source replicate, not that of the target
    #[arg(long)]
    push: bool,
    /// Time between marker documents
    ///
    /// Time between marker documents written to each source and looked up at each target, beside
    /// the load
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = plan::duration_ns)]
    marker_every: u64,
    /// How long replications may take to begin
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = plan::duration_ns)]
    start_timeout: u64,
    /// How long targets may take to catch up
    ///
    /// How long targets may take to catch up, before the load and after it
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = plan::duration_ns)]
    converge_timeout: u64,
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

const ADDRESSES: &str = "Two CouchDB servers or more; the first is loaded";
const LONG_ADDRESSES: &str = "The addresses of two or more CouchDB servers or databases. The load \
    goes to the first. A server may be given several times: each time, it gets a database of its \
    own. The servers must reach each other at these addresses";

const TOPOLOGIES: [(&str, &str, Topology); 4] = [
    ("fan-out", "The first to each of the others", Topology::FanOut),
    ("fan-in", "Each of the others to the last", Topology::FanIn),
    ("chain", "Each to the next", Topology::Chain),
    ("mesh", "Each to each", Topology::Mesh),
];

impl Verb for Replicate {
    const NAME: &'static str = "replicate";
    const ABOUT: &'static str = "Run a mix without and with replication, and measure its lag";
    const FAMILY: Family = Family::Measure;
    const BRIEF: &'static str =
        "target topology user connections rate duration docs mix fail_if output";
    const EXAMPLES: [Example; 3] = [
        ("From one server to another", "replicate http://ann@db1:5984 http://ann@db2:5984"),
        (
            "Along a chain, at 200 operations per second",
            "replicate db1:5984 db2:5984 db3:5984 --topology chain -r 200",
        ),
        (
            "Between two databases of one server",
            "replicate localhost:5984 localhost:5984 -u ann --docs 20k",
        ),
    ];

    fn carry_out(mut self, call: &Call<'_>) -> Result<Exit, Trouble> {
        let named = named_nodes(std::mem::take(&mut self.settings.target.target));
        let headers = std::mem::take(&mut self.settings.client.header);
        let servers = self.credentials.servers_apart(&named, headers)?;
        self.settings.client.header = servers.headers;
        let mut targets = servers.targets.into_iter();
        self.settings.target.target = targets.next().into_iter().collect();
        let line = named.on(call.line);
        let (spec, mistakes) = spec_of(self.settings, &line, &self.output.fail_if);
        let replicate = ReplicateSpec {
            others: targets.collect(),
            topology: self.topology,
            push: self.push,
            marker_every_ns: self.marker_every,
            start_timeout_ns: self.start_timeout,
            converge_timeout_ns: self.converge_timeout,
        };
        let spec = PlanSpec { replicate: Some(replicate), target_flag: named.flag, ..spec };
        let plan = gated(check(&spec), &self.gate, self.output.quiet);
        let show = self.show;
        let job = Job { plan, mistakes, noise: Self::FAMILY.noise(), output: &self.output };
        carry_out(job, |_| Ok(Printed::native(show)))
    }
}
