//! A mix of single-document operations, as planned.

use super::budget::share;
use super::crud::Shelf;
use super::demand::MOST_DOCUMENTS;
use super::either::Either;
use super::own::{OwnBudget, WithOwn, split};
use super::{
    Budget, Crud, CurrentDocument, Demand, DocumentsAsked, KeySequence, LaneContext, Lanes, Live,
    Mix, Offer, OwnMix, OwnOperation, Restored, RunAsked, Runner, StageWork, Step, Stock, Traits,
};
use crate::generate::mix;
use crate::mistake::{Flagged, Invalid};
use crate::op::{Class, OpKind};
use crate::schema::Ids;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A lane of either order.
type MixedLane = Either<Crud, CurrentDocument>;

/// A mix of single-document operations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MixedPlan {
    /// The relative weights of operations.
    pub mix: Mix,
    /// The weights of operations that the plan defines, on the same scale as those in `mix`.
    #[serde(default, skip_serializing_if = "OwnMix::is_empty")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::op::keyed::<OpKind, u64>"))]
    pub own: OwnMix,
    /// Total number of operations; `None` to run until time is up.
    pub operations: Option<u64>,
    /// Which documents operations access.
    pub order: CrudOrder,
}

/// Which documents single-document operations access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CrudOrder {
    /// Any of the connection's documents, all equally likely.
    Uniform,
    /// As in Iron Cushion: the document created or read last; counts are the same on every
    /// connection.
    Current,
}

impl MixedPlan {
    /// The budget of connection `k` of `connections`.
    pub fn budget(&self, k: usize, connections: usize) -> Budget {
        let Some(operations) = self.operations else { return Budget::Endless(self.mix) };
        let operations = split(operations, self.mix.sum(), &self.own).0;
        Budget::Counted(match self.order {
            CrudOrder::Current => self.mix.split(operations / connections as u64),
            CrudOrder::Uniform => self.mix.parts(operations, k, connections),
        })
    }

    /// The lanes of a mix that includes operations that the plan defines.
    fn with_own(&self, cx: &LaneContext, stock: &mut Stock) -> Vec<WithOwn> {
        let weight = |operation: &OwnOperation| self.own.get(&operation.kind).copied().unwrap_or(0);
        let weights: OwnMix = cx.operations.iter().map(|it| (it.kind, weight(it))).collect();
        let counts = match self.operations {
            Some(operations) => split(operations, self.mix.sum(), &weights).1,
            None => weights.into_values().collect(),
        };
        let own = OwnBudget::each(cx, &counts, self.operations.is_some());
        let warm = stock.kept::<WithOwn>();
        if !warm.is_empty() {
            let shards = cx.sharing.unwrap_or(1);
            let budgets = budgets(cx, |k| self.budget(k, cx.connections));
            let budget = |k: usize| match budgets.get(k) {
                Some(budget) => budget.clone(),
                None => budgets[k % shards].clone(),
            };
            let warm = warm.into_iter().zip(own).enumerate();
            return warm.map(|(k, (lane, own))| lane.with_budgets(budget(k), own)).collect();
        }
        let lanes = self.uniform(cx, stock).into_iter().zip(own).enumerate();
        lanes.map(|(k, (crud, own))| WithOwn::new(cx, k, crud, own)).collect()
    }

    /// The operations of each connection in Iron Cushion's order.
    fn current(&self, cx: &LaneContext, stock: &mut Stock) -> Vec<CurrentDocument> {
        // This order is always planned with counts.
        let each = self.operations.unwrap_or(0) / cx.connections as u64;
        let left = self.mix.split(each);
        let inserted = stock.inserted();
        let make = |(k, live): (usize, Live)| {
            let next = inserted + k as u64 * left[OpKind::Create];
            let keys = KeySequence { next, step: 1 };
            CurrentDocument::new(cx.documents.clone(), cx.seed, k as u64, left, &live, keys)
        };
        stock.take_live().into_iter().enumerate().map(make).collect()
    }

    /// The operations of connections whose number may grow: the connections of a thread share all
    /// of its documents.
    fn shelved(
        &self,
        cx: &LaneContext,
        shards: usize,
        inserted: u64,
        live: Vec<Live>,
        budgets: Vec<Budget>,
    ) -> Vec<Crud> {
        let mut shelves = vec![Live::default(); shards];
        for (k, mut live) in live.into_iter().enumerate() {
            shelves[k % shards].take_over(&mut live);
        }
        let shelf = |(shard, live): (usize, Live)| {
            let keys = KeySequence { next: inserted + shard as u64, step: shards as u64 };
            Arc::new(Shelf::new(live, keys))
        };
        let shelves: Vec<Arc<Shelf>> = shelves.into_iter().enumerate().map(shelf).collect();
        // Each open connection holds one document, and there must still be some left for the
        // others.
        let creates_only = self.mix.sum_of(|class| class != Class::Create) == 0;
        let most = if creates_only { u64::MAX } else { inserted / DOCUMENTS_EACH };
        let all = usize::try_from(most).unwrap_or(usize::MAX).max(cx.connections);
        let make = |(k, budget): (usize, Budget)| {
            let (documents, none) = (cx.documents.clone(), KeySequence { next: 0, step: 0 });
            let lane = Crud::new(documents, cx.seed, k as u64, budget, Live::default(), none);
            lane.verifying(cx.verify).sharing(shelves[k % shards].clone())
        };
        budgets.into_iter().take(all).enumerate().map(make).collect()
    }

