//! Executes the operations of one session. The sessions of a shard share a client of the library,
//! whose pool has a connection for each of them.

use super::documents::{members, write};
use super::{Pool, trouble, words};
use crate::library::{Call, CallError, Client, Found, LibraryPen, Local};
use crate::op::{Failure, Op, OpKind, Reply};
use ::mongodb::Collection;
use ::mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use ::mongodb::error::{Error, ErrorKind};
use std::rc::Rc;

enum MongoRequest {
    /// No request can be made.
    Wrong(CallError),
    /// Finds documents: the filter, and the fields.
    Find(Document, Option<Document>),
    Insert(RawDocumentBuf),
    /// Inserts several documents, in no particular order.
    InsertAll(Vec<RawDocumentBuf>),
    /// Replaces the document that the filter finds, or inserts it if the flag says so.
    Replace(Document, RawDocumentBuf, bool),
    /// Replaces or inserts several documents.
    ReplaceAll(Vec<Document>),
    /// Sets fields of the document that the filter finds, or inserts it if the flag says so.
    Set(Document, Document, bool),
    Delete(Document),
    Own(Document),
}

/// The operations of one session.
pub(super) struct MongoClient {
    pool: Rc<Pool>,
    collection: Option<Collection<RawDocumentBuf>>,
    request: MongoRequest,
}

impl MongoClient {
    pub(super) fn new(pool: Rc<Pool>) -> Self {
        let request = MongoRequest::Wrong(Failure::Rejected.into());
        Self { pool, collection: None, request }
    }

    fn spell(&self, op: &Op, pen: &LibraryPen) -> Result<MongoRequest, CallError> {
        let (binary, upsert) = (self.pool.binary, self.pool.upsert);
        let mut names = pen.names().map(text);
        let name = names.next().unwrap_or(Ok(""))?;
        let this = || doc! {"_id": name};
        let whole = |place, name: &str| {
            let mut document = doc! {"_id": name};
            document.extend(members(pen, place, binary)?);
            Ok::<_, CallError>(document)
        };
        Ok(match op.kind {
            OpKind::BulkInsert => {
                let all = pen.names().enumerate();
                let all = all.map(|(place, name)| whole(place, text(name)?));
                if upsert {
                    return Ok(MongoRequest::ReplaceAll(all.collect::<Result<_, _>>()?));
                }
                let raw = all.map(|document| raw(&document?));
                MongoRequest::InsertAll(raw.collect::<Result<_, _>>()?)
            }
            OpKind::Create if op.overwrite => {
                MongoRequest::Set(this(), members(pen, 0, binary)?, true)
            }
            OpKind::Create if upsert => MongoRequest::Replace(this(), raw(&whole(0, name)?)?, true),
            OpKind::Create => MongoRequest::Insert(raw(&whole(0, name)?)?),
            OpKind::Update if pen.is_partial() => {
                MongoRequest::Set(this(), members(pen, 0, binary)?, false)
            }
            OpKind::Update => MongoRequest::Replace(this(), raw(&whole(0, name)?)?, false),
            OpKind::Delete => MongoRequest::Delete(this()),
            kind if kind.is_own() => {
                let command = self.pool.target.own.get(kind).ok_or(Failure::Rejected)?;
                MongoRequest::Own(command.of(pen)?)
            }
            _ => {
                let wanted = pen.wanted().iter().map(|field| (field.clone(), Bson::Int32(1)));
                let projection = (!pen.wanted().is_empty()).then(|| wanted.collect());
                let mut range = doc! {"$gte": name};
                if let Some(last) = names.next() {
                    range.insert("$lte", last?);
                }
                let filter = if op.limit > 0 {
                    doc! {"_id": range}
                } else {
                    this()
                };
                MongoRequest::Find(filter, projection)
            }
        })
    }

