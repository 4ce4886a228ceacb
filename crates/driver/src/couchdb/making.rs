//! Options for creating a database: what follows `?` in a target.

use super::quorum::Quorum;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use url::Url;

/// How a database is created. Whatever is not set is left to the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Making {
    /// The number of shards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q: Option<NonZeroU32>,
    /// The number of copies of each document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<NonZeroU32>,
    /// Whether the database is partitioned: IDs begin with the name of a partition and a colon.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partitioned: bool,
}

impl Making {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Reads the parameters of a target; the error says which is wrong.
    pub(super) fn read(url: &Url) -> Result<Self, String> {
        let mut making = Self::default();
        for (name, value) in url.query_pairs().filter(|(name, _)| !Quorum::is_own(name)) {
            let count = || {
                value.parse().map_err(|_| format!("{name}={value}, which is not a number above 0,"))
            };
            match (&*name, &*value) {
                ("q", _) => making.q = Some(count()?),
                ("n", _) => making.n = Some(count()?),
                ("partitioned", "true" | "false") => making.partitioned = value == "true",
                ("partitioned", _) => {
                    return Err("partitioned that is neither true nor false".to_owned());
                }
                _ => {
                    return Err(format!("{name}, which is not one of its parameters,"));
                }
            }
        }
        Ok(making)
    }

    /// The reason why this database would refuse documents whose identifiers begin with `prefix`,
    /// if it would.
    pub(super) fn mistake(&self, prefix: &str) -> Option<&'static str> {
        let in_partition = prefix.find(':').is_some_and(|colon| colon > 0);
        (self.partitioned && !in_partition)
            .then_some("partitioned=true, but ids without a partition (--id partitions:N),")
    }

    /// The query of the request that creates the database, with its question mark; empty if the
    /// server decides everything.
    pub fn query(&self) -> String {
        let mut query = Vec::new();
        for (name, count) in [("q", self.q), ("n", self.n)] {
            if let Some(count) = count {
                query.push(format!("{name}={count}"));
            }
        }
        if self.partitioned {
            query.push("partitioned=true".to_owned());
        }
        if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) }
    }
}
