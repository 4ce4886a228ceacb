//! How long an agent may be silent, at present and during the run.

use super::channel::To;
use super::coordinator::Fleet;
use super::message::Down;
use crate::clock::{Nanos, SECOND_NS};

/// How many times longer agents may be silent until the first stage: hundreds of processes starting
/// on one machine delay each other.
const GATHERING: Nanos = 10;

impl Fleet {
    /// How long an agent may be silent at present.
    pub(super) const fn patience_ns(&self) -> Nanos {
        self.waits.silence_ns.saturating_mul(if self.gathering { GATHERING } else { 1 })
    }

    /// The message that informs an agent of these times.
    pub(super) const fn welcome(&self) -> Down {
        Down::Welcome { silence_ns: self.patience_ns(), grace_ns: self.waits.grace_ns }
    }

    /// All agents are about to work: from now on a silent one is missed soon.
    pub(super) fn gathered(&mut self) {
        if std::mem::replace(&mut self.gathering, false) {
            let now = self.clock.now();
            self.members.iter_mut().for_each(|member| member.heard = now);
            self.order(To::All, self.welcome());
        }
    }

    /// How long an agent may be silent during a run, in seconds.
    pub(super) fn silence_s(&self) -> f64 {
        self.waits.silence_ns as f64 / SECOND_NS as f64
    }
}
