//! Which leaf of a document with conflicts is the winner: the one that `GET` returns.

use super::revision::Revision;
use serde::Deserialize;
use std::borrow::Cow;

/// The place of a leaf in CouchDB's order, where the winner is the greatest: a leaf that is not
/// deleted comes after all that are, then the generation counts, then the hash
/// (`couch_doc:to_doc_info_path`).
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LeafRank {
    is_there: bool,
    generation: u64,
    hash: Vec<u8>,
}

#[derive(Deserialize)]
struct LeafHead<'a> {
    #[serde(borrow, rename = "_rev")]
    rev: Cow<'a, str>,
    #[serde(rename = "_deleted", default)]
    deleted: bool,
}

/// The rank of the leaf with this text. `None` if it has no revision.
pub(super) fn rank(text: &str) -> Option<LeafRank> {
    let LeafHead { rev, deleted } = serde_json::from_str(text).ok()?;
    let (generation, hash) = rev.split_once('-')?;
    // CouchDB compares 32 hexadecimal digits as 16 bytes, and any other hash as it is written.
    let hash = Revision::parse(rev.as_bytes())
        .map_or_else(|| hash.as_bytes().to_vec(), |revision| revision.hash.to_vec());
    Some(LeafRank { is_there: !deleted, generation: generation.parse().ok()?, hash })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_are_ordered_as_couchdb_orders_them() {
        let of = |rev: &str, more: &str| rank(&format!(r#"{{"_id":"a","_rev":"{rev}"{more}}}"#));
        let gone = r#","_deleted":true"#;
        let (low, high) = ("0a".repeat(16), "b0".repeat(16));
        let ascending = [
            of(&format!("2-{high}"), gone),
            of(&format!("12-{low}"), gone),
            of(&format!("1-{high}"), r#","_deleted":false"#),
            of(&format!("9-{low}"), ""),
            // As a text that others wrote: `x` is 0x78.
            of("9-x", ""),
            of(&format!("9-{high}"), ""),
            of(&format!("10-{low}"), r#","x":"_deleted""#),
        ];
        assert!(ascending.iter().all(Option::is_some), "{ascending:?}");
        assert!(ascending.is_sorted_by(|a, b| a < b), "{ascending:?}");
        for none in [r#"{"_id":"a"}"#, r#"{"_rev":"1"}"#, r#"{"_rev":"x-1"}"#, "[]", ""] {
            assert_eq!(rank(none), None, "{none}");
        }
    }
}
