//! How many operations of each kind are left, and which kind comes next.

use crate::generate::{Stream, below, mix};
use crate::op::OpKind;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Keeps the draws of shared budgets apart from other uses of the same seed.
const SHARED: u64 = u64::from_be_bytes(*b"mixed up");

/// The kinds in a mix, in the order of its weights.
const KINDS: [OpKind; 4] = [OpKind::Create, OpKind::Read, OpKind::Update, OpKind::Delete];

/// Relative weights of single-document operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mix {
    /// Weight of creates.
    pub create: u64,
    /// Weight of reads.
    pub read: u64,
    /// Weight of updates.
    pub update: u64,
    /// Weight of deletes.
    pub delete: u64,
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { create, read, update, delete } = self;
        write!(f, "create {create} · read {read} · update {update} · delete {delete}")
    }
}

impl Mix {
    /// The weights in the order create, read, update, delete.
    pub const fn weights(&self) -> [u64; 4] {
        [self.create, self.read, self.update, self.delete]
    }

    /// The weight of operations of this kind.
    pub fn weight(&self, kind: OpKind) -> u64 {
        KINDS.iter().position(|&it| it == kind).map_or(0, |place| self.weights()[place])
    }

    /// The share of connection `k` of `connections` in `operations`: if a kind does not divide
    /// evenly, the first connections get one more.
    pub fn parts(&self, operations: u64, (k, connections): (usize, usize)) -> [u64; 4] {
        self.split(operations).map(|count| share(count, k, connections))
    }

    /// Splits `operations` by weight: each kind gets its exact share rounded down, and the rest
    /// goes one each to the largest remainders (Hamilton's method), never to weight zero.
    pub fn split(&self, operations: u64) -> [u64; 4] {
        let weights = self.weights();
        let sum: u128 = weights.iter().map(|&w| u128::from(w)).sum();
        if sum == 0 {
            return [0; 4];
        }
        let exact = weights.map(|weight| u128::from(weight) * u128::from(operations));
        let mut counts = exact.map(|share| (share / sum) as u64);
        let mut order = [0, 1, 2, 3];
        order.sort_by_key(|&i| std::cmp::Reverse(exact[i] % sum));
        let left = operations - counts.iter().sum::<u64>();
        order.iter().take(left as usize).for_each(|&i| counts[i] += 1);
        counts
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
    Counted([u64; 4]),
    /// The same for several connections of one thread: whichever is free takes the next operation.
    Shared(Arc<SharedBudget>),
    /// Each operation drawn by weight, without limit.
    Endless(Mix),
}

/// The operations that several connections of one thread still have to do. The seed decides the
/// order of kinds, whichever connection takes them, as long as each has a document for its kind.
#[derive(Debug)]
pub struct SharedBudget {
    left: [AtomicU64; 4],
    seed: u64,
    drawn: AtomicU64,
}

impl Budget {
    /// How many operations there are, if they are counted for this connection alone.
    pub fn counted(&self) -> Option<u64> {
        match self {
            Self::Counted(left) => Some(left.iter().sum()),
            Self::Shared(_) | Self::Endless(_) => None,
        }
    }

    /// The joint budget of connections with the budgets `parts`.
    pub fn shared(parts: impl Iterator<Item = Self>, seed: u64) -> Self {
        let mut left = [0; 4];
        for part in parts {
            if let Self::Endless(_) = part {
                return part;
            }
            left.iter_mut().zip(part.parts()).for_each(|(sum, part)| *sum += part);
        }
        let left = left.map(AtomicU64::new);
        Self::Shared(Arc::new(SharedBudget { left, seed, drawn: AtomicU64::new(0) }))
    }

    /// How many of `kind` are left, or the weight of `kind`.
    pub fn left(&self, kind: OpKind) -> u64 {
        let parts = self.parts();
        KINDS.iter().position(|&k| k == kind).map_or(0, |i| parts[i])
    }

    /// Accounts for an operation of `kind`, with the smallest change that keeps `left` correct.
    pub fn spend(&mut self, kind: OpKind) {
        let Some(i) = KINDS.iter().position(|&k| k == kind) else { return };
        match self {
            Self::Counted(left) => left[i] = left[i].saturating_sub(1),
            Self::Shared(shared) => {
                // Only one thread draws from it.
                let left = shared.left[i].load(Ordering::Relaxed);
                shared.left[i].store(left.saturating_sub(1), Ordering::Relaxed);
            }
            Self::Endless(_) => {}
        }
    }

    /// Draws a kind that `possible` allows, with a probability proportional to how many are left.
    pub fn draw(&self, stream: &mut Stream, possible: impl Fn(OpKind) -> bool) -> Option<OpKind> {
        let mut parts = self.parts();
        for (part, kind) in parts.iter_mut().zip(KINDS) {
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
        for (part, kind) in parts.into_iter().zip(KINDS) {
            if place < part {
                return Some(kind);
            }
            place -= part;
        }
        None
    }

    fn parts(&self) -> [u64; 4] {
        match self {
            Self::Counted(left) => *left,
            Self::Shared(shared) => shared.left.each_ref().map(|left| left.load(Ordering::Relaxed)),
            Self::Endless(mix) => mix.weights(),
        }
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

    const fn weights(create: u64, read: u64, update: u64, delete: u64) -> Mix {
        Mix { create, read, update, delete }
    }

    #[test]
    fn the_split_is_exact_and_never_touches_weight_zero() {
        assert_eq!(weights(2, 3, 2, 1).split(10_000), [2500, 3750, 2500, 1250]);
        assert_eq!(weights(2, 2, 3, 3).split(1000), [200, 200, 300, 300]);
        assert_eq!(weights(1, 1, 0, 1).split(10).iter().sum::<u64>(), 10);
        assert_eq!(weights(1, 1, 0, 1).split(10)[2], 0);
        assert_eq!(weights(29, 71, 0, 0).split(100), [29, 71, 0, 0]);
        assert_eq!(weights(u64::MAX / 4, 1, 0, 0).split(7), [7, 0, 0, 0]);
    }

    #[test]
    fn a_counted_budget_is_spent_to_the_last() {
        let mut budget = Budget::Counted([3, 5, 0, 2]);
        let mut stream = Stream::new(mix(1, 2, 3), 0);
        let mut seen = [0; OpKind::COUNT];
        while let Some(kind) = budget.draw(&mut stream, |_| true) {
            budget.spend(kind);
            seen[kind.index()] += 1;
        }
        assert_eq!(seen[..5], [0, 3, 5, 0, 2]);
    }

    #[test]
    fn a_shared_budget_is_spent_to_the_last_in_an_order_of_its_own() {
        let parts = || [Budget::Counted([3, 5, 0, 2]), Budget::Counted([2, 0, 9, 1])];
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
        assert_eq!(KINDS.map(of), [5, 5, 9, 3]);
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
