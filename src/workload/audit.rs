//! Looks for every acknowledged write: the stage at the end of a run with `--audit`.

use super::verify::{Comparer, words};
use super::{
    Check, Demand, LaneContext, Offer, Purpose, Restored, RunAsked, Runner, StageWork, Step, Stock,
    Timing, Workload,
};
use crate::journal::{Act, Entry, Fate, Journal};
use crate::mistake::Invalid;
use crate::op::{Answered, Failure, Finding, Key, Op, OpKind, Pen, Reply, Token};
use crate::schema::{Documents, Ids};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// How often a document is asked for until there is an answer.
const TRIES: u32 = 5;
/// How long to wait before it is asked for again, in nanoseconds.
const PAUSE_NS: u64 = 200_000_000;

/// The audit as planned. It has no settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditPlan {}

/// What the last acknowledged write of a document left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    /// Nothing was acknowledged.
    Nothing,
    /// A version.
    Written { version: u32, token: Token },
    /// Its absence.
    Deleted,
}

/// What should be found of one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owed {
    key: Key,
    last: Last,
    /// Versions that may have been stored since.
    maybe: Vec<u32>,
    /// How many deletions since had no answer.
    maybe_deleted: u32,
    /// A revision was acknowledged that does not follow the acknowledged one before it: that was
    /// lost in between.
    undone: Option<Box<(Token, Token)>>,
}

impl Owed {
    const fn nothing(key: Key) -> Self {
        Self { key, last: Last::Nothing, maybe: Vec::new(), maybe_deleted: 0, undone: None }
    }

    fn add(&mut self, entry: &Entry) {
        let Entry { act, fate, version, token, .. } = *entry;
        match (fate, act) {
            (Fate::Sent, Act::Write) => self.maybe.push(version),
            (Fate::Sent, Act::Delete) => self.maybe_deleted += 1,
            // Only this one: the same may have been sent before, without an answer.
            (Fate::Refused, Act::Write) => {
                let place = self.maybe.iter().rposition(|it| *it == version);
                place.map(|place| self.maybe.remove(place));
            }
            (Fate::Refused, Act::Delete) => {
                self.maybe_deleted = self.maybe_deleted.saturating_sub(1);
            }
            (Fate::Acknowledged, act) => {
                if let Last::Written { token: before, .. } = self.last
                    && token != Token::default()
                    && token.number <= before.number
                {
                    self.undone.get_or_insert_with(|| Box::new((before, token)));
                }
                self.last = match act {
                    Act::Write => Last::Written { version, token },
                    Act::Delete => Last::Deleted,
                };
                self.maybe.clear();
                self.maybe_deleted = 0;
            }
        }
    }
}

/// What a journal says should be found, by key.
///
/// # Errors
/// When the journal cannot be read.
pub fn owed(journal: &Journal) -> io::Result<Vec<Owed>> {
    let mut all = BTreeMap::<Key, Owed>::new();
    journal.read(|entry| {
        all.entry(entry.key).or_insert_with(|| Owed::nothing(entry.key)).add(&entry);
    })?;
    Ok(all.into_values().collect())
}

impl StageWork for AuditPlan {
    fn does(&self, kind: OpKind) -> bool {
        matches!(kind, OpKind::Read | OpKind::Verify)
    }

    fn is_auditable(&self) -> bool {
        true
    }

    fn audits(&self) -> bool {
        true
    }

    fn check_again(&self, _: &Restored<'_>, _: &mut Vec<Invalid>) {}

    fn operations(&self, _: usize, _: usize) -> Option<u64> {
        None
    }

    fn describe(&self, _: &dyn Fn(u64) -> String) -> Vec<String> {
        vec!["every acknowledged write".to_owned()]
    }

    fn carry_out<R: Runner>(
        &self,
        cx: &LaneContext,
        stock: &mut Stock,
        runner: R,
    ) -> Result<R::Output, R::Error> {
        let mut lanes: Vec<_> = (0..cx.connections).map(|_| Audit::new(cx)).collect();
        let owed = stock.take_owed();
        for (place, owed) in owed.into_iter().enumerate() {
            lanes[place % cx.connections].owed.push(owed);
        }
        for lane in &mut lanes {
            lane.owed.reverse();
        }
        Ok(runner.run(lanes)?.0)
    }
}

/// Only an audit.
#[derive(Clone, Copy, Debug)]
pub struct AuditDemand;

impl AuditDemand {
    /// The stage of an audit.
    pub fn step() -> Step {
        let (name, purpose, timing) = ("audit".to_owned(), Purpose::Audit, Timing::Free);
        Step { name, purpose, work: AuditPlan::default().into(), timing }
    }
}

impl Demand for AuditDemand {
    fn check(&self, _: &Ids, _: &mut Vec<Invalid>) {}

    fn steps(&self) -> Vec<Step> {
        vec![Self::step()]
    }
}

impl Offer for AuditPlan {
    const NAMES: &'static [(&'static str, &'static str)] = &[];

