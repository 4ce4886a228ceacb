//! What a workload tells of itself where a stage is planned, carried out and reported.
//!
//! Each workload implements [`StageWork`] in its own file, for what is stored of it in a plan. No
//! other room knows which workloads there are.

use super::{Live, UrlEntry, Workload};
use crate::op::OpKind;
use crate::schema::{Documents, Naming};
use std::any::Any;
use std::sync::Arc;

/// What a stage does: a workload's settings, as they are stored in the plan.
pub trait StageWork {
    /// Whether operations of this kind are done.
    fn does(&self, kind: OpKind) -> bool;

    /// How many operations connection `k` of `connections` is to do, where they are counted.
    fn operations(&self, k: usize, connections: usize) -> Option<u64>;

    /// What it was to do, for reports; numbers of things are written by `count`.
    fn describe(&self, count: &dyn Fn(u64) -> String) -> Vec<String>;

    /// Has `runner` carry out the stage, with what `stock` holds, and puts back into `stock` what
    /// later stages need.
    ///
    /// # Errors
    /// Those of `runner`.
    fn carry_out<R: Runner>(
        &self,
        cx: &LaneContext,
        stock: &mut Stock,
        runner: R,
    ) -> Result<R::Output, R::Error>;

    /// What it fills the database with, if it does.
    fn fill(&self) -> Option<Fill> {
        None
    }

    /// The number of documents in a request of a fill, set to the one that all fills have in
    /// common: for comparing plans in which it does not matter.
    fn forget_batch(&mut self) {}

    /// How many documents must be stored in the end, so that the run has not failed.
    fn must_store(&self) -> Option<u64> {
        None
    }

    /// Whether connections write the same documents, so that some writes must meet a conflict.
    fn provokes_conflicts(&self) -> bool {
        false
    }

    /// Whether each connection has operations of its own even in an open loop, where otherwise
    /// whoever is free takes what falls due next.
    fn is_parted(&self) -> bool {
        false
    }

    /// When the connections begin together, if they have to.
    fn gathering(&self) -> Option<Gathering> {
        None
    }

    /// Why connections may end before they have done all that was planned.
    fn why_too_few(&self) -> &'static str {
        "there was nothing left to do"
    }

    /// How many operations connection `k` is to do by itself.
    fn own_operations(&self, k: usize, cx: &LaneContext) -> Option<u64> {
        if cx.sharing.is_some() && !self.is_parted() {
            return None;
        }
        self.operations(k, cx.connections)
    }

    /// How many operations `connections` are to do together, where they are counted.
    fn planned(&self, connections: usize) -> Option<u64> {
        (0..connections).map(|k| self.operations(k, connections)).sum()
    }

    /// How many documents these operations are on, where they are counted.
    fn documents(&self, connections: usize) -> Option<u64> {
        self.fill().map(|fill| fill.documents).or_else(|| self.planned(connections))
    }
}

/// What a stage fills the database with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// Documents in all.
    pub documents: u64,
    /// Documents in one request.
    pub batch: u32,
}

/// When the connections of a stage begin together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gathering {
    /// How long the start waits for connections, in nanoseconds.
    pub patience_ns: u64,
    /// It is no sooner than so long after the first such stage of the run began, in nanoseconds.
    pub not_before_ns: u64,
}

/// Carries out a stage.
pub trait Runner {
    /// What comes of it.
    type Output;
    /// Why nothing does.
    type Error;

    /// Runs the workloads, one per connection, and gives them back in the same order.
    ///
    /// # Errors
    /// When the stage cannot be carried out.
    fn run<W: Workload + Send + 'static>(
        self,
        lanes: Vec<W>,
    ) -> Result<(Self::Output, Vec<W>), Self::Error>;
}

/// What the workloads of a stage are made with.
#[derive(Debug)]
pub struct LaneContext {
    /// What everything is drawn from.
    pub seed: u64,
    /// How many connections there are.
    pub connections: usize,
    /// In an open loop, how many threads share the connections; those of a thread share what there
    /// is to do. `None`: a closed loop, in which each connection has its part.
    pub sharing: Option<usize>,
    /// What documents look like.
    pub documents: Arc<Documents>,
    /// How documents are named that are not made from these.
    pub naming: Naming,
    /// The list of requests, where the run has one.
    pub entries: Arc<[UrlEntry]>,
    /// What a fill has no answer to is sent again.
    pub persists: bool,
}

/// What passes from one stage of a run to the next.
#[derive(Debug)]
pub struct Stock {
    live: Vec<Live>,
    inserted: u64,
    /// The lanes of earlier stages, each by its type.
    lanes: Vec<Box<dyn Any>>,
}

impl Stock {
    /// What there is before the first stage: no documents on any of `connections`.
    pub fn new(connections: usize) -> Self {
        Self { live: vec![Live::default(); connections], inserted: 0, lanes: Vec::new() }
    }

    /// A fill has inserted so many documents in all; `live` are those of each connection.
    pub fn filled(&mut self, inserted: u64, live: Vec<Live>) {
        (self.inserted, self.live) = (inserted, live);
    }

    /// How many documents fills have inserted: keys from this one on are free.
    pub const fn inserted(&self) -> u64 {
        self.inserted
    }

    /// The documents of each connection. Whoever takes them is the one that may change them.
    pub fn take_live(&mut self) -> Vec<Live> {
        let none = vec![Live::default(); self.live.len()];
        std::mem::replace(&mut self.live, none)
    }

    /// Keeps lanes for a later stage of the same kind.
    pub fn keep<W: 'static>(&mut self, lanes: Vec<W>) {
        self.lanes.push(Box::new(lanes));
    }

    /// The lanes that an earlier stage has kept; none if there was no such stage.
    pub fn kept<W: 'static>(&mut self) -> Vec<W> {
        let place = self.lanes.iter().position(|lanes| lanes.is::<Vec<W>>());
        let lanes = place.and_then(|place| self.lanes.swap_remove(place).downcast().ok());
        lanes.map_or_else(Vec::new, |lanes| *lanes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_kept_by_their_type_until_they_are_taken() {
        let mut stock = Stock::new(2);
        assert!(stock.kept::<u8>().is_empty());
        stock.keep(vec![1u8, 2]);
        stock.keep(vec!["a"]);
        assert_eq!(stock.kept::<u8>(), [1, 2]);
        assert!(stock.kept::<u8>().is_empty());
        assert_eq!(stock.kept::<&str>(), ["a"]);
        assert_eq!(stock.take_live().len(), 2);
        assert_eq!(stock.take_live().len(), 2);
    }
}
