//! Creates and removes databases as operations of a load on many.

use super::session::CouchSession;
use super::{CouchPen, many::Many};
use crate::Outcome;
use crate::measure::Probe;
use crate::op::{Failure, Op, OpKind, Reply};

impl CouchSession {
    /// Creates or removes one of many databases.
    pub(super) async fn on_database(
        &mut self,
        op: &Op,
        pen: &mut CouchPen,
        probe: &mut Probe,
    ) -> Outcome {
        self.settling.reply = None;
        let Some(many) = self.paths.many.clone() else {
            return Outcome::of(Err(Failure::Protocol));
        };
        if op.kind == OpKind::DatabaseCreate {
            self.create_database(op, &many, pen, probe).await
        } else {
            self.delete_database(op, &many, pen, probe).await
        }
    }

    async fn create_database(
        &mut self,
        op: &Op,
        many: &Many,
        pen: &mut CouchPen,
        probe: &mut Probe,
    ) -> Outcome {
        let before = many.ask(op.key);
        let mut outcome = self.request(op, pen, probe).await;
        // The previous request had no answer, but was carried out.
        if before && outcome.result == Err(Failure::PreconditionFailed) {
            outcome.result = Ok(Reply::default());
        }
        many.asked(op.key, before, outcome.result.map(|_| ()));
        outcome
    }

    async fn delete_database(
        &mut self,
        op: &Op,
        many: &Many,
        pen: &mut CouchPen,
        probe: &mut Probe,
    ) -> Outcome {
        if !many.is_own(op.key) {
            // It was not created by this run: nothing is sent.
            probe.mark_send_at_once();
            probe.mark_received();
            return Outcome::of(Err(Failure::Rejected));
        }
        let outcome = self.request(op, pen, probe).await;
        if outcome.result.is_ok() {
            many.removed(op.key);
        }
        outcome
    }
}