    async fn carry_out(&mut self, call: Call<'_>) -> Result<Reply, CallError> {
        let Call { op, pen, found, probe } = call;
        let collection = self.collection.as_ref().ok_or(Failure::Connect)?;
        let batch = Batch { count: pen.names().len(), ordered: self.pool.target.order.stops() };
        probe.mark_send();
        let request =
            std::mem::replace(&mut self.request, MongoRequest::Wrong(Failure::Rejected.into()));
        let answer = match request {
            MongoRequest::Wrong(trouble) => {
                found.requests = 0;
                return Err(trouble);
            }
            MongoRequest::Own(command) => {
                let (database, name) = (collection.client(), collection.name());
                let database = database.database(&self.pool.target.database);
                let rows = words::carry_out(&database, name, command, found).await;
                probe.mark_received();
                let own = &self.pool.target.own;
                return own.reply(op.kind, rows?).map_err(CallError::unexpected);
            }
            MongoRequest::Find(filter, projection) => {
                let brought = fetch(collection, filter, projection, op.limit).await;
                probe.mark_received();
                return Ok(fetched(brought?, op, pen, found)?);
            }
            MongoRequest::Insert(document) => collection.insert_one(document).await.map(|_| 1),
            MongoRequest::InsertAll(documents) => {
                let answer = collection.insert_many(documents).ordered(batch.ordered).await;
                probe.mark_received();
                return inserted(answer.err(), batch, found);
            }
            MongoRequest::Replace(filter, document, upsert) => {
                let replaced = collection.replace_one(filter, document).upsert(upsert).await;
                replaced.map(|it| it.matched_count + u64::from(it.upserted_id.is_some()))
            }
            MongoRequest::ReplaceAll(documents) => {
                let answer = self.pool.replace_all(documents).await;
                probe.mark_received();
                let answer = answer.map_err(|error| trouble::of(&error))?;
                return replaced(&answer, batch, found);
            }
            MongoRequest::Set(filter, fields, upsert) => {
                let set = collection.update_one(filter, doc! {"$set": fields}).upsert(upsert).await;
                set.map(|it| it.matched_count + u64::from(it.upserted_id.is_some()))
            }
            MongoRequest::Delete(filter) => {
                collection.delete_one(filter).await.map(|it| it.deleted_count)
            }
        };
        probe.mark_received();
        match answer {
            Ok(0) => Err(Failure::NotFound.into()),
            Ok(_) => Ok(Reply::default()),
            Err(error) => Err(trouble::of(&error)),
        }
    }
}

impl Client for MongoClient {
    fn is_connected(&self) -> bool {
        self.collection.is_some()
    }

    fn connect(&mut self) -> Local<'_, Result<(), CallError>> {
        Box::pin(async {
            self.collection = Some(self.pool.connect().await?);
            Ok(())
        })
    }

    /// The library drops the connection of a call that was abandoned; the next connection is tested
    /// with a ping.
    fn disconnect(&mut self) {
        self.collection = None;
    }

    fn prepare(&mut self, op: &Op, pen: &LibraryPen) {
        self.request = self.spell(op, pen).unwrap_or_else(MongoRequest::Wrong);
    }

    fn execute<'a>(&'a mut self, call: Call<'a>) -> Local<'a, Result<Reply, CallError>> {
        Box::pin(self.carry_out(call))
    }
}

fn text(name: &[u8]) -> Result<&str, CallError> {
    let wrong = |_| CallError::new(Failure::Rejected, "the name is not UTF-8");
    std::str::from_utf8(name).map_err(wrong)
}

fn raw(document: &Document) -> Result<RawDocumentBuf, CallError> {
    let wrong =
        |error: ::mongodb::bson::error::Error| CallError::new(Failure::Rejected, error.to_string());
    RawDocumentBuf::try_from(document).map_err(wrong)
}

/// The documents that match the filter: one, or up to `limit` in the order of their identifiers, in
/// one request.
async fn fetch(
    collection: &Collection<RawDocumentBuf>,
    filter: Document,
    projection: Option<Document>,
    limit: u32,
) -> Result<Vec<RawDocumentBuf>, CallError> {
    let failed = |error: Error| trouble::of(&error);
    if limit == 0 {
        let mut find = collection.find_one(filter);
        if let Some(fields) = projection {
            find = find.projection(fields);
        }
        return Ok(find.await.map_err(failed)?.into_iter().collect());
    }
    let find = collection.find(filter).sort(doc! {"_id": 1}).limit(i64::from(limit));
    let mut find = find.batch_size(limit);
    if let Some(fields) = projection {
        find = find.projection(fields);
    }
    let mut cursor = find.await.map_err(failed)?;
    let mut documents = Vec::new();
    while cursor.advance().await.map_err(failed)? {
        documents.push(cursor.current().to_owned());
    }
    Ok(documents)
}

/// Keeps what was found.
fn fetched(
    brought: Vec<RawDocumentBuf>,
    op: &Op,
    pen: &LibraryPen,
    found: &mut Found,
) -> Result<Reply, Failure> {
    found.received = brought.iter().map(|it| it.as_bytes().len()).sum::<usize>() as u64;
    let rows = brought.len() as u32;
    if op.limit == 0 {
        let document = brought.first().ok_or(Failure::NotFound)?;
        let id = document.get_str("_id").map(str::as_bytes);
        if id.is_ok_and(|id| id != pen.first_name()) {
            return Err(Failure::WrongDocument);
        }
        if pen.looks() {
            write(document, &mut found.document);
        }
        return Ok(Reply::default());
    }
    found.scanned = Some(Box::new(move || {
        let spelled = |document: &RawDocumentBuf| {
            let mut out = Vec::new();
            write(document, &mut out);
            out
        };
        brought.iter().map(spelled).collect()
    }));
    Ok(Reply { rows, ..Reply::default() })
}

