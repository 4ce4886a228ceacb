//! Creates, finds and removes a database on a node that answers. Does not know the plan of a run.

use super::{Admin, AdminError};
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::{Nouns, Opening, Size, TargetError};
use serde_json::Value;
use std::time::Duration;

/// How long a new database may take to appear on all nodes.
const SOON_NS: Nanos = 5 * SECOND_NS;

/// A node that answers: its address, its administration and its welcome message.
pub(super) type There = (String, Admin, Value);

/// Looks on another node for a database that exists on one. It may take a moment to appear there.
pub(super) async fn find_soon(
    admin: &mut Admin,
    server: &str,
    other: &str,
    path: &str,
    name: &str,
) -> Result<(), TargetError> {
    let until = Clock::system().now() + SOON_NS;
    loop {
        let (status, body) = admin.request("GET", path, None).await?;
        if status != 404 {
            admin.expect_reply((status, body), &[200], "GET", path)?;
            return Ok(());
        }
        if Clock::system().now() >= until {
            return Err(TargetError(format!(
                "database {name:?} is on {server}, but not on {other}: they are not nodes of one \
                 cluster; give nodes of one, or one server"
            )));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Creates a database that must not exist yet.
pub(super) async fn make(admin: &mut Admin, path: &str, name: &str) -> Result<(), TargetError> {
    let (status, body) = admin.request("PUT", path, None).await?;
    match status {
        201 | 202 => {}
        412 => {
            return Err(TargetError(format!(
                "database {name:?} exists already; add --use-existing to use it (it will not be \
                 deleted), or choose another"
            )));
        }
        400 => {
            let reason =
                body["reason"].as_str().unwrap_or("it is not a valid name").trim_end_matches('.');
            let problem = format!("the server refuses the database name {name:?}: {reason}");
            return Err(TargetError(format!("{problem}; choose another")));
        }
        _ => {
            admin.expect_reply((status, body), &[201], "PUT", path)?;
        }
    }
    Ok(())
}

/// Creates a database if it is missing; returns whether it did. Another client may create it first.
pub(super) async fn make_if_missing(
    admin: &mut Admin,
    path: &str,
    made: &str,
) -> Result<bool, TargetError> {
    let (status, body) = admin.request("GET", path, None).await?;
    if status != 404 {
        admin.expect_reply((status, body), &[200], "GET", path)?;
        return Ok(false);
    }
    let (status, body) = admin.request("PUT", made, None).await?;
    admin.expect_reply((status, body), &[201, 202, 412], "PUT", made)?;
    Ok(status != 412)
}

/// Looks for a database that must exist.
pub(super) async fn find(
    admin: &mut Admin,
    opening: &Opening,
    server: &str,
    path: &str,
    name: &str,
) -> Result<(), TargetError> {
    let (status, body) = admin.request("GET", path, None).await?;
    if status == 404 {
        let what = format!("database {name:?} on {server}");
        let cure = format!("create it first (curl -X PUT {server}{path})");
        return Err(opening.missing(&what, &cure, Nouns::DOCUMENTS));
    }
    admin.expect_reply((status, body), &[200], "GET", path)?;
    Ok(())
}

/// Removes a database. Retries if the server is busy for a moment, as it may be after heavy load.
pub(super) async fn remove(admin: &mut Admin, path: &str) -> Result<(), AdminError> {
    let mut pauses = [Duration::from_millis(200), Duration::from_secs(1)].into_iter();
    loop {
        let removed = match admin.log_in().await {
            Ok(()) => admin.expect(&[200, 202, 404], "DELETE", path, None).await.map(|_| ()),
            Err(error) => Err(error),
        };
        let busy = matches!(removed, Err(AdminError::Unexpected { status: 429 | 503, .. }));
        match pauses.next() {
            Some(pause) if busy => tokio::time::sleep(pause).await,
            _ => return removed,
        }
    }
}

/// Reads the sizes from the server's answer. Before CouchDB 2 they had other names.
pub(super) fn size(info: &Value) -> Size {
    let either = |new: &Value, old: &Value| new.as_u64().or_else(|| old.as_u64());
    let sizes = &info["sizes"];
    Size {
        at_s: 0.0,
        documents: info["doc_count"].as_u64(),
        file_bytes: either(&sizes["file"], &info["disk_size"]),
        active_bytes: either(&sizes["active"], &info["data_size"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sizes_by_their_names_of_all_times() {
        let of = |documents, file_bytes, active_bytes| Size {
            at_s: 0.0,
            documents: Some(documents),
            file_bytes,
            active_bytes,
        };
        let info = json!({"doc_count": 5, "sizes": {"file": 100, "active": 50, "external": 9}});
        assert_eq!(size(&info), of(5, Some(100), Some(50)));
        let info = json!({"doc_count": 5, "disk_size": 100, "data_size": 50});
        assert_eq!(size(&info), of(5, Some(100), Some(50)));
        assert_eq!(size(&json!({"doc_count": 7})), of(7, None, None));
    }
}
