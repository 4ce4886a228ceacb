//! A workload without its type, for the loop that carries it out.

use super::{Check, Next, Workload};
use crate::op::{Answered, Failure, Finding, Op, Pen, Reply, Unconfirmed};
use std::any::Any;

/// A workload, for a connection whose driver writes with `P`. The hot loop is thus compiled for
/// each driver, and not for each pair of a driver and a workload.
pub trait WorkloadFor<P> {
    /// As [`Workload::next`].
    fn next(&mut self, pen: &mut P) -> Next;

    /// As [`Workload::observe`].
    fn observe(
        &mut self,
        op: &Op,
        result: Result<Reply, Failure>,
        answered: &Answered<'_>,
    ) -> Check;

    /// As [`Workload::finding`].
    fn finding(&mut self) -> Option<Finding>;

    /// As [`Workload::unconfirmed`].
    fn unconfirmed(&mut self) -> Option<Unconfirmed>;

    /// As [`Workload::compared`].
    fn compared(&mut self) -> Option<Result<(), Failure>>;

    /// The workload, for whoever knows its type.
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