/// A batch of documents that are inserted together.
#[derive(Clone, Copy)]
struct Batch {
    count: usize,
    /// Whether the server stops at the first document that it refuses.
    ordered: bool,
}

/// The outcome of each document of a batch.
fn inserted(error: Option<Error>, batch: Batch, found: &mut Found) -> Result<Reply, CallError> {
    let Some(error) = error else {
        (0..batch.count).for_each(|_| found.stored());
        return Ok(Reply::default());
    };
    let ErrorKind::InsertMany(many) = *error.kind else { return Err(trouble::of(&error)) };
    if let Some(error) = many.write_concern_error {
        return Err(trouble::of_concern(&error));
    }
    let refused = many.write_errors.unwrap_or_default();
    let refused = refused.into_iter().map(|it| RefusedDocument::new(it.index, it.code, it.message));
    Ok(rows(refused, batch, found))
}

/// A document that was refused.
struct RefusedDocument {
    /// In its batch.
    place: usize,
    error: CallError,
}

impl RefusedDocument {
    fn new(place: usize, code: i32, words: impl Into<String>) -> Self {
        Self { place, error: CallError::new(trouble::of_code(code), words) }
    }
}

/// The outcome of each document of a batch, some of which were refused.
fn rows(refused: impl Iterator<Item = RefusedDocument>, batch: Batch, found: &mut Found) -> Reply {
    let mut refusals: Vec<Option<CallError>> = vec![None; batch.count];
    for RefusedDocument { place, error } in refused {
        if let Some(refusal) = refusals.get_mut(place) {
            *refusal = Some(error);
        }
    }
    let mut ended = false;
    for refusal in refusals {
        match refusal {
            Some(trouble) => {
                ended = batch.ordered;
                found.failed(trouble);
            }
            None if ended => {
                let words = "not tried, as the batch is ordered and one before it was refused";
                found.failed(CallError::new(Failure::Rejected, words));
            }
            None => found.stored(),
        }
    }
    Reply::default()
}

/// The same for the answer to the command that replaces several documents.
fn replaced(answer: &Document, batch: Batch, found: &mut Found) -> Result<Reply, CallError> {
    if let Ok(concern) = answer.get_document("writeConcernError") {
        let words = concern.get_str("errmsg").unwrap_or_default();
        return Err(CallError::new(Failure::ServerError, words));
    }
    let refused = answer.get_array("writeErrors").cloned().unwrap_or_default();
    let refused = refused.iter().filter_map(Bson::as_document).filter_map(|it| {
        let place = usize::try_from(it.get_i32("index").ok()?).ok()?;
        Some(RefusedDocument::new(place, it.get_i32("code").ok()?, it.get_str("errmsg").ok()?))
    });
    Ok(rows(refused, batch, found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Token;

    #[test]
    fn another_document_is_not_taken_for_the_one_asked_for() {
        let mut pen = LibraryPen::default();
        crate::op::Pen::name(&mut pen).push(b'a');
        let (op, mut found) = (Op::single(OpKind::Read, 0, None), Found::default());
        let mut read = |document: Document| {
            let brought = vec![RawDocumentBuf::try_from(&document).unwrap()];
            fetched(brought, &op, &pen, &mut found)
        };
        assert_eq!(read(doc! {"_id": "a"}), Ok(Reply::default()));
        assert_eq!(read(doc! {"_id": "b"}), Err(Failure::WrongDocument));
    }

    #[test]
    fn refused_documents_are_known_by_their_places() {
        let stored = Ok(Token::default());
        let mut found = Found::default();
        let refused = [
            RefusedDocument::new(1, 11_000, "E11000 duplicate key"),
            RefusedDocument::new(9, 1, ""),
        ];
        rows(refused.into_iter(), Batch { count: 3, ordered: false }, &mut found);
        assert_eq!(found.rows, [stored, Err(Failure::Conflict), stored]);
        let (mut found, batch) = (Found::default(), Batch { count: 2, ordered: false });
        let answer = doc! {
            "ok": 1, "n": 1,
            "writeErrors": [{"index": 0, "code": 10_334, "errmsg": "too large"}],
        };
        assert_eq!(replaced(&answer, batch, &mut found), Ok(Reply::default()));
        assert_eq!(found.rows, [Err(Failure::TooLarge), stored]);
        let concern = doc! {"writeConcernError": {"code": 64, "errmsg": "waiting timed out"}};
        let error = replaced(&concern, batch, &mut Found::default()).unwrap_err();
        assert_eq!(error, CallError::new(Failure::ServerError, "waiting timed out"));
    }
}
