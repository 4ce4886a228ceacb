//! The copies that the nodes of a cluster keep of each document, compared with each other after a
//! drill.

use super::is_default;
use serde::{Deserialize, Serialize};

/// What the single copies of a database have, once a drill is over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Copies {
    /// Each node that has copies.
    pub nodes: Vec<NodeCopies>,
    /// How long they were looked at again until all were alike, or that was given up, in seconds.
    pub looked_s: f64,
    /// Why they were not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What one node has in its own copies. Deleted documents count, too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeCopies {
    /// What the cluster calls the node.
    pub node: String,
    /// Documents that are there.
    pub documents: u64,
    /// Documents that another copy has and this one does not.
    #[serde(default, skip_serializing_if = "is_default")]
    pub missing: u64,
    /// Documents that are there in an older revision than in another copy.
    #[serde(default, skip_serializing_if = "is_default")]
    pub older: u64,
    /// Why that is not known: not all of its copies could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
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
