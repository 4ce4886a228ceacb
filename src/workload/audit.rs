//! Looks for every acknowledged write: the stage at the end of a run with `--audit`.

use super::verify::words;
use super::{
    Check, Demand, FromSchemas, LaneContext, Offer, Original, Purpose, Restored, RunAsked, Runner,
    StageWork, Step, Stock, Timing, Workload, WorkloadPlan,
};
use crate::journal::{Act, Entry, Fate, Journal};
use crate::mistake::Invalid;
use crate::op::{Answered, Failure, Finding, Key, Op, OpKind, Pen, Reply, Token};
use crate::schema::Ids;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// How often a document is asked for until there is an answer.
const TRIES: u32 = 5;
/// How long to wait before it is asked for again, in nanoseconds.
const PAUSE_NS: u64 = 200_000_000;

/// The audit as planned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AuditPlan {
    /// What wrote the documents; `None`: they are those of the run's schemas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of: Option<WorkloadPlan>,
    /// The database has no documents but those of the run, so that others can be counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    alone: bool,
}

/// What the last acknowledged write of a document left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    /// Nothing was acknowledged.
    Nothing,
    /// A version.
    Written { version: u32, token: Token },
    /// Its absence.
    Deleted { token: Token },
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

    /// Adds a note about a document that only one connection writes.
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
                self.last = Last::of(act, version, token);
                self.maybe.clear();
                self.maybe_deleted = 0;
            }
        }
    }

    /// Adds a note about a document that several connections write. The order of their notes is
    /// not known, but for revisions: the highest one acknowledged was the last.
    fn add_shared(&mut self, entry: &Entry) {
        let Entry { act, fate, version, token, .. } = *entry;
        if fate != Fate::Acknowledged {
            return self.add(entry);
        }
        if token == Token::default() && act == Act::Delete {
            // It may have been before all others or after them: whatever is found is right.
            return;
        }
        // It is no longer without an answer.
        self.add(&Entry { fate: Fate::Refused, ..*entry });
        let last = self.last.token();
        match token.number.cmp(&last.number) {
            Ordering::Less => {}
            // Two writes of one revision cannot both be kept.
            Ordering::Equal if token != last => {
                self.undone.get_or_insert_with(|| Box::new((last, token)));
            }
            _ => self.last = Last::of(act, version, token),
        }
    }
}

impl Last {
    const fn of(act: Act, version: u32, token: Token) -> Self {
        match act {
            Act::Write => Self::Written { version, token },
            Act::Delete => Self::Deleted { token },
        }
    }

    fn token(self) -> Token {
        match self {
            Self::Nothing => Token::default(),
            Self::Written { token, .. } | Self::Deleted { token } => token,
        }
    }
}

