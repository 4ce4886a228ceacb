//! Executes the operations of one session.

use super::{BatchKind, Pool, Table, trouble, words};
use crate::json::{quote, write_member};
use crate::library::{Call, CallError, Client, Found, LibraryPen, Local};
use crate::op::{Failure, Op, OpKind, Reply};
use ::scylla::client::session::Session;
use ::scylla::response::query_result::{QueryResult, QueryRowsResult};
use ::scylla::statement::batch::{Batch, BatchType};
use ::scylla::statement::prepared::PreparedStatement;
use ::scylla::value::{CqlValue, Row};
use std::rc::Rc;
use std::sync::Arc;
use tokio::task::JoinSet;

/// How many inserts of a bulk insert are in flight at once.
const AT_ONCE: usize = 256;
/// The name of a document's identifier, as that of all names that are the database's own.
const ID: &str = "_id";

/// A statement, and the values for it.
struct Statement {
    cql: String,
    values: Vec<String>,
}

/// The operations of one session.
pub(super) struct CassandraClient {
    pool: Rc<Pool>,
    session: Option<Arc<Session>>,
    /// What is sent for the operation: one statement, or one per document.
    bound: Result<Vec<Statement>, CallError>,
}

impl CassandraClient {
    pub(super) fn new(pool: Rc<Pool>) -> Self {
        Self { pool, session: None, bound: Ok(Vec::new()) }
    }

    fn spell(&self, op: &Op, pen: &LibraryPen) -> Result<Vec<Statement>, CallError> {
        let table = &self.pool.target.table;
        let names = |place| pen.fields(place).map(|(name, _)| name);
        let values = |place| pen.fields(place).map(|(_, value)| text(value));
        let key = text(pen.first_name())?;
        let wanted = || pen.wanted().iter().map(String::as_str);
        let insert = |place, key| {
            let values = std::iter::once(text(key)).chain(values(place)).collect::<Result<_, _>>();
            Ok(Statement { cql: table.insert(names(place)), values: values? })
        };
        let one = match op.kind {
            OpKind::BulkInsert => {
                return pen.names().enumerate().map(|(place, key)| insert(place, key)).collect();
            }
            OpKind::Create => insert(0, pen.first_name())?,
            // Without a field there is nothing to set, but the row exists.
            OpKind::Update if names(0).len() == 0 => insert(0, pen.first_name())?,
            OpKind::Update => {
                let values = values(0).chain([Ok(key)]).collect::<Result<_, _>>()?;
                Statement { cql: table.update(names(0)), values }
            }
            OpKind::Delete => Statement { cql: table.delete(), values: vec![key] },
            OpKind::Scan => Statement { cql: table.scan(wanted()), values: vec![key] },
            _ if op.limit > 0 => {
                let reason =
                    "rows are in the order of hashes, so there are no ranges of keys to read";
                return Err(CallError::new(Failure::Rejected, reason));
            }
            _ => Statement { cql: table.select(wanted()), values: vec![key] },
        };
        Ok(vec![one])
    }

    async fn carry_out(&mut self, call: Call<'_>) -> Result<Reply, CallError> {
        let Call { op, pen, found, probe } = call;
        let session = self.session.as_ref().ok_or(Failure::Connect)?;
        if let Some(own) = self.pool.target.own.get(op.kind) {
            let prepared = own.prepared(&self.pool, session).await?;
            let values = own.values(&prepared, pen).inspect_err(|_| found.requests = 0)?;
            probe.mark_send();
            let answer = session.execute_unpaged(&prepared, values).await;
            probe.mark_received();
            let rows = words::rows(answer.map_err(|error| trouble::of(&error))?)?;
            return self.pool.target.own.reply(op.kind, rows).map_err(CallError::unexpected);
        }
        let bound = std::mem::replace(&mut self.bound, Ok(Vec::new())).inspect_err(|_| {
            found.requests = 0;
        })?;
        let writes = !op.kind.only_reads();
        probe.mark_send();
        if op.kind == OpKind::BulkInsert {
            if let Some(kind) = self.pool.target.batch {
                let count = bound.len();
                let inserted = insert_together(&self.pool, session, kind, bound).await;
                probe.mark_received();
                inserted?;
                (0..count).for_each(|_| found.stored());
                return Ok(Reply::default());
            }
            found.requests = bound.len() as u64;
            let outcomes = insert_all(&self.pool, session, bound).await;
            probe.mark_received();
            for outcome in outcomes {
                match outcome {
                    Ok(()) => found.stored(),
                    Err(trouble) => found.failed(trouble),
                }
            }
            return Ok(Reply::default());
        }
        let Some(Statement { cql, values }) = bound.into_iter().next() else {
            return Err(Failure::Rejected.into());
        };
        let statement = self.pool.statement(session, &cql, writes).await?;
        let answer = match op.kind {
            OpKind::Scan => {
                let limit = i32::try_from(op.limit).unwrap_or(i32::MAX);
                let key = values.first().map_or("", String::as_str);
                session.execute_unpaged(&statement, (key, limit)).await
            }
            _ => session.execute_unpaged(&statement, values).await,
        };
        probe.mark_received();
        let answer = answer.map_err(|error| trouble::of(&error))?;
        match op.kind {
            OpKind::Read => read(answer, &self.pool.target.table, pen, found),
            OpKind::Scan => scanned(answer, &self.pool.target.table, pen, found),
            _ => Ok(Reply::default()),
        }
    }
}

