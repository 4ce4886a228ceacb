//! Before the first stage and after the last of a load on many databases: whether they can be
//! created or exist, their total size, and their removal.

use super::database::{There, find_soon, make, remove, size};
use super::many::{Many, Paths, Sum};
use super::plan::CouchPlan;
use super::{Admin, AdminError, CouchDb, encode_segment};
use crate::{OpenShards, Opening, Size, Spread, TargetError};
use serde_json::Value;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::LocalSet;

/// How many names of databases a message lists.
const MOST_NAMED: usize = 3;
/// How many databases CouchDB keeps open unless its configuration says otherwise.
const MAX_DBS_OPEN: u64 = 500;
/// How many databases are removed at once.
const AT_ONCE: usize = 8;
/// Pauses before retrying a removal that was refused because the server was busy.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(1)];

pub(super) struct OpenedDatabases {
    pub(super) paths: Paths,
    pub(super) open_shards: Option<OpenShards>,
}

/// Finds out whether the databases called `name` can be created, or all exist.
pub(super) async fn find(
    plan: &CouchPlan,
    opening: &Opening,
    spread: Spread,
    name: &str,
    there: &mut [There],
) -> Result<OpenedDatabases, TargetError> {
    let own_names = plan.database.name().is_none();
    let mut many = Many::new(name, spread, plan.making.query()).with_own_names(own_names);
    if opening.as_it_is {
        return Ok(OpenedDatabases { paths: Paths::of(many), open_shards: None });
    }
    many.one = if plan.database.must_be_new() {
        try_one(&many, there).await?
    } else {
        find_all(&many, opening, there).await?
    };
    let open_shards = open_shards(&mut there[0].1, &many).await;
    Ok(OpenedDatabases { paths: Paths::of(many), open_shards })
}

/// Creates and removes one extra database, so that a refusal by the server shows before anything is
/// measured. Returns the server's information about it.
async fn try_one(many: &Many, there: &mut [There]) -> Result<Value, TargetError> {
    let Some(((server, admin, _), others)) = there.split_first_mut() else {
        return Ok(Value::Null);
    };
    if !many.own_names {
        refuse_others(admin, many).await?;
    }
    let number = many.spread.count;
    let (name, path) = (many.name(number), many.path(number));
    make(admin, &many.made_by(number), &name).await?;
    let mut found = Ok(());
    for (other, look, _) in others {
        if found.is_ok() {
            found = find_soon(look, server, other, &path, &name).await;
        }
    }
    let reply = admin.request("GET", &path, None).await;
    // It was created a moment ago and is empty.
    remove(admin, &path).await?;
    found?;
    Ok(reply?.1)
}

/// Fails if some of the databases exist already.
async fn refuse_others(admin: &mut Admin, many: &Many) -> Result<(), TargetError> {
    let there = listed(admin, many).await?;
    if there.is_empty() {
        return Ok(());
    }
    Err(TargetError(format!(
        "{} exist already; add --use-existing to use them (they will not be deleted), or choose \
         another name",
        some(&there, many.spread.count)
    )))
}

/// The names of the databases that exist.
async fn listed(admin: &mut Admin, many: &Many) -> Result<Vec<String>, AdminError> {
    let quoted = |number: u32| encode_segment(&Value::from(many.name(number)).to_string());
    let (first, last) = (quoted(0), quoted(many.spread.count));
    let path = format!("/_all_dbs?startkey={first}&endkey={last}");
    let (_, names) = admin.expect(&[200], "GET", &path, None).await?;
    let names = names.as_array().into_iter().flatten().filter_map(Value::as_str);
    // Some servers list all databases that they have.
    Ok(names.filter(|name| many.number(name).is_some()).map(str::to_owned).collect())
}

