//! The coordinator's orders to its agents. An order arrives, or the agent that does not take it is
//! lost.

use super::channel::{Full, To};
use super::coordinator::{Fleet, envelope};
use super::message::{Assignment, Down};
use crate::clock::Nanos;
use crate::engine::StopReason;
use std::sync::PoisonError;
use std::time::Duration;

/// How often to check whether there is room for an order.
const ROOM: Duration = Duration::from_millis(2);

impl Fleet {
    /// Gives all agents the plan.
    pub fn assign(&mut self, assignment: Assignment) {
        self.order(To::All, Down::Assign(Box::new(assignment)));
    }

    /// Has all agents connect for a stage.
    pub fn prepare(&mut self, stage: usize) {
        self.order(To::All, Down::Prepare { stage });
    }

    /// Has all present agents start a stage at `moment` on this clock. Each answers with
    /// [`Event::Started`](super::Event::Started).
    pub fn start(&mut self, stage: usize, moment: Nanos) {
        self.gathered();
        let there = |agent: usize| Some((agent, self.members[agent].offset?.there(moment)));
        let agents_ns = self.present().into_iter().filter_map(there).collect();
        self.order(To::All, Down::Start { stage, agents_ns, coordinators_ns: moment });
    }

    /// Has all agents start nothing more.
    pub fn stop(&mut self, reason: StopReason) {
        self.order(To::All, Down::Stop { reason });
    }

    /// Ends the run.
    pub fn over(&mut self) {
        self.order(To::All, Down::Over);
    }

    /// Dismisses all agents; `why`, if something went wrong.
    pub fn quit(&mut self, why: Option<String>) {
        self.order(To::All, Down::Quit { why });
    }

    fn envelope(&self, to: To, body: Down) -> Vec<u8> {
        envelope(&self.run, self.session, to, body)
    }

    fn try_send(&self, to: To, message: &[u8]) -> Result<(), Full> {
        let mut outbox = self.outbox.lock().unwrap_or_else(PoisonError::into_inner);
        outbox.send(to, message.to_vec())
    }

    /// Sends a message that will be sent again if the agent asks again: if there is no room, it is
    /// skipped.
    pub(super) fn offer(&self, agent: usize, body: Down) {
        let to = To::Agent(agent);
        self.try_send(to, &self.envelope(to, body)).ok();
    }

    /// Sends a message that must arrive: waits for room, but only as long as the silence allowed. A
    /// receiver without room by then is lost.
    pub(super) fn order(&mut self, to: To, body: Down) {
        let message = self.envelope(to, body);
        let until = self.clock.now() + self.waits.silence_ns;
        let mut receivers = vec![to];
        while self.closed.is_none() {
            receivers = self.without_room(&receivers, &message);
            if receivers.is_empty() {
                return;
            }
            if self.clock.now() >= until {
                break;
            }
            std::thread::sleep(ROOM);
        }
        for to in receivers {
            let for_s = self.silence_s();
            match to {
                To::Agent(agent) => {
                    self.lose_later(agent, format!("it took no messages for {for_s} s"));
                }
                To::All => {
                    let why = format!("the channel to the agents took no messages for {for_s} s");
                    self.closed.get_or_insert(why);
                }
            }
        }
    }

    /// Sends a message, and returns the receivers that have no room for it.
    fn without_room(&self, receivers: &[To], message: &[u8]) -> Vec<To> {
        let full = receivers.iter().filter_map(|&to| Some((to, self.try_send(to, message).err()?)));
        let full = full.flat_map(|(to, full)| match full {
            Full::Channel => vec![to],
            Full::Agents(agents) => agents.into_iter().map(To::Agent).collect(),
        });
        let lost = |to: &To| matches!(to, To::Agent(it) if self.members[*it].lost.is_some());
        full.filter(|to| !lost(to)).collect()
    }
}
