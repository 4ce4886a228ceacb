//! The agents of a run: started here, or reached through a broker.

use super::ending::Ending;
use crate::cli::exit::{Exit, Trouble};
use crate::cli::flags::agents::AgentsArgs;
use crate::fleet::{Broker, Channel, Fleet, pipe, run_id};
use crate::plan::FleetPlan;
use std::time::Duration;

/// The agents that were asked for, all of them there. They are dismissed when this is dropped.
///
/// # Errors
/// Why they are not.
pub(in crate::cli) fn gather(
    args: &AgentsArgs,
    plan: Option<FleetPlan>,
    ending: &Ending,
    quiet: bool,
) -> Result<Option<Fleet>, Trouble> {
    let Some(FleetPlan { agents, .. }) = plan else { return Ok(None) };
    let run = args.run_id.clone().unwrap_or_else(run_id);
    let broker = args.broker.read()?;
    let channel = match &broker {
        Some(broker) => broker.open(&run),
        None => started(agents, &run),
    };
    let failed = |why: String| Trouble::new(Exit::Target, why);
    let channel = channel.map_err(failed)?;
    if let (Some(broker), false) = (&broker, quiet) {
        invite(broker, &run, agents);
    }
    let fleet = Fleet::new(channel, &run, agents, args.silence);
    let mut fleet = fleet.map_err(|error| failed(format!("cannot reach agents: {error}")))?;
    let patience = Duration::from_nanos(args.ready_timeout);
    let mut told = |there: usize| {
        if there == agents && !quiet && broker.is_some() {
            eprintln!("all {agents} agents have joined");
        }
    };
    let gathered = fleet.gather(patience, ending.stop(), &mut told);
    match (gathered, ending.reason()) {
        (Ok(()), _) => Ok(Some(fleet)),
        (Err(_), Some(_)) => Err(Exit::Interrupted.into()),
        (Err(why), None) => Err(failed(why)),
    }
}

/// Starts agents on this machine.
fn started(agents: usize, run: &str) -> Result<Channel, String> {
    let failed = |error: std::io::Error| format!("cannot start agents: {error}");
    let program = std::env::current_exe().map_err(failed)?;
    pipe::start(&program, agents, run).map_err(failed)
}

/// Says how to start agents.
fn invite(broker: &Broker, run: &str, agents: usize) {
    let last = agents - 1;
    let who = broker.user().map_or(
        "",
        |_| "\n  with SPRINGLOAD_BROKER_USER and SPRINGLOAD_BROKER_PASSWORD in its environment",
    );
    eprintln!(
        "run {run}: waiting for {agents} agents at {broker}; start each, with an index from 0 to \
         {last}:\n  springload agent --broker '{broker}' --run {run} --index 0{who}"
    );
}
