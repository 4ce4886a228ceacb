//! The state of the whole server, and the answers that are not about a single document.

use std::collections::BTreeMap;
use std::hash::RandomState;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{HeaderMap, Method};
use serde::Deserialize;
use serde_json::json;

use super::auth::{Auth, Identity, random_hex};
use super::json::{write_number, write_string};
use super::query::Query;
use super::reply::{Refusal, Reply};
use super::store::Database;
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::counters::{Tally, count};
use crate::lies::Liar;
use crate::nodes::Quorum;
use crate::turnstile::Gate;

const API_VERSION: &str = "3.5.0";
/// The most databases that one request may ask about.
const MOST_NAMES: usize = 100;

/// The state shared by all serving threads.
#[derive(Debug)]
pub(crate) struct SharedState {
    pub(crate) tally: Tally,
    pub(crate) auth: Auth,
    databases: RwLock<BTreeMap<String, Arc<Database>>>,
    gate: Arc<Gate>,
    /// How many nodes are up, if there are several.
    pub(crate) quorum: Option<Arc<Quorum>>,
    secret: RandomState,
    uuids: AtomicU64,
    began: Nanos,
}

/// One complete request.
pub(crate) struct Call<'a> {
    pub(crate) shared: &'a SharedState,
    pub(crate) method: &'a Method,
    /// The path as sent.
    pub(crate) path: &'a str,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) query: &'a Query,
    pub(crate) body: &'a [u8],
    pub(crate) identity: &'a Identity,
    pub(crate) peer: IpAddr,
}

impl Call<'_> {
    /// An absolute URL, as in CouchDB's `Location`.
    pub(crate) fn url(&self, path: &str) -> String {
        let host = self.headers.get(HOST).and_then(|host| host.to_str().ok());
        format!("http://{}{path}", host.unwrap_or("localhost"))
    }

    /// Whether this is a `GET` or a `HEAD`.
    pub(crate) fn reads(&self) -> bool {
        self.method == Method::GET || self.method == Method::HEAD
    }
}

impl SharedState {
    /// A server without databases, protected by [`Auth::new`].
    pub(crate) fn new(admin: Option<(String, String)>, session_ns: Nanos, gate: Arc<Gate>) -> Self {
        Self {
            gate,
            quorum: None,
            tally: Tally::default(),
            auth: Auth::new(admin, session_ns),
            databases: RwLock::default(),
            secret: RandomState::new(),
            uuids: AtomicU64::new(0),
            began: Clock::system().now(),
        }
    }

    /// The database with this name.
    ///
    /// # Errors
    /// Returns an error if there is none.
    pub(crate) fn database(&self, name: &str) -> Result<Arc<Database>, Refusal> {
        let databases = self.databases.read().unwrap_or_else(PoisonError::into_inner);
        databases.get(name).cloned().ok_or(Refusal::NO_DATABASE)
    }

    /// How long the server has been up, in whole seconds.
    pub(super) fn up_s(&self) -> u64 {
        Clock::system().now().saturating_sub(self.began) / SECOND_NS
    }

    /// The liar that decides on lies about a new database.
    fn liar(&self) -> Option<Liar> {
        self.gate.faults().lie().then(|| Liar::new(Arc::clone(&self.gate)))
    }

    /// A new id: 26 digits for this server and 6 that count up, as in CouchDB's sequential
    /// algorithm.
    pub(crate) fn uuid(&self) -> String {
        let number = self.uuids.fetch_add(1, Ordering::Relaxed);
        let prefix = random_hex(&self.secret, number >> 24);
        format!("{}{:06x}", &prefix[..26], number & 0xff_ffff)
    }
}

/// `GET /`
pub(crate) fn welcome() -> Reply {
    json_line(
        200,
        &json!({
            "couchdb": "Welcome",
            "version": API_VERSION,
            "git_sha": "springload",
            "uuid": "00000000000000000000000000000000",
            "features": [],
            "vendor": {"name": "springload stand-in", "version": env!("CARGO_PKG_VERSION")},
        }),
    )
}

