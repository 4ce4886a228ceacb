//! The agents' clocks, as far as pings tell.

use super::channel::{To, WAITING};
use super::coordinator::{Event, Fleet};
use super::message::Down;
use super::offset::{Offset, PINGS};
use crate::clock::{Nanos, SECOND_NS};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long an answer to a ping is awaited before the next one.
const PING_NS: Nanos = SECOND_NS;
/// How many agents are pinged at once: fewer than messages that may wait for their reader.
const PINGED: usize = WAITING / 2;

/// Pings of a group of agents.
#[derive(Default)]
struct Pings {
    /// Those without an answer, by their numbers: to whom, and when.
    asked: BTreeMap<u64, (usize, Nanos)>,
    /// What the best answer says, by agent.
    best: BTreeMap<usize, Offset>,
}

impl Pings {
    /// An answer with the agent's clock, received at `received` on this one.
    fn answered(&mut self, id: u64, at_ns: Nanos, received: Nanos) {
        let Some((agent, asked)) = self.asked.remove(&id) else { return };
        let offset = Offset::of(asked, at_ns, received);
        self.best.entry(agent).and_modify(|it| *it = it.better(offset)).or_insert(offset);
    }
}

impl Fleet {
    /// Asks the agents that are there for their clocks, a group at a time. An agent that has never
    /// answered is lost: it could not be told when to start.
    pub fn measure_clocks(&mut self) {
        for group in self.present().chunks(PINGED) {
            let mut pings = Pings::default();
            for _ in 0..PINGS {
                for &agent in group {
                    self.pinged += 1;
                    pings.asked.insert(self.pinged, (agent, self.clock.now()));
                    self.order(To::Agent(agent), Down::Ping { id: self.pinged });
                }
                self.hear_pongs(&mut pings, PING_NS, |pings| pings.asked.is_empty());
            }
            let known: Vec<_> = self.members.iter().map(|it| it.offset.is_some()).collect();
            let enough = |pings: &Pings| {
                pings.asked.values().all(|(it, _)| known[*it] || pings.best.contains_key(it))
            };
            self.hear_pongs(&mut pings, self.patience_ns(), enough);
            for (agent, offset) in pings.best {
                self.members[agent].offset = Some(offset);
            }
        }
        for agent in self.present() {
            if self.members[agent].offset.is_none() {
                let for_s = self.patience_ns() as f64 / SECOND_NS as f64;
                let why = format!("its clock is not known: no ping was answered for {for_s} s");
                self.lose_later(agent, why);
            }
        }
    }

    /// Waits for answers to pings until there are `enough`, or `patience_ns` is over. A late answer
    /// counts, too: its error is as large as it is late.
    fn hear_pongs(
        &mut self,
        pings: &mut Pings,
        patience_ns: Nanos,
        enough: impl Fn(&Pings) -> bool,
    ) {
        let until = self.clock.now() + patience_ns;
        loop {
            pings.asked.retain(|_, (agent, _)| self.members[*agent].lost.is_none());
            let left = until.saturating_sub(self.clock.now());
            if left == 0 || enough(pings) {
                return;
            }
            match self.listen(Duration::from_nanos(left)) {
                Some(Event::Pong { id, at_ns }) => pings.answered(id, at_ns, self.looked),
                Some(other) => self.kept.push_back(other),
                None => {}
            }
        }
    }

    /// The longest round trip of those by which the clocks are known, in nanoseconds.
    pub fn round_trip_ns(&self) -> Nanos {
        let known = self.members.iter().filter(|it| it.lost.is_none()).filter_map(|it| it.offset);
        known.map(|it| 2 * it.error_ns).max().unwrap_or_default()
    }
}
