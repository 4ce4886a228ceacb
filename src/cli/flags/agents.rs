//! Flags about agents, which share the load of a run.

use crate::files;
use crate::fleet::{Broker, Door, Hosts, SHORTEST_SILENCE_NS, Ssh, Token};
use crate::net::Identity;
use crate::plan::{self, FleetPlan, Invalid, Plan};
use std::path::PathBuf;

/// The environment variable with the program that logs in to hosts, if no flag names one.
const SSH_VARIABLE: &str = "SPRINGLOAD_SSH";
/// The variable with the token shared with agents that connect on their own.
const TOKEN_VARIABLE: &str = "SPRINGLOAD_JOIN_TOKEN";
/// The largest file with a token, in bytes.
const TOKEN_BYTES: u64 = 4096;

/// Flags about agents, shared by all verbs that measure.
#[derive(Clone, Debug, Default, clap::Args)]
pub(in crate::cli) struct AgentsArgs {
    /// Share the load among this many agents: processes on this machine, or those
    /// of --broker or --listen
    #[arg(long, value_name = "N", value_parser = plan::count, group = "fleet")]
    pub(in crate::cli) agents: Option<u64>,
    #[arg(long, value_name = "HOST[:N],...", help = ON_HELP, group = "fleet")]
    #[arg(conflicts_with_all = ["broker", "listen"])]
    on: Option<Hosts>,
    #[arg(long, value_name = "COMMAND", help = SSH_HELP, requires = "on")]
    ssh: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) broker: BrokerArgs,
    #[arg(long, value_name = "ADDRESS:PORT", help = LISTEN_HELP, conflicts_with = "broker")]
    listen: Option<String>,
    /// A PEM file with the certificate of --listen and its chain
    #[arg(long, value_name = "FILE", requires_all = ["listen", "listen_key"])]
    listen_cert: Option<PathBuf>,
    /// A PEM file with its private key, unencrypted
    #[arg(long, value_name = "FILE", requires = "listen_cert")]
    listen_key: Option<PathBuf>,
    #[command(flatten)]
    token: TokenArgs,
    /// The name of the run, as given to its agents [default: generated]
    #[arg(long, value_name = "ID", requires = "fleet")]
    pub(in crate::cli) run_id: Option<String>,
    /// How long to wait for the agents
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = plan::duration_ns)]
    #[arg(requires = "fleet")]
    pub(in crate::cli) ready_timeout: u64,
    /// How long an agent may be silent before it counts as lost; at least 2s
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = plan::duration_ns)]
    #[arg(requires = "fleet")]
    pub(in crate::cli) silence: u64,
    /// How long to wait for what a lost agent has measured
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = plan::duration_ns)]
    #[arg(requires = "fleet")]
    pub(in crate::cli) grace: u64,
    /// Let the run pass even if agents are lost
    #[arg(long, requires = "fleet")]
    pub(in crate::cli) allow_lost: bool,
}

/// The password goes into the environment because process lists show command lines.
const BROKER_HELP: &str = "The RabbitMQ that connects agents on other machines: \
    amqp://[user@]host[:port][/vhost], or amqps:// with TLS; put the password in \
    SPRINGLOAD_BROKER_PASSWORD [default: the variable SPRINGLOAD_BROKER]";

const ON_HELP: &str = "Share the load among agents on these hosts, one per host, or N; started over \
    ssh, which must not prompt for a password";

const SSH_HELP: &str = "The program and options that reach the hosts of --on \
    [default: the variable SPRINGLOAD_SSH, or ssh]";

const TOKEN_HELP: &str = "A file with the token that coordinator and agents share \
    [default: the variable SPRINGLOAD_JOIN_TOKEN]";

const LISTEN_HELP: &str = "Wait here for the --agents N to connect: springload agent \
    --join tls://HOST:PORT; all must share the token in SPRINGLOAD_JOIN_TOKEN";

/// How agents are reached.
pub(in crate::cli) enum Way {
    /// They are processes on this machine.
    Here,
    /// A broker connects them to this process.
    Broker(Broker),
    /// They are started on hosts, over SSH.
    Ssh(Ssh),
    /// They connect on their own.
    Door(Door),
}

/// Flags about the broker.
#[derive(Clone, Debug, Default, clap::Args)]
pub(in crate::cli) struct BrokerArgs {
    #[arg(long, value_name = "URL", help = BROKER_HELP)]
    broker: Option<String>,
}

