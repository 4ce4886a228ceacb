//! The copies that the nodes of a cluster keep of each document, compared with each other after a
//! drill.

use super::is_default;
use serde::{Deserialize, Serialize};

/// What each copy of a database contains after a drill.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Copies {
    /// The nodes that have copies.
    pub nodes: Vec<NodeCopies>,
    /// For how long the copies were compared repeatedly, in seconds, until all were the same or
    /// springload stopped trying.
    pub looked_s: f64,
    /// The reason they could not be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What one node has in its own copies. Deleted documents count, too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeCopies {
    /// The cluster's name for the node.
    pub node: String,
    /// The number of documents that it has.
    pub documents: u64,
    /// The number of documents that another copy has and this one does not.
    #[serde(default, skip_serializing_if = "is_default")]
    pub missing: u64,
    /// The number of documents that it has in an older revision than another copy.
    #[serde(default, skip_serializing_if = "is_default")]
    pub older: u64,
    /// The reason these are not known: not all of its copies could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The status of the answer that was given in place of a copy, if that is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 100, max = 999)))]
    pub status: Option<u16>,
}

impl NodeCopies {
    /// Whether this user may not read its copies, so that trying again is of no use.
    pub const fn are_refused(&self) -> bool {
        matches!(self.status, Some(401 | 403))
    }
}

impl Copies {
    /// Whether any copy lacks what another one has.
    pub fn differ(&self) -> bool {
        self.nodes.iter().any(|it| it.missing > 0 || it.older > 0)
    }

    /// Whether all copies were read and have the same documents in the same revisions.
    pub fn are_alike(&self) -> bool {
        let whole = |it: &NodeCopies| it.problem.is_none();
        self.problem.is_none() && self.nodes.iter().all(whole) && !self.differ()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_refused_by_a_status_and_not_by_words() {
        let refused = |status: Option<u16>, words: &str| {
            let problem = Some(words.to_owned());
            NodeCopies { problem, status, ..NodeCopies::default() }.are_refused()
        };
        assert!(refused(Some(401), "no") && refused(Some(403), "You are not a server admin"));
        for (status, words) in [(Some(500), "status 403"), (Some(404), "no"), (None, "status 401")]
        {
            assert!(!refused(status, words), "{status:?} {words}");
        }
        assert!(!NodeCopies::default().are_refused());
    }

    #[test]
    fn copies_that_lack_something_differ() {
        let of = |missing, older| {
            let node = NodeCopies { missing, older, ..NodeCopies::default() };
            Copies { nodes: vec![NodeCopies::default(), node], ..Copies::default() }
        };
        for (missing, older) in [(1, 0), (0, 1)] {
            assert!(of(missing, older).differ() && !of(missing, older).are_alike());
        }
        assert!(!of(0, 0).differ() && of(0, 0).are_alike());
    }
}