/// Some of these databases, in words.
fn some(names: &[String], of: u32) -> String {
    let named: Vec<_> = names.iter().take(MOST_NAMED).map(|name| format!("{name:?}")).collect();
    let more = names.len().saturating_sub(MOST_NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("of {of} databases, {}{more}", named.join(", "))
}

/// Looks for databases that must all exist. Returns the server's information about the first.
async fn find_all(
    many: &Many,
    opening: &Opening,
    there: &mut [There],
) -> Result<Value, TargetError> {
    let Some(((server, admin, _), others)) = there.split_first_mut() else {
        return Ok(Value::Null);
    };
    let sum = match ask_all(admin, many).await? {
        Some(sum) => sum,
        // The user may not ask, or the server cannot answer.
        None => ask_each(admin, many).await?,
    };
    if !sum.missing.is_empty() {
        let so = if opening.acknowledged.is_some() {
            ": they are gone, and with them the run's documents in them; if another server has \
             them, give that as TARGET"
        } else {
            "; create them first, or leave out --use-existing"
        };
        let missing = some(&sum.missing, many.spread.count);
        return Err(TargetError(format!("{missing} do not exist on {server}{so}")));
    }
    for (other, look, _) in others {
        find_soon(look, server, other, &many.path(0), &many.name(0)).await?;
    }
    Ok(admin.request("GET", &many.path(0), None).await?.1)
}

/// Asks about all databases, a hundred at a time. `None` if the server does not tell.
async fn ask_all(admin: &mut Admin, many: &Many) -> Result<Option<Sum>, AdminError> {
    let mut sum = Sum::default();
    for page in 0..many.pages() {
        let (status, answer) = admin.request("POST", "/_dbs_info", Some(&many.page(page))).await?;
        if status != 200 || sum.add(&answer).is_none() {
            return Ok(None);
        }
    }
    Ok(Some(sum))
}

/// Asks about one database after the other.
async fn ask_each(admin: &mut Admin, many: &Many) -> Result<Sum, AdminError> {
    let mut sum = Sum::default();
    for number in 0..many.spread.count {
        let path = many.path(number);
        let (status, info) = admin.request("GET", &path, None).await?;
        if status == 404 {
            sum.missing.push(many.name(number));
            continue;
        }
        admin.expect_reply((status, Value::Null), &[200], "GET", &path)?;
        sum.add_one(&info);
    }
    Ok(sum)
}

/// How many shards of the databases each node will have, and how many it keeps open. `None` if the
/// server does not say.
async fn open_shards(admin: &mut Admin, many: &Many) -> Option<OpenShards> {
    let cluster = &many.one["cluster"];
    let (q, n) = (cluster["q"].as_u64()?, cluster["n"].as_u64()?);
    let limit = "/_node/_local/_config/couchdb/max_dbs_open";
    let limit = match admin.request("GET", limit, None).await.ok()? {
        (200, limit) => limit.as_str()?.parse().ok()?,
        (404, error) if error["reason"] == "unknown_config_value" => MAX_DBS_OPEN,
        _ => return None,
    };
    let (_, members) = admin.request("GET", "/_membership", None).await.ok()?;
    let nodes = members["cluster_nodes"].as_array().map_or(1, Vec::len).max(1);
    let all = u64::from(many.spread.count).saturating_mul(q).saturating_mul(n);
    Some(OpenShards { needed: all.div_ceil(nodes as u64), limit, q })
}

/// Removes databases, several at once. One that does not exist counts as removed.
///
/// # Errors
/// Returns the first failure; the others are removed nevertheless, if the server answers.
pub(super) async fn remove_each(admin: &Admin, names: Vec<String>) -> Result<(), AdminError> {
    let names = Rc::new(RefCell::new(names.into_iter()));
    let lanes = LocalSet::new();
    let lane = |_| lanes.spawn_local(drop_in_turn(admin.again(), names.clone()));
    let begun: Vec<_> = (0..AT_ONCE).map(lane).collect();
    lanes.await;
    let mut ended = Ok(());
    for lane in begun {
        // A task that panicked has removed nothing more.
        ended = ended.and(lane.await.unwrap_or(Ok(())));
    }
    ended
}

/// Removes the next of these databases until there are no more.
async fn drop_in_turn(
    mut admin: Admin,
    names: Rc<RefCell<std::vec::IntoIter<String>>>,
) -> Result<(), AdminError> {
    let mut ended = Ok(());
    loop {
        let next = names.borrow_mut().next();
        let Some(name) = next else { return ended };
        let path = format!("/{}", encode_segment(&name));
        ended = ended.and(drop_one(&mut admin, &path).await);
        if matches!(ended, Err(AdminError::Unreachable { .. })) {
            return ended;
        }
    }
}

async fn drop_one(admin: &mut Admin, path: &str) -> Result<(), AdminError> {
    let mut pauses = PAUSES.into_iter();
    loop {
        let mut reply = admin.request("DELETE", path, None).await?;
        if reply.0 == 401 {
            admin.log_in().await?;
            reply = admin.request("DELETE", path, None).await?;
        }
        match pauses.next() {
            Some(pause) if matches!(reply.0, 429 | 500 | 503) => tokio::time::sleep(pause).await,
            _ => return admin.expect_reply(reply, &[200, 202, 404], "DELETE", path).map(|_| ()),
        }
    }
}

impl CouchDb {
    /// Removes those of many databases that still exist. Returns whether the plan says so.
    pub(super) async fn remove_many(&self, many: &Many) -> Result<bool, TargetError> {
        if !self.removed {
            return Ok(false);
        }
        let mut away = None;
        for mut admin in self.admins() {
            admin.log_in().await?;
            let left = match listed(&mut admin, many).await {
                Err(error @ AdminError::Unreachable { .. }) => {
                    away = away.or(Some(error));
                    continue;
                }
                left => left?,
            };
            let is_own =
                |name: &String| many.number(name).is_some_and(|number| many.is_own(number.into()));
            remove_each(&admin, left.into_iter().filter(is_own).collect()).await?;
            return Ok(true);
        }
        away.map_or(Ok(false), |error| Err(error.into()))
    }

    /// The size of all databases together, if a server answers.
    pub(super) async fn ask_sizes(&self, many: &Many) -> Option<Size> {
        let sum = self.ask_sum(many).await.filter(|sum| sum.missing.is_empty())?;
        Some(size(&sum.info()))
    }

    /// The combined information about all databases, if a server answers.
    pub(super) async fn ask_sum(&self, many: &Many) -> Option<Sum> {
        for mut admin in self.admins() {
            let Ok(mut sum) = ask_all(&mut admin, many).await else { continue };
            // The log-in may have expired.
            if sum.is_none() && admin.log_in().await.is_ok() {
                sum = ask_all(&mut admin, many).await.ok()?;
            }
            return sum;
        }
        None
    }
}
