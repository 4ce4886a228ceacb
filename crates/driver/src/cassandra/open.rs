//! Before the first stage: the cluster, credentials, the keyspace and the table.

use super::answer::CqlColumn;
use super::binding::BINDING;
use super::cql::{KEY, Table, create_keyspace, drop_keyspace};
use super::found::TextRows;
use super::plan::{CARD, CassandraPlan, TABLE};
use super::roster::Roster;
use super::servers::{Beside, Servers};
use super::types::Type;
use super::{Cassandra, words};
use crate::call::{CallError, in_scheme, told_apart, unusable};
use crate::library::{Database as _, Library, is_here, reach};
use crate::mistake::Invalid;
use crate::pipe::Reach;
use crate::{
    Binding, Card, DatabasePlan, DriverPlan, Nouns, Opening, ServerFacts, TargetAsked, TargetError,
};
use std::sync::Arc;
use std::time::Duration;

/// The number of YCSB's fields, for a table whose fields are not known.
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
        let place = TablePlace::of(self, opening);
        let servers = Servers {
            hosts: self.hosts(),
            login: self.login.clone(),
            reach: Reach::new(self.secured().as_ref(), opening.max_answer)?,
            timeout: Duration::from_nanos(opening.timeout_ns),
        };
        reach(&self.server, &servers.hosts, servers.timeout).await?;
        let context = servers.context();
        let beside = match servers.first(&[], &context).await {
            Ok(beside) => beside,
            Err(trouble) => return Err(self.unusable(&trouble, &servers).await),
        };
        let failed = |trouble: CallError| cannot(self, &trouble);
        let version = beside.version().await.map_err(failed)?;
        let (ring, ahead) = (beside.ring().await.map_err(failed)?, beside.ahead().await);
        let roster = Arc::<Roster>::default();
        let nodes = roster.muster(&ring, &servers, &context).await;
        let (table, removal) = make(&beside, self, opening, &place).await?;
        let same_machine = servers.hosts.iter().all(|host| is_here(host));
        let facts = ServerFacts {
            url: self.server.clone(),
            name: "cassandra".to_owned(),
            version,
            same_machine,
            database: format!("{}.{}", place.keyspace, place.table),
            created: removal.is_some(),
            ..ServerFacts::default()
        };
        let own = words::own(&opening.operations, &table)?;
        let refused = match suits(&beside, &table, &opening.fields).await {
            Ok(()) => words::try_out(&own, &beside).await.err(),
            Err(refused) => Some(refused),
        };
        let cassandra = Cassandra {
            ring,
            nodes,
            roster,
            ahead,
            servers: servers.clone(),
            table,
            read: self.read_consistency,
            write: self.write_consistency,
            connections: self.pool,
            batch: self.batch,
            page: self.page_size,
            removal,
            own,
        };
        if let Some(refused) = refused {
            // A run that does not begin leaves nothing behind.
            let _ = cassandra.tear_down().await;
            return Err(refused);
        }
        let removal = cassandra.removal.filter(|_| self.database.is_removed());
        Ok((Library::new(Cassandra { removal, ..cassandra }), facts))
    }
}

/// Whether documents with these fields can be stored in the table, and compared with what is read.
async fn suits(beside: &Beside<'_>, table: &Table, fields: &[String]) -> Result<(), TargetError> {
    let names = std::iter::empty();
    let select = beside.prepare(&table.select(names)).await;
    // Without permission to read, an operation will report that.
    let Ok(select) = select else { return Ok(()) };
    if let Some(key) = select.wanted.first()
        && !matches!(key.of, Type::Text | Type::Ascii)
    {
        return Err(TargetError(format!(
            "column {} of {}, its key, is not of type text; choose a table whose key is, such as \
             YCSB's {KEY}",
            key.name,
            table.name()
        )));
    }
    let is_field = |it: &&CqlColumn| fields.contains(&it.name) && !it.of.is_exact();
    match select.found.iter().find(is_field) {
        None => Ok(()),
        Some(column) => Err(TargetError(format!(
            "column {} of {} has a type whose values do not always come back as they were \
             written; leave it out of the documents, or write it with an operation of your own",
            column.name,
            table.name()
        ))),
    }
}

/// Where the rows are.
struct TablePlace {
    keyspace: String,
    table: String,
}

impl TablePlace {
    /// A scratch keyspace gets a new name and the usual table.
    fn of(plan: &CassandraPlan, opening: &Opening) -> Self {
        if let Some(table) = plan.database.name() {
            return Self { keyspace: plan.parent.clone(), table: table.to_owned() };
        }
        Self { keyspace: plan.database.name_or_new(opening), table: TABLE.to_owned() }
    }
}

