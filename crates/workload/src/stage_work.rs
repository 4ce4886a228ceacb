//! What a workload provides for planning, running and reporting a stage.
//!
//! Each workload implements [`StageWork`] in its own file, for its settings as stored in a plan. No
//! other module knows which workloads there are.

use super::{FromSchemas, Ledger, Live, Original, OwnOperation, UrlEntry, Workload};
use crate::mistake::Invalid;
use crate::op::{Feature, Key, OpKind};
use crate::schema::{Documents, Ids, Naming};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// What a stage does: a workload's settings, as stored in the plan.
pub trait StageWork {
    /// Whether it includes operations of this kind.
    fn does(&self, kind: OpKind) -> bool;

    /// Adds mistakes in stored settings, which may come from another version or have been edited
    /// since. Mistakes name the members.
    fn check_again(&self, restored: &Restored<'_>, mistakes: &mut Vec<Invalid>);

    /// How many operations connection `k` of `connections` is to do, if they are counted.
    fn operations(&self, k: usize, connections: usize) -> Option<u64>;

    /// What was planned, for reports; `count` formats numbers of things.
    fn describe(&self, count: &dyn Fn(u64) -> String) -> Vec<String>;

    /// How it differs from other workloads.
    fn traits(&self) -> Traits;

    /// The fields of the documents that it writes; none if these are the run's documents.
    fn fields(&self) -> Vec<String> {
        Vec::new()
    }

    /// A generator for the documents that it has written, if it is auditable.
    fn original(&self, cx: &LaneContext) -> Box<dyn Original> {
        Box::new(FromSchemas::new(cx.documents.clone()))
    }

    /// How many operations connection `k` alone has to do: none in an open loop, where the next
    /// free connection takes the next operation due.
    fn own_operations(&self, k: usize, cx: &LaneContext) -> Option<u64> {
        if cx.sharing.is_some() { None } else { self.operations(k, cx.connections) }
    }

    /// How many operations `connections` have to do together, if they are counted.
    fn planned(&self, connections: usize) -> Option<u64> {
        (0..connections).map(|k| self.operations(k, connections)).sum()
    }

    /// The number of documents in these operations, if they are counted.
    fn documents(&self, connections: usize) -> Option<u64> {
        self.traits().fill.map(|fill| fill.documents).or_else(|| self.planned(connections))
    }
}

/// How a stage is carried out.
pub trait Lanes: StageWork {
    /// Has `runner` run the stage with the contents of `stock`, and puts whatever later stages need
    /// back into `stock`.
    ///
    /// # Errors
    /// Passes on the errors of `runner`.
    fn carry_out<R: Runner>(
        &self,
        cx: &LaneContext,
        stock: &mut Stock,
        runner: R,
    ) -> Result<R::Output, R::Error>;
}

/// The properties of a workload that matter for planning, running and reporting its stages.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a trait of its own")]
pub struct Traits {
    /// The features that its operations require.
    pub needs: &'static [Feature],
    /// What it fills the database with, if it does so.
    pub fill: Option<Fill>,
    /// How many documents must be stored at the end for the run to succeed.
    pub must_store: Option<u64>,
    /// When the connections start together, if they must.
    pub gathering: Option<Gathering>,
    /// Why connections may end before everything planned was done; `None` if they only do so when
    /// there is nothing left to do.
    pub why_too_few: Option<&'static str>,
    /// Its connections write the same documents, or an audit looks for such documents: conflicts
    /// are expected, and the order of writes is unknown.
    pub shares_documents: bool,
    /// Its connections share their documents or requests, so that an open loop may open more of
    /// them as needed.
    pub grows: bool,
    /// It can compare what it reads with what was written.
    pub verifies: bool,
    /// Each document that it writes is generated from its number and version alone, so that an
    /// audit can generate it again.
    pub is_auditable: bool,
    /// It looks for what earlier stages have written.
    pub audits: bool,
    /// The only node that is asked, as an index into the addresses, from 0; `None` for all nodes.
    pub node: Option<usize>,
    /// All documents in the database can be counted afterwards, to find any that do not belong to
    /// the run.
    pub counts_others: bool,
    /// How many of the documents that it looks for an earlier run is known to have created.
    pub created_before: u64,
    /// What it makes for later stages, in the plural: if some of it cannot be made, the run ends.
    pub makes: Option<&'static str>,
}

/// The rest of the plan that stored settings belong to.
#[derive(Clone, Copy, Debug)]
pub struct Restored<'a> {
    /// The number of connections.
    pub connections: usize,
    /// How many documents the stages before it insert.
    pub stored: u64,
    /// How documents are named.
    pub ids: &'a Ids,
    /// The number of requests in the list, if there is one.
    pub requests: usize,
}

