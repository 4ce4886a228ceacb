//! One worker of a burst.

use super::Role;
use super::body::{Bodies, BodyOriginal};
use crate::op::{Answered, Failure, Finding, Key, Op, OpKind, Pen, Reply, Token};
use crate::verify::Verifier;
use crate::{Check, Doubt, LiveEntry, Next, Workload};

/// One worker of a burst.
#[derive(Debug)]
pub struct Burst {
    role: Role,
    key: Key,
    bodies: Bodies,
    /// The stored document, if there is one.
    stored: Option<LiveEntry>,
    /// Whether the stored document was written by this worker.
    own: bool,
    /// Set if the last write had no answer or was refused, so that the stored state is not known.
    lost: Option<Doubt>,
    /// What an earlier, unanswered write may still do, as long as no read has shown its effect.
    late: Doubt,
    prepared: bool,
    /// Whether reads send the token of the previous one.
    conditional: bool,
    /// The token of the last read.
    read: Option<Token>,
    /// Compares what is read with what was written, if requested.
    verifier: Option<Box<Verifier<BodyOriginal>>>,
}

impl Burst {
    pub(super) const fn new(key: Key, bodies: Bodies) -> Self {
        Self {
            role: Role::Prepare,
            key,
            bodies,
            stored: None,
            own: false,
            lost: None,
            late: Doubt::None,
            prepared: false,
            conditional: false,
            read: None,
            verifier: None,
        }
    }

    /// Sets whether reads are compared with what was written.
    pub(super) fn verifying(mut self, verify: bool) -> Self {
        let original = || self.bodies.clone().original();
        self.verifier = verify.then(|| Box::new(Verifier::new(original())));
        self
    }

    /// Takes on a role and keeps the document as it is.
    pub fn with_role(mut self, role: Role) -> Self {
        (self.role, self.prepared) = (role, self.stored.is_some());
        self
    }

    /// Sets whether each read sends the token of the previous one, if there was one, as a client
    /// with a cache would.
    pub fn conditional(self, conditional: bool) -> Self {
        Self { conditional, read: None, ..self }
    }

    /// The create or the next update of the document.
    fn write<P: Pen>(&self, pen: &mut P) -> Op {
        let (kind, token, version) = match self.stored {
            Some(entry) => (OpKind::Update, Some(entry.token), entry.version.wrapping_add(1)),
            None => (OpKind::Create, None, 0),
        };
        self.bodies.write_id(self.key, pen.name());
        pen.document(token, self.bodies.body(self.key, version));
        Op { version, ..Op::single(kind, self.key, token) }
    }

    /// Compares a result with what is known, and returns the version that was read.
    fn verify(
        &mut self,
        kind: OpKind,
        result: Result<Reply, Failure>,
        answered: &Answered<'_>,
    ) -> (Check, Option<u32>) {
        let Some(verifier) = &mut self.verifier else { return (Check::Unchecked, None) };
        let known = match (self.stored, self.lost) {
            (Some(entry), doubt) if self.own => {
                (entry, doubt.unwrap_or(Doubt::None).and(self.late))
            }
            (None, Some(Doubt::Update)) if result.is_ok() => {
                (LiveEntry::new(self.key, 0, None), Doubt::None)
            }
            _ => return (Check::Unchecked, None),
        };
        let verified = verifier.look(&known.0, known.1, kind, result, answered);
        if self.stored.is_none() && verified.version.is_none() {
            // It was not created after all: the document belongs to another client.
            verifier.finding();
            return (Check::Unchecked, None);
        }
        (verified.check, verified.version)
    }
}

impl Workload for Burst {
    fn next<P: Pen>(&mut self, pen: &mut P) -> Next {
        if self.role == Role::Prepare && std::mem::replace(&mut self.prepared, true) {
            return Next::End;
        }
        if self.role == Role::Read || self.lost.is_some() {
            self.bodies.write_id(self.key, pen.name());
            if self.verifier.is_some() {
                pen.look();
            }
            let read = Op::single(OpKind::Read, self.key, self.read);
            return Next::Op(Op { conditional: self.conditional && self.lost.is_none(), ..read });
        }
        Next::Op(self.write(pen))
    }

    fn observe(
        &mut self,
        op: &Op,
        result: Result<Reply, Failure>,
        answered: &Answered<'_>,
    ) -> Check {
        if op.conditional {
            self.read = result.ok().and_then(|reply| reply.token);
        }
        let (check, found) = self.verify(op.kind, result, answered);
        match (op.kind, result) {
            // The known state still applies, except for a writer, which could not continue from it.
            (OpKind::Read, Ok(_))
                if self.role == Role::Read && check == Check::Checked(Err(Failure::Stale)) => {}
            (OpKind::Read, Ok(Reply { token, .. })) => {
                self.own = self.stored.map_or(found.is_some(), |_| self.own);
                let known = self.stored.map_or(0, |entry| entry.version);
                let is_still = self.stored.is_some() && found == Some(known);
                let doubt = self.late.and(self.lost.unwrap_or(Doubt::None));
                self.late = if is_still { doubt } else { Doubt::None };
                self.stored = Some(LiveEntry::new(self.key, found.unwrap_or(known), token));
                self.lost = None;
            }
            (_, Ok(Reply { token, .. })) => {
                self.stored = Some(LiveEntry::new(self.key, op.version, token));
                (self.own, self.lost, self.late) = (true, None, Doubt::None);
            }
            (_, Err(Failure::NotFound)) => {
                (self.stored, self.lost, self.late) = (None, None, Doubt::None);
            }
            // A read will show whether the write was carried out.
            (OpKind::Create | OpKind::Update, Err(failure)) => {
                self.lost = Some(Doubt::after(op.kind, failure));
            }
            _ => {}
        }
        check
    }

    fn finding(&mut self) -> Option<Finding> {
        self.verifier.as_mut()?.finding()
    }
}
