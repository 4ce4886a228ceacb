//! The flags of `springload serve` about several nodes. Parses them; `embedded` carries them out.

use crate::clock::Nanos;
use crate::embedded::{NodeState, bind};
use crate::plan::{count, duration_ns};
use std::io;
use std::net::TcpListener;

/// More nodes than any cluster on a single machine.
const MOST_NODES: u64 = 64;

/// A change of state.
pub(super) struct Turn {
    /// After the start.
    pub(super) at_ns: Nanos,
    /// Counted from 0.
    pub(super) node: usize,
    pub(super) state: NodeState,
}

/// How long a node is in another state.
struct Span {
    node: usize,
    from_ns: Nanos,
    /// `None`: until the end.
    to_ns: Option<Nanos>,
}

/// Several nodes.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Nodes")]
#[group(id = "several")]
pub(super) struct NodeArgs {
    /// Listen on this many consecutive ports, as nodes of one cluster
    ///
    /// Listen on this many consecutive ports, as nodes of one cluster with the same documents.
    /// Without a majority of nodes up, writes are answered with 202
    #[arg(long, value_name = "N", default_value = "1", value_parser = count)]
    nodes: u64,
    /// Take a node down for a time: 2@10s..20s
    ///
    /// Node 2 is down from 10 s to 20 s after the start: nothing listens on its port, and its
    /// connections are closed. 2@10s: until the end. May be repeated
    #[arg(long, value_name = "NODE@FROM[..TO]")]
    down: Vec<String>,
    /// Freeze a node for a time: 2@10s..20s
    ///
    /// Node 2 answers nothing from 10 s to 20 s after the start, and keeps its connections, as a
    /// stopped process does. May be repeated
    #[arg(long, value_name = "NODE@FROM[..TO]")]
    still: Vec<String>,
}

impl NodeArgs {
    /// The changes of state, in chronological order.
    ///
    /// # Errors
    /// Fails if a value is invalid. The message is one line that names the flag and the cure.
    pub(super) fn course(&self) -> Result<Vec<Turn>, String> {
        if !(1..=MOST_NODES).contains(&self.nodes) {
            return Err(format!("--nodes: {} is out of range; give 1 to {MOST_NODES}", self.nodes));
        }
        let flags =
            [("--down", &self.down, NodeState::Down), ("--still", &self.still, NodeState::Still)];
        let mut course = Vec::new();
        for (flag, texts, state) in flags {
            for text in texts {
                let Span { node, from_ns, to_ns } = self.span(text).map_err(|error| {
                    format!("{flag}: {error}; give NODE@FROM..TO, such as 2@10s..20s")
                })?;
                course.push(Turn { at_ns: from_ns, node, state });
                course.extend(to_ns.map(|at_ns| Turn { at_ns, node, state: NodeState::Up }));
            }
        }
        course.sort_by_key(|turn| turn.at_ns);
        Ok(course)
    }

    /// `2@10s..20s`
    fn span(&self, text: &str) -> Result<Span, String> {
        let (node, time) = text.split_once('@').ok_or_else(|| format!("{text:?} has no time"))?;
        let known = |node: &u64| self.nodes > 1 && (1..=self.nodes).contains(node);
        let node = node.parse().ok().filter(known);
        let node =
            node.ok_or_else(|| format!("{text:?} is not about one of --nodes {}", self.nodes))?;
        let duration = |text: &str| duration_ns(text).map_err(|error| error.to_string());
        let (from, to) = match time.split_once("..") {
            Some((from, to)) => (from, Some(duration(to)?)),
            None => (time, None),
        };
        let from = duration(from)?;
        if to.is_some_and(|to| to <= from) {
            return Err(format!("{time:?} ends before it begins"));
        }
        Ok(Span { node: node as usize - 1, from_ns: from, to_ns: to })
    }

    /// Listens on an address and, for further nodes, on the ports after it; port 0 takes any free
    /// one.
    pub(super) fn bind(&self, address: &str) -> io::Result<Vec<TcpListener>> {
        let first = bind(address)?;
        let (host, port) = address.rsplit_once(':').unwrap_or((address, "0"));
        let port: u16 = port.parse().unwrap_or(0);
        let mut listeners = vec![first];
        for node in 1..self.nodes {
            let next = if port == 0 { Some(0) } else { port.checked_add(node as u16) };
            let next = next.ok_or(io::ErrorKind::AddrNotAvailable)?;
            let listener = bind(&format!("{host}:{next}")).map_err(|error| {
                io::Error::new(error.kind(), format!("port {next}, of node {}: {error}", node + 1))
            })?;
            listeners.push(listener);
        }
        Ok(listeners)
    }
}
