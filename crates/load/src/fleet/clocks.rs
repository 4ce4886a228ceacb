//! The agents' clocks, as measured by pings.

use super::channel::{To, WAITING};
use super::coordinator::{Event, Fleet};
use super::message::Down;
use super::offset::{Offset, PINGS};
use crate::clock::{Nanos, SECOND_NS};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long to wait for the answer to a ping before the next one.
const PING_NS: Nanos = if cfg!(test) { SECOND_NS / 5 } else { SECOND_NS };
/// How many agents are pinged at once: fewer than the messages that may wait for their reader.
const PINGED: usize = WAITING / 2;

#[derive(Default)]
struct Pings {
    /// Pings without an answer, by their numbers: the agent, and when it was sent.
    asked: BTreeMap<u64, (usize, Nanos)>,
    /// The offset from the best answer, by agent.
    best: BTreeMap<usize, Offset>,
}

impl Pings {
    /// Notes an answer with the agent's clock, received at `received` on this one.
    fn answered(&mut self, id: u64, at_ns: Nanos, received: Nanos) {
        let Some((agent, asked)) = self.asked.remove(&id) else { return };
        let offset = Offset::of(asked, at_ns, received);
        self.best.entry(agent).and_modify(|it| *it = it.better(offset)).or_insert(offset);
    }
}

impl Fleet {
    /// Measures the clocks of all present agents, one group at a time. An agent that never answers
    /// is lost: it could not be given a start time.
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

    /// Waits for answers to pings until there are `enough`, or `patience_ns` has passed. A late
    /// answer counts, too: the later it is, the larger its error.
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

    /// The longest round trip of the pings that the clocks are known by, in nanoseconds.
    pub fn round_trip_ns(&self) -> Nanos {
        let known = self.members.iter().filter(|it| it.lost.is_none()).filter_map(|it| it.offset);
        known.map(|it| 2 * it.error_ns).max().unwrap_or_default()
    }
}
