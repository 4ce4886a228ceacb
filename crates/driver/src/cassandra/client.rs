//! Executes the operations of one session.

use super::answer::{CqlColumn, Prepared, checked, malformed};
use super::bulk::Insert;
use super::frame::{Frames, Manner};
use super::hub::{Hub, Way};
use super::servers::is_unprepared;
use super::spelled::{BoundValues, SpelledStatement};
use super::trouble::too_many;
use super::types::Type;
use super::words::Statement;
use super::{Pipe, rows};
use crate::call::CallError;
use crate::library::{Call, Client, Found, LibraryPen, Local};
use crate::measure::Probe;
use crate::op::{Failure, Op, OpKind, Reply};
use crate::pipe::{Answers, Waiting};
use std::rc::Rc;

/// A statement whose answer may have pages.
struct PagedStatement<'a> {
    one: &'a SpelledStatement,
    manner: Manner<'static>,
    /// How many rows are wanted, at most.
    most: u64,
    /// Whether to keep the pages.
    keeps: bool,
}

/// The operations of one session.
#[derive(Debug)]
pub(super) struct CassandraClient {
    hub: Rc<Hub>,
    /// Which of the connections to a node it uses.
    number: usize,
    /// The node that the last request went to.
    asked: usize,
    waiting: Rc<Waiting>,
    answers: Answers,
    frames: Frames,
    /// The statements to send for the operation, one in all or one per document, if they were known
    /// before it was due.
    spelled: Option<Result<Vec<SpelledStatement>, CallError>>,
}

impl CassandraClient {
    pub(super) fn new(hub: Rc<Hub>) -> Self {
        let number = hub.sessions.replace(hub.sessions.get() + 1);
        let (waiting, answers, frames) = Default::default();
        Self { hub, number, asked: 0, waiting, answers, frames, spelled: None }
    }

    /// The statements of an operation, in CQL.
    fn statements(&self, op: &Op, pen: &LibraryPen) -> Result<Vec<String>, CallError> {
        if let Some(own) = self.hub.target.own.get(op.kind) {
            return Ok(vec![own.cql.clone()]);
        }
        let table = &self.hub.target.table;
        let names = |place| pen.fields(place).map(|(name, _)| name);
        let wanted = || pen.wanted().iter().map(String::as_str);
        Ok(vec![match op.kind {
            OpKind::BulkInsert => {
                return Ok((0..pen.names().len()).map(|it| table.insert(names(it))).collect());
            }
            // Without fields there is nothing to set, but the row exists.
            OpKind::Update if names(0).len() > 0 => table.update(names(0)),
            OpKind::Create | OpKind::Update => table.insert(names(0)),
            OpKind::Delete => table.delete(),
            OpKind::Scan => table.scan(wanted()),
            _ if op.limit > 0 => {
                let reason =
                    "rows are in the order of hashes, so there are no ranges of keys to read";
                return Err(CallError::new(Failure::Rejected, reason));
            }
            _ => table.select(wanted()),
        }])
    }

    /// The values of statement number `place` of an operation.
    fn bind(
        &self,
        op: &Op,
        pen: &LibraryPen,
        place: usize,
        statement: &Prepared,
    ) -> Result<BoundValues, CallError> {
        if let Some(own) = self.hub.target.own.get(op.kind) {
            return own.bind(statement, pen);
        }
        let mut bound = BoundValues::default();
        let key = pen.names().nth(place).unwrap_or_default();
        let is_update = op.kind == OpKind::Update && pen.fields(0).len() > 0;
        let first = (!is_update).then_some(key);
        let last = is_update.then_some(key);
        let written = matches!(op.kind, OpKind::BulkInsert | OpKind::Create | OpKind::Update);
        let fields = written.then(|| pen.fields(place).map(|(_, value)| value));
        let mut columns = statement.wanted.iter();
        for value in first.into_iter().chain(fields.into_iter().flatten()).chain(last) {
            let column = columns.next().ok_or_else(malformed)?;
            bound.push(|out| column.of.write(value, out)).ok_or_else(|| column.is_not(value))?;
        }
        if op.kind == OpKind::Scan {
            bound.push(|out| {
                Type::Int.write(op.limit.min(i32::MAX as u32).to_string().as_bytes(), out)
            });
        }
        Ok(bound)
    }

