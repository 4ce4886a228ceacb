//! Requests to the master: tables and their families, HBase's version.

use super::connection::{Connection, ConnectionSettings, Lost, Setback};
use super::exception::first_line;
use super::messages::{
    ActiveMaster, ClusterStatusRequest, ClusterStatusResponse, ColumnFamilySchema,
    CreateTableRequest, Nothing, ProcedureResult, ProcedureResultRequest, ProcedureStarted,
    TableDescriptors, TableName, TableRequest, TableSchema,
};
use super::plan::HBasePlan;
use super::regions::{address, ask};
use super::seeds::first_of;
use super::servers::{MASTER, REGISTRY};
use crate::clock::Clock;
use crate::net::Tls;
use crate::op::Failure;
use crate::{Opening, TargetError};
use prost::Message;
use prost::bytes::Bytes;
use std::time::Duration;
use tokio::task::LocalSet;

/// The pause between two requests to the master.
const PAUSE: Duration = Duration::from_millis(50);
/// How long the master may take to create or remove a table.
const MOST_TIME: Duration = Duration::from_secs(120);
/// The states of a procedure.
const RUNNING: i32 = 1;

/// A client of the master.
#[derive(Debug)]
pub(super) struct MasterClient<'a> {
    seeds: &'a [String],
    pub(super) settings: &'a ConnectionSettings,
}

/// The split points of the YCSB guide's table: `count` of them between user1000 and user9999.
///
/// From HBASE-4163: `(1..n).map {|i| "user#{1000+i*(9999-1000)/n}"}`.
pub(super) fn split_points(count: u32) -> Vec<String> {
    let count = u64::from(count);
    (1..=count).map(|i| format!("user{}", 1000 + i * (9999 - 1000) / count)).collect()
}

/// The settings for connections.
///
/// # Errors
/// Fails if a certificate cannot be read.
pub(super) fn settings(
    plan: &HBasePlan,
    opening: &Opening,
) -> Result<ConnectionSettings, TargetError> {
    Ok(ConnectionSettings {
        user: plan.user.clone().unwrap_or_else(|| "springload".to_owned()),
        timeout_ns: opening.timeout_ns,
        max_answer: usize::try_from(opening.max_answer).unwrap_or(usize::MAX),
        tls: plan.tls.then(|| Tls::new(&plan.certificates)).transpose()?,
        clock: Clock::system(),
    })
}

impl<'a> MasterClient<'a> {
    pub(super) const fn of(seeds: &'a [String], settings: &'a ConnectionSettings) -> Self {
        Self { seeds, settings }
    }

    /// Creates a table that must not exist yet.
    pub(super) async fn create_table(
        &self,
        table: &Bytes,
        family: &str,
        splits: &[String],
    ) -> Result<(), TargetError> {
        let families = vec![ColumnFamilySchema { name: Bytes::copy_from_slice(family.as_bytes()) }];
        let request = CreateTableRequest {
            table_schema: TableSchema {
                table_name: Some(table_name(table)),
                column_families: families,
            },
            split_keys: splits.iter().map(|row| Bytes::copy_from_slice(row.as_bytes())).collect(),
        };
        self.carry_out("CreateTable", &request).await.map_err(|trouble| {
            let name = String::from_utf8_lossy(table);
            match &trouble {
                Setback::Lost(lost) if lost.reason.starts_with("TableExists") => {
                    TargetError(format!(
                        "table {name:?} exists already; add --use-existing to use it (it will not \
                         be deleted), or choose another"
                    ))
                }
                _ => cannot(&format!("create table {name:?}"), &trouble),
            }
        })
    }

    /// Disables and deletes a table.
    pub(super) async fn remove_table(&self, table: &Bytes) -> Result<(), TargetError> {
        let request = TableRequest { table_name: Some(table_name(table)) };
        let failed = |trouble: &Setback| {
            cannot(&format!("remove table {:?}", String::from_utf8_lossy(table)), trouble)
        };
        match self.carry_out("DisableTable", &request).await {
            // An earlier attempt may have disabled it.
            Err(Setback::Lost(lost)) if lost.reason.starts_with("TableNotEnabled") => {}
            disabled => disabled.map_err(|trouble| failed(&trouble))?,
        }
        self.carry_out("DeleteTable", &request).await.map_err(|trouble| failed(&trouble))
    }

    /// The families of a table; `None` if there is no such table.
    pub(super) async fn families(&self, table: &Bytes) -> Result<Option<Vec<String>>, Setback> {
        let request = TableRequest { table_name: Some(table_name(table)) };
        let found: TableDescriptors = self.ask("GetTableDescriptors", &request).await?;
        let text = |family: &ColumnFamilySchema| String::from_utf8_lossy(&family.name).into_owned();
        let schema = found.table_schema.first();
        Ok(schema.map(|schema| schema.column_families.iter().map(text).collect()))
    }

