//! Before the first stage and after the last: server, credentials, the database and its size.

use super::database::{There, find, find_soon, make, make_if_missing, remove, size};
use super::design::{self, Design};
use super::many::Paths;
use super::nodes::Node;
use super::open_many::{self, OpenedDatabases};
use super::plan::{CouchPlan, NodePlan};
use super::view_name::ViewName;
use super::{Admin, AdminError, CouchDb, Credentials, compaction, encode_segment, follower, words};
use crate::clock::{Nanos, SECOND_NS};
use crate::net::Endpoint;
use crate::{DatabasePlan, Detour, OWN_SERVERS, Opening, ServerFacts, Size, Spread, TargetError};
use serde_json::{Map, Value};
use std::sync::Arc;
use url::Url;

/// How long each of several nodes may take to answer before the run begins.
const NODE_PATIENCE_NS: Nanos = 5 * SECOND_NS;

impl From<AdminError> for TargetError {
    fn from(error: AdminError) -> Self {
        Self(error.to_string())
    }
}

/// Finds the servers, authenticates, and creates or finds the database.
pub(super) async fn open(
    plan: &CouchPlan,
    opening: &Opening,
) -> Result<(CouchDb, ServerFacts), TargetError> {
    let (nodes, there) = enter_all(plan, opening).await?;
    let name = plan.database.name_or_new(opening);
    if let Some(spread) = plan.databases {
        return open_many(plan, opening, spread, nodes, there).await;
    }
    let mut there = there.into_iter();
    let (server, mut admin, welcome) = there.next().expect("one node is there");
    let path = format!("/{}", encode_segment(&name));
    let made = format!("{path}{}", plan.making.query());
    let created = match plan.database {
        _ if opening.as_it_is => false,
        DatabasePlan::New { .. } | DatabasePlan::Scratch { .. } => {
            make(&mut admin, &made, &name).await?;
            true
        }
        DatabasePlan::Kept { .. } => make_if_missing(&mut admin, &path, &made).await?,
        DatabasePlan::Existing { .. } => {
            find(&mut admin, opening, &server, &path, &name).await?;
            false
        }
    };
    for (other, mut look, _) in there.filter(|_| !opening.as_it_is) {
        if let Err(error) = find_soon(&mut look, &server, &other, &path, &name).await {
            // It was created a moment ago and is empty.
            if created {
                let _ = remove(&mut admin, &path).await;
            }
            return Err(error);
        }
    }
    let facts = ServerFacts {
        url: server,
        name: called(&welcome),
        version: welcome["version"].as_str().unwrap_or_default().to_owned(),
        same_machine: nodes.iter().any(|node| node.endpoint.is_loopback()),
        database: name.clone(),
        created,
        open_shards: None,
    };
    let own = words::prepared(&opening.operations)?;
    if !opening.as_it_is {
        let mut found = design::put(&mut admin, &path, &plan.designs, plan.builds()).await;
        if found.is_ok() {
            found = find_views(&mut admin, &path, &asked_views(&own, plan), &plan.designs).await;
        }
        if let (Ok(()), Some(filter)) = (&found, &opening.filter) {
            found = follower::find_filter(&mut admin, &path, filter).await;
        }
        if found.is_ok() {
            found = compaction::check(plan.compaction, &mut admin, &facts.name, &path).await;
        }
        if found.is_err() && created {
            // It was created a moment ago and is empty.
            let _ = remove(&mut admin, &path).await;
        }
        found?;
    }
    let target = target(plan, opening, nodes, Paths::one(&name));
    Ok((target.at(&facts.url).with_operations(own, plan), facts))
}

/// The same with many databases, which a stage will create.
async fn open_many(
    plan: &CouchPlan,
    opening: &Opening,
    spread: Spread,
    nodes: Vec<Node>,
    mut there: Vec<There>,
) -> Result<(CouchDb, ServerFacts), TargetError> {
    let name = plan.database.name_or_new(opening);
    let OpenedDatabases { paths, open_shards } =
        open_many::find(plan, opening, spread, &name, &mut there).await?;
    let (server, mut admin, welcome) = there.swap_remove(0);
    let facts = ServerFacts {
        url: server,
        name: called(&welcome),
        version: welcome["version"].as_str().unwrap_or_default().to_owned(),
        same_machine: nodes.iter().any(|node| node.endpoint.is_loopback()),
        database: name,
        created: plan.database.must_be_new() && !opening.as_it_is,
        open_shards,
    };
    if !opening.as_it_is {
        compaction::check(plan.compaction, &mut admin, &facts.name, &paths.first).await?;
    }
    let own = words::prepared(&opening.operations)?;
    Ok((target(plan, opening, nodes, paths).with_operations(own, plan), facts))
}

