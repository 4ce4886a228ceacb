//! Asks for documents and compares them with what should be there.

use super::index::{IndexRows, KeysOf};
use super::ledger::Ledger;
use super::owed::{DoubtfulWrite, Last, Owed};
use crate::journal::Act;
use crate::op::{
    Answered, Failure, Finding, Key, Op, OpKind, Pen, ReadCopies, Reply, Token, Unconfirmed,
};
use crate::verify::words;
use crate::{Check, Next, Original, Places, Workload};
use std::sync::Arc;

/// How often a document is requested until there is an answer: a server may be away for a second.
const TRIES: u32 = 8;
/// How long to wait before requesting it again, in nanoseconds.
const PAUSE_NS: u64 = 200_000_000;
/// How many documents a connection may request so often in vain. After that it requests each once,
/// because a node that is gone, or a right that is missing, would otherwise cost seconds for each.
const MOST_IN_VAIN: u32 = 3;
/// How many answers make up for one of them. Where other nodes do answer, most documents of the one
/// that is gone are thus still requested once.
const ANSWERS: u32 = 50;

/// One connection's part of an audit.
#[derive(Debug)]
pub(super) struct Audit {
    original: Box<dyn Original>,
    /// Whether the database contains only documents of the run.
    alone: bool,
    ledger: Arc<Ledger>,
    /// Its pages, in reverse: the last one is next.
    pages: Vec<u64>,
    /// The documents of the current page, in reverse.
    keys: Vec<Key>,
    tries: u32,
    /// How many answers it takes to make up for all documents that were requested in vain.
    in_vain: u32,
    /// Whether to wait before the next request.
    pauses: bool,
    finding: Option<Finding>,
    /// What became of the writes of the last document that were not acknowledged.
    unconfirmed: Option<Unconfirmed>,
    /// Whether all documents of a page are requested at once, if the server supports it ...
    several: bool,
    /// ... and they are in the same place, if there are several places ...
    places: Option<Places>,
    /// ... except for this many, for which there was no answer.
    left: usize,
    /// What was found about several documents, in reverse.
    compared: Vec<Compared>,
    /// The indexes to check after the documents: their indices and names.
    indexes: Vec<(usize, String)>,
    /// The index whose rows are being compared with the documents.
    rows: Option<IndexRows>,
}

#[derive(Debug)]
struct Compared {
    judged: Result<(), Failure>,
    finding: Option<Finding>,
    unconfirmed: Option<Unconfirmed>,
}

impl Audit {
    pub(super) fn new(
        original: Box<dyn Original>,
        alone: bool,
        ledger: Arc<Ledger>,
        pages: Vec<u64>,
    ) -> Self {
        Self {
            original,
            alone,
            ledger,
            pages,
            keys: Vec::new(),
            tries: 0,
            in_vain: 0,
            pauses: false,
            finding: None,
            unconfirmed: None,
            several: false,
            places: None,
            left: 0,
            compared: Vec::new(),
            indexes: Vec::new(),
            rows: None,
        }
    }

    /// Sets whether a read may request several documents, and where they are, if they must be in
    /// the same place for that.
    pub(super) fn several(self, several: bool, places: Option<Places>) -> Self {
        Self { several, places, ..self }
    }

    /// Adds indexes whose rows are all checked.
    pub(super) fn and_indexes(mut self, indexes: Vec<(usize, String)>) -> Self {
        self.indexes = indexes;
        self
    }

    /// Compares the rows of an index with all documents.
    fn observe_index(&mut self, result: Result<Reply, Failure>, answered: &Answered<'_>) -> Check {
        let name = self.indexes.last().map(|(_, name)| name.clone()).unwrap_or_default();
        let listed = answered.document.filter(|_| result.is_ok());
        let keys = KeysOf::new(self.ledger.clone());
        self.rows = listed.and_then(|listed| IndexRows::read(&name, listed, keys));
        let class = result.err().unwrap_or(Failure::Protocol);
        if self.rows.is_none() && self.again(class) {
            return Check::Unchecked;
        }
        self.tries = 0;
        self.indexes.pop();
        match self.rows {
            Some(_) => Check::Several,
            // The index is neither right nor wrong.
            None => Check::Checked(Err(class)),
        }
    }

    /// The result for the next document's rows in an index.
    fn compared_index(&mut self) -> Option<Result<(), Failure>> {
        let key = self.rows.as_mut()?.next();
        let Some((key, owed)) = key.and_then(|key| Some((key, self.ledger.at(key)?))) else {
            self.rows = None;
            return None;
        };
        let mut id = Vec::new();
        self.original.write_id(key, &mut id);
        let judged = self.rows.as_ref()?.judge(&id, &owed);
        self.unconfirmed = owed.never_written().filter(|_| judged.is_ok());
        Some(judged.map_err(|(class, finding)| {
            self.finding = Some(finding);
            class
        }))
    }