    /// Binds the values, if all statements are known; otherwise `None`.
    fn spell(&self, op: &Op, pen: &LibraryPen) -> Option<Result<Vec<SpelledStatement>, CallError>> {
        let statements = match self.statements(op, pen) {
            Ok(statements) => statements,
            Err(wrong) => return Some(Err(wrong)),
        };
        let mut spelled = Vec::with_capacity(statements.len());
        for (place, cql) in statements.into_iter().enumerate() {
            let statement = self.hub.known(&cql)?;
            match self.bind(op, pen, place, &statement) {
                Ok(bound) => spelled.push(SpelledStatement { cql, statement, bound }),
                Err(wrong) => return Some(Err(wrong)),
            }
        }
        Some(Ok(spelled))
    }

    /// Has unknown statements prepared, and binds the values.
    async fn prepared(
        &self,
        op: &Op,
        pen: &LibraryPen,
    ) -> Result<Vec<SpelledStatement>, CallError> {
        for cql in self.statements(op, pen)? {
            if self.hub.known(&cql).is_none() {
                let pipe = self.hub.pipe(None, self.number).ok_or(Failure::Connect)?.pipe;
                // A lost answer to this says nothing about the operation itself.
                let prepared = self.hub.prepare(&pipe, &cql).await;
                prepared.map_err(|trouble| match trouble.failure {
                    failure if failure.answered() => trouble,
                    _ => CallError { failure: Failure::Connect, ..trouble },
                })?;
            }
        }
        self.spell(op, pen).unwrap_or(Err(Failure::Protocol.into()))
    }

    /// Whether an operation changes nothing.
    fn reads(&self, op: &Op) -> bool {
        let own = self.hub.target.own.get(op.kind);
        own.map_or(op.kind.only_reads(), Statement::only_reads)
    }

