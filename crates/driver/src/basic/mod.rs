//! A target without a server that stores nothing, to measure springload itself or a known delay.

mod binding;
mod open;
mod plan;

pub use plan::{BasicOptions, BasicPlan};

use super::{Echo, Outcome, Session, Shard, ShardOf, Target};
use crate::clock::{Clock, Nanos, Sleeper};
use crate::generate::{below, mix, scramble};
use crate::measure::Probe;
use crate::net::ShardContext;
use crate::op::{Answered, Failure, Fields, Op, OpKind, Pen, Reply, Token};
use std::fmt;
use std::io;
use std::rc::Rc;
use std::time::Duration;

const MILLISECOND_NS: Nanos = 1_000_000;

/// How long operations take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// Milliseconds.
    pub ms: u32,
    /// If set, each operation takes a random whole number of milliseconds below `ms`, all equally
    /// likely, drawn from this seed. If `None`, all take the full time.
    pub seed: Option<u64>,
}

impl Delay {
    /// How long operation `op` of a session takes, after `before` others.
    const fn of(self, op: &Op, before: u64) -> Nanos {
        let most_ms = self.ms as u64;
        let ms = match self.seed {
            Some(seed) => below(scramble(mix(seed, op.key, before)), most_ms),
            None => most_ms,
        };
        ms * MILLISECOND_NS
    }
}

/// The target; see the module.
#[derive(Clone, Default)]
pub struct Basic {
    /// Receives the line of each operation, if operations are to be shown.
    pub echo: Option<Echo>,
    /// How long operations take; `None` for no delay.
    pub delay: Option<Delay>,
}

impl fmt::Debug for Basic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Basic").field("delay", &self.delay).finish_non_exhaustive()
    }
}

/// A session on this target.
#[derive(Debug)]
pub struct BasicSession {
    target: Basic,
    clock: Clock,
    /// Created with the first delay.
    sleeper: Option<Sleeper>,
    /// Completed operations.
    done: u64,
    /// The result of each document of a bulk insert.
    rows: Vec<Result<Token, Failure>>,
}

impl Target for Basic {
    const LISTED: bool = true;

    type Shard = ShardOf<Self>;

    async fn shard(&self, context: Rc<ShardContext>) -> io::Result<Self::Shard> {
        Ok(ShardOf { target: self.clone(), context })
    }
}

impl Shard for ShardOf<Basic> {
    type Session = BasicSession;

    fn session(&self) -> BasicSession {
        BasicSession {
            target: self.target.clone(),
            clock: self.context.clock(),
            sleeper: None,
            done: 0,
            rows: Vec::new(),
        }
    }
}

impl BasicSession {
    /// Waits until an operation that began at `began` has taken its full time.
    async fn wait(&mut self, delay: Delay, op: &Op, began: Nanos) {
        let until = began.saturating_add(delay.of(op, self.done));
        self.done += 1;
        if self.sleeper.is_none() {
            self.sleeper = Sleeper::new(self.clock).ok();
        }
        if let Some(sleeper) = &self.sleeper {
            sleeper.sleep_until(until).await;
        } else {
            // Less exact, but needs nothing from the operating system.
            let left = until.saturating_sub(self.clock.now());
            tokio::time::sleep(Duration::from_nanos(left)).await;
        }
    }
}

impl Session for BasicSession {
    type Pen = BasicPen;

    fn pen(&self) -> BasicPen {
        if self.target.echo.is_some() { BasicPen::showing() } else { BasicPen::default() }
    }

    async fn ready(&mut self) -> Option<Nanos> {
        None
    }

    /// Every operation succeeds. There are no versions, and nothing is sent.
    #[inline]
    async fn execute(&mut self, op: &Op, pen: &mut BasicPen, probe: &mut Probe) -> Outcome {
        if let Some(delay) = self.target.delay {
            // Rare: kept out of the future of all other operations.
            Box::pin(self.wait(delay, op, probe.began())).await;
        }
        if let Some(echo) = &self.target.echo {
            echo(pen.shown());
        }
        self.rows.clear();
        if op.kind == OpKind::BulkInsert {
            self.rows.resize(op.documents as usize, Ok(Token::default()));
        }
        probe.mark_answered_at_once();
        Outcome::of(Ok(Reply::default()))
    }

    fn answered(&self) -> Answered<'_> {
        Answered { rows: &self.rows, ..Answered::default() }
    }
}

/// Keeps a line to show, if operations are shown, and ignores documents.
#[derive(Debug, Default)]
pub struct BasicPen {
    shows: bool,
    name: Vec<u8>,
    line: Vec<u8>,
}

impl BasicPen {
    /// A pen that keeps lines.
    pub fn showing() -> Self {
        Self { shows: true, ..Self::default() }
    }

    /// The line of the last operation.
    pub fn shown(&self) -> &[u8] {
        &self.line
    }
}

impl Pen for BasicPen {
    fn clear(&mut self) {
        self.name.clear();
        self.line.clear();
    }

    fn name(&mut self) -> &mut Vec<u8> {
        &mut self.name
    }

    fn document(&mut self, _: Option<Token>, _: impl Fields) {}

    fn changes(&mut self, _: impl Fields) {}

    fn line(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if self.shows {
            write(&mut self.line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long 3,000 operations on a few documents take, in whole milliseconds.
    async fn taken(delay: Delay) -> Vec<u64> {
        let clock = Clock::virtual_time();
        let target = Basic { echo: None, delay: Some(delay) };
        let shard = target.shard(ShardContext::new(clock, 1_000)).await.unwrap();
        let mut session = shard.session();
        let mut pen = session.pen();
        let mut taken = Vec::new();
        for key in 0..3_000 {
            let now = clock.now();
            let mut probe = Probe::new(clock, now, now);
            let op = Op::single(OpKind::Read, key % 3, None);
            session.execute(&op, &mut pen, &mut probe).await;
            taken.push(probe.finish().service_ns / MILLISECOND_NS);
        }
        taken
    }

    #[tokio::test(start_paused = true)]
    async fn a_fixed_delay_is_the_same_for_all() {
        assert_eq!(taken(Delay { ms: 7, seed: None }).await, vec![7; 3_000]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_random_delay_is_below_and_even_and_follows_from_the_seed() {
        let first = taken(Delay { ms: 10, seed: Some(1) }).await;
        let mut counts = [0u32; 10];
        for &ms in &first {
            counts[ms as usize] += 1;
        }
        // Four standard deviations of a binomial with p = 1/10: 4 * sqrt(270) = 66.
        assert!(counts.iter().all(|count| count.abs_diff(300) < 66), "{counts:?}");
        assert_eq!(first, taken(Delay { ms: 10, seed: Some(1) }).await);
        assert_ne!(first, taken(Delay { ms: 10, seed: Some(2) }).await);
        assert_eq!(taken(Delay { ms: 1, seed: Some(1) }).await, vec![0; 3_000]);
    }
}
