//! Carries out the shell's commands on a database. Prints nothing.

use super::command::ShellCommand;
use crate::driver::couchdb::{Admin, AdminError, answer, encode_segment};
use crate::op::Failure;
use crate::report::ycsb::return_code;
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// The fields of a record and their values.
pub(super) type Record = Vec<(String, String)>;

/// The result of a command: a return code and records.
pub(super) struct Answer {
    pub(super) code: &'static str,
    pub(super) records: Vec<Record>,
}

impl Answer {
    pub(super) const OK: &str = "OK";

    const fn ok() -> Self {
        Self { code: Self::OK, records: Vec::new() }
    }

    const fn failed(failure: Failure) -> Self {
        Self { code: return_code(failure), records: Vec::new() }
    }
}

/// One server, or none.
pub(super) enum Store {
    /// No server: prints what would be done.
    Basic,
    /// CouchDB.
    Couch(Box<Admin>),
}

impl Store {
    /// Carries out a command on records of `table`; `Basic` prints to `out`.
    ///
    /// # Errors
    /// When the server does not answer.
    pub(super) async fn execute(
        &mut self,
        table: &str,
        command: &ShellCommand,
        out: &mut String,
    ) -> std::result::Result<Answer, AdminError> {
        match self {
            Self::Basic => {
                basic(table, command, out);
                Ok(Answer::ok())
            }
            Self::Couch(admin) => couch(admin, &encode_segment(table), command).await,
        }
    }
}

/// The lines of YCSB's `BasicDB`.
fn basic(table: &str, command: &ShellCommand, out: &mut String) {
    let all = |fields: &[String]| match fields {
        [] => "<all fields>".to_owned(),
        fields => fields.join(" ") + " ",
    };
    let pairs = |values: &Record| -> String {
        let pairs: Vec<_> = values.iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs.join(" ") + " "
    };
    let _ = match command {
        ShellCommand::Read { key, fields } => {
            writeln!(out, "READ {table} {key} [ {}]", all(fields))
        }
        ShellCommand::Scan { key, count, fields } => {
            writeln!(out, "SCAN {table} {key} {count} [ {}]", all(fields))
        }
        ShellCommand::Insert { key, values } => {
            writeln!(out, "INSERT {table} {key} [ {}]", pairs(values))
        }
        ShellCommand::Update { key, values } => {
            writeln!(out, "UPDATE {table} {key} [ {}]", pairs(values))
        }
        ShellCommand::Delete { key } => writeln!(out, "DELETE {table} {key}"),
        ShellCommand::Table { .. } | ShellCommand::Help | ShellCommand::Quit => Ok(()),
    };
}

async fn couch(
    admin: &mut Admin,
    table: &str,
    command: &ShellCommand,
) -> std::result::Result<Answer, AdminError> {
    let path = |key: &str| format!("/{table}/{}", encode_segment(key));
    match command {
        ShellCommand::Read { key, fields } => Ok(match get(admin, &path(key)).await? {
            Ok(stored) => Answer { records: vec![record(stored, fields)], ..Answer::ok() },
            Err(failure) => Answer::failed(failure),
        }),
        ShellCommand::Scan { key, count, fields } => {
            let start = encode_segment(&Value::from(key.as_str()).to_string());
            let path =
                format!("/{table}/_all_docs?include_docs=true&limit={count}&startkey={start}");
            Ok(match get(admin, &path).await? {
                Ok(mut listing) => {
                    let rows = listing.remove("rows").unwrap_or_default();
                    let rows = rows.as_array().cloned().unwrap_or_default();
                    let documents =
                        rows.into_iter().filter_map(|mut row| match row["doc"].take() {
                            Value::Object(document) => Some(record(document, fields)),
                            _ => None,
                        });
                    Answer { records: documents.collect(), ..Answer::ok() }
                }
                Err(failure) => Answer::failed(failure),
            })
        }
        ShellCommand::Insert { key, values } => {
            let document = merged(Map::new(), values);
            let result = put(admin, &path(key), &document).await?;
            if result.code != return_code(Failure::NotFound) {
                return Ok(result);
            }
            // The first insert creates the table.
            let made = admin.request("PUT", &format!("/{table}"), None).await?;
            match of_reply(made) {
                Ok(_) => put(admin, &path(key), &document).await,
                Err(failure) => Ok(Answer::failed(failure)),
            }
        }
        ShellCommand::Update { key, values } => match get(admin, &path(key)).await? {
            Ok(stored) => put(admin, &path(key), &merged(stored, values)).await,
            Err(failure) => Ok(Answer::failed(failure)),
        },
        ShellCommand::Delete { key } => {
            let stored = match get(admin, &path(key)).await? {
                Ok(stored) => stored,
                Err(failure) => return Ok(Answer::failed(failure)),
            };
            let revision = stored.get("_rev").and_then(Value::as_str).unwrap_or_default();
            let path = format!("{}?rev={revision}", path(key));
            let reply = of_reply(admin.request("DELETE", &path, None).await?);
            Ok(reply.map_or_else(Answer::failed, |_| Answer::ok()))
        }
        ShellCommand::Table { .. } | ShellCommand::Help | ShellCommand::Quit => Ok(Answer::ok()),
    }
}

/// A document, or a listing of them.
async fn get(
    admin: &mut Admin,
    path: &str,
) -> std::result::Result<std::result::Result<Map<String, Value>, Failure>, AdminError> {
    let reply = admin.request("GET", path, None).await?;
    Ok(of_reply(reply).and_then(|value| match value {
        Value::Object(members) => Ok(members),
        _ => Err(Failure::Protocol),
    }))
}

async fn put(
    admin: &mut Admin,
    path: &str,
    document: &Map<String, Value>,
) -> std::result::Result<Answer, AdminError> {
    let body = serde_json::to_vec(document).unwrap_or_default();
    let reply = of_reply(admin.request("PUT", path, Some(&body)).await?);
    Ok(reply.map_or_else(Answer::failed, |_| Answer::ok()))
}

fn of_reply((status, value): (u16, Value)) -> std::result::Result<Value, Failure> {
    if (200..300).contains(&status) {
        return Ok(value);
    }
    Err(answer::failure(status, value.to_string().as_bytes()))
}

/// A stored document with new values.
fn merged(mut stored: Map<String, Value>, values: &Record) -> Map<String, Value> {
    for (name, value) in values {
        stored.insert(name.clone(), Value::from(value.as_str()));
    }
    stored
}

/// The fields of a stored document: all, or those asked for. Strings are shown without quotes.
fn record(stored: Map<String, Value>, fields: &[String]) -> Record {
    let wanted = |name: &String| {
        if fields.is_empty() { !name.starts_with('_') } else { fields.contains(name) }
    };
    let text = |value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    let members = stored.into_iter().filter(|(name, _)| wanted(name));
    members.map(|(name, value)| (name, text(value))).collect()
}
