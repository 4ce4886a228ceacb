//! Apache Cassandra, and whatever speaks CQL's binary protocol, in the layout of YCSB's binding.
//!
//! A record is a row with a text key and a text column for each field. Each load thread has one
//! session of the library, whose connections carry the requests of all of the thread's sessions.
//! Nothing is retried.

mod binding;
mod client;
mod cql;
mod open;
mod plan;
mod trouble;
mod words;

pub use plan::{BatchKind, CassandraPlan, Consistency};

use super::library::{CallError, Clients, Database, Local, within};
use super::{LogIn, TargetError};
use crate::op::Reason;
use ::scylla::client::PoolSize;
use ::scylla::client::execution_profile::ExecutionProfile;
use ::scylla::client::session::Session;
use ::scylla::client::session_builder::SessionBuilder;
use ::scylla::policies::retry::FallthroughRetryPolicy;
use ::scylla::statement::prepared::PreparedStatement;
use client::CassandraClient;
use cql::Table;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// A table, ready for load.
#[derive(Clone)]
pub struct Cassandra {
    servers: Servers,
    table: Table,
    read: Consistency,
    write: Consistency,
    /// The kind of batch that the rows of a bulk insert are.
    batch: Option<BatchKind>,
    /// The statement that removes what the run created, if it is not kept.
    removal: Option<String>,
    /// The operations that the plan defines.
    own: words::Own,
}

/// How to connect to the cluster.
#[derive(Clone)]
struct Servers {
    hosts: Vec<String>,
    login: LogIn,
    /// The keyspace whose replicas must be known in order to send requests to them.
    keyspace: String,
    /// Connections per thread and server.
    connections: NonZeroUsize,
    timeout: Duration,
}

impl Servers {
    async fn connect(&self) -> Result<Session, CallError> {
        let profile = ExecutionProfile::builder()
            .retry_policy(Arc::new(FallthroughRetryPolicy::new()))
            // The session enforces the timeout.
            .request_timeout(None)
            .build();
        let mut builder = SessionBuilder::new()
            .known_nodes(&self.hosts)
            .default_execution_profile_handle(profile.into_handle())
            .connection_timeout(self.timeout)
            .keyspaces_to_fetch([self.keyspace.clone()])
            .pool_size(PoolSize::PerHost(self.connections));
        if let Some(user) = &self.login.user {
            builder = builder.user(user, self.login.password());
        }
        within(self.timeout, builder.build(), trouble::of_new_session).await
    }

    /// Executes a statement that returns nothing, within the timeout.
    async fn command(&self, session: &Session, cql: &str) -> Result<(), CallError> {
        within(self.timeout, session.query_unpaged(cql, ()), trouble::of).await.map(|_| ())
    }
}

impl fmt::Debug for Cassandra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cassandra").field("table", &self.table).finish_non_exhaustive()
    }
}

impl Database for Cassandra {
    fn clients(&self) -> Clients {
        let pool = Rc::new(Pool {
            target: self.clone(),
            session: tokio::sync::Mutex::default(),
            statements: RefCell::default(),
        });
        Box::new(move || Box::new(CassandraClient::new(pool.clone())))
    }

    fn tear_down(&self) -> Local<'_, Result<bool, TargetError>> {
        Box::pin(async {
            let Some(removal) = &self.removal else { return Ok(false) };
            let removed = async {
                let session = self.servers.connect().await?;
                self.servers.command(&session, removal).await
            };
            removed.await.map_err(|trouble: CallError| {
                let reason = Reason::new(None, &trouble.reason).reason;
                TargetError(format!("{removal}: {reason}"))
            })?;
            Ok(true)
        })
    }
}

/// The library's session that the sessions of a shard share, and its statements.
struct Pool {
    target: Cassandra,
    session: tokio::sync::Mutex<Option<Arc<Session>>>,
    statements: RefCell<HashMap<String, PreparedStatement>>,
}

impl Pool {
    /// A session that has answered. One that does not answer is replaced, since the library would
    /// wait for long before looking for a server again.
    async fn connect(&self) -> Result<Arc<Session>, CallError> {
        let mut shared = self.session.lock().await;
        if let Some(session) = &*shared {
            let ask = self.target.servers.command(session, "SELECT key FROM system.local");
            if ask.await.is_ok() {
                return Ok(session.clone());
            }
        }
        *shared = None;
        self.statements.borrow_mut().clear();
        let session = Arc::new(self.target.servers.connect().await?);
        for (cql, writes) in self.target.table.statements() {
            // If a statement is wrong, the operation that needs it will report that.
            let _ = self.statement(&session, &cql, writes).await;
        }
        *shared = Some(session.clone());
        Ok(session)
    }

    /// The prepared statement, prepared on first use.
    async fn statement(
        &self,
        session: &Session,
        cql: &str,
        writes: bool,
    ) -> Result<PreparedStatement, CallError> {
        if let Some(prepared) = self.statements.borrow().get(cql) {
            return Ok(prepared.clone());
        }
        let prepared = session.prepare(cql).await;
        let mut prepared = prepared.map_err(|error| trouble::of_prepare(&error))?;
        let level = if writes { self.target.write } else { self.target.read };
        prepared.set_consistency(level.into());
        self.statements.borrow_mut().insert(cql.to_owned(), prepared.clone());
        Ok(prepared)
    }
}

#[cfg(test)]
mod tests;
