//! The server and database that were measured.

use crate::driver::{Nouns, OWN_SERVERS, OpenShards, ServerFacts};
use crate::op::plain;
use serde::{Deserialize, Serialize};

/// The server and database of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own, read by name")]
pub struct ServerRecord {
    /// The address, without credentials.
    pub url: String,
    /// The name that the server reports for itself, such as `couchdb`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether the server is the embedded stand-in, in this process.
    pub stand_in: bool,
    /// Whether the server runs on this machine.
    pub same_machine: bool,
    /// The database that was used.
    pub database: String,
    /// Whether springload created the database.
    pub created: bool,
    /// Whether springload deleted the database at the end.
    pub deleted: bool,
    /// The reason springload could not delete the database that it created, or properly close
    /// another one; absent if it could.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
    /// How many shards a node has and keeps open, with many databases; absent if the server does
    /// not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_shards: Option<OpenShards>,
}

impl ServerRecord {
    /// What is known about a server before the first stage.
    pub fn of(facts: ServerFacts, stand_in: bool) -> Self {
        let ServerFacts { url, name, version, same_machine, database, created, open_shards } =
            facts;
        // Servers may call themselves anything.
        let one_line = |text: String| text.chars().map(plain).collect::<String>();
        let [url, name, version, database] = [url, name, version, database].map(one_line);
        Self {
            url,
            name,
            version,
            stand_in,
            same_machine,
            database,
            created,
            open_shards,
            ..Self::default()
        }
    }

    /// Which of springload's own servers it is, such as `stand-in`; `None`: it is another server.
    pub fn own(&self) -> Option<&str> {
        let named = self.name.strip_prefix(OWN_SERVERS);
        named.or(self.stand_in.then_some("stand-in"))
    }

    /// What could not be done at the end of the run, in words.
    pub fn left_words(&self, nouns: Nouns) -> Option<String> {
        let (why, database) = (self.left.as_ref()?, &self.database);
        Some(if self.created {
            format!("{} {database} could not be removed: {why}", nouns.place)
        } else {
            why.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_tells_is_kept_in_one_line_each() {
        let open_shards = Some(OpenShards { needed: 9, limit: 5, q: 2 });
        let facts = ServerFacts {
            url: "http://a:1".to_owned(),
            name: "a\nserver".to_owned(),
            version: "1.2".to_owned(),
            same_machine: true,
            database: "things".to_owned(),
            created: true,
            open_shards,
        };
        let expected = ServerRecord {
            url: "http://a:1".to_owned(),
            name: "a server".to_owned(),
            version: "1.2".to_owned(),
            stand_in: true,
            same_machine: true,
            database: "things".to_owned(),
            created: true,
            deleted: false,
            left: None,
            open_shards,
        };
        assert_eq!(ServerRecord::of(facts, true), expected);
    }
}
