//! Two workloads as one type, so that the loop is compiled once for both.

use super::{Check, Next, Workload};
use crate::op::{Answered, Failure, Finding, Op, Pen, Reply};

/// One workload or the other, the same for all connections of a stage.
#[derive(Debug)]
pub(super) enum Either<A, B> {
    One(A),
    Other(B),
}

impl<A, B> Either<A, B> {
    /// The first workload, if it is this one.
    pub(super) fn one(self) -> Option<A> {
        match self {
            Self::One(one) => Some(one),
            Self::Other(_) => None,
        }
    }
}

impl<A: Workload, B: Workload> Workload for Either<A, B> {
    const LISTED: bool = A::LISTED && B::LISTED;

    #[inline]
    fn next<P: Pen>(&mut self, pen: &mut P) -> Next {
        match self {
            Self::One(one) => one.next(pen),
            Self::Other(other) => other.next(pen),
        }
    }

    #[inline]
    fn observe(
        &mut self,
        op: &Op,
        result: Result<Reply, Failure>,
        answered: &Answered<'_>,
    ) -> Check {
        match self {
            Self::One(one) => one.observe(op, result, answered),
            Self::Other(other) => other.observe(op, result, answered),
        }
    }

    fn finding(&mut self) -> Option<Finding> {
        match self {
            Self::One(one) => one.finding(),
            Self::Other(other) => other.finding(),
        }
    }
}