fn target(plan: &CouchPlan, opening: &Opening, nodes: Vec<Node>, paths: Paths) -> CouchDb {
    let removed = plan.database.is_removed() && !opening.as_it_is;
    CouchDb::on(nodes, paths)
        .with_pinned(plan.pin)
        .with_cached_updates(plan.cached_updates)
        .with_administration(opening.timeout_ns, removed)
}

/// The views used by operations and the audit, each with the flag that names it.
fn asked_views(own: &words::Operations, plan: &CouchPlan) -> Vec<(String, ViewName)> {
    let of_own = own.iter(Option::is_some).filter_map(|(kind, spelled)| {
        Some((crate::flag_of(kind.name()), spelled.as_ref()?.view.clone()?))
    });
    let audited = plan.audit_views.iter().map(|view| ("--audit-view".to_owned(), view.clone()));
    of_own.chain(audited).collect()
}

/// Looks for the views that will be used, so that a missing one is reported before the load.
async fn find_views(
    admin: &mut Admin,
    path: &str,
    asked: &[(String, ViewName)],
    designs: &[Design],
) -> Result<(), TargetError> {
    for (flag, ViewName { design, view }) in asked {
        let brought = designs.iter().find(|it| it.name() == design);
        if brought.is_some_and(|it| it.views().any(|name| name == view)) {
            continue;
        }
        let place = format!("{path}/_design/{}", encode_segment(design));
        let (status, body) = admin.request("GET", &place, None).await?;
        let views = body["views"].as_object();
        if status == 200 && views.is_some_and(|views| views.contains_key(view)) {
            continue;
        }
        let names: Vec<&str> = match brought {
            Some(brought) => brought.views().map(String::as_str).collect(),
            None => views.into_iter().flat_map(Map::keys).map(String::as_str).collect(),
        };
        let there = if status == 200 || brought.is_some() {
            format!("its views are: {}", names.join(", "))
        } else {
            let list = format!("{path}/{}", design::DESIGNS);
            let (_, listed) = admin.request("GET", &list, None).await?;
            let rows = listed["rows"].as_array().into_iter().flatten();
            let names: Vec<_> = rows.filter_map(|row| row["id"].as_str()).collect();
            match names[..] {
                [] => "the database has no design documents".to_owned(),
                _ => format!("there are: {}", names.join(", ")),
            }
        };
        return Err(TargetError(format!(
            "{flag}: there is no view {view:?} in _design/{design} of this database ({there}); \
             bring it along with --ddocs, or put it there first and give --use-existing"
        )));
    }
    Ok(())
}

/// Finds the servers and authenticates. Returns all nodes, and those that answer, at least one.
async fn enter_all(
    plan: &CouchPlan,
    opening: &Opening,
) -> Result<(Vec<Node>, Vec<There>), TargetError> {
    let all = plan.all(opening.stand_in.as_ref());
    let several = all.len() > 1;
    let (mut nodes, mut there, mut away) = (Vec::new(), Vec::new(), None);
    for (place, node) in all.into_iter().enumerate() {
        let (admin, welcome) = enter(plan, &node, opening, several).await?;
        let credentials = admin.credentials().clone();
        let known = Node::new(admin.endpoint().clone(), credentials, &plan.headers);
        let known = match opening.detour {
            Some(Detour { node, relay }) if node == place => known.through(relay),
            _ => known,
        };
        match welcome {
            Ok(welcome) => {
                nodes.push(known);
                there.push((node.server, admin, welcome));
            }
            Err(error) => {
                nodes.push(known.gone());
                away.get_or_insert(error);
            }
        }
    }
    match away.filter(|_| there.is_empty()) {
        Some(error) => Err(TargetError(format!("{error}; none of the other nodes answers either"))),
        None => Ok((nodes, there)),
    }
}

/// Finds a server and authenticates. Returns its administration and its welcome message. One of
/// `several` servers may be away.
pub(super) async fn enter(
    plan: &CouchPlan,
    node: &NodePlan,
    opening: &Opening,
    several: bool,
) -> Result<(Admin, Result<Value, AdminError>), TargetError> {
    let server = &node.server;
    let url = Url::parse(server).map_err(|error| TargetError(error.to_string()))?;
    let endpoint =
        Arc::new(Endpoint::resolve(&url, &plan.tls)?.with_max_answer(opening.max_answer));
    let bare = Node::new(endpoint.clone(), Credentials::None, &plan.headers);
    // With several nodes, there is no long wait for any of them.
    let patience_ns = if several { NODE_PATIENCE_NS } else { Nanos::MAX };
    let timeout_ns = opening.timeout_ns.min(patience_ns);
    let mut admin = Admin::new(&endpoint, plan.credentials(node), timeout_ns);
    admin = admin.with_lines(&bare.lines).counted_in(&opening.beside);
    let welcome = match admin.welcome().await {
        Ok(welcome) => welcome,
        Err(error @ AdminError::Unreachable { .. }) if several => return Ok((admin, Err(error))),
        Err(error) => return Err(admin.unless_tls(error).await.into()),
    };
    if !speaks_couchdb(&welcome) {
        return Err(TargetError(format!(
            "the server at {server} is not CouchDB (its welcome does not mention couchdb or \
             pouchdb); give a CouchDB server, or use springload http"
        )));
    }
    Ok((admin, Ok(welcome)))
}

