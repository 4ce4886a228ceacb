//! How many operations of each kind are left, and which kind comes next.

use crate::generate::{Stream, below};
use crate::op::OpKind;
use serde::{Deserialize, Serialize};

/// The kinds that a mix is made of, in the order of its weights.
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

impl Mix {
    /// The weights in the order create, read, update, delete.
    pub const fn weights(&self) -> [u64; 4] {
        [self.create, self.read, self.update, self.delete]
    }

    /// Splits `operations` by weight: each kind gets its exact share rounded down, and what is
    /// left goes one each to the largest remainders (Hamilton's method), never to weight zero.
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

/// What one connection still has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// So many of each kind, in random order.
    Counted([u64; 4]),
    /// Each operation drawn by weight, without end.
    Endless(Mix),
}

impl Budget {
    /// How many of `kind` are left, or its weight.
    pub fn left(&self, kind: OpKind) -> u64 {
        let parts = self.parts();
        KINDS.iter().position(|&k| k == kind).map_or(0, |i| parts[i])
    }

    /// The least change that makes `left` right after an operation of `kind`.
    pub fn spend(&mut self, kind: OpKind) {
        if let Self::Counted(left) = self
            && let Some(i) = KINDS.iter().position(|&k| k == kind)
        {
            left[i] = left[i].saturating_sub(1);
        }
    }

    /// Draws a kind that `possible` allows, with a chance in proportion to what is left of it.
    pub fn draw(&self, stream: &mut Stream, possible: impl Fn(OpKind) -> bool) -> Option<OpKind> {
        let mut parts = self.parts();
        for (part, kind) in parts.iter_mut().zip(KINDS) {
            if *part > 0 && !possible(kind) {
                *part = 0;
            }
        }
        let sum = parts.iter().sum();
        let mut place = below(stream.draw(), sum);
        for (part, kind) in parts.into_iter().zip(KINDS) {
            if place < part {
                return Some(kind);
            }
            place -= part;
        }
        None
    }

    const fn parts(&self) -> [u64; 4] {
        match self {
            Self::Counted(left) => *left,
            Self::Endless(mix) => mix.weights(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::mix;

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
