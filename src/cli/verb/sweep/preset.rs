//! The three sweeps of couchdb-performance-tests (2008), and its documents.

use crate::plan::SchemaSource;
use crate::sweep::Axis;
use clap::ValueEnum;

/// The documents of couchdb-performance-tests; its words come from lists of nine and of five.
const DOCUMENT: &str = include_str!("bulk-perf.xml");

/// The sweeps of couchdb-performance-tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Preset {
    /// 100,000 documents, 100 in a request, over 1, 2, 4, 8 and 16 connections
    Threads,
    /// 100,000 documents, 10, 100, 1000 and 10000 in a request, over one connection
    Batch,
    /// 4,000,000 documents, 1000 in a request, over one connection
    Size,
}

/// The settings of a preset.
pub(super) struct PresetSettings {
    pub(super) name: &'static str,
    pub(super) axis: Axis,
    /// Flags and values that apply unless the user gives others.
    pub(super) flags: Vec<(&'static str, String)>,
}

impl Preset {
    /// The settings for this share of the documents.
    pub(super) fn settings(self, scale: f64) -> PresetSettings {
        let (name, axis, values, documents, rest): (_, _, &[&str], f64, [(_, &str); 1]) = match self
        {
            Self::Threads => {
                ("threads", "connections", &["1", "2", "4", "8", "16"], 1e5, [("batch", "100")])
            }
            Self::Batch => {
                ("batch", "batch", &["10", "100", "1000", "10000"], 1e5, [("connections", "1")])
            }
            Self::Size => ("size", "batch", &["1000"], 4e6, [("connections", "1")]),
        };
        let values = values.iter().map(|&value| value.to_owned()).collect();
        let documents = ((documents * scale) as u64).max(1).to_string();
        let rest = rest.map(|(name, value)| (name, value.to_owned()));
        let flags = [("docs", documents)].into_iter().chain(rest).collect();
        PresetSettings { name, axis: Axis { name: axis.to_owned(), values }, flags }
    }
}

/// The documents of couchdb-performance-tests.
pub(in crate::cli) fn document() -> SchemaSource {
    let name = "couchdb-performance-tests".to_owned();
    SchemaSource::Text { name, text: DOCUMENT.to_owned() }
}