/// What a stage fills the database with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// Total number of documents.
    pub documents: u64,
    /// Documents in one request.
    pub batch: u32,
    /// How long it may take, in nanoseconds, if this is limited: there may then be fewer documents.
    pub within_ns: Option<u64>,
}

/// When the connections of a stage start together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gathering {
    /// How long the start waits for connections, in nanoseconds.
    pub patience_ns: u64,
    /// The earliest start, in nanoseconds after the first such stage of the run began.
    pub not_before_ns: u64,
}

/// The workloads of all connections after a stage, in order, as their connections had them.
pub type Ended<W> = Vec<Box<W>>;

/// Runs a stage.
pub trait Runner {
    /// The result of a run.
    type Output;
    /// Why a stage could not be run.
    type Error;

    /// Runs the workloads, one per connection, and returns them. Connections that are not open yet
    /// come last.
    ///
    /// # Errors
    /// Returns an error if the stage cannot be run.
    fn run<W: Workload + Send + 'static>(
        self,
        lanes: Vec<W>,
    ) -> Result<(Self::Output, Ended<W>), Self::Error>;
}

/// The context from which the workloads of a stage are created.
#[derive(Debug)]
pub struct LaneContext {
    /// The seed of all random choices.
    pub seed: u64,
    /// The number of connections, over all agents, that are open from the start.
    pub connections: usize,
    /// How many more may be opened.
    pub spare: usize,
    /// The number of the agent that this process is; 0 if there are no others.
    pub agent: u64,
    /// In an open loop, the number of threads; the connections of a thread share its operations.
    /// `None` in a closed loop, where each connection has its own share.
    pub sharing: Option<usize>,
    /// The generator of documents.
    pub documents: Arc<Documents>,
    /// The operations that the plan defines and the stage may do, in the order of their names.
    pub operations: Arc<[OwnOperation]>,
    /// Names of documents that are not generated from `documents`.
    pub naming: Naming,
    /// The list of requests, if the run has one.
    pub entries: Arc<[UrlEntry]>,
    /// Whether a fill resends requests that had no answer.
    pub persists: bool,
    /// Whether reads are compared with what was written.
    pub verify: bool,
    /// Whether a read may request several documents at once ...
    pub reads_several: bool,
    /// ... and if only documents in the same place, where each is; `None` if any can be combined.
    pub places: Option<Places>,
}

/// Where documents are, if not all of them can be requested at once.
#[derive(Clone)]
pub struct Places(Arc<dyn Fn(Key) -> u32 + Send + Sync>);

impl Places {
    /// Places by this rule, which returns the number of each document's place.
    pub fn new(of: impl Fn(Key) -> u32 + Send + Sync + 'static) -> Self {
        Self(Arc::new(of))
    }

    /// The place of a document.
    pub fn of(&self, key: Key) -> u32 {
        (self.0)(key)
    }
}

impl fmt::Debug for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Places")
    }
}

/// What is passed from one stage of a run to the next.
#[derive(Debug)]
pub struct Stock {
    connections: usize,
    /// The documents of each connection; empty if there are none.
    live: Vec<Live>,
    inserted: u64,
    /// The lanes of earlier stages, identified by type.
    lanes: Vec<Box<dyn Any>>,
    /// The state that the next audit looks for.
    owed: Ledger,
}

