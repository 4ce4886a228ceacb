//! Parses a request's path, and knows the methods that each resource supports.

use std::borrow::Cow;

use hyper::Method;
use percent_encoding::percent_decode_str;

/// What a path names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Root,
    Up,
    Uuids,
    AllDbs,
    DbsInfo,
    Session,
    /// `/_springload/counters`, the stand-in's own
    Counters,
    /// `/_node/_local/_stats`
    Stats,
    /// `/_node/_local/_system`
    System,
    /// `/_node/_local/_config`
    Config,
    Tasks,
    /// Something in a database, or the database itself
    In(String, Within),
}

/// What a path names in a database.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Within {
    Itself,
    BulkDocs,
    BulkGet,
    AllDocs,
    Changes,
    /// `_ensure_full_commit`
    FullCommit,
    Compact,
    Document(String),
    /// Anything the stand-in does not support: attachments, views and more
    Unknown,
}

impl Place {
    pub(crate) fn parse(path: &str) -> Self {
        let path = path.trim_start_matches('/');
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        match (first, rest) {
            ("", _) => Self::Root,
            ("_up", "") => Self::Up,
            ("_uuids", "") => Self::Uuids,
            ("_all_dbs", "") => Self::AllDbs,
            ("_dbs_info", "") => Self::DbsInfo,
            ("_session", "") => Self::Session,
            ("_springload", "counters") => Self::Counters,
            ("_node", "_local/_stats") => Self::Stats,
            ("_node", "_local/_system") => Self::System,
            ("_node", "_local/_config") => Self::Config,
            ("_active_tasks", "") => Self::Tasks,
            _ => Self::In(decode(first).into_owned(), Within::parse(rest)),
        }
    }

    /// The status of the answer to a write that was carried out, but not by a quorum of nodes. For
    /// any other request, returns `status`.
    pub(crate) fn accepted(&self, method: &Method, status: u16) -> u16 {
        let Self::In(_, within) = self else { return status };
        let writes = match within {
            Within::BulkDocs => true,
            Within::Itself | Within::Document(_) => {
                *method != Method::GET && *method != Method::HEAD
            }
            _ => false,
        };
        if writes && matches!(status, 200 | 201) { 202 } else { status }
    }

    /// Whether it is about the server itself: such requests are sent alongside a load, and are not
    /// part of it.
    pub(crate) const fn is_about_itself(&self) -> bool {
        matches!(self, Self::Counters | Self::Stats | Self::System | Self::Config | Self::Tasks)
    }

    /// The methods it supports, separated by commas.
    pub(crate) fn methods(&self) -> &'static str {
        match self {
            Self::Session => "GET,HEAD,POST,DELETE",
            Self::DbsInfo => "POST",
            Self::In(_, within) => match within {
                Within::Itself => "GET,HEAD,POST,PUT,DELETE",
                Within::BulkDocs | Within::BulkGet | Within::FullCommit | Within::Compact => "POST",
                Within::AllDocs | Within::Changes => "GET,HEAD,POST",
                Within::Document(_) => "GET,HEAD,PUT,DELETE",
                Within::Unknown => "",
            },
            _ => "GET,HEAD",
        }
    }
}

impl Within {
    fn parse(rest: &str) -> Self {
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (first, more) = rest.split_once('/').unwrap_or((rest, ""));
        match (first, more) {
            ("", _) => Self::Itself,
            ("_bulk_docs", "") => Self::BulkDocs,
            ("_bulk_get", "") => Self::BulkGet,
            ("_all_docs", "") => Self::AllDocs,
            ("_changes", "") => Self::Changes,
            ("_ensure_full_commit", "") => Self::FullCommit,
            ("_compact", "") => Self::Compact,
            ("_find" | "_index" | "_explain", _) => Self::Unknown,
            ("_design" | "_local", id) if !id.is_empty() && !id.contains('/') => {
                Self::Document(format!("{first}/{}", decode(id)))
            }
            (id, "") => Self::Document(decode(id).into_owned()),
            _ => Self::Unknown,
        }
    }
}

fn decode(segment: &str) -> Cow<'_, str> {
    percent_decode_str(segment).decode_utf8_lossy()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(database: &str, id: &str) -> Place {
        Place::In(database.to_owned(), Within::Document(id.to_owned()))
    }

    #[test]
    fn paths_are_decoded_by_segment() {
        assert_eq!(Place::parse("/"), Place::Root);
        assert_eq!(Place::parse("/db"), Place::In("db".to_owned(), Within::Itself));
        assert_eq!(Place::parse("/db/"), Place::In("db".to_owned(), Within::Itself));
        assert_eq!(Place::parse("/a%2Fb/c%2Fd%20e"), document("a/b", "c/d e"));
        assert_eq!(Place::parse("/db/_design/x"), document("db", "_design/x"));
        assert_eq!(Place::parse("/db/_design%2Fx"), document("db", "_design/x"));
        assert_eq!(Place::parse("/db/_local/%C3%BC"), document("db", "_local/ü"));
        assert_eq!(Place::parse("/db/id/file"), Place::In("db".to_owned(), Within::Unknown));
        assert_eq!(Place::parse("/db/_all_docs"), Place::In("db".to_owned(), Within::AllDocs));
    }
}