pub(crate) fn up() -> Reply {
    json_line(200, &json!({"status": "ok", "seeds": {}}))
}

pub(crate) fn counters(shared: &SharedState) -> Reply {
    json_line(200, &shared.gate.counters(&shared.tally))
}

pub(crate) fn uuids(call: &Call<'_>) -> Result<Reply, Refusal> {
    let number = call.query.number("count").map_err(|_| Refusal::BAD_COUNT)?.unwrap_or(1);
    if number > 1000 {
        return Err(Refusal::COUNT_TOO_LARGE);
    }
    let uuids: Vec<String> = (0..number).map(|_| call.shared.uuid()).collect();
    Ok(json_line(200, &json!({ "uuids": uuids })))
}

pub(crate) fn all_dbs(shared: &SharedState) -> Reply {
    let databases = shared.databases.read().unwrap_or_else(PoisonError::into_inner);
    json_line(200, &json!(databases.keys().collect::<Vec<_>>()))
}

/// `PUT /db`
pub(crate) fn create(call: &Call<'_>, name: &str) -> Result<Reply, Refusal> {
    if !legal(name) {
        return Err(Refusal::ILLEGAL_NAME);
    }
    let mut databases = call.shared.databases.write().unwrap_or_else(PoisonError::into_inner);
    if databases.contains_key(name) {
        return Err(Refusal::FILE_EXISTS);
    }
    databases.insert(name.to_owned(), Arc::new(Database::new(call.shared.liar())));
    count(&call.shared.tally.databases_created);
    Ok(Reply::json(201, "{\"ok\":true}\n").location(call.url(call.path)))
}

/// `DELETE /db`
pub(crate) fn delete(call: &Call<'_>, name: &str) -> Result<Reply, Refusal> {
    let mut databases = call.shared.databases.write().unwrap_or_else(PoisonError::into_inner);
    let database = databases.remove(name).ok_or(Refusal::NO_DATABASE)?;
    drop(databases);
    database.retire();
    count(&call.shared.tally.databases_deleted);
    Ok(Reply::json(200, "{\"ok\":true}\n"))
}

/// The databases that a request asks about.
#[derive(Deserialize)]
struct Keys {
    keys: Vec<String>,
}

/// `POST /_dbs_info`
///
/// # Errors
/// Returns an error if it does not ask about one to a hundred databases.
pub(crate) fn dbs_info(call: &Call<'_>) -> Result<Reply, Refusal> {
    let Keys { keys } =
        serde_json::from_slice(call.body).map_err(|_| Refusal::NO_DATABASE_NAMES)?;
    if keys.len() > MOST_NAMES {
        return Err(Refusal::TOO_MANY_NAMES);
    }
    let mut body = b"[".to_vec();
    for (place, name) in keys.iter().enumerate() {
        body.extend_from_slice(if place == 0 { b"{\"key\":" } else { b",\n{\"key\":" });
        write_string(name, &mut body);
        match call.shared.database(name) {
            Ok(database) => {
                body.extend_from_slice(b",\"info\":");
                write_info(name, &database, &mut body);
            }
            Err(_) => body.extend_from_slice(b",\"error\":\"not_found\""),
        }
        body.push(b'}');
    }
    body.extend_from_slice(b"]\n");
    Ok(Reply::json(200, body))
}

/// `GET /db`
pub(crate) fn info(name: &str, database: &Database) -> Reply {
    let mut body = Vec::new();
    write_info(name, database, &mut body);
    body.push(b'\n');
    Reply::json(200, body)
}

