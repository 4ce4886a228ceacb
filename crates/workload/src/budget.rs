//! How many operations of each kind are left, and which kind comes next.

use crate::generate::{Stream, below, mix};
use crate::op::{Class, OpKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Index;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Separates the draws of shared budgets from other uses of the same seed.
const SHARED: u64 = u64::from_be_bytes(*b"mixed up");

/// The number of kinds that can be part of a mix.
const KINDS_MIXED: usize = {
    let (mut count, mut place) = (0, 0);
    while place < OpKind::BUILT_IN.len() {
        count += OpKind::BUILT_IN[place].weight().is_some() as usize;
        place += 1;
    }
    count
};

/// A number for each kind that can be part of a mix of single-document operations: its relative
/// weight, or a count of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "BTreeMap<OpKind, u64>", try_from = "BTreeMap<OpKind, u64>")]
pub struct Mix([u64; KINDS_MIXED]);

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Mix {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Mix".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut number = |kind: OpKind| {
            let mut number = generator.subschema_for::<u64>();
            number
                .insert("description".to_owned(), format!("Operations of the kind {kind}.").into());
            (kind.name().to_owned(), number.to_value())
        };
        let numbers: serde_json::Map<_, _> = Self::KINDS.into_iter().map(&mut number).collect();
        let usual = Self::KINDS.into_iter().filter(|kind| kind.weight() > Some(0));
        schemars::json_schema!({
            "description": "How many operations there are of each kind, relative to the others.",
            "type": "object",
            "properties": numbers,
            "required": usual.map(OpKind::name).collect::<Vec<_>>(),
        })
    }
}

/// A mix with a kind that cannot be part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} cannot be in a mix")]
pub struct Unmixable(OpKind);

impl From<Mix> for BTreeMap<OpKind, u64> {
    fn from(mix: Mix) -> Self {
        mix.shown().collect()
    }
}

impl TryFrom<BTreeMap<OpKind, u64>> for Mix {
    type Error = Unmixable;

    fn try_from(weights: BTreeMap<OpKind, u64>) -> Result<Self, Unmixable> {
        match weights.keys().find(|kind| kind.weight().is_none()) {
            Some(kind) => Err(Unmixable(*kind)),
            None => Ok(weights.into_iter().collect()),
        }
    }
}

impl FromIterator<(OpKind, u64)> for Mix {
    /// Kinds that cannot be part of a mix are left out; missing kinds get 0.
    fn from_iter<I: IntoIterator<Item = (OpKind, u64)>>(weights: I) -> Self {
        let mut mix = Self::default();
        for (kind, weight) in weights {
            if let Some(place) = Self::place(kind) {
                mix.0[place] = weight;
            }
        }
        mix
    }
}

impl Index<OpKind> for Mix {
    type Output = u64;

    #[inline]
    fn index(&self, kind: OpKind) -> &u64 {
        Self::place(kind).map_or(&0, |place| &self.0[place])
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.shown().map(|(kind, weight)| format!("{kind} {weight}"));
        f.write_str(&words.collect::<Vec<_>>().join(" · "))
    }
}

impl Mix {
    /// The kinds that can be part of a mix, in the order of the table of kinds.
    pub const KINDS: [OpKind; KINDS_MIXED] = {
        let (mut kinds, mut count, mut place) = ([OpKind::Create; KINDS_MIXED], 0, 0);
        while place < OpKind::BUILT_IN.len() {
            if OpKind::BUILT_IN[place].weight().is_some() {
                kinds[count] = OpKind::BUILT_IN[place];
                count += 1;
            }
            place += 1;
        }
        kinds
    };

    /// The default weights, from the table of kinds.
    pub fn usual() -> Self {
        Self::KINDS.into_iter().map(|kind| (kind, kind.weight().unwrap_or(0))).collect()
    }

    /// Creates, reads, updates and deletes, in this order.
    pub const fn crud([create, read, update, delete]: [u64; 4]) -> Self {
        let mut weights = [0; KINDS_MIXED];
        let mut place = 0;
        while place < KINDS_MIXED {
            weights[place] = match Self::KINDS[place] {
                OpKind::Create => create,
                OpKind::Read => read,
                OpKind::Update => update,
                OpKind::Delete => delete,
                _ => 0,
            };
            place += 1;
        }
        Self(weights)
    }

    #[inline]
    fn place(kind: OpKind) -> Option<usize> {
        Self::KINDS.iter().position(|&it| it == kind)
    }

    /// The kinds with their numbers, without those that are neither in this mix nor in the default
    /// one.
    fn shown(self) -> impl Iterator<Item = (OpKind, u64)> {
        let of = Self::KINDS.into_iter().zip(self.0);
        of.filter(|(kind, number)| *number > 0 || kind.weight() > Some(0))
    }

    fn map(self, of: impl FnMut(u64) -> u64) -> Self {
        Self(self.0.map(of))
    }

