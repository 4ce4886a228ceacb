//! How one session carries out an operation: sends its commands, and interprets the answers.

use super::INDEX;
use super::answer::Value;
use super::commands::Commands;
use super::exchange::Exchange;
use super::group::Group;
use super::layout::Layout;
use super::pen::RedisPen;
use super::trouble::checked;
use super::words;
use crate::call::{CallError, Reasons};
use crate::measure::Probe;
use crate::op::{Failure, Op, OpKind, Reply, Token};
use std::cell::OnceCell;
use std::rc::Rc;

#[derive(Debug)]
pub(super) struct RedisWorker {
    pub(super) exchange: Exchange,
    commands: Commands,
    pub(super) rows: Vec<Result<Token, Failure>>,
    /// The document that was read, in JSON; empty if there is none, or it will not be looked at.
    pub(super) document: Vec<u8>,
    /// The fields that the last scan requested, and its records once they are needed.
    scanned: Option<Vec<String>>,
    scanned_json: OnceCell<Vec<Vec<u8>>>,
    pub(super) received: u64,
    pub(super) reasons: Reasons,
    /// Whether the server was not ready for the operation, or for a part of it.
    pub(super) unready: bool,
}

impl RedisWorker {
    pub(super) fn new(group: Rc<Group>) -> Self {
        Self {
            commands: Commands::new(group.is_clustered()),
            exchange: Exchange::new(group),
            rows: Vec::new(),
            document: Vec::new(),
            scanned: None,
            scanned_json: OnceCell::new(),
            received: 0,
            reasons: Reasons::default(),
            unready: false,
        }
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.exchange.group.hub.keys.layout
    }

    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.document.clear();
        self.scanned = None;
        self.scanned_json.take();
        self.received = 0;
        self.reasons.clear();
        self.unready = false;
        self.exchange.clear();
    }

    /// Writes the first commands of the operation in `pen`.
    pub(super) fn spell(&mut self, op: &Op, pen: &RedisPen) {
        self.commands.clear();
        let keys = &self.exchange.group.hub.keys;
        if !op.kind.is_own() {
            return keys.layout.spell(op, pen, &mut self.commands);
        }
        if let Some(command) = keys.own.get(op.kind) {
            command.write(&pen.values, &mut self.commands);
        }
    }

    /// Carries out the operation, whose first commands have been written.
    pub(super) async fn work(
        &mut self,
        op: &Op,
        pen: &RedisPen,
        probe: &mut Probe,
    ) -> Result<Reply, CallError> {
        if op.kind == OpKind::Read && op.limit > 0 {
            let reason = "keys are hashed, so there are no ranges of them to read";
            return Err(CallError::new(Failure::Rejected, reason));
        }
        self.exchange.send(&self.commands, probe).await?;
        match op.kind {
            OpKind::Scan => Box::pin(self.fetch_listed(op, pen, probe)).await,
            OpKind::Update if self.layout().reads_first(pen) => {
                Box::pin(self.store_merged(pen, probe)).await
            }
            OpKind::BulkInsert => self.stored(op),
            OpKind::Read => self.read(pen),
            kind => {
                let answers = &self.exchange.answers;
                let first = checked(answers.get(0)?)?;
                for command in 1..answers.len() {
                    let indexed = answers.get(command).and_then(|it| checked(it).map(|_| ()));
                    if let Err(trouble) = indexed {
                        self.unready |= trouble.failure == Failure::NotReady;
                        return Err(not_indexed(&trouble, kind));
                    }
                }
                if kind.is_own() {
                    let own = &self.exchange.group.hub.keys.own;
                    return own.reply(kind, words::rows(first)).map_err(CallError::unexpected);
                }
                if kind == OpKind::Delete && first == Value::Number(0) {
                    return Err(Failure::NotFound.into());
                }
                Ok(Reply::default())
            }
        }
    }

    fn read(&mut self, pen: &RedisPen) -> Result<Reply, CallError> {
        let layout = &self.exchange.group.hub.keys.layout;
        let (value, wanted) = (checked(self.exchange.answers.get(0)?)?, pen.wanted.all());
        self.received = layout.weight(value, wanted).ok_or(Failure::NotFound)?;
        if pen.looks {
            layout.document(value, wanted, &mut self.document);
        }
        Ok(Reply::default())
    }

    /// The second step of a scan: the records of the keys that were found. Keys of the index
    /// without a record are not counted.
    async fn fetch_listed(
        &mut self,
        op: &Op,
        pen: &RedisPen,
        probe: &mut Probe,
    ) -> Result<Reply, CallError> {
        let layout = &self.exchange.group.hub.keys.layout;
        self.commands.clear();
        let names = checked(self.exchange.answers.get(0)?)?.list().filter_map(|it| it.text());
        for name in names.take(op.limit as usize) {
            layout.fetch(name, pen.wanted.all(), &mut self.commands);
        }
        self.scanned = Some(pen.wanted.all().to_vec());
        let mut rows = 0;
        if self.commands.len() > 0 {
            self.exchange.send(&self.commands, probe).await?;
        } else {
            self.exchange.answers.clear();
        }
        let layout = &self.exchange.group.hub.keys.layout;
        for command in 0..self.exchange.answers.len() {
            let value = checked(self.exchange.answers.get(command)?)?;
            if let Some(weight) = layout.weight(value, pen.wanted.all()) {
                self.received += weight;
                rows += 1;
            }
        }
        Ok(Reply { rows, ..Reply::default() })
    }

    /// The records of the last scan in JSON, if the last operation was one.
    pub(super) fn scanned(&self) -> Option<&[Vec<u8>]> {
        let wanted = self.scanned.as_deref()?;
        Some(self.scanned_json.get_or_init(|| self.listed(wanted)))
    }

    fn listed(&self, wanted: &[String]) -> Vec<Vec<u8>> {
        let (layout, answers) = (self.layout(), &self.exchange.answers);
        let values = (0..answers.len()).filter_map(|it| Some(Value::of(answers.get(it).ok()?)));
        let there = values.filter(|value| layout.weight(*value, wanted).is_some());
        let document = |value| {
            let mut out = Vec::new();
            layout.document(value, wanted, &mut out);
            out
        };
        there.map(document).collect()
    }

    /// The second step of an update of some members of a text.
    async fn store_merged(
        &mut self,
        pen: &RedisPen,
        probe: &mut Probe,
    ) -> Result<Reply, CallError> {
        let read = checked(self.exchange.answers.get(0)?)?.text().unwrap_or(b"{}");
        self.commands.clear();
        self.exchange.group.hub.keys.layout.merge(read, pen, &mut self.commands);
        self.exchange.send(&self.commands, probe).await?;
        checked(self.exchange.answers.get(0)?)?;
        Ok(Reply::default())
    }

    /// The outcome of each document of `op`; the remaining answers are about the index.
    fn stored(&mut self, op: &Op) -> Result<Reply, CallError> {
        let (documents, answers) = (op.documents as usize, &self.exchange.answers);
        if answers.len() < documents {
            return Err(CallError::new(Failure::Protocol, "fewer answers than commands"));
        }
        let refusal = |place| answers.get(place).and_then(|it| checked(it).map(|_| ())).err();
        let refusals: Vec<_> = (0..answers.len()).map(refusal).collect();
        let is_unready = |it: &&CallError| it.failure == Failure::NotReady;
        let unready = refusals.iter().flatten().filter(is_unready).count();
        // Even if it is ready for others: a batch that is sent again would come at full speed.
        self.unready = unready > 0;
        if let Some(Some(trouble)) = refusals.first()
            && unready == refusals.len()
        {
            return Err(trouble.clone());
        }
        // Some are stored: a batch that is sent again is settled then.
        let lost = refusals.iter().flatten().find(|it| !it.failure.answered());
        if let Some(trouble) = lost.filter(|_| op.settle).cloned() {
            return Err(CallError { failure: Failure::Unanswered, ..trouble });
        }
        let (rows, index) = refusals.split_at(documents);
        let is_stored = rows.iter().any(Option::is_none);
        if let Some(trouble) = index.iter().flatten().next().filter(|_| is_stored) {
            return Err(not_indexed(trouble, op.kind));
        }
        for refusal in refusals.into_iter().take(documents) {
            match refusal {
                Some(trouble) => {
                    let failure = unknown(trouble.failure);
                    self.rows.push(Err(failure));
                    self.reasons.keep(CallError { failure, ..trouble });
                }
                None => self.rows.push(Ok(Token::default())),
            }
        }
        Ok(Reply::default())
    }

    /// The failure of an operation, given how its exchange failed.
    pub(super) fn failed(&mut self, op: &Op, trouble: CallError) -> Failure {
        self.unready |= trouble.failure == Failure::NotReady;
        let part_is_done = self.exchange.answers.partly_lost().is_some();
        let failure = match trouble.failure {
            Failure::Timeout if !self.exchange.is_sent => Failure::Connect,
            failure if op.kind.only_reads() => failure,
            failure if part_is_done && failure.unconnected() => Failure::Unanswered,
            failure => unknown(failure),
        };
        self.reasons.keep(CallError { failure, ..trouble });
        failure
    }
}

/// The failure of a write that stored its record, but not the record's place in the index: it must
/// not count as a write that did nothing.
fn not_indexed(trouble: &CallError, kind: OpKind) -> CallError {
    let failure = match trouble.failure {
        failure if failure.unconnected() => Failure::Unanswered,
        failure if failure.refuses() => Failure::ServerError,
        other => other,
    };
    let done = match kind {
        OpKind::Delete => "the record is deleted, but still in",
        OpKind::BulkInsert => "records are stored, but not in",
        _ => "the record is stored, but not in",
    };
    CallError { failure, reason: format!("{done} the index {INDEX}: {}", trouble.reason) }
}

/// The failure of a write: it is unknown whether it was carried out.
const fn unknown(failure: Failure) -> Failure {
    match failure {
        Failure::Timeout | Failure::Reset => Failure::Unanswered,
        other => other,
    }
}