    /// Checks a document that was found, and returns the class of what is wrong with it.
    fn found(
        &mut self,
        key: Key,
        owed: &Owed,
        token: Option<Token>,
        document: &[u8],
    ) -> Result<(), Failure> {
        let mut holds = |version| self.original.holds(key, version, document);
        let before = owed.last.token();
        let token = token.filter(|_| before != Token::default());
        let is_later = token.is_none_or(|token| token.number > before.number);
        let written = |it: &&DoubtfulWrite| is_later && it.act == Act::Write && holds(it.version);
        if let Some(done) = owed.doubts.maybe.iter().find(written) {
            // An update may leave a document unchanged, for example when a flag keeps its value.
            let is_as_before = matches!(owed.last, Last::Written { version, .. } if holds(version));
            let told_apart = token.is_some() || !is_as_before;
            self.unconfirmed = done.became(true).filter(|_| told_apart);
            return Ok(());
        }
        self.unconfirmed = owed.doubts.not_done();
        let (version, known) = match owed.last {
            Last::Written { version, token } => (version, token),
            Last::Deleted { .. } => return Err(Failure::Resurrected),
            // A document of another client, which may be why this run's was refused.
            Last::Nothing if !self.alone => return Ok(()),
            Last::Nothing if !owed.doubts.any(Act::Write) => return Err(Failure::Extra),
            Last::Unknown | Last::Nothing => return Err(Failure::WrongBody),
        };
        let same_token = token.is_none_or(|token| token == known);
        if same_token && holds(version) {
            return Ok(());
        }
        Err(match token {
            Some(token) if token.number < known.number => Failure::Stale,
            Some(token) if token == known => Failure::WrongBody,
            Some(_) => Failure::UnknownRevision,
            None => match self.original.older(key, version, document) {
                Some(_) => Failure::Stale,
                None => Failure::WrongBody,
            },
        })
    }

    /// Compares an answer with what should be there. `None` if there was no answer.
    fn judge(
        &mut self,
        key: Key,
        owed: &Owed,
        result: Result<Reply, Failure>,
        document: Option<&[u8]>,
    ) -> Option<Result<(), Failure>> {
        self.unconfirmed = None;
        let judged = match (result, document) {
            (Ok(reply), Some(document)) => self.found(key, owed, reply.token, document),
            (Err(Failure::NotFound), _) => self.not_found(owed),
            (Err(class @ Failure::WrongDocument), _) => Err(class),
            _ => return None,
        };
        self.in_vain = self.in_vain.saturating_sub(1);
        // Whatever is found, an acknowledged write was lost in between.
        let judged = if owed.doubts.undone.is_some() { Err(Failure::Lost) } else { judged };
        self.unconfirmed =
            self.unconfirmed.or_else(|| owed.never_written()).filter(|_| judged.is_ok());
        Some(judged)
    }

    /// Checks a document that was not found, and returns the class of what is wrong with it.
    fn not_found(&mut self, owed: &Owed) -> Result<(), Failure> {
        let deleted = owed.doubts.maybe.iter().find(|it| it.act == Act::Delete);
        match (owed.last, deleted) {
            (Last::Written { .. }, None) => return Err(Failure::Lost),
            (Last::Written { .. }, Some(deleted)) => self.unconfirmed = deleted.became(true),
            // If it may have been deleted since, it is unknown whether it was written before that.
            _ if owed.doubts.any(Act::Delete) => {}
            _ => self.unconfirmed = owed.doubts.not_done(),
        }
        Ok(())
    }

    /// Compares an answer about the next `count` documents of a page. Documents without an answer
    /// are requested again one by one.
    fn observe_several(
        &mut self,
        count: usize,
        result: Result<Reply, Failure>,
        answered: &Answered<'_>,
    ) -> Check {
        use Failure::{Connect, Reset, Timeout};
        // Not every server supports this.
        self.several = matches!(result, Ok(_) | Err(Connect | Reset | Timeout));
        let keys = self.keys.split_off(self.keys.len().saturating_sub(count));
        let mut again = Vec::new();
        let mut rows = answered.each().filter(|_| result.is_ok());
        for key in keys.into_iter().rev() {
            let row = rows.next().unwrap_or((Err(Failure::Protocol), None));
            let of_one = row.0.map(|token| Reply { token: Some(token), ..Reply::default() });
            let Some(owed) = self.ledger.at(key) else { continue };
            let Some(judged) = self.judge(key, &owed, of_one, row.1) else {
                again.push(key);
                continue;
            };
            if let Err(class) = judged {
                self.wrong(key, &owed, class, of_one, row.1);
            }
            let (finding, unconfirmed) = (self.finding.take(), self.unconfirmed.take());
            self.compared.push(Compared { judged, finding, unconfirmed });
        }
        self.left = again.len();
        self.keys.extend(again.into_iter().rev());
        self.compared.reverse();
        Check::Several
    }

