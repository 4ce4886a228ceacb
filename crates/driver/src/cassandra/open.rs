//! Before the first stage: the cluster, credentials, the keyspace and the table.

use super::binding::BINDING;
use super::cql::{KEY, Table, create_keyspace, drop_keyspace};
use super::plan::{CARD, CassandraPlan, TABLE};
use super::{Cassandra, Servers, trouble, words};
use crate::library::{CallError, Database as _, Library, is_here, reach, unusable, within};
use crate::mistake::Invalid;
use crate::op::Failure;
use crate::{
    Binding, Card, DatabasePlan, DriverPlan, Opening, ServerFacts, TargetAsked, TargetError,
};
use ::scylla::client::session::Session;
use ::scylla::value::{CqlValue, Row};
use std::num::NonZeroUsize;
use std::time::Duration;

/// The number of YCSB's fields, for a table about which nothing else is known.
const FIELDS: usize = 10;

impl DriverPlan for CassandraPlan {
    type Target = Library;

    const CARD: Card = CARD;

    const BINDING: Option<Binding> = Some(BINDING);

    fn check(asked: &TargetAsked) -> Result<Self, Invalid> {
        Self::checked(asked)
    }

    /// Connects, authenticates, and finds or creates the table.
    async fn open(&self, opening: &Opening) -> Result<(Library, ServerFacts), TargetError> {
        let place = TableName::of(self, opening);
        let servers = Servers {
            hosts: self.hosts(),
            login: self.login.clone(),
            keyspace: place.keyspace.clone(),
            connections: NonZeroUsize::try_from(self.pool).unwrap_or(NonZeroUsize::MIN),
            timeout: Duration::from_nanos(opening.timeout_ns),
        };
        let failed = |trouble: CallError| unusable_cluster(self, &trouble);
        reach(&self.server, &servers.hosts, servers.timeout).await?;
        let session = servers.connect().await.map_err(failed)?;
        let admin = Admin { servers: &servers, session: &session };
        let version = admin.ask("SELECT release_version FROM system.local", &[]).await;
        let version = version.map_err(failed)?.into_iter().flatten().next().unwrap_or_default();
        let (table, removal) = make(&admin, self, opening, &place).await?;
        let same_machine = servers.hosts.iter().all(|host| is_here(host));
        let facts = ServerFacts {
            url: self.server.clone(),
            name: "cassandra".to_owned(),
            version,
            same_machine,
            database: format!("{}.{}", place.keyspace, place.table),
            created: removal.is_some(),
        };
        let removal = removal.filter(|_| self.database.is_removed());
        let (read, write) = (self.read_consistency, self.write_consistency);
        let own = words::own(&opening.operations, &table)?;
        let batch = self.batch;
        let cassandra = Cassandra { servers, table, read, write, batch, removal, own };
        if let Err(refused) = words::try_out(&cassandra.own, &session).await {
            // Nothing is left behind of a run that does not begin.
            let _ = cassandra.tear_down().await;
            return Err(refused);
        }
        Ok((Library::new(cassandra), facts))
    }
}

/// Where the rows are.
struct TableName {
    keyspace: String,
    table: String,
}

impl TableName {
    /// A scratch keyspace gets a new name and the usual table.
    fn of(plan: &CassandraPlan, opening: &Opening) -> Self {
        if let Some(table) = plan.database.name() {
            return Self { keyspace: plan.parent.clone(), table: table.to_owned() };
        }
        Self { keyspace: plan.database.name_or_new(opening), table: TABLE.to_owned() }
    }
}

/// A session for a few statements.
struct Admin<'a> {
    servers: &'a Servers,
    session: &'a Session,
}

impl Admin<'_> {
    /// The rows that a statement finds; all of their columns must be text.
    async fn ask(&self, cql: &str, values: &[&str]) -> Result<Vec<Vec<String>>, CallError> {
        let asking = self.session.query_unpaged(cql, values);
        let answer = within(self.servers.timeout, asking, trouble::of).await?;
        let wrong = |error: String| CallError::new(Failure::Protocol, error);
        let rows = answer.into_rows_result().map_err(|error| wrong(error.to_string()))?;
        let rows = rows.rows::<Row>().map_err(|error| wrong(error.to_string()))?;
        let text = |row: Row| {
            let text =
                |value: Option<CqlValue>| value.and_then(CqlValue::into_string).unwrap_or_default();
            row.columns.into_iter().map(text).collect()
        };
        rows.map(|row| row.map(text))
            .collect::<Result<_, _>>()
            .map_err(|error| wrong(error.to_string()))
    }

    async fn command(&self, cql: &str) -> Result<(), CallError> {
        self.servers.command(self.session, cql).await
    }
}

