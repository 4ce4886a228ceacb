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
}

impl NodeCopies {
    /// Whether this user may not read its copies, so that trying again is of no use.
    pub fn are_refused(&self) -> bool {
        let refuses = |why: &String| why.starts_with("status 401") || why.starts_with("status 403");
        self.problem.as_ref().is_some_and(refuses)
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
