//! A workload without its type, for the loop that carries it out.

use super::{Check, Next, Workload};
use crate::op::{Answered, Failure, Finding, Op, Pen, Reply, Unconfirmed};
use std::any::Any;

/// A workload, for a connection whose driver writes with `P`. The hot loop is thus compiled once
/// for each driver, rather than for each combination of driver and workload.
pub trait WorkloadFor<P> {
    /// See [`Workload::next`].
    fn next(&mut self, pen: &mut P) -> Next;

    /// See [`Workload::observe`].
    fn observe(
        &mut self,
        op: &Op,
        result: Result<Reply, Failure>,
        answered: &Answered<'_>,
    ) -> Check;

    /// See [`Workload::finding`].
    fn finding(&mut self) -> Option<Finding>;

    /// See [`Workload::unconfirmed`].
    fn unconfirmed(&mut self) -> Option<Unconfirmed>;

    /// See [`Workload::compared`].
    fn compared(&mut self) -> Option<Result<(), Failure>>;

    /// The workload, for callers that know its type.
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<P: Pen, W: Workload + 'static> WorkloadFor<P> for W {
    fn next(&mut self, pen: &mut P) -> Next {
        Workload::next(self, pen)
    }

    fn observe(
        &mut self,
        op: &Op,
        result: Result<Reply, Failure>,
        answered: &Answered<'_>,
    ) -> Check {
        Workload::observe(self, op, result, answered)
    }

    fn finding(&mut self) -> Option<Finding> {
        Workload::finding(self)
    }

    fn unconfirmed(&mut self) -> Option<Unconfirmed> {
        Workload::unconfirmed(self)
    }

    fn compared(&mut self) -> Option<Result<(), Failure>> {
        Workload::compared(self)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
