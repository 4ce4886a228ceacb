//! Operations that the plan defines, interleaved with those of a mix: which one comes next, and
//! with which values.

use super::budget::share;
use super::pick::Pick;
use super::{Budget, Check, Crud, LaneContext, Next, OwnOperation, Workload};
use crate::generate::{Stream, below, mix};
use crate::op::{Answered, Failure, Finding, Key, Op, OpKind, Part, Pen, Reply, Saved};
use crate::schema::Documents;
use crate::values::{After, Draw};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Separates the draws of these operations from other uses of the same seed.
const OPERATIONS: u64 = u64::from_be_bytes(*b"own ops.");
const VALUES: u64 = u64::from_be_bytes(*b"own vals");

/// The most values that are remembered of those that an operation's requests have made. Beyond
/// that, new ones replace others.
const MOST_MADE: usize = 100_000;

/// The weights of operations that the plan defines, relative to those of a mix.
pub type OwnMix = BTreeMap<OpKind, u64>;

/// Divides `operations` among the mix, whose weights add up to `mixed`, and the operations that the
/// plan defines. The first number is that of the mix.
pub(super) fn split(operations: u64, mixed: u64, own: &OwnMix) -> (u64, Vec<u64>) {
    let sum = u128::from(mixed) + own.values().map(|it| u128::from(*it)).sum::<u128>();
    let part = |weight: u64| (u128::from(operations) * u128::from(weight)).checked_div(sum);
    let mut counts: Vec<u64> = own.values().map(|it| part(*it).unwrap_or(0) as u64).collect();
    // The remainder goes to the mix, or without a mix to the first operation that has a weight.
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

/// How many operations of each kind are left, or their weights. Shared by the connections of a
/// thread in an open loop.
#[derive(Clone, Debug)]
pub(super) struct OwnBudget {
    left: Arc<[AtomicU64]>,
    /// How often each was begun by the connections that share this budget.
    begun: Arc<[AtomicU64]>,
    /// The numbers of the requests that made values which others may need.
    made: Arc<[Mutex<Vec<u64>>]>,
    /// The number of this group of connections, and the number of groups.
    group: (u64, u64),
    counted: bool,
    drawn: Arc<AtomicU64>,
    seed: u64,
}

impl OwnBudget {
    /// The budgets of all connections, with `counts` as counts or as weights.
    pub(super) fn each(cx: &LaneContext, counts: &[u64], counted: bool) -> Vec<Self> {
        let groups = cx.sharing.unwrap_or(cx.connections) as u64;
        let of = |group: u64, left: Vec<u64>| Self {
            begun: left.iter().map(|_| AtomicU64::new(0)).collect(),
            made: left.iter().map(|_| Mutex::default()).collect(),
            group: (group, groups),
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

    /// The index of the next operation; `None` if the next one is of the mix, with `mixed` left.
    fn next(&self, mixed: u64) -> Option<usize> {
        let left = || self.left.iter().map(|left| left.load(Ordering::Relaxed));
        let sum = left().fold(mixed, u64::saturating_add);
        let number = count(&self.drawn);
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

    /// The number of the next request among all requests of its operation, over all connections.
    fn turn(&self, place: usize) -> u64 {
        let (group, groups) = self.group;
        count(&self.begun[place]) * groups + group
    }

    /// Notes that a request of an operation has made a value.
    fn add(&self, place: usize, number: u64, draw: u64) {
        let mut made = self.made[place].lock().unwrap_or_else(PoisonError::into_inner);
        if made.len() < MOST_MADE {
            made.push(number);
        } else {
            made[below(draw, MOST_MADE as u64) as usize] = number;
        }
    }

    /// The number of a request that has made a value, all equally likely.
    fn earlier(&self, place: usize, takes: bool, draw: u64) -> Option<u64> {
        let mut made = self.made[place].lock().unwrap_or_else(PoisonError::into_inner);
        let chosen = below(draw, made.len() as u64) as usize;
        if takes && chosen < made.len() {
            return Some(made.swap_remove(chosen));
        }
        made.get(chosen).copied()
    }

    /// Takes one of another operation instead of the one drawn. Returns `false` if none of it is
    /// left.
    fn exchange(&self, place: usize, other: usize) -> bool {
        let left = self.left[other].load(Ordering::Relaxed);
        if left > 0 && self.counted {
            self.left[other].store(left - 1, Ordering::Relaxed);
            self.left[place].fetch_add(1, Ordering::Relaxed);
        }
        left > 0
    }

    /// Marks an operation as used up.
    fn end(&self, place: usize) {
        self.left[place].store(0, Ordering::Relaxed);
    }
}

/// Adds one, and returns the number before. Only one thread counts, so this need not be one step,
/// which takes the processor longer.
fn count(counter: &AtomicU64) -> u64 {
    let number = counter.load(Ordering::Relaxed);
    counter.store(number + 1, Ordering::Relaxed);
    number
}

/// The operations of a mix, interleaved with those that the plan defines.
#[derive(Debug)]
pub(super) struct WithOwn {
    crud: Crud,
    budget: OwnBudget,
    documents: Arc<Documents>,
    operations: Arc<[OwnOperation]>,
    /// How the documents of each operation are chosen, once there are any.
    picks: Vec<Vec<Pick>>,
    stream: Stream,
    /// The number of the next request among those of the run.
    number: u64,
    /// The distance to the next number.
    step: u64,
    stored: Vec<(Key, u32)>,
    /// The value that the request in flight makes: the index of its operation, and its number.
    making: Option<(usize, u64)>,
    /// The sequence in progress: its index, and the number of its next step.
    under_way: Option<(usize, usize)>,
    saved: BTreeMap<String, Saved>,
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
            picks: cx.operations.iter().map(|_| Vec::new()).collect(),
            stream: Stream::new(mix(cx.seed, k as u64, VALUES), 0),
            number: k as u64,
            step: (cx.connections + cx.spare) as u64,
            stored: Vec::new(),
            making: None,
            under_way: None,
            saved: BTreeMap::new(),
            scratch: Vec::new(),
        }
    }

    /// Continues with other budgets, after a warm-up.
    pub(super) fn with_budgets(mut self, crud: Budget, budget: OwnBudget) -> Self {
        self.crud = self.crud.with_budget(crud);
        // Values that may be used only once are not used again.
        let OwnBudget { begun, made, .. } = self.budget;
        self.budget = OwnBudget { begun, made, ..budget };
        // The first step of a sequence may have been prepared, but was not sent.
        self.under_way = None;
        self
    }

    /// The operation to do, and the earlier request whose value it needs. As long as there is no
    /// such value, this is the operation that makes it.
    fn earlier(&mut self, place: usize) -> Option<(usize, u64)> {
        let Some(After { kind, takes }) = self.operations[place].after else {
            return Some((place, 0));
        };
        let other = self.operations.iter().position(|it| it.kind == kind)?;
        if let Some(number) = self.budget.earlier(other, takes, self.stream.draw()) {
            return Some((place, number));
        }
        if !self.budget.exchange(place, other) {
            self.budget.end(place);
            return None;
        }
        self.earlier(other)
    }

    /// The next step of the sequence in progress, or the operation at this index, which may begin
    /// one; `None` if it needs a value that does not exist.
    fn at<P: Pen>(&mut self, place: usize, pen: &mut P) -> Option<Op> {
        let Some(&first) = self.operations[place].steps.first() else {
            return self.own(place, pen);
        };
        let (whole, (_, step)) =
            (self.operations[place].kind, self.under_way.unwrap_or((place, 0)));
        let steps = &self.operations[place].steps;
        let (kind, last) = (steps.get(step).copied().unwrap_or(first), steps.len() - 1);
        self.under_way = Some((place, step));
        let place = self.operations.iter().position(|it| it.kind == kind)?;
        let part = match step {
            0 => Part::First,
            _ if step < last => Part::Middle,
            _ => Part::Last,
        };
        let op = self.own(place, pen);
        if op.is_none() {
            // Only the first step may lack a value.
            self.under_way = None;
        }
        op.map(|op| Op { part, whole, ..op })
    }

    /// Moves on in the sequence in progress, after a step with this result.
    fn go_on(&mut self, op: &Op, failed: bool) {
        let Some((place, step)) = self.under_way else { return };
        self.under_way = (!op.ends_whole(failed)).then_some((place, step + 1));
        if self.under_way.is_none() {
            self.saved.clear();
        }
    }

    /// Writes the values of an operation; `None` if it needs something that does not exist.
    fn own<P: Pen>(&mut self, place: usize, pen: &mut P) -> Option<Op> {
        let (place, earlier) = self.earlier(place)?;
        let operation = &self.operations[place];
        let turn = self.budget.turn(place);
        if operation.rows.is_some_and(|rows| turn >= rows) {
            self.budget.end(place);
            return None;
        }
        self.stored.clear();
        let looks = self.crud.verifies() && !operation.skews.is_empty();
        let holds = operation.holds || looks;
        if holds {
            self.crud.let_go();
        }
        if looks {
            pen.look();
        }
        let (picks, stream) = (&mut self.picks[place], &mut self.stream);
        for (number, &skew) in operation.skews.iter().enumerate() {
            let choose = |stored| {
                if picks.len() == number {
                    picks.push(Pick::new(skew, stored));
                }
                picks[number].draw(stored, stream)
            };
            let holds = holds && number == 0;
            // A sequence in progress is continued, if need be with a document that does not exist.
            let follows = self.under_way.is_some_and(|(_, step)| step > 0);
            let any = follows.then_some((Key::MAX, 0));
            self.stored.push(self.crud.pick(holds, choose).or(any)?);
        }
        for value in &operation.values {
            let mut draw = Draw {
                documents: &self.documents,
                stored: &self.stored,
                stream: &mut self.stream,
                number: self.number,
                turn,
                earlier,
                saved: &self.saved,
                scratch: &mut self.scratch,
            };
            pen.value(|out| value.write(&mut draw, out));
        }
        self.making = operation.makes.then_some((place, self.number));
        let key = self.stored.first().map_or(self.number, |(key, _)| *key);
        self.number += self.step;
        Some(Op::single(operation.kind, key, None))
    }
}

impl Workload for WithOwn {
    fn next<P: Pen>(&mut self, pen: &mut P) -> Next {
        let under_way = self.under_way.map(|(place, _)| place);
        let place = under_way.or_else(|| self.budget.next(self.crud.left()));
        match place.and_then(|place| self.at(place, pen)) {
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
        if !op.kind.is_own() {
            return self.crud.observe(op, result, answered);
        }
        if let (Some((place, number)), Ok(_)) = (self.making.take(), result) {
            self.budget.add(place, number, self.stream.draw());
        }
        if self.under_way.is_some() {
            let operation = self.operations.iter().find(|it| it.kind == op.kind);
            let names = operation.map(|it| it.saves.iter().cloned()).into_iter().flatten();
            self.saved.extend(names.zip(answered.saved.iter().cloned()));
            self.go_on(op, result.is_err());
        }
        let found = match (result, answered.each().next()) {
            (Err(Failure::WrongDocument), _) => Err(Failure::WrongDocument),
            (Ok(_), Some((Ok(token), Some(document)))) => Ok((token, document)),
            _ => return Check::Unchecked,
        };
        self.crud.look(op.key, found)
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