impl BrokerArgs {
    /// The broker named by the flag or the environment.
    ///
    /// # Errors
    /// Fails if its address is invalid.
    pub(in crate::cli) fn read(&self) -> Result<Option<Broker>, Invalid> {
        Broker::asked(self.broker.as_deref())
    }
}

/// Flags about the token of agents that come by themselves.
#[derive(Clone, Debug, Default, clap::Args)]
pub(in crate::cli) struct TokenArgs {
    #[arg(long, value_name = "FILE", help = TOKEN_HELP)]
    join_token_file: Option<PathBuf>,
}

impl TokenArgs {
    /// The token, from the file or the environment.
    ///
    /// # Errors
    /// Fails if there is none, or it is unusable.
    pub(in crate::cli) fn read(&self) -> Result<Token, Invalid> {
        if let Some(file) = &self.join_token_file {
            let text = files::read_text(file, TOKEN_BYTES).map_err(|error| {
                let problem = format!("cannot read {}: {error}", file.display());
                Invalid::new("--join-token-file", problem, "give a file with nothing but the token")
            })?;
            return Token::new("--join-token-file", &text);
        }
        let Some(text) = variable(TOKEN_VARIABLE) else {
            let cure = "set it to the same secret for the coordinator and its agents, such as \
                        that of: openssl rand -hex 32";
            return Err(Invalid::new(TOKEN_VARIABLE, "there is no token", cure));
        };
        Token::new(TOKEN_VARIABLE, &text)
    }
}

/// The value of an environment variable that is set and not empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

impl AgentsArgs {
    /// The number of agents that were asked for, if any.
    pub(in crate::cli) fn count(&self) -> Option<usize> {
        let number = |agents| usize::try_from(agents).unwrap_or(usize::MAX);
        self.on.as_ref().map(Hosts::agents).or_else(|| self.agents.map(number))
    }

    /// How they are reached. A flag takes precedence over the environment.
    ///
    /// # Errors
    /// Fails if what was asked for is invalid.
    pub(in crate::cli) fn way(&self) -> Result<Way, Invalid> {
        if let Some(hosts) = &self.on {
            return Ok(Way::Ssh(Ssh::new(self.ssh_words()?, hosts.clone())));
        }
        if let Some(address) = &self.listen {
            let both = self.listen_cert.clone().zip(self.listen_key.clone());
            let identity = both.map(|(certificate, key)| Identity { certificate, key });
            return Ok(Way::Door(Door::new(address, identity, self.token.read()?)?));
        }
        Ok(self.broker.read()?.map_or(Way::Here, Way::Broker))
    }

    /// The program that logs in to hosts, and its first arguments.
    fn ssh_words(&self) -> Result<Vec<String>, Invalid> {
        let set = variable(SSH_VARIABLE);
        let (from, line) = match (&self.ssh, &set) {
            (Some(line), _) => ("--ssh", line.as_str()),
            (None, Some(line)) => (SSH_VARIABLE, line.as_str()),
            (None, None) => ("--ssh", "ssh"),
        };
        let words = plan::words(line).and_then(|words| {
            if words.is_empty() { Err("there is no program".to_owned()) } else { Ok(words) }
        });
        let cure = "give a program with its options, such as 'ssh -F FILE'";
        words.map_err(|problem| Invalid::new(from, problem, cure))
    }

    /// `plan`, shared among the agents that were asked for, if any.
    ///
    /// # Errors
    /// Fails if the plan cannot be shared among them.
    pub(in crate::cli) fn share(&self, plan: Plan) -> Result<Plan, Invalid> {
        let Some(agents) = self.count().filter(|_| plan.fleet.is_none()) else {
            let needless = [("--broker", &self.broker.broker), ("--listen", &self.listen)];
            let needless = needless.into_iter().find(|(_, given)| given.is_some());
            if let (Some((flag, _)), None) = (needless, plan.fleet) {
                let cure = "add --agents N, or leave it out";
                return Err(Invalid::new(flag, "there are no agents to reach with it", cure));
            }
            return Ok(plan);
        };
        if self.silence < SHORTEST_SILENCE_NS {
            let problem = "shorter than two signs of life, which are sent once a second";
            return Err(Invalid::new("--silence", problem, "give 2s or more"));
        }
        let local = matches!(self.way()?, Way::Here);
        let flag = if self.on.is_some() { "--on" } else { "--agents" };
        let shared = plan.shared(FleetPlan { agents, allow_lost: self.allow_lost }, local);
        shared.map_err(|it| if it.flag() == "--agents" { it.under(flag) } else { it })
    }
}
