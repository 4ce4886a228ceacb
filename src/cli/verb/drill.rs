//! `springload drill`: a run during which something is broken and repaired again.

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Statuses, Trouble};
use crate::cli::flags::credentials::CredentialArgs;
use crate::cli::flags::output::{OutputArgs, VerboseArgs};
use crate::cli::flags::target::named_nodes;
use crate::cli::pipeline::dialect::Printed;
use crate::cli::pipeline::{Job, carry_out};
use crate::cli::verb::run::{Settings, spec_of};
use crate::plan::{self, DrillSpec, DrillTimes, Invalid, check};
use clap::ArgMatches;
use clap::parser::ValueSource;

/// Flags of a run that a drill sets itself, and what to give instead.
const DECIDED: [(&str, &str); 3] = [
    ("duration", "give --before, --broken and --after"),
    ("ops", "leave it out: a drill goes on for a given time"),
    ("stages", "give one --rate, or none: phases with different loads cannot be compared"),
];

/// `springload drill`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("duration", |it| it.hide(true)), mut_arg("ops", |it| it.hide(true)))]
#[command(mut_arg("stages", |it| it.hide(true)))]
pub(in crate::cli) struct Drill {
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    credentials: CredentialArgs,
    /// A shell command that breaks something
    ///
    /// A shell command that breaks something, such as 'kill -STOP 4711'. --start always runs
    /// afterwards, even if this command or the run fails
    #[arg(long, value_name = "COMMAND")]
    stop: Option<String>,
    /// The shell command that mends it
    ///
    /// The shell command that mends it, such as 'kill -CONT 4711'. It has to end by itself: a
    /// server that it starts goes into the background
    #[arg(long, value_name = "COMMAND")]
    start: Option<String>,
    /// Put this node into maintenance mode instead
    ///
    /// Put this node of CouchDB into maintenance mode instead of running commands: its address, or
    /// its place among the targets, from 1. Takes an administrator
    #[arg(long, value_name = "NODE")]
    maintenance: Option<String>,
    /// Cut the load off from this node instead
    ///
    /// Cut the load off from this node of CouchDB instead of running commands, as if the network
    /// dropped every packet: its address, or its place among the targets, from 1. The nodes still
    /// reach each other
    #[arg(long, value_name = "NODE")]
    partition: Option<String>,
    /// How long the load runs before something is broken
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = plan::duration_ns)]
    before: u64,
    /// How long it stays broken
    ///
    /// How long it stays broken: from the beginning of --stop to the beginning of --start
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = plan::duration_ns)]
    broken: u64,
    /// How long the load runs after that
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = plan::duration_ns)]
    after: u64,
    /// How long to wait between the load and the audit
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = plan::duration_ns)]
    settle: u64,
    /// How long each command may take
    ///
    /// How long each command may take. A --stop that has not ended by then is killed, and a --start
    /// is left running; either invalidates the drill
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = plan::duration_ns)]
    command_timeout: u64,
    /// Do not look for acknowledged writes at the end
    ///
    /// Do not look for acknowledged writes at the end. Without this flag, each node is asked for
    /// all of them, if the database returns documents
    #[arg(long, conflicts_with = "audit")]
    no_audit: bool,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    show: VerboseArgs,
}

impl Verb for Drill {
    const NAME: &'static str = "drill";
    const ABOUT: &'static str = "Break something under load, mend it, and report the outcome";
    const FAMILY: Family = Family::Measure;
    const BRIEF: &'static str = "target user stop start maintenance partition before broken after \
        timeout output";
    const EXAMPLES: [Example; 3] = [
        (
            "A node is killed and started again",
            "drill a:5984 b:5984 --stop 'ssh b halt' --start 'ssh b up'",
        ),
        ("A server freezes", "drill redis://h --stop 'docker pause r' --start 'docker unpause r'"),
        ("A node in maintenance mode", "drill a:5984 b:5984 c:5984 -u ann --maintenance c:5984"),
    ];
    const EXITS: Statuses = Exit::WITHOUT_BASELINE;

    fn carry_out(self, call: &Call<'_>) -> Result<Exit, Trouble> {
        let drill = self.asked();
        let mistakes = decided(call.matches);
        let Self { mut settings, credentials, output, show, .. } = self;
        let named = named_nodes(std::mem::take(&mut settings.target.target));
        let headers = std::mem::take(&mut settings.client.header);
        let servers = credentials.servers(&named, headers)?;
        (settings.target.target, settings.client.header) = (servers.targets, servers.headers);
        let (mut spec, found) = spec_of(settings, &named.on(call.line), &output.fail_if);
        spec.target_flag = named.flag;
        spec.drill = Some(drill);
        let mistakes = mistakes.into_iter().chain(found).collect();
        let job =
            Job { plan: check(&spec), mistakes, noise: Self::FAMILY.noise(), output: &output };
        carry_out(job, |_| Ok(Printed::native(show)))
    }
}

impl Drill {
    fn asked(&self) -> DrillSpec {
        DrillSpec {
            stop: self.stop.clone(),
            start: self.start.clone(),
            maintenance: self.maintenance.clone(),
            partition: self.partition.clone(),
            times: DrillTimes {
                before_ns: self.before,
                broken_ns: self.broken,
                after_ns: self.after,
                settle_ns: self.settle,
                limit_ns: self.command_timeout,
            },
            audits: !self.no_audit,
        }
    }
}

/// The mistakes for flags that a drill sets itself.
fn decided(matches: &ArgMatches) -> Vec<Invalid> {
    let given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let refused = DECIDED.iter().filter(|(id, _)| given(id));
    let problem = "the phases of a drill decide that";
    refused.map(|(id, cure)| Invalid::new(format!("--{id}"), problem, *cure)).collect()
}
