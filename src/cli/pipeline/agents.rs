//! The agents of a run: started here or on other hosts, reached through a broker, or connecting on
//! their own.

use super::ending::Ending;
use crate::cli::exit::{Exit, Trouble};
use crate::cli::flags::agents::{AgentsArgs, Way};
use crate::cli::look;
use crate::fleet::{Broker, Channel, Fleet, Waits, pipe, run_id};
use crate::plan::FleetPlan;
use crate::report::shown;
use std::time::Duration;

/// Gathers all agents that were asked for. They are dismissed when the channel is dropped.
///
/// # Errors
/// Fails if not all of them can be gathered.
pub(in crate::cli) fn gather(
    args: &AgentsArgs,
    plan: Option<FleetPlan>,
    ending: &Ending,
    quiet: bool,
) -> Result<Option<Fleet>, Trouble> {
    let Some(FleetPlan { agents, .. }) = plan else { return Ok(None) };
    let run = args.run_id.clone().unwrap_or_else(run_id);
    let way = args.way()?;
    let patience = Duration::from_nanos(args.ready_timeout);
    let announce = move |lines: &str| {
        for line in lines.lines().filter(|_| !quiet) {
            eprintln!("{}", shown(line, look::ascii()));
        }
    };
    let failed = |why: String| match ending.reason() {
        Some(_) => Exit::Interrupted.into(),
        None => Trouble::new(Exit::Target, why),
    };
    let channel = match &way {
        Way::Here => started(agents, &run),
        Way::Ssh(ssh) => ssh.start(&run, patience, ending.stop(), &announce),
        Way::Broker(broker) => {
            let channel = broker.open(&run);
            channel.inspect(|_| announce(&invitation(broker, &run, agents)))
        }
        Way::Door(door) => door.open(&run, agents, Box::new(announce)).map(|(channel, address)| {
            announce(&door.invitation(&run, agents, address));
            channel
        }),
    };
    let waits = Waits { silence_ns: args.silence, grace_ns: args.grace };
    let fleet = Fleet::new(channel.map_err(failed)?, &run, agents, waits);
    let mut fleet = fleet.map_err(|error| failed(format!("cannot reach agents: {error}")))?;
    let mut there = |there: usize| match &way {
        Way::Here => {}
        Way::Ssh(ssh) if there == agents => {
            announce(&format!("{agents} agents on {}", ssh.hosts()));
        }
        _ if there == agents => announce(&format!("all {agents} agents have joined")),
        _ => {}
    };
    fleet.gather(patience, ending.stop(), &mut there).map_err(failed)?;
    Ok(Some(fleet))
}

/// Starts agents on this machine.
fn started(agents: usize, run: &str) -> Result<Channel, String> {
    let failed = |error: std::io::Error| format!("cannot start agents: {error}");
    let program = std::env::current_exe().map_err(failed)?;
    pipe::start(&program, agents, run).map_err(failed)
}

/// The message that explains how to start agents.
fn invitation(broker: &Broker, run: &str, agents: usize) -> String {
    let last = agents - 1;
    let who = broker.user().map_or(
        "",
        |_| "\n  with SPRINGLOAD_BROKER_USER and SPRINGLOAD_BROKER_PASSWORD in its environment",
    );
    format!(
        "run {run}: waiting for {agents} agents at {broker}; start each, with an index from 0 to \
         {last}:\n  springload agent --broker '{broker}' --run {run} --index 0{who}"
    )
}