    /// How the statement of an operation is executed.
    fn manner(&self, op: &Op) -> Manner<'static> {
        let (target, reads) = (&self.hub.target, self.reads(op));
        let own = target.own.get(op.kind);
        let level = if reads { target.read } else { target.write };
        let has_pages = reads && (op.kind == OpKind::Scan || own.is_some());
        let page = own.and_then(|own| own.page).unwrap_or(target.page);
        Manner {
            consistency: own.and_then(|own| own.consistency).unwrap_or(level),
            serial: own.and_then(|own| own.serial),
            page: has_pages.then_some(page.get()),
            after: None,
            stamp: (!reads).then(|| self.hub.stamp()),
        }
    }

    async fn carry_out(&mut self, call: Call<'_>) -> Result<Reply, CallError> {
        let Call { op, pen, found, probe } = call;
        found.requests = 0;
        let spelled = match self.spelled.take() {
            Some(spelled) => spelled?,
            None => Box::pin(self.prepared(op, pen)).await?,
        };
        if op.kind == OpKind::BulkInsert {
            let insert = Insert { hub: &self.hub, number: self.number, manner: self.manner(op) };
            return match self.hub.target.batch {
                Some(kind) => Box::pin(insert.together(kind, &spelled, found, probe)).await,
                None => Box::pin(insert.each(&spelled, found, probe)).await,
            };
        }
        let one = spelled.first().ok_or_else(malformed)?;
        let manner = self.manner(op);
        let columns = self.ask(one, manner, found, probe).await?.found.clone();
        match op.kind {
            OpKind::Read => self.read(&columns, pen, found),
            kind if kind == OpKind::Scan || kind.is_own() => {
                let most = if kind.is_own() { u64::MAX } else { u64::from(op.limit) };
                let asked = PagedStatement { one, manner, most, keeps: kind == OpKind::Scan };
                let (pages, rows) = Box::pin(self.pages(asked, &columns, found, probe)).await?;
                if kind.is_own() {
                    let own = &self.hub.target.own;
                    return own.reply(kind, rows).map_err(CallError::unexpected);
                }
                let (table, whole) = (&self.hub.target.table, pen.wanted().is_empty());
                found.scanned = Some(rows::spelled_later(pages, columns, table, whole));
                Ok(Reply { rows: rows as u32, ..Reply::default() })
            }
            _ => checked(self.answers.get(0)?).map(|_| Reply::default()),
        }
    }

    /// Sends one statement, and sends it again if the node has to prepare it first. Returns it as
    /// the node has prepared it.
    async fn ask(
        &mut self,
        one: &SpelledStatement,
        manner: Manner<'_>,
        found: &mut Found,
        probe: &mut Probe,
    ) -> Result<Rc<Prepared>, CallError> {
        let way = self.hub.pipe(one.token(), self.number).ok_or(Failure::Connect)?;
        let Way { pipe, node } = way;
        found.node = self.hub.has_several().then_some(node);
        self.asked = node;
        self.write(&one.statement, one, &manner);
        self.send(&pipe, found, probe).await?;
        if is_unprepared(self.answers.get(0)?) {
            let again = Box::pin(self.hub.prepare(&pipe, &one.cql)).await?;
            found.requests += 1;
            self.write(&again, one, &manner);
            self.send(&pipe, found, probe).await?;
            return Ok(again);
        }
        Ok(one.statement.clone())
    }

    fn write(&mut self, statement: &Prepared, one: &SpelledStatement, manner: &Manner<'_>) {
        self.frames.clear();
        self.frames.execute(statement, &one.bound, manner);
    }

    /// Sends the frame, and waits for the answer.
    async fn send(
        &mut self,
        pipe: &Rc<Pipe>,
        found: &mut Found,
        probe: &mut Probe,
    ) -> Result<(), CallError> {
        self.renew();
        let wait = pipe.send_numbered(self.frames.iter(), &self.waiting);
        let wait = wait.map_err(too_many)?;
        probe.mark_send_at_once();
        found.requests += 1;
        let ended = wait.await;
        self.waiting.times().mark(probe);
        self.waiting.swap(&mut self.answers);
        ended
    }

    /// If answers that were given up are still expected on a connection, waits with a new object.
    fn renew(&mut self) {
        if !self.waiting.is_over() {
            self.waiting = Rc::default();
        }
    }

    /// Collects the pages of an answer, the first of which has arrived, and counts their rows.
    async fn pages(
        &mut self,
        asked: PagedStatement<'_>,
        columns: &[CqlColumn],
        found: &mut Found,
        probe: &mut Probe,
    ) -> Result<(Vec<Vec<u8>>, u64), CallError> {
        let PagedStatement { one, manner, most, keeps } = asked;
        let (mut pages, mut count) = (Vec::new(), 0);
        loop {
            let page = self.answers.get(0)?;
            let Some(rows) = checked(page)? else { return Ok((pages, count)) };
            count += rows::counted(&rows, columns)?;
            if count > most {
                let reason = "more rows than were asked for";
                return Err(CallError::new(Failure::Protocol, reason));
            }
            found.received += rows.bytes.len() as u64;
            if keeps {
                // All pages together may be no larger than one answer.
                if found.received > self.hub.target.servers.reach.max_answer {
                    let reason = "the pages of the answer are larger than --max-answer";
                    return Err(CallError::new(Failure::Protocol, reason));
                }
                pages.push(page.to_vec());
            }
            let more = rows.more.filter(|_| count < most).map(<[u8]>::to_vec);
            let Some(after) = more else { return Ok((pages, count)) };
            self.ask(one, Manner { after: Some(&after), ..manner }, found, probe).await?;
        }
    }

    /// Keeps the row that was read.
    fn read(
        &self,
        columns: &[CqlColumn],
        pen: &LibraryPen,
        found: &mut Found,
    ) -> Result<Reply, CallError> {
        let rows = checked(self.answers.get(0)?)?.ok_or_else(malformed)?;
        let own = rows.columns.clone();
        let columns = own.as_deref().unwrap_or(columns);
        rows::has(&rows, columns)?;
        if rows.count == 0 {
            return Err(Failure::NotFound.into());
        }
        found.received = rows.bytes.len() as u64;
        if pen.looks() {
            let names = rows::names(columns, &self.hub.target.table, pen.wanted().is_empty());
            let row = rows::first(&rows)?;
            if !rows::is_of(pen.first_name(), &names, &row) {
                return Err(Failure::WrongDocument.into());
            }
            rows::write(&names, columns, &row, &mut found.document).ok_or_else(malformed)?;
        }
        Ok(Reply::default())
    }
}

impl Client for CassandraClient {
    fn is_connected(&self) -> bool {
        self.hub.is_open(self.number)
    }

    fn connect(&mut self) -> Local<'_, Result<(), CallError>> {
        Box::pin(self.hub.open(self.number))
    }

    /// A connection on which an answer may still come is not used any more.
    fn disconnect(&mut self) {
        // The connection was not lost, but no answer came.
        if !self.waiting.is_over() {
            self.hub.doubt(self.asked, self.number);
            self.waiting = Rc::default();
        }
    }

    fn prepare(&mut self, op: &Op, pen: &LibraryPen) {
        self.spelled = self.spell(op, pen);
    }

    fn changes(&self, op: &Op) -> bool {
        !self.reads(op)
    }

    /// Requests that are sent with others only have a common time.
    fn is_one_request(&self, _: &Op) -> bool {
        false
    }

    fn take_unsolicited(&mut self) -> u64 {
        self.hub.take_unsolicited()
    }

    fn execute<'a>(&'a mut self, call: Call<'a>) -> Local<'a, Result<Reply, CallError>> {
        Box::pin(self.carry_out(call))
    }
}