    /// The operations of each connection: those of the warm-up with a new budget, or new ones.
    fn uniform(&self, cx: &LaneContext, stock: &mut Stock) -> Vec<Crud> {
        let budgets = budgets(cx, |k| self.budget(k, cx.connections));
        // All connections of a thread share a budget, however many there will be.
        let shards = cx.sharing.unwrap_or(1);
        let later =
            (cx.connections..cx.connections + cx.spare).map(|k| budgets[k % shards].clone());
        let budgets: Vec<_> = budgets.iter().cloned().chain(later).collect();
        let warm = stock.kept::<Crud>();
        if !warm.is_empty() {
            let warm = warm.into_iter().zip(budgets);
            return warm.map(|(lane, budget)| lane.with_budget(budget)).collect();
        }
        let inserted = stock.inserted();
        if let Some(shards) = cx.sharing.filter(|_| cx.spare > 0) {
            return self.shelved(cx, shards, inserted, stock.take_live(), budgets);
        }
        let make = |(k, (live, budget))| {
            let step = cx.connections as u64;
            let keys = KeySequence { next: inserted + k as u64, step };
            let lane = Crud::new(cx.documents.clone(), cx.seed, k as u64, budget, live, keys);
            lane.verifying(cx.verify)
        };
        stock.take_live().into_iter().zip(budgets).enumerate().map(make).collect()
    }
}

/// A connection is only opened if there are at least this many documents for each.
const DOCUMENTS_EACH: u64 = 10;

const MOST_WEIGHT: u64 = 1_000_000_000;

/// A request for mixed operations.
#[derive(Clone, Debug)]
pub struct MixedDemand {
    /// The numbers.
    pub asked: DocumentsAsked,
    /// The relative weights of operations.
    pub mix: Flagged<Mix>,
    /// The weights of operations that the plan defines.
    pub own: OwnMix,
    /// The flag that gives connections more documents.
    pub more_documents: &'static str,
    /// Which documents operations access.
    pub order: CrudOrder,
}

impl MixedDemand {
    fn plan(&self, operations: Option<u64>) -> MixedPlan {
        MixedPlan { mix: self.mix.value, own: self.own.clone(), operations, order: self.order }
    }
}

impl Demand for MixedDemand {
    fn check(&self, _: &Ids, mistakes: &mut Vec<Invalid>) {
        self.asked.check(mistakes);
    }

    fn check_shares(&self, connections: usize, mistakes: &mut Vec<Invalid>) {
        let plan = self.plan(self.asked.operations.value);
        if plan.mix.sum() == 0 && !plan.own.is_empty() {
            return;
        }
        let budget = |k| plan.budget(k, connections);
        let (mix, documents) = (self.mix.flag, self.more_documents);
        mistakes.extend(too_few_documents(&self.asked, connections, mix, documents, budget));
    }

    fn steps(&self) -> Vec<Step> {
        self.asked.steps("crud", |operations| self.plan(operations).into())
    }
}

impl Offer for MixedPlan {
    const NAMES: &'static [(&'static str, &'static str)] =
        &[("mixed", "Creates, reads, updates and deletes, as --mix says")];

    fn demand(_: &str, asked: &RunAsked) -> Result<Arc<dyn Demand>, Invalid> {
        Ok(Arc::new(MixedDemand {
            asked: asked.documents,
            mix: Flagged::new("--mix", asked.mix.unwrap_or_else(Mix::usual)),
            own: asked.own.clone(),
            more_documents: asked.documents.documents.flag,
            order: CrudOrder::Uniform,
        }))
    }
}