impl Client for CassandraClient {
    fn is_connected(&self) -> bool {
        self.session.is_some()
    }

    fn connect(&mut self) -> Local<'_, Result<(), CallError>> {
        Box::pin(async {
            self.session = Some(self.pool.connect().await?);
            Ok(())
        })
    }

    /// The library keeps its connections: nobody receives the answer to an abandoned request.
    fn disconnect(&mut self) {
        self.session = None;
    }

    fn prepare(&mut self, op: &Op, pen: &LibraryPen) {
        if op.kind.is_own() {
            return;
        }
        self.bound = self.spell(op, pen);
    }

    fn execute<'a>(&'a mut self, call: Call<'a>) -> Local<'a, Result<Reply, CallError>> {
        Box::pin(self.carry_out(call))
    }
}

fn text(bytes: &[u8]) -> Result<String, CallError> {
    let wrong = |_| CallError::new(Failure::Rejected, "the text is not UTF-8");
    String::from_utf8(bytes.to_vec()).map_err(wrong)
}

/// Inserts many rows, each with its own statement: rows of different partitions do not belong in
/// one batch. Returns the outcome of each.
async fn insert_all(
    pool: &Pool,
    session: &Arc<Session>,
    bound: Vec<Statement>,
) -> Vec<Result<(), CallError>> {
    // The outcome unless another one is noted.
    let mut outcomes = vec![Err(Failure::Unanswered.into()); bound.len()];
    let mut under_way = JoinSet::new();
    for (place, Statement { cql, values }) in bound.into_iter().enumerate() {
        match pool.statement(session, &cql, true).await {
            Ok(statement) => {
                under_way.spawn(insert(place, session.clone(), statement, values));
            }
            Err(trouble) => outcomes[place] = Err(trouble),
        }
        if under_way.len() >= AT_ONCE
            && let Some(Ok((place, outcome))) = under_way.join_next().await
        {
            outcomes[place] = outcome;
        }
    }
    while let Some(ended) = under_way.join_next().await {
        if let Ok((place, outcome)) = ended {
            outcomes[place] = outcome;
        }
    }
    outcomes
}

/// Inserts many rows with one request. If it fails, any of them may be stored.
async fn insert_together(
    pool: &Pool,
    session: &Session,
    kind: BatchKind,
    bound: Vec<Statement>,
) -> Result<(), CallError> {
    let mut batch = Batch::new(match kind {
        BatchKind::Unlogged => BatchType::Unlogged,
        BatchKind::Logged => BatchType::Logged,
    });
    batch.set_consistency(pool.target.write.into());
    let mut values = Vec::with_capacity(bound.len());
    for statement in bound {
        batch.append_statement(pool.statement(session, &statement.cql, true).await?);
        values.push(statement.values);
    }
    session.batch(&batch, values).await.map(|_| ()).map_err(|error| trouble::of(&error))
}

async fn insert(
    place: usize,
    session: Arc<Session>,
    statement: PreparedStatement,
    values: Vec<String>,
) -> (usize, Result<(), CallError>) {
    let done = session.execute_unpaged(&statement, values).await;
    let outcome = done.map(|_| ()).map_err(|error| {
        let trouble = trouble::of(&error);
        match trouble.failure {
            // It is unknown whether it was carried out.
            Failure::Timeout | Failure::Reset => {
                CallError { failure: Failure::Unanswered, ..trouble }
            }
            _ => trouble,
        }
    });
    (place, outcome)
}

/// The rows of an answer, not yet decoded.
fn brought(answer: QueryResult) -> Result<QueryRowsResult, CallError> {
    answer.into_rows_result().map_err(|error| wrong(error.to_string()))
}