/// Whether a server's welcome message is that of CouchDB or of a compatible database. On other
/// servers no database is created or deleted.
fn speaks_couchdb(welcome: &Value) -> bool {
    let names = |name: &String| name.contains("couchdb") || name.contains("pouchdb");
    welcome.as_object().is_some_and(|members| members.keys().any(names))
}

/// The server's name for itself: `couchdb`, `express-pouchdb`. springload's own servers say
/// `couchdb`, so that all clients accept them, and name themselves as the vendor.
fn called(welcome: &Value) -> String {
    let vendor = welcome["vendor"]["name"].as_str();
    let own = vendor.filter(|name| name.starts_with(OWN_SERVERS));
    let brand = || welcome.as_object().and_then(|members| members.keys().next());
    own.map(str::to_owned).or_else(|| brand().cloned()).unwrap_or_default()
}

impl Admin {
    /// Logs in and returns the server's welcome message.
    async fn welcome(&mut self) -> Result<Value, AdminError> {
        self.log_in().await?;
        Ok(self.expect(&[200], "GET", "/", None).await?.1)
    }
}

impl CouchDb {
    /// The administration of each node, on a separate connection; nodes that answered last time
    /// come first.
    pub(super) fn admins(&self) -> impl Iterator<Item = Admin> {
        let mut nodes: Vec<&Node> = self.nodes.iter().collect();
        nodes.sort_by_key(|node| node.is_gone());
        let timeout_ns = self.timeout_ns;
        nodes.into_iter().map(move |node| {
            let admin = Admin::new(&node.endpoint, node.credentials.clone(), timeout_ns);
            admin.with_lines(&node.lines)
        })
    }

    /// `/name` of the database, or of the first of many, percent-encoded.
    pub(super) fn database_path(&self) -> &str {
        &self.paths.first
    }

    /// A path that every node with the database answers. With many databases, none may exist yet.
    pub(super) fn path_of_all(&self) -> &str {
        if self.paths.many.is_some() { "/" } else { self.database_path() }
    }

    /// Removes the database if the plan says so. Returns whether it did.
    pub(super) async fn remove(&self) -> Result<bool, TargetError> {
        if let Some(many) = &self.paths.many {
            return self.remove_many(many).await;
        }
        let mut away = None;
        for mut admin in self.admins().filter(|_| self.removed) {
            match remove(&mut admin, self.database_path()).await {
                Err(error @ AdminError::Unreachable { .. }) => away = away.or(Some(error)),
                removed => return Ok(removed.map(|()| true)?),
            }
        }
        away.map_or(Ok(false), |error| Err(error.into()))
    }

    /// The server's information about the database, if it answers. An expired cookie is renewed.
    pub(super) async fn ask_size(&self) -> Option<Size> {
        if let Some(many) = &self.paths.many {
            return self.ask_sizes(many).await;
        }
        self.ask("").await.map(|answer| size(&answer))
    }

    /// Asks how many design documents the database has.
    pub(super) async fn ask_designs(&self) -> Option<u64> {
        let listed = self.ask(&format!("/{}", design::DESIGNS)).await?;
        Some(listed["rows"].as_array()?.len() as u64)
    }

    /// A node's information about the database, or about something below it.
    pub(super) async fn ask(&self, place: &str) -> Option<Value> {
        let path = format!("{}{place}", self.database_path());
        let (status, answer) = self.ask_at(&path).await?;
        (status == 200).then_some(answer)
    }

    /// The status and the answer of the first node that answers a `GET`.
    pub(super) async fn ask_at(&self, path: &str) -> Option<(u16, Value)> {
        for mut admin in self.admins() {
            let Ok(mut answer) = admin.request("GET", path, None).await else { continue };
            if answer.0 == 401 {
                admin.log_in().await.ok()?;
                answer = admin.request("GET", path, None).await.ok()?;
            }
            return Some(answer);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn own_servers_are_told_from_couchdb() {
        let of = |vendor: &str| {
            called(&json!({"couchdb": "Welcome", "version": "3.5.0", "vendor": {"name": vendor}}))
        };
        assert_eq!(of("The Apache Software Foundation"), "couchdb");
        assert_eq!(of("springload stand-in"), "springload stand-in");
        assert_eq!(of("springload null responder"), "springload null responder");
        assert_eq!(called(&json!({"couchdb": "Welcome", "vendor": "x"})), "couchdb");
        assert_eq!(called(&json!({"express-pouchdb": "Welcome!"})), "express-pouchdb");
        assert_eq!(called(&json!([])), "");
    }
}