fn write_info(name: &str, database: &Database, body: &mut Vec<u8>) {
    let state = database.lock();
    body.extend_from_slice(b"{\"instance_start_time\":\"0\",\"db_name\":");
    write_string(name, body);
    body.extend_from_slice(b",\"purge_seq\":\"0-standin\",\"update_seq\":\"");
    write_number(state.seq(), body);
    body.extend_from_slice(b"-standin\",\"sizes\":{\"file\":");
    write_number(state.bytes(), body);
    body.extend_from_slice(b",\"external\":");
    write_number(state.bytes(), body);
    body.extend_from_slice(b",\"active\":");
    write_number(state.bytes(), body);
    body.extend_from_slice(b"},\"props\":{},\"doc_del_count\":");
    write_number(state.dead(), body);
    body.extend_from_slice(b",\"doc_count\":");
    write_number(state.live(), body);
    body.extend_from_slice(b",\"disk_format_version\":8,\"compact_running\":false,\"cluster\":");
    body.extend_from_slice(b"{\"q\":1,\"n\":1,\"w\":1,\"r\":1}}");
}

#[derive(Deserialize)]
struct LogIn {
    #[serde(alias = "username", default)]
    name: String,
    #[serde(default)]
    password: String,
}

pub(crate) fn session(call: &Call<'_>) -> Result<Reply, Refusal> {
    if call.reads() {
        return Ok(who(call.identity));
    }
    if call.method == Method::DELETE {
        let cookie = "AuthSession=; Version=1; Path=/; HttpOnly".to_owned();
        return Ok(Reply::json(200, "{\"ok\":true}\n").cookie(cookie));
    }
    let log_in = read_log_in(call)?;
    let token = call.shared.auth.log_in(&log_in.name, &log_in.password, call.peer)?;
    let reply = json_line(200, &json!({"ok": true, "name": log_in.name, "roles": ["_admin"]}));
    Ok(reply.cookie(call.shared.auth.set_cookie(&token)))
}

fn who(identity: &Identity) -> Reply {
    let roles: &[&str] = if identity.admin { &["_admin"] } else { &[] };
    let mut info = json!({"authentication_handlers": ["cookie", "default"]});
    if let Some(proof) = identity.proof {
        info["authenticated"] = json!(proof);
    }
    let context = json!({"name": identity.name, "roles": roles});
    json_line(200, &json!({"ok": true, "userCtx": context, "info": info}))
}

fn read_log_in(call: &Call<'_>) -> Result<LogIn, Refusal> {
    if is_json(call.headers) {
        return serde_json::from_slice(call.body).map_err(|_| Refusal::INVALID_JSON);
    }
    let form = Query::parse(std::str::from_utf8(call.body).ok());
    let get = |name| form.get(name).map(str::to_owned);
    let name = get("name").or_else(|| get("username")).unwrap_or_default();
    Ok(LogIn { name, password: get("password").unwrap_or_default() })
}

/// Whether the request declares its body to be JSON.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = value.and_then(|value| value.split(';').next()).unwrap_or("").trim();
    kind.eq_ignore_ascii_case("application/json")
}

fn legal(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_lowercase())
        && bytes.all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_$()+/-".contains(&byte)
        })
}

pub(super) fn json_line(status: u16, value: &serde_json::Value) -> Reply {
    Reply::json(status, format!("{value}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Faults;

    #[test]
    fn names_follow_couchdb() {
        for good in ["a", "db-1", "a/b", "a_$()+-/9"] {
            assert!(legal(good), "{good}");
        }
        for bad in ["", "A", "1a", "_a", "aB", "a b", "a.b", "ü"] {
            assert!(!legal(bad), "{bad}");
        }
    }

    #[test]
    fn uuids_count_up() {
        let shared = SharedState::new(
            None,
            0,
            Arc::new(Gate::new(Faults::default(), std::time::Duration::MAX, None)),
        );
        let (first, second) = (shared.uuid(), shared.uuid());
        assert_eq!((first.len(), &first[..26]), (32, &second[..26]));
        assert!(first < second);
    }
}