impl Stock {
    /// The stock before the first stage: no documents on any of `connections`.
    pub fn new(connections: usize) -> Self {
        Self {
            connections,
            live: Vec::new(),
            inserted: 0,
            lanes: Vec::new(),
            owed: Ledger::default(),
        }
    }

    /// Notes that a fill has inserted `inserted` documents in total; `live` holds the documents of
    /// each connection.
    pub fn filled(&mut self, inserted: u64, live: Vec<Live>) {
        (self.inserted, self.live) = (inserted, live);
    }

    /// How many documents fills have inserted: keys from this number on are unused.
    pub const fn inserted(&self) -> u64 {
        self.inserted
    }

    /// Takes the documents of each connection. Only the caller may change them from then on.
    pub fn take_live(&mut self) -> Vec<Live> {
        let mut live = std::mem::take(&mut self.live);
        if live.is_empty() {
            live.resize(self.connections, Live::default());
        }
        live
    }

    /// Sets what the next stage, an audit, is to look for.
    pub fn owe(&mut self, owed: Ledger) {
        self.owed = owed;
    }

    /// Takes what an audit is to look for.
    pub(super) fn take_owed(&mut self) -> Ledger {
        std::mem::take(&mut self.owed)
    }

    /// Keeps lanes for a later stage of the same kind.
    pub fn keep<W: 'static>(&mut self, lanes: Ended<W>) {
        self.lanes.push(Box::new(lanes));
    }

    /// Takes the lanes kept by an earlier stage; none if there was no such stage.
    pub fn kept<W: 'static>(&mut self) -> Vec<W> {
        let place = self.lanes.iter().position(|lanes| lanes.is::<Ended<W>>());
        let lanes = place.and_then(|place| self.lanes.swap_remove(place).downcast().ok());
        let lanes: Box<Ended<W>> = lanes.unwrap_or_default();
        lanes.into_iter().map(|lane| *lane).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bulk_insert::BulkInsertPlan;
    use crate::hot::HotPlan;
    use crate::{CrudOrder, Mix, MixedPlan, OwnMix};

    /// Not every database has documents.
    #[test]
    fn plans_are_described_in_words_that_are_right_for_any_database() {
        let fill = |within_ns| BulkInsertPlan { documents: 300, batch: 15, within_ns };
        let said = |work: &dyn StageWork| work.describe(&|count| count.to_string()).join(" · ");
        assert_eq!(said(&fill(None)), "300 in batches of 15");
        let limited = said(&fill(Some(2_000_000_000)));
        assert_eq!(limited, "up to 300 in 2 s, in batches of up to 15");
        let hot = HotPlan { mix: Mix::crud([0, 9, 1, 0]), operations: None };
        let mixed = |own, order| {
            let mix = Mix::crud([0, 9, 1, 0]);
            MixedPlan { mix, own, operations: None, order }
        };
        let plans: [&dyn StageWork; 4] = [
            &hot,
            &mixed(OwnMix::new(), CrudOrder::Uniform),
            &mixed(OwnMix::new(), CrudOrder::Current),
            &mixed(OwnMix::from([(OpKind::Read, 1)]), CrudOrder::Uniform),
        ];
        for plan in plans {
            let why = plan.traits().why_too_few.expect("a reason");
            assert!(why.starts_with("a connection had nothing left to work on, "), "{why}");
            let said = said(plan);
            assert!(!said.contains("document") && !why.contains("document"), "{said} {why}");
        }
    }

    #[test]
    fn lanes_are_kept_by_their_type_until_they_are_taken() {
        let mut stock = Stock::new(2);
        assert!(stock.kept::<u8>().is_empty());
        stock.keep(vec![Box::new(1u8), Box::new(2)]);
        stock.keep(vec![Box::new("a")]);
        assert_eq!(stock.kept::<u8>(), [1, 2]);
        assert!(stock.kept::<u8>().is_empty());
        assert_eq!(stock.kept::<&str>(), ["a"]);
        assert_eq!(stock.take_live().len(), 2);
        assert_eq!(stock.take_live().len(), 2);
    }
}