    #[cold]
    fn wrong(
        &mut self,
        key: Key,
        owed: &Owed,
        class: Failure,
        result: Result<Reply, Failure>,
        document: Option<&[u8]>,
    ) {
        let mut id = Vec::new();
        self.original.write_id(key, &mut id);
        // If something was undone, that is what is wrong, whatever was found.
        let undone = owed.doubts.undone;
        let expected = match (undone, owed.last) {
            (Some((before, _)), _) => format!("acknowledged as {}", words(before)),
            // Not every database has revisions.
            (_, Last::Written { version, token }) if token == Token::default() => {
                format!("version {version}")
            }
            (_, Last::Written { version, token }) => format!("version {version}, {}", words(token)),
            (_, Last::Deleted { .. }) => "deleted, as acknowledged".to_owned(),
            (_, Last::Unknown | Last::Nothing) => "absent, or as it was sent".to_owned(),
        };
        let differs = document.filter(|_| class == Failure::WrongBody);
        let version = match owed.last {
            Last::Written { version, .. } => version,
            _ => 0,
        };
        let found = match (undone, result) {
            (Some((_, after)), _) => {
                format!("followed by {}, which does not come after it", words(after))
            }
            (_, Ok(reply)) => {
                let revision = reply.token.map(words);
                let content = differs.map(|it| self.original.difference(key, version, it));
                let parts: Vec<String> = revision.into_iter().chain(content).collect();
                if parts.is_empty() { "there".to_owned() } else { parts.join(", ") }
            }
            (_, Err(Failure::WrongDocument)) => "another one".to_owned(),
            (_, Err(_)) => "missing".to_owned(),
        };
        self.finding = Some(Finding::new(class, &id, &expected, &found));
    }

    /// Requests the next document, or those of the next page.
    fn ask<P: Pen>(&mut self, pen: &mut P) -> Option<Op> {
        while self.keys.is_empty() {
            self.keys.extend(self.ledger.keys(self.pages.pop()?));
            if let Some(places) = &self.places {
                self.keys.sort_by_cached_key(|key| places.of(*key));
            }
            self.keys.reverse();
            self.left = 0;
        }
        let key = *self.keys.last()?;
        let read = Op { copies: ReadCopies::Usual, ..Op::single(OpKind::Read, key, None) };
        pen.look();
        let count = if self.several && self.left == 0 { self.together() } else { 1 };
        for key in self.keys.iter().rev().take(count) {
            self.original.write_id(*key, pen.name());
        }
        Some(Op { documents: count as u32, ..read })
    }

    /// Notes a request that failed, and returns whether to repeat it after a pause.
    fn again(&mut self, class: Failure) -> bool {
        self.tries += 1;
        self.pauses = self.tries < TRIES && !is_final(class);
        self.pauses
    }

    /// Notes that the next document was requested alone, and is done.
    fn done(&mut self) {
        self.tries = 0;
        self.keys.pop();
        self.left = self.left.saturating_sub(1);
    }

    /// How many of the next documents of the page can be requested at once.
    fn together(&self) -> usize {
        let Some(places) = &self.places else { return self.keys.len() };
        let mut next = self.keys.iter().rev().map(|key| places.of(*key));
        let first = next.next();
        1 + next.take_while(|place| Some(*place) == first).count()
    }
}

/// Whether the server would answer the same request in the same way.
const fn is_final(class: Failure) -> bool {
    use Failure::{Authentication, PreconditionFailed, Rejected, TooLarge};
    matches!(class, Authentication | PreconditionFailed | Rejected | TooLarge)
}

impl Workload for Audit {
    fn next<P: Pen>(&mut self, pen: &mut P) -> Next {
        if std::mem::take(&mut self.pauses) {
            return Next::Wait(PAUSE_NS);
        }
        if let Some(op) = self.ask(pen) {
            return Next::Op(op);
        }
        let index = self.indexes.last().map(|(place, _)| *place as Key);
        index.map(|place| Op::single(OpKind::IndexAudit, place, None)).into()
    }

    fn observe(
        &mut self,
        op: &Op,
        result: Result<Reply, Failure>,
        answered: &Answered<'_>,
    ) -> Check {
        if op.kind == OpKind::IndexAudit {
            return self.observe_index(result, answered);
        }
        if op.documents > 1 {
            return self.observe_several(op.documents as usize, result, answered);
        }
        let Some(owed) = self.ledger.at(op.key) else { return Check::Unchecked };
        let Some(judged) = self.judge(op.key, &owed, result, answered.document) else {
            let class = result.err().unwrap_or(Failure::Protocol);
            let is_worth_it = self.in_vain < MOST_IN_VAIN * ANSWERS;
            if is_worth_it && self.again(class) {
                return Check::Unchecked;
            }
            if self.tries == TRIES {
                self.in_vain += ANSWERS;
            }
            self.done();
            // The document is neither right nor wrong.
            return Check::Checked(Err(class));
        };
        self.done();
        if let Err(class) = judged {
            self.wrong(op.key, &owed, class, result, answered.document);
        }
        Check::Checked(judged)
    }

    fn finding(&mut self) -> Option<Finding> {
        self.finding.take()
    }

    fn unconfirmed(&mut self) -> Option<Unconfirmed> {
        self.unconfirmed.take()
    }

    fn compared(&mut self) -> Option<Result<(), Failure>> {
        let Some(compared) = self.compared.pop() else { return self.compared_index() };
        (self.finding, self.unconfirmed) = (compared.finding, compared.unconfirmed);
        Some(compared.judged)
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

#[cfg(test)]
#[path = "again_tests.rs"]
mod again_tests;