/// What a journal says should be found by this audit, by key.
///
/// # Errors
/// When the journal cannot be read.
pub fn owed(journal: &Journal, audit: &WorkloadPlan) -> io::Result<Vec<Owed>> {
    let shared = match audit {
        WorkloadPlan::AuditPlan(plan) => plan.of.as_ref().is_some_and(StageWork::shares_documents),
        _ => false,
    };
    let mut all = BTreeMap::<Key, Owed>::new();
    journal.read(|entry| {
        let owed = all.entry(entry.key).or_insert_with(|| Owed::nothing(entry.key));
        if shared { owed.add_shared(&entry) } else { owed.add(&entry) }
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

    fn counts_others(&self) -> bool {
        self.alone
    }

    fn check_again(&self, restored: &Restored<'_>, mistakes: &mut Vec<Invalid>) {
        match &self.of {
            Some(of) if of.is_auditable() && !of.audits() => of.check_again(restored, mistakes),
            None => {}
            Some(_) => {
                let problem = "what this workload has written cannot be made again";
                mistakes.push(Invalid::new("of", problem, "name one that can be audited"));
            }
        }
    }

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
        let original = || match &self.of {
            Some(of) => of.original(cx),
            None => Box::new(FromSchemas::new(cx.documents.clone())),
        };
        let make = |_| Audit::new(original(), self.alone);
        let mut lanes: Vec<_> = (0..cx.connections).map(make).collect();
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
#[derive(Clone, Debug, Default)]
pub struct AuditDemand {
    of: Option<WorkloadPlan>,
    alone: bool,
}

impl AuditDemand {
    /// An audit of what these stages write; `alone`: into a database that has nothing else.
    pub fn of<'a>(stages: impl IntoIterator<Item = &'a WorkloadPlan>, alone: bool) -> Self {
        let own = stages.into_iter().filter(|it| it.is_auditable() && !it.fields().is_empty());
        Self { of: own.last().cloned(), alone }
    }

    /// The stage of the audit.
    pub fn step(self) -> Step {
        let (name, purpose, timing) = ("audit".to_owned(), Purpose::Audit, Timing::Free);
        Step { name, purpose, work: AuditPlan { of: self.of, alone: self.alone }.into(), timing }
    }
}

impl Demand for AuditDemand {
    fn check(&self, _: &Ids, _: &mut Vec<Invalid>) {}

    fn steps(&self) -> Vec<Step> {
        vec![self.clone().step()]
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
    original: Box<dyn Original>,
    /// Nobody else's documents are in the database.
    alone: bool,
    /// In reverse: the next one is the last.
    owed: Vec<Owed>,
    tries: u32,
    pause_ns: u64,
    finding: Option<Finding>,
}

impl Audit {
    fn new(original: Box<dyn Original>, alone: bool) -> Self {
        Self { original, alone, owed: Vec::new(), tries: 0, pause_ns: 0, finding: None }
    }

    /// The class of what is wrong with a document that was found, if anything is.
    fn found(&mut self, owed: &Owed, token: Option<Token>, document: &[u8]) -> Result<(), Failure> {
        let of = |version| (owed.key, version);
        let mut holds = |version| self.original.holds(of(version), document);
        let before = owed.last.token();
        let token = token.filter(|_| before != Token::default());
        let is_later = token.is_none_or(|token| token.number > before.number);
        if is_later && owed.maybe.iter().any(|&version| holds(version)) {
            return Ok(());
        }
        let (version, known) = match owed.last {
            Last::Written { version, token } => (version, token),
            Last::Deleted { .. } => return Err(Failure::Resurrected),
            // Somebody else's, which may be why this run's was refused.
            Last::Nothing if !self.alone => return Ok(()),
            Last::Nothing if owed.maybe.is_empty() => return Err(Failure::Extra),
            Last::Nothing => return Err(Failure::WrongBody),
        };
        let same_token = token.is_none_or(|token| token == known);
        if same_token && holds(version) {
            return Ok(());
        }
        Err(match token {
            Some(token) if token.number < known.number => Failure::Stale,
            Some(token) if token == known => Failure::WrongBody,
            Some(_) => Failure::UnknownRevision,
            None => match self.original.older(of(version), document) {
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
        // Whatever is there: an acknowledged write was lost in between.
        Some(if owed.undone.is_some() { Err(Failure::Lost) } else { judged })
    }

    #[cold]
    fn wrong(&mut self, owed: &Owed, class: Failure, result: Result<Reply, Failure>) {
        let mut id = Vec::new();
        self.original.write_id(owed.key, &mut id);
        let undone = owed.undone.as_deref().copied();
        let expected = match (undone, owed.last) {
            (Some((before, _)), _) if class == Failure::Lost => {
                format!("acknowledged as {}", words(before))
            }
            (_, Last::Written { version, token: known }) => {
                format!("version {version}, {}", words(known))
            }
            (_, Last::Deleted { .. }) => "deleted, as acknowledged".to_owned(),
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
        self.original.write_id(owed.key, pen.name());
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
