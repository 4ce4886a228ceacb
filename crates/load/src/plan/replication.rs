//! Replication beside the load: which databases take part, and which replicates to which.

use crate::clock::Nanos;
use crate::driver::TargetPlan;
use serde::{Deserialize, Serialize};

/// Which database replicates to which.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Topology {
    /// From the first to each of the others.
    #[default]
    FanOut,
    /// From each of the others to the last.
    FanIn,
    /// From each to the next.
    Chain,
    /// From each to every other.
    Mesh,
}

/// A replication between two databases, by their positions from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The source.
    pub source: usize,
    /// The target.
    pub target: usize,
}

impl Topology {
    /// The name used in flags and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FanOut => "fan-out",
            Self::FanIn => "fan-in",
            Self::Chain => "chain",
            Self::Mesh => "mesh",
        }
    }

    /// The replications between `places` databases.
    pub fn links(self, places: usize) -> Vec<Link> {
        let link = |source, target| Link { source, target };
        match self {
            Self::FanOut => (1..places).map(|target| link(0, target)).collect(),
            Self::FanIn => (1..places).map(|next| link(next - 1, places - 1)).collect(),
            Self::Chain => (1..places).map(|target| link(target - 1, target)).collect(),
            Self::Mesh => {
                let each = (0..places).flat_map(|a| (0..places).map(move |b| link(a, b)));
                each.filter(|it| it.source != it.target).collect()
            }
        }
    }
}

/// Replication as requested.
#[derive(Clone, Debug)]
pub struct ReplicateSpec {
    /// The addresses of the databases other than the first.
    pub others: Vec<String>,
    /// Which database replicates to which.
    pub topology: Topology,
    /// Whether the source's server runs each replication, rather than the target's.
    pub push: bool,
    /// The interval between marker documents, in nanoseconds.
    pub marker_every_ns: Nanos,
    /// How long replications may take to start, in nanoseconds.
    pub start_timeout_ns: Nanos,
    /// How long targets may take to catch up, before the load and after it, in nanoseconds.
    pub converge_timeout_ns: Nanos,
}

/// Replication alongside the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplicatePlan {
    /// Which database replicates to which. The load goes to the first, the run's target.
    pub topology: Topology,
    /// The other databases.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub others: Vec<TargetPlan>,
    /// Whether the source's server runs each replication, rather than the target's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub push: bool,
    /// The interval between marker documents, in nanoseconds.
    pub marker_every_ns: Nanos,
    /// How long replications may take to start, in nanoseconds.
    pub start_timeout_ns: Nanos,
    /// How long targets may take to catch up, before the load and after it, in nanoseconds.
    pub converge_timeout_ns: Nanos,
}

impl ReplicatePlan {
    /// The replications.
    pub fn links(&self) -> Vec<Link> {
        self.topology.links(self.others.len() + 1)
    }

    /// The path along a chain of several replications, from its first database to its last.
    pub fn end_to_end(&self) -> Option<Link> {
        let is_long = self.topology == Topology::Chain && self.others.len() > 1;
        is_long.then_some(Link { source: 0, target: self.others.len() })
    }

    /// The positions of the databases from which documents reach the one at `place`.
    pub fn sources_of(&self, place: usize) -> Vec<usize> {
        let links = self.links().into_iter().filter(|link| link.target == place);
        links.map(|link| link.source).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topology_says_who_copies_to_whom() {
        let links = |topology: Topology, places| -> Vec<(usize, usize)> {
            topology.links(places).into_iter().map(|it| (it.source, it.target)).collect()
        };
        assert_eq!(links(Topology::FanOut, 3), [(0, 1), (0, 2)]);
        assert_eq!(links(Topology::FanIn, 3), [(0, 2), (1, 2)]);
        assert_eq!(links(Topology::Chain, 3), [(0, 1), (1, 2)]);
        assert_eq!(links(Topology::Mesh, 3), [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]);
        for topology in [Topology::FanOut, Topology::FanIn, Topology::Chain] {
            assert_eq!(links(topology, 2), [(0, 1)]);
            assert!(topology.links(1).is_empty() && topology.links(0).is_empty());
        }
    }
}