    /// The sum of all numbers.
    pub fn sum(&self) -> u64 {
        self.sum_of(|_| true)
    }

    /// The sum of the numbers of all kinds whose class is `wanted`.
    pub fn sum_of(&self, wanted: impl Fn(Class) -> bool) -> u64 {
        let of = Self::KINDS.into_iter().zip(self.0);
        of.filter(|(kind, _)| wanted(kind.class())).fold(0, |sum, (_, it)| it.saturating_add(sum))
    }

    /// The greatest number.
    pub fn most(&self) -> u64 {
        self.0.into_iter().max().unwrap_or(0)
    }

    /// Subtracts one operation of this kind.
    #[inline]
    pub fn take_one(&mut self, kind: OpKind) {
        if let Some(place) = Self::place(kind) {
            self.0[place] = self.0[place].saturating_sub(1);
        }
    }

    /// The share of connection `k` of `connections` in `operations`: if a kind does not divide
    /// evenly, the first connections get one more.
    pub fn parts(&self, operations: u64, k: usize, connections: usize) -> Self {
        self.split(operations).map(|count| share(count, k, connections))
    }

    /// Splits `operations` by weight: each kind gets its exact share rounded down, and the rest
    /// goes one each to the largest remainders (Hamilton's method), never to weight zero.
    pub fn split(&self, operations: u64) -> Self {
        let sum: u128 = self.0.iter().map(|&weight| u128::from(weight)).sum();
        if sum == 0 {
            return Self::default();
        }
        let exact = self.0.map(|weight| u128::from(weight) * u128::from(operations));
        let mut counts = exact.map(|share| (share / sum) as u64);
        let mut order: [usize; KINDS_MIXED] = std::array::from_fn(|place| place);
        order.sort_by_key(|&i| std::cmp::Reverse(exact[i] % sum));
        let left = operations - counts.iter().sum::<u64>();
        order.iter().take(left as usize).for_each(|&i| counts[i] += 1);
        Self(counts)
    }
}

/// The share of connection `k` of `connections` in `all`; the first ones get the remainder.
pub(super) const fn share(all: u64, k: usize, connections: usize) -> u64 {
    let (k, connections) = (k as u64, connections as u64);
    all / connections + (k < all % connections) as u64
}

/// The operations that one connection still has to do.
#[derive(Clone, Debug)]
pub enum Budget {
    /// This many of each kind, in random order.
    Counted(Mix),
    /// Like `Counted`, for several connections of one thread: the next free one takes the next
    /// operation.
    Shared(Arc<SharedBudget>),
    /// Each operation drawn by weight, without limit.
    Endless(Mix),
}

/// The operations that several connections of one thread still have to do. The seed decides the
/// order of kinds, regardless of which connection takes them, as long as each connection has a
/// document for its kind.
#[derive(Debug)]
pub struct SharedBudget {
    left: [AtomicU64; KINDS_MIXED],
    seed: u64,
    drawn: AtomicU64,
}

impl Budget {
    /// The number of operations, if they are counted for this connection alone.
    pub fn counted(&self) -> Option<u64> {
        match self {
            Self::Counted(left) => Some(left.sum()),
            Self::Shared(_) | Self::Endless(_) => None,
        }
    }

    /// The shared budget of connections with the budgets `parts`.
    pub fn shared(parts: impl Iterator<Item = Self>, seed: u64) -> Self {
        let mut left = [0; KINDS_MIXED];
        for part in parts {
            if let Self::Endless(_) = part {
                return part;
            }
            left.iter_mut().zip(part.left().0).for_each(|(sum, part)| *sum += part);
        }
        let left = left.map(AtomicU64::new);
        Self::Shared(Arc::new(SharedBudget { left, seed, drawn: AtomicU64::new(0) }))
    }

    /// How many operations of each kind are left, or their weights.
    pub fn left(&self) -> Mix {
        match self {
            Self::Counted(left) => *left,
            Self::Shared(shared) => {
                Mix(shared.left.each_ref().map(|left| left.load(Ordering::Relaxed)))
            }
            Self::Endless(mix) => *mix,
        }
    }

    /// Accounts for an operation of `kind`, with the smallest change that keeps `left` correct.
    pub fn spend(&mut self, kind: OpKind) {
        match self {
            Self::Counted(left) => left.take_one(kind),
            Self::Shared(shared) => {
                let Some(i) = Mix::place(kind) else { return };
                // Only one thread draws from this budget.
                let left = shared.left[i].load(Ordering::Relaxed);
                shared.left[i].store(left.saturating_sub(1), Ordering::Relaxed);
            }
            Self::Endless(_) => {}
        }
    }

