//! `springload agent`: generates load for a coordinator.

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Statuses, Trouble};
use crate::cli::flags::agents::{BrokerArgs, TokenArgs};
use crate::fleet::{Agent, Channel, Facts, Identity, Joined, Place, pipe};
use crate::plan::{self, Invalid};
use crate::record::Environment;
use crate::run::{Served, serve};
use std::path::PathBuf;
use std::time::Duration;

/// The variable with a pod's index in an Indexed Job on Kubernetes.
const POD: &str = "JOB_COMPLETION_INDEX";

const INDEX_HELP: &str =
    "The number of this agent, from 0 [default: the variable JOB_COMPLETION_INDEX]";

const JOIN_HELP: &str = "The coordinator that listens for agents, which assigns the run and agent \
    number: tls://HOST:PORT, or tcp://127.0.0.1:PORT on the same machine";

/// `springload agent`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct AgentVerb {
    /// The name of the run, as its coordinator shows it
    #[arg(long, value_name = "ID", required_unless_present = "join")]
    run: Option<String>,
    #[arg(long, value_name = "I", help = INDEX_HELP)]
    index: Option<usize>,
    #[command(flatten)]
    broker: BrokerArgs,
    #[arg(long, value_name = "URL", help = JOIN_HELP)]
    #[arg(conflicts_with_all = ["run", "index", "broker"])]
    join: Option<String>,
    /// A PEM file with the certificate authorities to trust instead of the system's, with --join
    #[arg(long, value_name = "FILE", requires = "join")]
    tls_ca: Option<PathBuf>,
    #[command(flatten)]
    token: TokenArgs,
    /// How long to wait for the coordinator
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = plan::duration_ns)]
    ready_timeout: u64,
    /// End when the process that started it does, as agents without a broker always do
    #[arg(long)]
    die_with_parent: bool,
    /// Report a clock this many milliseconds ahead to the coordinator, to test how differing clocks
    /// are handled
    #[arg(long, value_name = "MS", default_value_t = 0, hide = true)]
    clock_ahead: i64,
}

impl Verb for AgentVerb {
    const NAME: &'static str = "agent";
    const ABOUT: &'static str = "Generate load for a run that another process coordinates";
    const FAMILY: Family = Family::Machines;
    const BRIEF: &'static str = "run index broker join tls_ca ready_timeout";
    const EXAMPLES: [Example; 3] = [
        (
            "The first agent of run r1, over the broker in SPRINGLOAD_BROKER",
            "agent --run r1 --index 0",
        ),
        ("Over another broker", "agent --run r1 --index 1 --broker amqp://broker"),
        (
            "Of a coordinator that listens, with its token in SPRINGLOAD_JOIN_TOKEN",
            "agent --join tls://load-0.example:5985 --tls-ca ca.pem",
        ),
    ];
    const EXITS: Statuses = &[
        (Exit::Passed, "the run ended as it should"),
        Exit::ALL[1],
        Exit::WRONG,
        (Exit::Target, "the coordinator, or the connection to it, was lost"),
    ];

    fn carry_out(self, _call: &Call<'_>) -> Result<Exit, Trouble> {
        let patience = Duration::from_nanos(self.ready_timeout);
        let Seat { channel, run, index, reports } = self.take(patience)?;
        // Other agents may be started by a shell that ends.
        let bound = self.die_with_parent || !reports;
        let failed = |exit, why: &str| Trouble::new(exit, format!("agent {index}: {why}"));
        let Environment { springload: version, cores, .. } = Environment::here();
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let who = Identity {
            run,
            index,
            facts: Facts { host, pid: std::process::id(), version, cores },
            patience_ns: self.ready_timeout,
            bound,
            clock_ahead_ns: self.clock_ahead.saturating_mul(1_000_000),
        };
        let agent = Agent::join(channel, who);
        let agent = agent.map_err(|error| failed(Exit::Failed, &error.to_string()))?;
        let ended =
            |exit: Exit, why: &str| Err(if reports { failed(exit, why) } else { exit.into() });
        match serve(&agent) {
            Served::Dismissed(None) => Ok(Exit::Passed),
            Served::Dismissed(Some(why)) => ended(Exit::Failed, &why),
            Served::Lost(why) => ended(Exit::Target, &why),
        }
    }
}

/// The agent's place in a run.
struct Seat {
    channel: Channel,
    run: String,
    index: usize,
    /// Whether to print messages for the user here. A coordinator that started its agents itself
    /// reports for them.
    reports: bool,
}

impl AgentVerb {
    /// Joins the run. Without a broker or an address to join, the process that started this agent
    /// coordinates, and the agent dies with it.
    fn take(&self, patience: Duration) -> Result<Seat, Trouble> {
        if let Some(url) = &self.join {
            let place = Place::parse("--join", url, self.tls_ca.clone())?;
            let joined = place.join(&self.token.read()?, patience);
            let Joined { channel, run, index } =
                joined.map_err(|why| Trouble::new(Exit::Target, why))?;
            return Ok(Seat { channel, run, index, reports: true });
        }
        let (broker, index) = (self.broker.read()?, self.index()?);
        let run = self.run.clone().unwrap_or_default();
        if self.die_with_parent || broker.is_none() {
            die_with_the_parent();
        }
        let channel = match &broker {
            Some(broker) => broker.join(&run, index, patience),
            None => pipe::join().map_err(|error| error.to_string()),
        };
        let failed = |why: String| Trouble::new(Exit::Target, format!("agent {index}: {why}"));
        Ok(Seat { channel: channel.map_err(failed)?, run, index, reports: broker.is_some() })
    }

    fn index(&self) -> Result<usize, Invalid> {
        let pod = || std::env::var(POD).ok()?.parse().ok();
        self.index.or_else(pod).ok_or_else(|| {
            let cure = "give the number of this agent, from 0";
            Invalid::new("--index", format!("neither given nor in ${POD}"), cure)
        })
    }
}

/// On Linux, the kernel kills this process when the thread that started it ends.
#[cfg(target_os = "linux")]
fn die_with_the_parent() {
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
}

#[cfg(not(target_os = "linux"))]
const fn die_with_the_parent() {}
