//! What a session knows about writes whose answers were lost.

use crate::clock::Nanos;
use crate::op::Reply;
use crate::{Inquiry, Unsettled};
use std::sync::Arc;

/// The answers that a session learnt of by looking.
#[derive(Debug)]
pub(super) struct Settling {
    /// The reply that the last lost answer would have given, if known.
    pub(super) reply: Option<Reply>,
    /// The writes that this and the other sessions ask about.
    unsettled: Arc<Unsettled>,
}

impl Settling {
    /// Nothing, in a session that counts such writes as `unsettled`.
    pub(super) fn of(unsettled: &Arc<Unsettled>) -> Self {
        Self { reply: None, unsettled: unsettled.clone() }
    }

    /// Counts a write as asked about, `until` then at the latest.
    pub(super) fn ask(&self, until: Nanos) -> Inquiry {
        self.unsettled.ask(until)
    }
}
