//! Operations that the plan defines: the driver's spelling of each, and the expectations on its
//! answers.

use super::{Expect, JudgedAnswer, OperationPlan};
use crate::TargetError;
use crate::mistake::Invalid;
use crate::op::{ByKind, OpKind, Reply};
use std::sync::Arc;

/// The operations of a plan, spelled as `S`. Cheap to clone.
#[derive(Debug)]
pub struct Own<S>(Arc<ByKind<Option<(S, Expect)>>>);

impl<S> Clone for Own<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S> Default for Own<S> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<S> Own<S> {
    /// Spells each operation.
    ///
    /// # Errors
    /// Fails if one is misspelt, which cannot happen in a checked plan.
    pub fn new(
        operations: &[OperationPlan],
        spell: impl Fn(&OperationPlan) -> Result<S, Invalid>,
    ) -> Result<Self, TargetError> {
        let mut own = ByKind::new();
        for operation in operations.iter().filter(|it| !it.is_sequence()) {
            let spelled = spell(operation).map_err(|mistake| TargetError(mistake.to_string()))?;
            *own.of(operation.name) = Some((spelled, operation.expect.clone()));
        }
        Ok(Self(Arc::new(own)))
    }

    /// How an operation is spelled.
    pub fn get(&self, kind: OpKind) -> Option<&S> {
        self.0.get(kind)?.as_ref().map(|(spelled, _)| spelled)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (OpKind, &S)> {
        let there = self.0.iter(Option::is_some);
        there.filter_map(|(kind, it)| it.as_ref().map(|(spelled, _)| (kind, spelled)))
    }

    /// The reply for an answer with this many rows.
    ///
    /// # Errors
    /// Fails with the expectation that the answer does not meet.
    pub fn reply(&self, kind: OpKind, rows: u64) -> Result<Reply, String> {
        let found = JudgedAnswer { status: 0, rows, has_document: None, body: b"" };
        let expect = self.0.get(kind).and_then(Option::as_ref).map(|(_, expect)| expect);
        let reply = Reply { rows: u32::try_from(rows).unwrap_or(u32::MAX), ..Reply::default() };
        expect.and_then(|expect| expect.unmet(&found)).map_or(Ok(reply), Err)
    }
}

/// The error for an operation that the server refuses before the load.
pub fn refused(kind: OpKind, words: &str) -> TargetError {
    let flag = super::flag_of(kind.name());
    TargetError(format!("{flag}: the server refuses it: {words}"))
}