    fn demand(_: &str, _: &RunAsked) -> Result<Arc<dyn Demand>, Invalid> {
        Err(Invalid::new("--workload", "it has no name", "give --audit"))
    }
}

/// The part of one connection.
#[derive(Debug)]
pub struct Audit {
    documents: Arc<Documents>,
    /// In reverse: the next one is the last.
    owed: Vec<Owed>,
    tries: u32,
    pause_ns: u64,
    comparer: Comparer,
    finding: Option<Finding>,
}

impl Audit {
    fn new(cx: &LaneContext) -> Self {
        let documents = cx.documents.clone();
        let (owed, comparer, finding) = (Vec::new(), Comparer::default(), None);
        Self { documents, owed, tries: 0, pause_ns: 0, comparer, finding }
    }

    /// The class of what is wrong with a document that was found, if anything is.
    fn found(&mut self, owed: &Owed, token: Option<Token>, document: &[u8]) -> Result<(), Failure> {
        let of = |version| (owed.key, version);
        let mut holds = |version| self.comparer.holds(&self.documents, of(version), document);
        if owed.maybe.iter().any(|&version| holds(version)) {
            return Ok(());
        }
        let Last::Written { version, token: known } = owed.last else {
            let deleted = owed.last == Last::Deleted;
            return Err(if deleted { Failure::Resurrected } else { Failure::WrongBody });
        };
        let token = token.filter(|_| known != Token::default());
        let same_token = token.is_none_or(|token| token == known);
        if same_token && holds(version) {
            return Ok(());
        }
        Err(match token {
            Some(token) if token.number < known.number => Failure::Stale,
            Some(token) if token == known => Failure::WrongBody,
            Some(_) => Failure::UnknownRevision,
            None => match self.comparer.older(&self.documents, of(version), document) {
                Some(_) => Failure::Stale,
                None => Failure::WrongBody,
            },
        })
    }

    /// Compares an answer with what is owed. `None`: there was no answer.
    fn judge(
        &mut self,
        owed: &Owed,
        result: Result<Reply, Failure>,
        document: Option<&[u8]>,
    ) -> Option<Result<(), Failure>> {
        let judged = match (result, document) {
            (Ok(reply), Some(document)) => self.found(owed, reply.token, document),
            (Err(Failure::NotFound), _) => match owed.last {
                Last::Written { .. } if owed.maybe_deleted == 0 => Err(Failure::Lost),
                _ => Ok(()),
            },
            _ => return None,
        };
        // What is there may be right, and yet an acknowledged write was lost in between.
        Some(judged.and(if owed.undone.is_some() { Err(Failure::Lost) } else { Ok(()) }))
    }

    #[cold]
    fn wrong(&mut self, owed: &Owed, class: Failure, result: Result<Reply, Failure>) {
        let mut id = Vec::new();
        self.documents.write_id(owed.key, &mut id);
        let undone = owed.undone.as_deref().copied();
        let expected = match (undone, owed.last) {
            (Some((before, _)), _) if class == Failure::Lost => {
                format!("acknowledged as {}", words(before))
            }
            (_, Last::Written { version, token: known }) => {
                format!("version {version}, {}", words(known))
            }
            (_, Last::Deleted) => "deleted, as acknowledged".to_owned(),
            (_, Last::Nothing) => "absent, or as it was sent".to_owned(),
        };
        let found = match (undone, result) {
            (Some((_, after)), _) if class == Failure::Lost => {
                format!("followed by {}, which does not come after it", words(after))
            }
            (_, Ok(Reply { token: Some(found), .. })) => words(found),
            (_, Ok(_)) => "a document".to_owned(),
            (_, Err(_)) => "no such document".to_owned(),
        };
        self.finding = Some(Finding::new(class, &id, &expected, &found));
    }
}

impl Workload for Audit {
    fn next<P: Pen>(&mut self, pen: &mut P) -> Option<Op> {
        let owed = self.owed.last()?;
        self.documents.write_id(owed.key, pen.name());
        pen.look();
        Some(Op::single(OpKind::Read, owed.key, None))
    }

    fn observe(
        &mut self,
        _: &Op,
        result: Result<Reply, Failure>,
        answered: &Answered<'_>,
    ) -> Check {
        let Some(owed) = self.owed.pop() else { return Check::Unchecked };
        let Some(judged) = self.judge(&owed, result, answered.document) else {
            self.tries += 1;
            if self.tries < TRIES {
                self.pause_ns = PAUSE_NS;
                self.owed.push(owed);
                return Check::Unchecked;
            }
            self.tries = 0;
            // Neither right nor wrong.
            return Check::Checked(Err(result.err().unwrap_or(Failure::Protocol)));
        };
        self.tries = 0;
        if let Err(class) = judged {
            self.wrong(&owed, class, result);
        }
        Check::Checked(judged)
    }

    fn finding(&mut self) -> Option<Finding> {
        self.finding.take()
    }

    fn pause_ns(&mut self) -> u64 {
        std::mem::take(&mut self.pause_ns)
    }
}

#[cfg(test)]
#[path = "audit_tests.rs"]
mod tests;