/// Finds the table or creates it. Also returns how to remove what was created.
async fn make(
    admin: &Admin<'_>,
    plan: &CassandraPlan,
    opening: &Opening,
    place: &TableName,
) -> Result<(Table, Option<String>), TargetError> {
    let failed = |trouble: CallError| unusable_cluster(plan, &trouble);
    let TableName { keyspace, table } = place;
    let columns = admin
        .ask(
            "SELECT column_name, kind FROM system_schema.columns \
             WHERE keyspace_name = ? AND table_name = ?",
            &[keyspace, table],
        )
        .await
        .map_err(failed)?;
    let made = || Table::new(keyspace, table, KEY, fields(opening));
    if !columns.is_empty() && plan.database.must_be_new() && !opening.as_it_is {
        return Err(TargetError(format!(
            "table {keyspace}.{table} exists already; add --use-existing to use it (it will not be \
             dropped), or choose another"
        )));
    }
    if !columns.is_empty() {
        return Ok((found(place, &columns)?, None));
    }
    if opening.as_it_is {
        return Ok((made(), None));
    }
    let cql = "SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = ?";
    let known = !admin.ask(cql, &[keyspace]).await.map_err(failed)?.is_empty();
    let new_keyspace = create_keyspace(keyspace, plan.replication.get());
    if matches!(plan.database, DatabasePlan::Existing { .. }) {
        let (what, first) = if known {
            (format!("table {keyspace}.{table}"), String::new())
        } else {
            (format!("keyspace {keyspace}"), format!("{new_keyspace}; "))
        };
        return Err(TargetError(format!(
            "there is no {what} on {}; create it first ({first}{}), or leave out --use-existing",
            plan.server,
            made().create()
        )));
    }
    if !known {
        admin.command(&new_keyspace).await.map_err(failed)?;
    }
    if let Err(trouble) = admin.command(&made().create()).await {
        if !known {
            // Nothing that the run cannot use is left behind.
            let _ = admin.command(&drop_keyspace(keyspace)).await;
        }
        return Err(failed(trouble));
    }
    let removal = if known { made().drop() } else { drop_keyspace(keyspace) };
    Ok((made(), Some(removal)))
}

/// The table with these columns, one of which must be the key.
fn found(place: &TableName, columns: &[Vec<String>]) -> Result<Table, TargetError> {
    let TableName { keyspace, table } = place;
    let of_kind = |wanted: &str| {
        let kind = |column: &&Vec<String>| column.get(1).is_some_and(|kind| kind == wanted);
        columns.iter().filter(kind).filter_map(|column| column.first().cloned()).collect::<Vec<_>>()
    };
    match (&of_kind("partition_key")[..], of_kind("clustering").len()) {
        ([key], 0) => Ok(Table::new(keyspace, table, key, of_kind("regular"))),
        _ => Err(TargetError(format!(
            "table {keyspace}.{table} has a key of several columns; choose a table whose only key \
             is a column of text, such as YCSB's {KEY}"
        ))),
    }
}

/// The columns of a new table: the fields of the documents, or else those of YCSB's table.
fn fields(opening: &Opening) -> Vec<String> {
    if opening.fields.is_empty() {
        return (0..FIELDS).map(|place| format!("field{place}")).collect();
    }
    opening.fields.clone()
}

/// Why a cluster that was reached cannot be used, and what to do about it.
fn unusable_cluster(plan: &CassandraPlan, trouble: &CallError) -> TargetError {
    let server = &plan.server;
    unusable(server, &plan.login, trouble, |reason| {
        format!(
            "the server at {server} does not speak CQL's binary protocol ({reason}); give a \
             Cassandra server and its native port (9042), without TLS"
        )
    })
}
