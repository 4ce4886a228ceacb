//! Requests compactions, or keeps the server from them.
//!
//! CouchDB compacts by itself (smoosh), shard by shard, except for the shards listed in the section
//! `smoosh.ignore` of its configuration. What is set there for a run is not written to a file of
//! the server: it is gone when the node restarts.

use super::{Admin, AdminError, CouchDb};
use crate::{CompactionPlan, Leftover, OWN_SERVERS, Scratch, TargetError};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// The header that keeps a setting out of the server's files.
const IN_MEMORY: &str = "X-Couch-Persist: false\r\n";
/// A section of the configuration that administrators can read in any current CouchDB.
const READABLE: &str = "/_node/_local/_config/smoosh.ignore";

/// The settings that keep a server from compacting the databases of a run, by their paths.
pub(super) type HeldSettings = Arc<Mutex<Vec<String>>>;

/// Fails if the user may not do what the plan requires for compaction.
pub(super) async fn check(
    plan: CompactionPlan,
    admin: &mut Admin,
    server: &str,
    path: &str,
) -> Result<(), TargetError> {
    if plan != CompactionPlan::Auto && server.starts_with(OWN_SERVERS) {
        let message =
            "--compaction: the stand-in compacts nothing; give a CouchDB, or leave it out";
        return Err(TargetError(message.to_owned()));
    }
    match plan {
        CompactionPlan::Auto => Ok(()),
        CompactionPlan::Off => match admin.request("GET", READABLE, None).await? {
            (200, _) => Ok(()),
            (401 | 403, answer) => Err(refused("off", &answer)),
            (status, _) => Err(TargetError(format!(
                "--compaction off: {} has no automatic compaction that could be turned off (status \
                 {status}); leave it out",
                admin.endpoint().host()
            ))),
        },
        CompactionPlan::Force if may_compact(admin, path).await? => Ok(()),
        CompactionPlan::Force => Err(refused("force", &Value::Null)),
    }
}

fn refused(mode: &str, answer: &Value) -> TargetError {
    let why = answer["reason"].as_str().unwrap_or("the user is not one");
    let why = why.trim_end_matches('.');
    TargetError(format!(
        "--compaction {mode} needs an administrator of the server ({why}); log in as one with -u, \
         or leave it out"
    ))
}

/// Whether the user is an administrator of the server, or of the database.
async fn may_compact(admin: &mut Admin, path: &str) -> Result<bool, AdminError> {
    let (_, session) = admin.request("GET", "/_session", None).await?;
    let user = &session["userCtx"];
    let has = |list: &Value, item: &Value| {
        list.as_array().is_some_and(|list| list.contains(item) && !item.is_null())
    };
    if has(&user["roles"], &Value::from("_admin")) {
        return Ok(true);
    }
    let (_, security) = admin.request("GET", &format!("{path}/_security"), None).await?;
    let admins = &security["admins"];
    let mut roles = user["roles"].as_array().into_iter().flatten();
    Ok(has(&admins["names"], &user["name"]) || roles.any(|role| has(&admins["roles"], role)))
}

impl CouchDb {
    /// The administration of a node that answers.
    fn one_admin(&self) -> Result<Admin, TargetError> {
        self.admins().next().ok_or_else(|| TargetError("there is no server".to_owned()))
    }

    /// The paths of all databases.
    fn paths_of_all(&self) -> Vec<String> {
        match &self.paths.many {
            None => vec![self.database_path().to_owned()],
            Some(many) => (0..many.spread.count).map(|number| many.path(number)).collect(),
        }
    }

    /// Keeps the server from compacting the databases.
    pub(super) async fn hold(&self) -> Result<(), TargetError> {
        let mut admin = self.one_admin()?;
        admin.log_in().await?;
        for path in self.paths_of_all() {
            for setting in shards(&mut admin, &path).await? {
                let mut writer = admin.again().with_more_lines(IN_MEMORY);
                self.held().push(setting.clone());
                writer.expect(&[200], "PUT", &setting, Some(b"\"true\"")).await?;
            }
        }
        Ok(())
    }

