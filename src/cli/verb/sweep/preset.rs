//! The three sweeps of couchdb-performance-tests (2008), and its documents.

use crate::plan::SchemaSource;

/// The documents of couchdb-performance-tests; their words come from lists of nine and of five.
const DOCUMENT: &str = include_str!("bulk-perf.xml");

/// A sweep of couchdb-performance-tests: its defaults, which flags override.
#[derive(Clone, Copy, Debug)]
pub(super) struct Preset {
    pub(super) name: &'static str,
    pub(super) axis: &'static str,
    pub(super) values: &'static [&'static str],
    pub(super) documents: f64,
    /// A flag, and its value.
    pub(super) flag: (&'static str, &'static str),
}

pub(super) const PRESETS: [(&str, &str, Preset); 3] = [
    (
        "threads",
        "100,000 documents, 100 in a request, over 1, 2, 4, 8 and 16 connections",
        Preset {
            name: "threads",
            axis: "connections",
            values: &["1", "2", "4", "8", "16"],
            documents: 1e5,
            flag: ("batch", "100"),
        },
    ),
    (
        "batch",
        "100,000 documents, 10, 100, 1000 and 10000 in a request, over one connection",
        Preset {
            name: "batch",
            axis: "batch",
            values: &["10", "100", "1000", "10000"],
            documents: 1e5,
            flag: ("connections", "1"),
        },
    ),
    (
        "size",
        "4,000,000 documents, 1000 in a request, over one connection",
        Preset {
            name: "size",
            axis: "batch",
            values: &["1000"],
            documents: 4e6,
            flag: ("connections", "1"),
        },
    ),
];

/// The documents of couchdb-performance-tests.
pub(in crate::cli) fn document() -> SchemaSource {
    let name = "couchdb-performance-tests".to_owned();
    SchemaSource::Text { name, text: DOCUMENT.to_owned() }
}