/// Finds the table or creates it. Also returns how to remove what was created.
async fn make(
    beside: &Beside<'_>,
    plan: &CassandraPlan,
    opening: &Opening,
    place: &TablePlace,
) -> Result<(Table, Option<String>), TargetError> {
    let failed = |trouble: CallError| cannot(plan, &trouble);
    let TablePlace { keyspace, table } = place;
    let columns = columns(beside, place).await.map_err(failed)?;
    let made = || Table::new(keyspace, table, KEY, fields(opening));
    if !columns.rows.is_empty() && plan.database.must_be_new() && !opening.as_it_is {
        return Err(TargetError(format!(
            "table {keyspace}.{table} exists already; add --use-existing to use it (it will not be \
             dropped), or choose another"
        )));
    }
    if !columns.rows.is_empty() {
        return Ok((found(place, &columns)?, None));
    }
    if opening.as_it_is {
        return Ok((made(), None));
    }
    let cql = "SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = ?";
    let known = !beside.ask(cql, &[keyspace]).await.map_err(failed)?.rows.is_empty();
    let new_keyspace = create_keyspace(keyspace, plan.replication.get());
    if matches!(plan.database, DatabasePlan::Existing { .. }) {
        let (what, first) = if known {
            (format!("table {keyspace}.{table}"), String::new())
        } else {
            (format!("keyspace {keyspace}"), format!("{new_keyspace}; "))
        };
        let cure =
            format!("create it first ({first}{}), or leave out --use-existing", made().create());
        return Err(opening.missing(&format!("{what} on {}", plan.server), &cure, Nouns::ROWS));
    }
    if known && !plan.schema.is_empty() {
        return Err(TargetError(format!(
            "keyspace {keyspace} exists already, and schema= makes the tables of a new one; choose \
             another, or leave schema= out"
        )));
    }
    if !known {
        beside.change(&new_keyspace).await.map_err(failed)?;
    }
    match tables(beside, plan, place, made()).await {
        Ok(made) => {
            beside.agree().await;
            let removal = if known { made.drop() } else { drop_keyspace(keyspace) };
            Ok((made, Some(removal)))
        }
        Err(refused) => {
            if !known {
                // A keyspace that the run cannot use is not left behind.
                let _ = beside.change(&drop_keyspace(keyspace)).await;
            }
            Err(refused)
        }
    }
}

/// Creates the tables of the plan's statements, and the run's own table unless it is one of them.
async fn tables(
    beside: &Beside<'_>,
    plan: &CassandraPlan,
    place: &TablePlace,
    usual: Table,
) -> Result<Table, TargetError> {
    for statement in &plan.schema {
        let statement = usual.named(statement);
        beside.change(&statement).await.map_err(|trouble| {
            let first: String = statement.chars().take(60).collect();
            TargetError(format!("schema=: {}; it was {first:?}", trouble.reason))
        })?;
    }
    let failed = |trouble: CallError| cannot(plan, &trouble);
    if !plan.schema.is_empty() {
        let columns = columns(beside, place).await.map_err(failed)?;
        if !columns.rows.is_empty() {
            return found(place, &columns);
        }
    }
    beside.change(&usual.create()).await.map_err(failed)?;
    Ok(usual)
}

/// The columns of a table; none if there is no table.
async fn columns(beside: &Beside<'_>, place: &TablePlace) -> Result<TextRows, CallError> {
    let cql = "SELECT column_name, kind FROM system_schema.columns \
               WHERE keyspace_name = ? AND table_name = ?";
    beside.ask(cql, &[&place.keyspace, &place.table]).await
}

/// The table with these columns, one of which must be the key.
fn found(place: &TablePlace, columns: &TextRows) -> Result<Table, TargetError> {
    let TablePlace { keyspace, table } = place;
    let of_kind = |wanted: &str| {
        let kind = |column: &&Vec<String>| column.get(1).is_some_and(|kind| kind == wanted);
        columns
            .rows
            .iter()
            .filter(kind)
            .filter_map(|column| column.first().cloned())
            .collect::<Vec<_>>()
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

/// The error for a cluster that answers but cannot be used.
fn cannot(plan: &CassandraPlan, trouble: &CallError) -> TargetError {
    unusable(&plan.server, &plan.login, trouble, |reason| {
        format!("{} cannot be used: {reason}; check it, or give a longer --timeout", plan.server)
    })
}

impl CassandraPlan {
    /// The error for a cluster that was reached but cannot be used, with what to do about it.
    async fn unusable(&self, trouble: &CallError, servers: &Servers) -> TargetError {
        let server = &self.server;
        if let Some(first) = servers.hosts.first()
            && let Ok(endpoint) = servers.reach.endpoint(first).await
            && let Some(known) = told_apart(trouble, &endpoint, servers.timeout).await
        {
            return in_scheme(server, CARD.schemes[0], &known);
        }
        unusable(server, &self.login, trouble, |reason| {
            format!(
                "the server at {server} does not speak CQL's binary protocol ({reason}); give a \
                 Cassandra server and its native port (9042), and cassandras:// if it uses TLS"
            )
        })
    }
}