    /// Removes the settings that keep the server from compacting them. A node that has been
    /// restarted has lost them already.
    pub(super) async fn release(&self) -> Result<(), TargetError> {
        let settings = std::mem::take(&mut *self.held());
        if settings.is_empty() {
            return Ok(());
        }
        let mut admin = self.one_admin()?.with_more_lines(IN_MEMORY);
        admin.log_in().await?;
        let mut ended = Ok(());
        for setting in settings {
            let removed = admin.expect(&[200, 404], "DELETE", &setting, None).await;
            if let Err(error) = removed {
                let message = format!("{setting} could not be taken back: {error}");
                ended = ended.and(Err(TargetError(message)));
            }
        }
        ended
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn ask_to_compact(&self) -> Result<(), TargetError> {
        let mut admin = self.one_admin()?;
        admin.log_in().await?;
        for path in self.paths_of_all() {
            admin.expect(&[202], "POST", &format!("{path}/_compact"), Some(b"")).await?;
        }
        Ok(())
    }

    /// Whether one of the databases is being compacted; `None` if there is no answer.
    pub(super) async fn compacts(&self) -> Option<bool> {
        let by_info = match &self.paths.many {
            None => self.ask("").await?["compact_running"].as_bool()?,
            Some(many) => self.ask_sum(many).await?.compacting,
        };
        // The information comes from one copy of each shard, and other copies may take longer.
        Some(by_info || self.has_compaction_task().await?)
    }

    /// Whether any node of the cluster has a task that compacts one of the databases. Only
    /// administrators of the server are told; for others there is none.
    async fn has_compaction_task(&self) -> Option<bool> {
        let (_, tasks) = self.ask_at("/_active_tasks").await?;
        let mut names = tasks.as_array().into_iter().flatten().filter_map(compacted_by);
        Some(names.any(|name| self.paths.has(name)))
    }
}

/// The database that a task compacts.
fn compacted_by(task: &Value) -> Option<&str> {
    let shard = task["database"].as_str().filter(|_| task["type"] == "database_compaction")?;
    // Before CouchDB 2, databases had no shards.
    Some(database_of(shard).unwrap_or(shard))
}

/// The shards of a database, named like their files and percent-encoded, each with the nodes that
/// have a copy.
pub(super) async fn copies(
    admin: &mut Admin,
    path: &str,
) -> Result<BTreeMap<String, Vec<String>>, AdminError> {
    let (_, info) = admin.expect(&[200], "GET", path, None).await?;
    let ranges_at = format!("{path}/_shards");
    let (_, ranges) = admin.expect(&[200], "GET", &ranges_at, None).await?;
    let (name, suffix) = (&info["db_name"], &info["instance_start_time"]);
    let (name, suffix) = (name.as_str().unwrap_or_default(), suffix.as_str().unwrap_or_default());
    let mut shards = BTreeMap::new();
    for (range, nodes) in ranges["shards"].as_object().into_iter().flatten() {
        let shard = format!("shards/{range}/{name}.{suffix}");
        let shard = utf8_percent_encode(&shard, NON_ALPHANUMERIC).to_string();
        let nodes = nodes.as_array().into_iter().flatten().filter_map(Value::as_str);
        shards.insert(shard, nodes.map(str::to_owned).collect());
    }
    Ok(shards)
}

/// The settings that name the shards of a database, on each node that has them.
async fn shards(admin: &mut Admin, path: &str) -> Result<Vec<String>, AdminError> {
    let all = copies(admin, path).await?;
    let of_shard = |(shard, nodes): (String, Vec<String>)| {
        let setting = move |node| format!("/_node/{node}/_config/smoosh.ignore/{shard}");
        nodes.into_iter().map(setting).collect::<Vec<_>>()
    };
    Ok(all.into_iter().flat_map(of_shard).collect())
}

/// The section of the configuration on each node of the cluster: its path, and the settings in it.
/// Nodes that cannot be asked are left out.
async fn sections(admin: &mut Admin) -> Vec<(String, Vec<String>)> {
    let Ok((200, members)) = admin.request("GET", "/_membership", None).await else {
        return Vec::new();
    };
    let mut sections = Vec::new();
    let nodes = members["cluster_nodes"].as_array().into_iter().flatten();
    for node in nodes.filter_map(Value::as_str) {
        let path = format!("/_node/{node}/_config/smoosh.ignore");
        if let Ok((200, Value::Object(settings))) = admin.request("GET", &path, None).await {
            sections.push((path, settings.into_iter().map(|(name, _)| name).collect()));
        }
    }
    sections
}

/// The database whose shard a setting names: `shards/{range}/{database}.{suffix}`.
fn database_of(setting: &str) -> Option<&str> {
    let (_, rest) = setting.strip_prefix("shards/")?.split_once('/')?;
    Some(rest.rsplit_once('.')?.0)
}

/// The databases of runs that are named in settings on any node.
pub(super) async fn left(admin: &mut Admin) -> Vec<Scratch> {
    let sections = sections(admin).await;
    let settings = sections.iter().flat_map(|(_, settings)| settings);
    let names: BTreeSet<&str> = settings.filter_map(|it| database_of(it)).collect();
    let found = names.into_iter().filter_map(Scratch::of_name);
    found.map(|it| Scratch { kind: Leftover::Compaction, ..it }).collect()
}

/// Removes all settings that name these databases.
pub(super) async fn take_back(admin: &mut Admin, databases: &[String]) -> Result<(), AdminError> {
    if databases.is_empty() {
        return Ok(());
    }
    let mut writer = admin.again().with_more_lines(IN_MEMORY);
    for (section, settings) in sections(admin).await {
        let is_named = |setting: &&String| {
            database_of(setting).is_some_and(|name| databases.iter().any(|it| it == name))
        };
        for setting in settings.iter().filter(is_named) {
            let path = format!("{section}/{}", utf8_percent_encode(setting, NON_ALPHANUMERIC));
            writer.expect(&[200, 404], "DELETE", &path, None).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_setting_names_a_database() {
        let shard = "shards/00000000-7fffffff/springload_1795000000_1_2.1795711470";
        assert_eq!(database_of(shard), Some("springload_1795000000_1_2"));
        assert_eq!(database_of("shards/0-f/a/b.1.2"), Some("a/b.1"));
        for other in ["_users", "shards/x", "shards/0-f/x", "ratio_dbs"] {
            assert_eq!(database_of(other), None, "{other}");
        }
    }

    #[test]
    fn a_task_compacts_a_database() {
        let of = |kind: &str, database: &str| {
            let task = json!({"type": kind, "node": "n1@h", "database": database});
            compacted_by(&task).map(str::to_owned)
        };
        let compacts = |database| of("database_compaction", database);
        assert_eq!(compacts("shards/00000000-7fffffff/a/b.1700000000").as_deref(), Some("a/b"));
        assert_eq!(compacts("a/b").as_deref(), Some("a/b"), "a server without shards");
        for other in ["view_compaction", "indexer"] {
            assert_eq!(of(other, "shards/00000000-7fffffff/a.1700000000"), None, "{other}");
        }
        assert_eq!(compacted_by(&json!({"type": "database_compaction"})), None);
        assert_eq!(compacted_by(&json!(1)), None);
    }
}