/// The mistake of too few documents, which leaves operations without a document on some connection.
/// It describes the first such connection. `mix` and `documents` are the flags for the weights and
/// the documents.
pub(super) fn too_few_documents(
    asked: &DocumentsAsked,
    connections: usize,
    mix: &str,
    documents: &str,
    budget: impl Fn(usize) -> Budget,
) -> Option<Invalid> {
    let nothing = || without_documents(asked, connections, documents);
    if asked.operations.value == Some(0) {
        return None;
    }
    let fill = asked.fill();
    (0..connections).find_map(|k| {
        let keys = fill.keys(k, connections);
        let inserted = keys.end - keys.start;
        match budget(k) {
            Budget::Counted(left) => {
                let there = inserted + left.sum_of(|class| class == Class::Create);
                let deletes = left.sum_of(|class| class == Class::Delete);
                let others = |class: Class| class.only_reads() || class == Class::Update;
                if deletes > there {
                    let problem =
                        format!("{deletes} docs deleted > {there} docs inserted per connection");
                    let cure = format!(
                        "raise {documents} or the weight of creates, or lower that of deletes"
                    );
                    return Some(Invalid::new(mix, problem, cure));
                }
                (there == 0 && left.sum_of(others) > 0).then(nothing)
            }
            Budget::Endless(weights) => {
                let creates = weights.sum_of(|class| class == Class::Create);
                (inserted == 0 && creates == 0).then(nothing)
            }
            Budget::Shared(_) => None,
        }
    })
}

/// The mistake of a connection without documents: there are too few, or they are in too few
/// requests, each of which is sent on one connection.
fn without_documents(asked: &DocumentsAsked, connections: usize, documents: &str) -> Invalid {
    let (inserted, batch) = (asked.documents.value, asked.batch.flag);
    let others = (connections as u64).saturating_sub(1);
    // With a larger batch, all documents are in the requests of the others.
    let most = inserted.saturating_sub(1).checked_div(others).unwrap_or(0);
    if most == 0 {
        let problem = "a connection would have no document to read, update or delete";
        let cure = format!(
            "insert at least one for each of the {connections} connections, use fewer, or mix in \
             creates"
        );
        return Invalid::new(documents, problem, cure);
    }
    let each = u64::from(asked.fill().batch);
    let requests = inserted.div_ceil(each);
    let problem = format!(
        "{inserted} documents in requests of {each} are on only {requests} of {connections} \
         connections, so the others would have none to read, update or delete"
    );
    let cure = format!("give {batch} {most} or less, more documents, or fewer connections");
    Invalid::new(documents, problem, cure)
}

/// The budget of each connection, alone or shared with the others of its thread. If it is shared, a
/// connection that waits for a slow answer leaves no operations behind at the end.
pub(super) fn budgets(cx: &LaneContext, own: impl Fn(usize) -> Budget) -> Vec<Budget> {
    let connections = cx.connections;
    let Some(shards) = cx.sharing else { return (0..connections).map(own).collect() };
    let share = |shard| {
        let parts = (shard..connections).step_by(shards).map(&own);
        Budget::shared(parts, mix(cx.seed, shard as u64, 0))
    };
    let shared: Vec<_> = (0..shards).map(share).collect();
    (0..connections).map(|k| shared[k % shards].clone()).collect()
}

/// What is wrong with a stored mix of `operations`.
pub(super) fn check_mix(mix: Mix, operations: Option<u64>, mistakes: &mut Vec<Invalid>) {
    if mix.sum() == 0 || mix.most() > MOST_WEIGHT {
        let cure = "give weights up to 1G, one of them above 0";
        mistakes.push(Invalid::new("mix", format!("the weights {mix}"), cure));
    }
    let operations = Flagged::new("operations", operations.unwrap_or(1));
    mistakes.extend(operations.out_of_range(1, MOST_DOCUMENTS));
}

/// The fill before a stored stage, and how many operations it has.
pub(super) fn asked_again(stored: u64, operations: Option<u64>) -> DocumentsAsked {
    DocumentsAsked {
        documents: Flagged::new("operations", stored),
        batch: Flagged::new("batch", 1),
        within_ns: None,
        operations: Flagged::new("operations", operations),
        warmup_ns: 0,
    }
}

impl StageWork for MixedPlan {
    fn check_again(&self, restored: &Restored<'_>, mistakes: &mut Vec<Invalid>) {
        if self.mix.sum() == 0 && self.own.values().any(|weight| *weight > 0) {
            return;
        }
        check_mix(self.mix, self.operations, mistakes);
        if self.order == CrudOrder::Current && self.operations.is_none() {
            let cure = "give a number, or the order uniform";
            mistakes.push(Invalid::new("operations", "this order needs their number", cure));
        }
        if mistakes.is_empty() {
            let (asked, connections) =
                (asked_again(restored.stored, self.operations), restored.connections);
            let budget = |k| self.budget(k, connections);
            let mistake = too_few_documents(&asked, connections, "mix", "operations", budget);
            mistakes.extend(mistake);
        }
    }

    fn does(&self, kind: OpKind) -> bool {
        self.mix[kind] > 0 || self.own.get(&kind).is_some_and(|weight| *weight > 0)
    }

