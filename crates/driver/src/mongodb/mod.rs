//! `MongoDB`, and whatever speaks its protocol.
//!
//! Each load thread has a client of the library, with retries turned off, whose pool has a
//! connection for each session.

mod binding;
mod client;
mod documents;
mod indexes;
mod monitor;
mod open;
mod plan;
mod trouble;
mod words;

pub use plan::{BulkOrder, MongoPlan};

use super::library::{CallError, Clients, Database, Form, Local, within};
use super::{Monitor, Size, TargetError};
use ::mongodb::bson::{Document, RawDocumentBuf, doc};
use ::mongodb::options::ClientOptions;
use ::mongodb::{Client, Collection};
use client::MongoClient;
use monitor::MongoMonitor;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// How long an operation waits for a server to become available, at most.
const SELECTION: Duration = Duration::from_secs(1);

/// A collection, ready for load.
#[derive(Clone, Debug)]
pub struct Mongo {
    options: ClientOptions,
    database: String,
    collection: String,
    /// Whether fields are binary, as YCSB writes them.
    binary: bool,
    /// Whether creates replace existing documents.
    upsert: bool,
    /// In which order the documents of a bulk insert are inserted.
    order: BulkOrder,
    /// Whether the collection is dropped at the end.
    removed: bool,
    timeout: Duration,
    own: words::Own,
}

impl Mongo {
    /// A separate client for a few requests.
    fn client(&self) -> Result<Client, CallError> {
        Client::with_options(self.options.clone()).map_err(|error| trouble::of(&error))
    }

    async fn command(&self, command: Document) -> Result<Document, CallError> {
        let database = self.client()?.database(&self.database);
        within(self.timeout, database.run_command(command).into_future(), trouble::of).await
    }
}

impl Database for Mongo {
    fn form(&self) -> Form {
        if self.binary { Form::Fields } else { Form::Json }
    }

    fn clients(&self, _: &Rc<crate::net::ShardContext>) -> Clients {
        let pool = Rc::new(Pool {
            target: self.clone(),
            binary: self.binary,
            upsert: self.upsert,
            sessions: Cell::new(0),
            client: RefCell::default(),
        });
        Clients::of_one(move || {
            pool.sessions.set(pool.sessions.get() + 1);
            Box::new(MongoClient::new(pool.clone()))
        })
    }

    fn size(&self) -> Local<'_, Option<Size>> {
        Box::pin(async {
            let stats = self.command(doc! {"collStats": &self.collection}).await.ok()?;
            let number = |name: &str| match stats.get(name)? {
                ::mongodb::bson::Bson::Double(number) => Some(*number as u64),
                other => other.as_i64().or(other.as_i32().map(i64::from))?.try_into().ok(),
            };
            Some(Size {
                documents: number("count"),
                file_bytes: number("storageSize"),
                active_bytes: number("size"),
                ..Size::default()
            })
        })
    }

    fn monitors(&self) -> Vec<Box<dyn Monitor>> {
        MongoMonitor::each(self)
    }

    fn tear_down(&self) -> Local<'_, Result<bool, TargetError>> {
        Box::pin(async {
            if self.removed {
                let Self { database, collection, .. } = self;
                self.command(doc! {"drop": collection}).await.map_err(|trouble| {
                    TargetError(format!("collection {database}.{collection}: {}", trouble.reason))
                })?;
            }
            Ok(self.removed)
        })
    }
}

/// The client that the sessions of a shard share. Created when the first of them connects, since
/// their number is known then.
struct Pool {
    target: Mongo,
    binary: bool,
    upsert: bool,
    sessions: Cell<u32>,
    client: RefCell<Option<Client>>,
}

impl Pool {
    fn client(&self) -> Result<Client, CallError> {
        if let Some(client) = &*self.client.borrow() {
            return Ok(client.clone());
        }
        let sessions = self.sessions.get().max(1);
        let mut options = self.target.options.clone();
        options.server_selection_timeout = Some(self.target.timeout.min(SELECTION));
        options.min_pool_size = Some(sessions);
        options.max_connecting = Some(sessions);
        // Each session has at most one request, so no limit is needed.
        options.max_pool_size = Some(u32::MAX);
        let client = Client::with_options(options).map_err(|error| trouble::of(&error))?;
        *self.client.borrow_mut() = Some(client.clone());
        Ok(client)
    }

    /// The collection, once a server has answered.
    async fn connect(&self) -> Result<Collection<RawDocumentBuf>, CallError> {
        let client = self.client()?;
        client.warm_connection_pool().await;
        let database = client.database(&self.target.database);
        let answer = database.run_command(doc! {"ping": 1}).await;
        answer.map_err(|error| trouble::of(&error))?;
        Ok(database.collection(&self.target.collection))
    }

    /// Replaces these documents, or inserts them.
    async fn replace_all(&self, documents: Vec<Document>) -> ::mongodb::error::Result<Document> {
        let client = self.client.borrow().clone();
        let Some(client) = client else { return Ok(Document::new()) };
        let updates = documents.into_iter().map(|document| {
            let id = document.get_str("_id").unwrap_or_default().to_owned();
            doc! {"q": {"_id": id}, "u": document, "upsert": true}
        });
        let mut command = doc! {
            "update": &self.target.collection,
            "updates": updates.collect::<Vec<_>>(),
            "ordered": self.target.order.stops(),
        };
        if let Some(concern) = &self.target.options.write_concern {
            command.insert("writeConcern", ::mongodb::bson::serialize_to_bson(concern)?);
        }
        client.database(&self.target.database).run_command(command).await
    }
}

#[cfg(test)]
mod tests;
