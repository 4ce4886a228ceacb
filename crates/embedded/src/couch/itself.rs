//! What the stand-in reports about itself, in CouchDB's terms: its counts of requests and
//! documents, and nothing that it lacks, such as a disk.

use serde_json::{Map, Value, json};

use super::reply::{Refusal, Reply};
use super::stand_in::{SharedState, json_line};

/// `GET /_node/_local/_stats`
///
/// # Errors
/// Returns an error if there are several nodes, since these share their counters.
pub(crate) fn stats(shared: &SharedState) -> Result<Reply, Refusal> {
    if shared.quorum.is_some() {
        return Err(Refusal::NOT_SUPPORTED);
    }
    let counts = shared.tally.snapshot();
    let counter = |value: u64| json!({"value": value, "type": "counter", "desc": ""});
    let named = |all: Vec<(String, u64)>| -> Map<String, Value> {
        all.into_iter().map(|(name, count)| (name, counter(count))).collect()
    };
    let written = counts.documents_created
        + counts.documents_updated
        + counts.documents_deleted
        + counts.documents_bulk;
    let methods = named(shared.tally.methods());
    let requests = methods.values().filter_map(|it| it["value"].as_u64()).sum();
    Ok(json_line(
        200,
        &json!({"couchdb": {
            "httpd_request_methods": methods,
            "httpd_status_codes": named(shared.tally.statuses()),
            "httpd": {
                "requests": counter(requests),
                "bulk_requests": counter(counts.bulk_requests),
            },
            "document_writes": counter(written),
            "database_reads": counter(counts.documents_read + counts.documents_bulk_read),
        }}),
    ))
}

/// `GET /_node/_local/_system`
pub(crate) fn system(shared: &SharedState) -> Reply {
    json_line(200, &json!({"uptime": shared.up_s()}))
}

/// `GET /_node/_local/_config`
pub(crate) fn config() -> Reply {
    json_line(200, &json!({}))
}

/// `GET /_active_tasks`
pub(crate) fn tasks() -> Reply {
    json_line(200, &json!([]))
}