    fn operations(&self, k: usize, connections: usize) -> Option<u64> {
        let operations = self.operations?;
        let own = split(operations, self.mix.sum(), &self.own).1.into_iter();
        let own: u64 = own.map(|count| share(count, k, connections)).sum();
        Some(self.budget(k, connections).counted()?.saturating_add(own))
    }

    fn describe(&self, count: &dyn Fn(u64) -> String) -> Vec<String> {
        let own = self.own.iter().map(|(kind, weight)| format!("{kind} {weight}"));
        let mixed = (self.mix.sum() > 0 || self.own.is_empty()).then(|| self.mix.to_string());
        let mut parts = vec![mixed.into_iter().chain(own).collect::<Vec<_>>().join(" · ")];
        parts.extend(self.operations.map(|operations| format!("{} operations", count(operations))));
        parts
    }

    fn traits(&self) -> Traits {
        let uniform = self.order == CrudOrder::Uniform;
        Traits {
            verifies: uniform,
            grows: uniform,
            is_auditable: true,
            why_too_few: Some(if !self.own.is_empty() {
                "a connection had nothing left to work on, or a list whose order is once had no \
                 values left"
            } else if uniform {
                "a connection had nothing left to work on, after failures or deletes"
            } else {
                "a connection had nothing left to work on, after failures"
            }),
            ..Traits::default()
        }
    }
}

impl Lanes for MixedPlan {
    fn carry_out<R: Runner>(
        &self,
        cx: &LaneContext,
        stock: &mut Stock,
        runner: R,
    ) -> Result<R::Output, R::Error> {
        match self.order {
            CrudOrder::Current => {
                let lanes = self.current(cx, stock).into_iter().map(MixedLane::Other);
                Ok(runner.run(lanes.collect())?.0)
            }
            CrudOrder::Uniform if !self.own.is_empty() => {
                let (output, lanes) = runner.run(self.with_own(cx, stock))?;
                stock.keep(lanes);
                Ok(output)
            }
            CrudOrder::Uniform => {
                let lanes = self.uniform(cx, stock).into_iter().map(MixedLane::One);
                let (output, lanes) = runner.run(lanes.collect())?;
                let ones = lanes.into_iter().filter_map(|lane| lane.one().map(Box::new));
                stock.keep(ones.collect());
                Ok(output)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn connections_share_out_operations(
            operations in 0u64..10_000, connections in 1usize..70,
            weights in proptest::array::uniform4(0u64..5),
        ) {
            prop_assume!(weights != [0; 4]);
            let mix = Mix::crud(weights);
            let (operations, order) = (Some(operations), CrudOrder::Uniform);
            let own = OwnMix::new();
            let mixed = MixedPlan { mix, own, operations, order };
            let mut sums = [0; Mix::KINDS.len()];
            for k in 0..connections {
                let Budget::Counted(part) = mixed.budget(k, connections) else { unreachable!() };
                sums.iter_mut().zip(Mix::KINDS).for_each(|(sum, kind)| *sum += part[kind]);
            }
            let split = mix.split(operations.unwrap_or(0));
            prop_assert_eq!(sums, Mix::KINDS.map(|kind| split[kind]));
        }
    }
    /// What is wrong with updates of so many documents, inserted in batches of that size.
    fn wrong(documents: u64, batch: u64, connections: usize) -> Vec<String> {
        let demand = MixedDemand {
            asked: DocumentsAsked {
                documents: Flagged::new("--docs", documents),
                batch: Flagged::new("--batch", batch),
                within_ns: None,
                operations: Flagged::new("--ops", None),
                warmup_ns: 0,
            },
            mix: Flagged::new("--mix", Mix::crud([0, 0, 1, 0])),
            own: OwnMix::new(),
            more_documents: "--docs",
            order: CrudOrder::Uniform,
        };
        let mut mistakes = Vec::new();
        demand.check_shares(connections, &mut mistakes);
        mistakes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_batch_that_leaves_connections_without_documents_is_named() {
        let words = "--docs: 200 documents in requests of 111 are on only 2 of 45 connections, so \
                     the others would have none to read, update or delete; give --batch 4 or less, \
                     more documents, or fewer connections";
        assert_eq!(wrong(200, 111, 45), [words]);
        // The cure works, and a batch larger by one does not.
        for (documents, connections, most) in [(200, 45, 4), (100, 3, 49), (45, 45, 1), (7, 2, 6)] {
            let none = Vec::<String>::new();
            assert_eq!(wrong(documents, most, connections), none, "{documents}");
            let found = wrong(documents, most + 1, connections);
            assert!(found[0].contains(&format!("give --batch {most} or less")), "{found:?}");
        }
        // No batch is small enough.
        for batch in [1, 111] {
            let found = wrong(44, batch, 45);
            assert!(found[0].contains("; insert at least one for each of the 45"), "{found:?}");
        }
        assert!(wrong(1, 1_000, 1).is_empty());
    }
}