fn wrong(error: String) -> CallError {
    CallError::new(Failure::Protocol, error)
}

/// The names of the columns, of which the key is the document's identifier where whole rows are
/// read: it is not a member of what was written.
fn names(brought: &QueryRowsResult, table: &Table, pen: &LibraryPen) -> Vec<String> {
    let whole = pen.wanted().is_empty();
    let name = |name: &str| if whole && table.is_key(name) { ID } else { name }.to_owned();
    brought.column_specs().iter().map(|it| name(it.name())).collect()
}

/// The rows as JSON objects.
fn spelled(brought: &QueryRowsResult, names: &[String]) -> Result<Vec<Vec<u8>>, CallError> {
    let rows = brought.rows::<Row>().map_err(|error| wrong(error.to_string()))?;
    let spelled = |row: Row| {
        let mut out = Vec::new();
        write(names, &row.columns, &mut out);
        out
    };
    rows.map(|row| row.map(spelled).map_err(|error| wrong(error.to_string()))).collect()
}

/// Keeps the row that was read.
fn read(
    answer: QueryResult,
    table: &Table,
    pen: &LibraryPen,
    found: &mut Found,
) -> Result<Reply, CallError> {
    let brought = brought(answer)?;
    if brought.rows_num() == 0 {
        return Err(Failure::NotFound.into());
    }
    found.received = brought.rows_bytes_size() as u64;
    if pen.looks() {
        let row = brought.first_row::<Row>().map_err(|error| wrong(error.to_string()))?;
        let names = names(&brought, table, pen);
        if !is_of(pen.first_name(), &names, &row.columns) {
            return Err(Failure::WrongDocument.into());
        }
        write(&names, &row.columns, &mut found.document);
    }
    Ok(Reply::default())
}

/// Whether a row is that of this key, if its key was read.
fn is_of(key: &[u8], names: &[String], row: &[Option<CqlValue>]) -> bool {
    let at = names.iter().position(|name| name == ID);
    at.is_none_or(|at| match &row[at] {
        Some(CqlValue::Text(text) | CqlValue::Ascii(text)) => text.as_bytes() == key,
        _ => true,
    })
}

/// Keeps the rows of a scan.
fn scanned(
    answer: QueryResult,
    table: &Table,
    pen: &LibraryPen,
    found: &mut Found,
) -> Result<Reply, CallError> {
    let brought = brought(answer)?;
    found.received = brought.rows_bytes_size() as u64;
    let rows = brought.rows_num() as u32;
    let names = names(&brought, table, pen);
    found.scanned = Some(Box::new(move || spelled(&brought, &names).unwrap_or_default()));
    Ok(Reply { rows, ..Reply::default() })
}

/// A row as a JSON object. Columns without a value are left out.
fn write(names: &[String], row: &[Option<CqlValue>], out: &mut Vec<u8>) {
    out.push(b'{');
    for (name, value) in names.iter().zip(row) {
        let Some(value) = value else { continue };
        if out.len() > 1 {
            out.push(b',');
        }
        match value {
            CqlValue::Text(text) | CqlValue::Ascii(text) => {
                write_member(name, text.as_bytes(), out);
            }
            CqlValue::Blob(bytes) => write_member(name, bytes, out),
            CqlValue::Int(number) => write_plain(name, &number.to_string(), out),
            CqlValue::BigInt(number) => write_plain(name, &number.to_string(), out),
            CqlValue::Boolean(value) => write_plain(name, &value.to_string(), out),
            other => write_member(name, other.to_string().as_bytes(), out),
        }
    }
    out.push(b'}');
}

fn write_plain(name: &str, value: &str, out: &mut Vec<u8>) {
    quote(name, out);
    out.push(b':');
    out.extend_from_slice(value.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_json_objects_without_what_is_null_and_have_their_keys() {
        let names = ["_id", "a", "b", "c", "d"].map(str::to_owned);
        let row = [
            Some(CqlValue::Text("k\"".to_owned())),
            None,
            Some(CqlValue::Blob(b"x{".to_vec())),
            Some(CqlValue::BigInt(7)),
            Some(CqlValue::List(vec![CqlValue::Int(1)])),
        ];
        let mut out = Vec::new();
        write(&names, &row, &mut out);
        assert!(is_of(b"k\"", &names, &row) && !is_of(b"k", &names, &row));
        assert!(is_of(b"k", &names[1..], &row[1..]), "its key was not read");
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, r#"{"_id":"k\"","b":"x{","c":7,"d":"[1]"}"#);
    }
}
