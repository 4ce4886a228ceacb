//! Flags about agents, which share the load of a run.

use crate::fleet::{Broker, SHORTEST_SILENCE_NS};
use crate::plan::{self, FleetPlan, Invalid, Plan};

/// Flags about agents, shared by all verbs that measure.
#[derive(Clone, Debug, Default, clap::Args)]
pub(in crate::cli) struct AgentsArgs {
    /// Share the load among this many agents: processes on this machine, or elsewhere with --broker
    #[arg(long, value_name = "N", value_parser = plan::count)]
    pub(in crate::cli) agents: Option<u64>,
    #[command(flatten)]
    pub(in crate::cli) broker: BrokerArgs,
    /// The name of the run, as given to its agents [default: a new one]
    #[arg(long, value_name = "ID", requires = "agents")]
    pub(in crate::cli) run_id: Option<String>,
    /// How long to wait for the agents
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = plan::duration_ns)]
    #[arg(requires = "agents")]
    pub(in crate::cli) ready_timeout: u64,
    /// How long an agent may be silent before it counts as lost; at least 2s
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = plan::duration_ns)]
    #[arg(requires = "agents")]
    pub(in crate::cli) silence: u64,
    /// Let the run pass even if agents are lost
    #[arg(long, requires = "agents")]
    pub(in crate::cli) allow_lost: bool,
}

/// The password goes into the environment because process lists show command lines.
const BROKER_HELP: &str = "The RabbitMQ that connects agents on other machines: \
    amqp://[user@]host[:port][/vhost], or amqps:// with TLS; put the password in \
    SPRINGLOAD_BROKER_PASSWORD [default: the variable SPRINGLOAD_BROKER]";

/// Flags about the broker.
#[derive(Clone, Debug, Default, clap::Args)]
pub(in crate::cli) struct BrokerArgs {
    #[arg(long, value_name = "URL", help = BROKER_HELP)]
    broker: Option<String>,
}

impl BrokerArgs {
    /// The broker that is asked for, by the flag or the environment.
    ///
    /// # Errors
    /// What is wrong with its address.
    pub(in crate::cli) fn read(&self) -> Result<Option<Broker>, Invalid> {
        Broker::asked(self.broker.as_deref())
    }
}

impl AgentsArgs {
    /// `plan` for the agents that are asked for, if any.
    ///
    /// # Errors
    /// Why it cannot be shared among them.
    pub(in crate::cli) fn share(&self, plan: Plan) -> Result<Plan, Invalid> {
        let Some(agents) = self.agents else {
            if self.broker.broker.is_some() && plan.fleet.is_none() {
                let cure = "add --agents N, or leave it out";
                return Err(Invalid::new("--broker", "there are no agents to reach with it", cure));
            }
            return Ok(plan);
        };
        if self.silence < SHORTEST_SILENCE_NS {
            let problem = "shorter than two signs of life, which are sent once a second";
            return Err(Invalid::new("--silence", problem, "give 2s or more"));
        }
        let local = self.broker.read()?.is_none();
        let agents = usize::try_from(agents).unwrap_or(usize::MAX);
        plan.shared(FleetPlan { agents, allow_lost: self.allow_lost }, local)
    }
}
