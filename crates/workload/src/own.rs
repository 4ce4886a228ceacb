//! Operations that the plan defines, in between those of a mix: which comes next, and with which
//! values.

use super::budget::share;
use super::{Budget, Check, Crud, LaneContext, Next, Workload};
use crate::generate::{Stream, below, mix};
use crate::op::{Answered, Failure, Finding, Key, Op, OpKind, Pen, Reply};
use crate::schema::Documents;
use crate::values::{Draw, ValueSource};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Keeps the draws of these operations apart from other uses of the same seed.
const OPERATIONS: u64 = u64::from_be_bytes(*b"own ops.");
const VALUES: u64 = u64::from_be_bytes(*b"own vals");

/// The weights of operations that the plan defines, relative to those of a mix.
pub type OwnMix = BTreeMap<OpKind, u64>;

/// An operation that the plan defines, as a workload sees it.
#[derive(Debug)]
pub struct OwnOperation {
    /// Its kind.
    pub kind: OpKind,
    /// The sources of its values, in the order of its holes.
    pub values: Vec<Box<dyn ValueSource>>,
}

impl OwnOperation {
    /// How many stored documents each of its requests is about.
    pub fn documents(&self) -> usize {
        self.values.iter().map(|value| value.documents()).max().unwrap_or(0)
    }
}

/// How many of `operations` are of each kind: the first number is that of the mix, whose weights
/// add up to `mixed`.
pub(super) fn split(operations: u64, mixed: u64, own: &OwnMix) -> (u64, Vec<u64>) {
    let sum = u128::from(mixed) + own.values().map(|it| u128::from(*it)).sum::<u128>();
    let part = |weight: u64| (u128::from(operations) * u128::from(weight)).checked_div(sum);
    let mut counts: Vec<u64> = own.values().map(|it| part(*it).unwrap_or(0) as u64).collect();
    // What does not divide evenly goes to the mix, or without one to the first that has a weight.
    let left = operations - counts.iter().sum::<u64>();
    if mixed > 0 {
        return (left, counts);
    }
    let first = own.values().position(|weight| *weight > 0);
    if let Some(count) = first.and_then(|first| counts.get_mut(first)) {
        *count += left;
    }
    (0, counts)
}

/// How many operations of each kind are left, or their weights; shared by the connections of a
/// thread in an open loop.
#[derive(Clone, Debug)]
pub(super) struct OwnBudget {
    left: Arc<[AtomicU64]>,
    counted: bool,
    drawn: Arc<AtomicU64>,
    seed: u64,
}

impl OwnBudget {
    /// The budgets of all connections, of `counts` operations or with these weights.
    pub(super) fn each(cx: &LaneContext, counts: &[u64], counted: bool) -> Vec<Self> {
        let of = |group: u64, left: Vec<u64>| Self {
            left: left.into_iter().map(AtomicU64::new).collect(),
            counted,
            drawn: Arc::default(),
            seed: mix(cx.seed, group, OPERATIONS),
        };
        let connections = cx.connections;
        let own = |k: usize| -> Vec<u64> {
            let count = |all: &u64| if counted { share(*all, k, connections) } else { *all };
            counts.iter().map(count).collect()
        };
        let Some(shards) = cx.sharing else {
            return (0..connections).map(|k| of(k as u64, own(k))).collect();
        };
        let shared = |shard: usize| {
            let parts = (shard..connections).step_by(shards).map(own);
            let add = |sum: Vec<u64>, part: Vec<u64>| {
                sum.iter().zip(part).map(|(a, b)| if counted { a + b } else { b }).collect()
            };
            of(shard as u64, parts.fold(vec![0; counts.len()], add))
        };
        let shared: Vec<Self> = (0..shards).map(shared).collect();
        (0..connections + cx.spare).map(|k| shared[k % shards].clone()).collect()
    }

    /// The place of the next operation; `None`: the mix is next, of which `mixed` are left.
    fn next(&self, mixed: u64) -> Option<usize> {
        let left = || self.left.iter().map(|left| left.load(Ordering::Relaxed));
        let sum = left().fold(mixed, u64::saturating_add);
        let number = self.drawn.fetch_add(1, Ordering::Relaxed);
        let mut draw = below(mix(self.seed, number, 0), sum).checked_sub(mixed)?;
        let place = left().position(|left| {
            let is_it = draw < left;
            draw = draw.wrapping_sub(left);
            is_it
        })?;
        if self.counted {
            let left = self.left[place].load(Ordering::Relaxed);
            self.left[place].store(left.saturating_sub(1), Ordering::Relaxed);
        }
        Some(place)
    }
}

/// The operations of a mix, and between them those that the plan defines.
#[derive(Debug)]
pub(super) struct WithOwn {
    crud: Crud,
    budget: OwnBudget,
    documents: Arc<Documents>,
    operations: Arc<[OwnOperation]>,
    stream: Stream,
    /// The number of the next request among those of the run.
    number: u64,
    /// The distance to the number after it.
    step: u64,
    stored: Vec<(Key, u32)>,
    scratch: Vec<u8>,
}

impl WithOwn {
    /// The operations of connection `k`. `budget` is in the order of `operations`.
    pub(super) fn new(cx: &LaneContext, k: usize, crud: Crud, budget: OwnBudget) -> Self {
        Self {
            crud,
            budget,
            documents: cx.documents.clone(),
            operations: cx.operations.clone(),
            stream: Stream::new(mix(cx.seed, k as u64, VALUES), 0),
            number: k as u64,
            step: (cx.connections + cx.spare) as u64,
            stored: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Continues with other budgets, after a warm-up.
    pub(super) fn with_budgets(mut self, crud: Budget, budget: OwnBudget) -> Self {
        self.crud = self.crud.with_budget(crud);
        self.budget = budget;
        self
    }

    /// Writes the values of an operation; `None`: it needs a document, and there is none.
    fn own<P: Pen>(&mut self, place: usize, pen: &mut P) -> Option<Op> {
        let operation = &self.operations[place];
        self.stored.clear();
        for _ in 0..operation.documents() {
            self.stored.push(self.crud.pick(self.stream.draw())?);
        }
        for value in &operation.values {
            let mut draw = Draw {
                documents: &self.documents,
                stored: &self.stored,
                stream: &mut self.stream,
                number: self.number,
                scratch: &mut self.scratch,
            };
            pen.value(|out| value.write(&mut draw, out));
        }
        let key = self.stored.first().map_or(self.number, |(key, _)| *key);
        self.number += self.step;
        Some(Op::single(operation.kind, key, None))
    }
}

impl Workload for WithOwn {
    fn next<P: Pen>(&mut self, pen: &mut P) -> Next {
        let place = self.budget.next(self.crud.left());
        match place.and_then(|place| self.own(place, pen)) {
            Some(op) => Next::Op(op),
            None => self.crud.next(pen),
        }
    }

    fn observe(
        &mut self,
        op: &Op,
        result: Result<Reply, Failure>,
        answered: &Answered<'_>,
    ) -> Check {
        if op.kind.is_own() { Check::Unchecked } else { self.crud.observe(op, result, answered) }
    }

    fn finding(&mut self) -> Option<Finding> {
        self.crud.finding()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_split_is_exact() {
        let kind = |name| OpKind::of_name(name).unwrap();
        let own = OwnMix::from([(kind("own-a"), 3), (kind("own-b"), 1)]);
        assert_eq!(split(100, 6, &own), (60, vec![30, 10]));
        assert_eq!(split(9, 6, &own), (7, vec![2, 0]), "the rest belongs to the mix");
        assert_eq!(split(9, 0, &own), (0, vec![7, 2]));
    }
}
