//! Which node of a cluster has which slots.

use super::answer::Value;
use super::commands::Commands;
use super::log_in::{LogInto, ask};
use super::slots::SLOTS;
use super::trouble::checked;
use crate::call::CallError;
use crate::net::ShardContext;
use crate::op::Failure;
use crate::pipe::Reach;
use std::sync::Arc;

/// The nodes, and their slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Map {
    /// The masters, `host:port`.
    nodes: Vec<Arc<str>>,
    /// The index of the node of each slot; one past the end if it has none.
    slots: Vec<u16>,
}

impl Map {
    /// The map in the answer of the node `asked` to `CLUSTER SLOTS`; `None` if it is not such an
    /// answer.
    pub(super) fn of(answer: Value<'_>, asked: &str) -> Option<Self> {
        let mut map = Self { nodes: Vec::new(), slots: vec![u16::MAX; SLOTS] };
        for range in answer.list() {
            let mut parts = range.list();
            let (Value::Number(first), Value::Number(last)) = (parts.next()?, parts.next()?) else {
                return None;
            };
            let mut node = parts.next()?.list();
            let host = node.next()?.text().unwrap_or_default();
            let Value::Number(port) = node.next()? else { return None };
            let node = map.place(&address(std::str::from_utf8(host).ok()?, port, asked));
            let range = usize::try_from(first).ok()?..usize::try_from(last).ok()?.checked_add(1)?;
            map.slots.get_mut(range)?.fill(node);
        }
        (!map.nodes.is_empty()).then_some(map)
    }

    /// The masters.
    pub(super) fn nodes(&self) -> &[Arc<str>] {
        &self.nodes
    }

    pub(super) fn node(&self, slot: u16) -> Option<&Arc<str>> {
        self.nodes.get(usize::from(*self.slots.get(usize::from(slot))?))
    }

    /// Notes that a slot is on this node.
    pub(super) fn moved(&mut self, slot: u16, node: &str) {
        let place = self.place(node);
        if let Some(known) = self.slots.get_mut(usize::from(slot)) {
            *known = place;
        }
    }

    fn place(&mut self, node: &str) -> u16 {
        let known = self.nodes.iter().position(|it| **it == *node);
        let place = known.unwrap_or(self.nodes.len());
        // More nodes than slots are of no use.
        if known.is_none() && place < SLOTS {
            self.nodes.push(node.into());
        }
        u16::try_from(place).unwrap_or(u16::MAX)
    }
}

/// A node's address, `host:port`; if it has no host, the node `asked` is on the same one.
fn address(host: &str, port: i64, asked: &str) -> String {
    let (own, _) = asked.rsplit_once(':').unwrap_or((asked, ""));
    let host = if host.is_empty() || host == "?" { own } else { host };
    let bare = host.trim_matches(['[', ']']);
    if bare.contains(':') { format!("[{bare}]:{port}") } else { format!("{bare}:{port}") }
}

/// The address in a redirection from the node `asked`.
pub(super) fn redirected(to: &str, asked: &str) -> Option<String> {
    let (host, port) = to.rsplit_once(':')?;
    Some(address(host, port.parse().ok()?, asked))
}

/// How nodes are reached.
#[derive(Clone, Debug)]
pub(super) struct NodeAccess {
    pub(super) log_into: LogInto,
    pub(super) reach: Reach,
}

impl NodeAccess {
    /// Asks a node for the map of the slots.
    pub(super) async fn map(&self, node: &str, context: &ShardContext) -> Result<Map, CallError> {
        let endpoint = self.reach.endpoint(node).await?;
        let pipe = self.log_into.connect(&endpoint, 0, false, context).await?;
        let mut commands = Commands::default();
        commands.add(&["CLUSTER", "SLOTS"]);
        let answers = ask(&pipe, &commands).await?;
        let answer = answers.get(0)?;
        let wrong = || CallError::new(Failure::NotReady, "no node of the cluster has any slots");
        Map::of(checked(answer)?, node).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_found_at_their_nodes_wherever_they_have_moved() {
        let answer = b"*2\r\n*3\r\n:0\r\n:8191\r\n*2\r\n$3\r\nten\r\n:7000\r\n\
            *4\r\n:8192\r\n:16383\r\n*2\r\n$0\r\n\r\n:7001\r\n*2\r\n$1\r\nr\r\n:7002\r\n";
        let mut map = Map::of(Value::of(answer), "[::1]:6379").unwrap();
        let node = |map: &Map, slot| map.node(slot).map(ToString::to_string);
        assert_eq!(node(&map, 8_191).as_deref(), Some("ten:7000"));
        assert_eq!(node(&map, 8_192).as_deref(), Some("[::1]:7001"));
        map.moved(5, "other:1");
        assert_eq!((node(&map, 5), map.nodes().len()), (Some("other:1".to_owned()), 3));
        assert_eq!(redirected(":7003", "h:1").as_deref(), Some("h:7003"));
        assert_eq!(redirected("::1:7003", "h:1").as_deref(), Some("[::1]:7003"));
        assert_eq!(redirected("none", "h:1"), None);
    }

    #[test]
    fn what_is_no_map_is_refused() {
        for answer in [
            "*0\r\n",
            "+OK\r\n",
            "*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\na\r\n:1\r\n",
            "*1\r\n*3\r\n:5\r\n:1\r\n*2\r\n$1\r\na\r\n:1\r\n",
            "*1\r\n*3\r\n:-1\r\n:1\r\n*2\r\n$1\r\na\r\n:1\r\n",
            "*1\r\n*2\r\n:0\r\n:1\r\n",
        ] {
            assert_eq!(Map::of(Value::of(answer.as_bytes()), "h:1"), None, "{answer}");
        }
    }
}
