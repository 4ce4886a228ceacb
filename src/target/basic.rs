//! A target that answers at once and keeps nothing: what is measured on it is springload itself.

use super::{Deadlines, Outcome, Payload, Session, Target};
use crate::measure::Probe;
use crate::op::{Op, OpKind, Reply, Revision};
use std::rc::Rc;

/// Is handed what is to be shown of each operation, on all threads.
pub type Echo = fn(&[u8]);

/// The target; see the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct Basic {
    /// Is handed the body of each operation, where operations are to be shown.
    pub echo: Option<Echo>,
}

/// A session with it.
#[derive(Clone, Copy, Debug)]
pub struct BasicSession {
    echo: Option<Echo>,
}

impl Target for Basic {
    type Session = BasicSession;

    fn session(&self, _: &Rc<Deadlines>) -> BasicSession {
        BasicSession { echo: self.echo }
    }
}

impl Session for BasicSession {
    async fn ready(&mut self) {}

    /// Every operation succeeds; the revision after it is one generation higher.
    async fn execute(&mut self, op: &Op, payload: &mut Payload, probe: &mut Probe) -> Outcome {
        if let Some(echo) = self.echo {
            echo(payload.body());
        }
        let generation = op.revision.map_or(0, |revision| revision.generation);
        let written = u32::from(!matches!(op.kind, OpKind::Read | OpKind::Scan));
        let revision = Revision { generation: generation + written, hash: [0; 16] };
        if op.kind == OpKind::BulkInsert {
            payload.names_and_rows().1.resize(op.documents as usize, Ok(revision));
        }
        probe.mark_answered_at_once();
        Outcome {
            result: Ok(Reply { revision: Some(revision), ..Reply::default() }),
            bytes_sent: payload.body().len() as u64,
            bytes_received: 0,
            resent: false,
        }
    }
}