    pub(super) async fn version(&self) -> Option<String> {
        let request = ClusterStatusRequest { options: vec![0] };
        let found: ClusterStatusResponse = self.ask("GetClusterStatus", &request).await.ok()?;
        found.cluster_status.hbase_version.map(|version| version.version)
    }

    /// Starts a procedure of several steps and waits until it ends.
    async fn carry_out(&self, method: &str, request: &impl Message) -> Result<(), Setback> {
        let started: ProcedureStarted = self.ask(method, request).await?;
        let Some(proc_id) = started.proc_id else { return Ok(()) };
        let waiting = async {
            loop {
                let asked = ProcedureResultRequest { proc_id };
                let found: ProcedureResult = self.ask("getProcedureResult", &asked).await?;
                if found.state != RUNNING {
                    return Ok(found);
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        let ended: Result<ProcedureResult, Setback> =
            tokio::time::timeout(MOST_TIME, waiting).await.unwrap_or_else(|_| {
                Err(Setback::NotYet(format!("the master has not finished after {MOST_TIME:?}")))
            });
        let Some(exception) = ended?.exception else { return Ok(()) };
        let exception = exception.generic_exception.unwrap_or_default();
        let class = exception.class_name.unwrap_or_default();
        let reason = first_line(&class, &exception.message.unwrap_or_default());
        Err(Lost::new(Failure::Rejected, reason).into())
    }

    /// Asks the active master. A master that is still starting is asked again, within the time of
    /// one operation.
    async fn ask<M: Message + Default>(
        &self,
        method: &str,
        request: &impl Message,
    ) -> Result<M, Setback> {
        let mut last = Setback::NotYet("no answer in time".to_owned());
        let asking = async {
            loop {
                match self.ask_once(method, request).await {
                    Err(trouble @ Setback::NotYet(_)) => last = trouble,
                    ended => return ended,
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        let timeout = Duration::from_nanos(self.settings.timeout_ns);
        // Connections have tasks of their own.
        let asked = LocalSet::new().run_until(tokio::time::timeout(timeout, asking)).await;
        asked.unwrap_or(Err(last))
    }

    async fn ask_once<M: Message + Default>(
        &self,
        method: &str,
        request: &impl Message,
    ) -> Result<M, Setback> {
        let timeout_ns = self.settings.timeout_ns;
        let master = first_of(self.seeds, timeout_ns, async |seed| self.master(seed).await).await?;
        ask(&master, method, request).await
    }

    /// A connection to the active master, whose address `seed` knows.
    async fn master(&self, seed: &str) -> Result<Connection, Setback> {
        let registry = Connection::open(seed, REGISTRY, self.settings).await?;
        let found: ActiveMaster = ask(&registry, "GetActiveMaster", &Nothing {}).await?;
        let missing = || Setback::NotYet("there is no active master".to_owned());
        let master = address(&found.server_name.ok_or_else(missing)?);
        Ok(Connection::open(&master, MASTER, self.settings).await?)
    }
}

pub(super) fn table_name(table: &Bytes) -> TableName {
    let at = table.iter().position(|&byte| byte == b':');
    let (namespace, qualifier) = match at {
        Some(at) => (table.slice(..at), table.slice(at + 1..)),
        None => (Bytes::from_static(b"default"), table.clone()),
    };
    TableName { namespace, qualifier }
}

/// The error for something that could not be done, with what to do about it, in one line.
pub(super) fn cannot(what: &str, trouble: &Setback) -> TargetError {
    let (reason, cure) = match trouble {
        Setback::NotYet(reason) => (reason, None),
        Setback::Lost(Lost { reason, cure, .. }) => (reason, cure.as_deref()),
    };
    let cure = cure.map(|cure| format!("; {}", of_hbase(cure))).unwrap_or_default();
    TargetError(format!("cannot {what}: {reason}{cure}"))
}

/// A cure with the schemes of HBase's addresses.
pub(super) fn of_hbase(cure: &str) -> String {
    cure.replace("https://", "hbases://").replace("http://", "hbase://")
}

#[cfg(test)]
mod tests {
    use super::split_points;

    #[test]
    fn the_split_points_are_those_of_the_guide() {
        // The output of Ruby for n_splits = 20.
        let expected = "user1449 user1899 user2349 user2799 user3249 user3699 user4149 user4599 \
                        user5049 user5499 user5949 user6399 user6849 user7299 user7749 user8199 \
                        user8649 user9099 user9549 user9999";
        assert_eq!(split_points(20).join(" "), expected);
        assert_eq!(split_points(1), ["user9999"]);
    }
}