    /// Draws a kind that `possible` allows, with a probability proportional to how many are left.
    pub fn draw(&self, stream: &mut Stream, possible: impl Fn(OpKind) -> bool) -> Option<OpKind> {
        let mut parts = self.left().0;
        for (part, kind) in parts.iter_mut().zip(Mix::KINDS) {
            if *part > 0 && !possible(kind) {
                *part = 0;
            }
        }
        let sum = parts.iter().sum();
        let draw = match self {
            Self::Shared(shared) => shared.draw(),
            Self::Counted(_) | Self::Endless(_) => stream.draw(),
        };
        let mut place = below(draw, sum);
        for (part, kind) in parts.into_iter().zip(Mix::KINDS) {
            if place < part {
                return Some(kind);
            }
            place -= part;
        }
        None
    }
}

impl SharedBudget {
    fn draw(&self) -> u64 {
        let n = self.drawn.load(Ordering::Relaxed);
        self.drawn.store(n + 1, Ordering::Relaxed);
        mix(self.seed, n, SHARED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(create: u64, read: u64, update: u64, delete: u64) -> Mix {
        Mix::crud([create, read, update, delete])
    }

    fn counted(left: [u64; 4]) -> Budget {
        Budget::Counted(Mix::crud(left))
    }

    #[test]
    fn the_split_is_exact_and_never_touches_weight_zero() {
        assert_eq!(weights(2, 3, 2, 1).split(10_000), weights(2500, 3750, 2500, 1250));
        assert_eq!(weights(2, 2, 3, 3).split(1000), weights(200, 200, 300, 300));
        assert_eq!(weights(1, 1, 0, 1).split(10).sum(), 10);
        assert_eq!(weights(1, 1, 0, 1).split(10)[OpKind::Update], 0);
        assert_eq!(weights(29, 71, 0, 0).split(100), weights(29, 71, 0, 0));
        assert_eq!(weights(u64::MAX / 4, 1, 0, 0).split(7), weights(7, 0, 0, 0));
    }

    #[test]
    fn a_mix_is_stored_by_the_names_of_kinds() {
        let mix = weights(1, 3, 0, 2);
        let text = r#"{"create":1,"read":3,"update":0,"delete":2}"#;
        assert_eq!(serde_json::to_string(&mix).unwrap(), text);
        assert_eq!(serde_json::from_str::<Mix>(text).unwrap(), mix);
        assert_eq!(serde_json::from_str::<Mix>(r#"{"read":3}"#).unwrap(), weights(0, 3, 0, 0));
        let message = serde_json::from_str::<Mix>(r#"{"scan":3}"#).unwrap_err().to_string();
        assert!(message.starts_with("scan cannot be in a mix"), "{message}");
        assert!(serde_json::from_str::<Mix>(r#"{"reed":3}"#).is_err());
    }

    #[test]
    fn a_counted_budget_is_spent_to_the_last() {
        let mut budget = counted([3, 5, 0, 2]);
        let mut stream = Stream::new(mix(1, 2, 3), 0);
        let mut seen = [0; OpKind::BUILT_IN.len()];
        while let Some(kind) = budget.draw(&mut stream, |_| true) {
            budget.spend(kind);
            seen[kind.index()] += 1;
        }
        assert_eq!(seen[..5], [0, 3, 5, 0, 2]);
    }

    #[test]
    fn a_shared_budget_is_spent_to_the_last_in_an_order_of_its_own() {
        let parts = || [counted([3, 5, 0, 2]), counted([2, 0, 9, 1])];
        let spend = |turns: fn(usize) -> usize| {
            let mut lanes = vec![Budget::shared(parts().into_iter(), 8); 3];
            let mut streams = [0, 1, 2].map(|k| Stream::new(mix(1, 2, k), 0));
            let draw = |n| {
                let lane = turns(n);
                let kind = lanes[lane].draw(&mut streams[lane], |_| true)?;
                lanes[lane].spend(kind);
                Some(kind)
            };
            (0..).map_while(draw).collect::<Vec<_>>()
        };
        let kinds = spend(|_| 0);
        let of = |kind| kinds.iter().filter(|&&k| k == kind).count();
        assert_eq!(
            Mix::KINDS.map(|kind| (kind, of(kind) as u64)).into_iter().collect::<Mix>(),
            weights(5, 5, 9, 3)
        );
        assert_eq!(spend(|n| n * n % 3), kinds);
        let endless = Budget::shared([Budget::Endless(weights(1, 0, 0, 0))].into_iter(), 8);
        assert!(matches!(endless, Budget::Endless(_)));
    }

    #[test]
    fn an_endless_budget_follows_the_weights() {
        let budget = Budget::Endless(weights(1, 3, 0, 0));
        let mut stream = Stream::new(mix(5, 0, 0), 0);
        let draws = 100_000;
        let reads =
            (0..draws).filter(|_| budget.draw(&mut stream, |_| true) == Some(OpKind::Read)).count();
        // Four standard deviations of a binomial with p = 3/4: 4 * sqrt(18,750) = 548.
        assert!(reads.abs_diff(75_000) < 548, "{reads} reads");
    }
}
