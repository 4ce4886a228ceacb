//! Which node has which keys.
//!
//! A node has the keys whose tokens are greater than the token before its own, up to and including
//! its own; with several copies, the nodes that follow in the ring have them, too. Only the nodes
//! of one data center are known: there, whatever the replication strategy, the first node from a
//! token on has a copy.

use super::found::TextRows;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    /// `host:port`.
    pub(super) name: Arc<str>,
    /// Its identity, whatever its address; the address if the node reports nothing else.
    pub(super) id: String,
}

/// The nodes, and their tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ring {
    /// The first is the one that was asked.
    nodes: Vec<Member>,
    /// Sorted, each with the index of its node. Empty if the cluster divides keys in an unknown
    /// way.
    tokens: Vec<(i64, usize)>,
}

impl Ring {
    /// The ring as `asked` reports it in its tables `local` and `peers`.
    pub(super) fn of(asked: &str, local: &TextRows, peers: &TextRows) -> Self {
        let mut ring = Self { nodes: Vec::new(), tokens: Vec::new() };
        ring.add(asked, local.get(0, "host_id"), local.get(0, "tokens"));
        let (_, port) = asked.rsplit_once(':').unwrap_or((asked, "9042"));
        for row in 0..peers.rows.len() {
            if peers.get(row, "data_center") != local.get(0, "data_center") {
                continue;
            }
            let first = |names: &[&str]| {
                let found = names.iter().map(|name| peers.get(row, name));
                found.map(str::to_owned).find(|it| !matches!(it.as_str(), "" | "0.0.0.0" | "::"))
            };
            let Some(host) = first(&["native_address", "rpc_address", "peer"]) else { continue };
            let port = first(&["native_port"]).unwrap_or_else(|| port.to_owned());
            let host = if host.contains(':') { format!("[{host}]") } else { host };
            let name = format!("{host}:{port}");
            ring.add(&name, peers.get(row, "host_id"), peers.get(row, "tokens"));
        }
        if !local.get(0, "partitioner").ends_with("Murmur3Partitioner") {
            ring.tokens.clear();
        }
        ring.tokens.sort_unstable();
        ring
    }

    /// Adds a node with a JSON list of its tokens.
    fn add(&mut self, node: &str, id: &str, tokens: &str) {
        let place = self.nodes.len();
        let id = if id.is_empty() { node } else { id }.to_owned();
        self.nodes.push(Member { name: node.into(), id });
        let tokens: Vec<String> = serde_json::from_str(tokens).unwrap_or_default();
        self.tokens.extend(tokens.iter().filter_map(|it| Some((it.parse().ok()?, place))));
    }

    pub(super) fn nodes(&self) -> &[Member] {
        &self.nodes
    }

    /// The addresses of the nodes.
    pub(super) fn names(&self) -> Vec<Arc<str>> {
        self.nodes.iter().map(|it| it.name.clone()).collect()
    }

    /// The index of the node with the first copy of a token's key, if it is known.
    pub(super) fn place(&self, token: i64) -> Option<usize> {
        let at = self.tokens.partition_point(|(own, _)| *own < token);
        self.tokens.get(at).or_else(|| self.tokens.first()).map(|(_, place)| *place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(columns: &[&str], rows: &[&[&str]]) -> TextRows {
        let texts = |texts: &[&str]| texts.iter().map(|it| (*it).to_owned()).collect();
        TextRows { columns: texts(columns), rows: rows.iter().map(|row| texts(row)).collect() }
    }

    fn ring(partitioner: &str) -> Ring {
        let local = found(
            &["data_center", "tokens", "partitioner", "host_id"],
            &[&["dc1", r#"["-100","50"]"#, partitioner, "one"]],
        );
        let peers = found(
            &["peer", "native_address", "native_port", "data_center", "tokens", "host_id"],
            &[
                &["10.0.0.2", "0.0.0.0", "9043", "dc1", r#"["0"]"#, ""],
                &["10.0.0.3", "::1", "", "dc1", r#"["100"]"#, "three"],
                &["10.0.0.4", "10.0.0.4", "9042", "dc2", r#"["60"]"#, "four"],
            ],
        );
        Ring::of("a:9042", &local, &peers)
    }

    #[test]
    fn a_key_is_on_the_node_whose_token_follows() {
        let ring = ring("org.apache.cassandra.dht.Murmur3Partitioner");
        let names: Vec<_> = ring.nodes().iter().map(|it| (&*it.name, &*it.id)).collect();
        let known = "10.0.0.2:9043";
        assert_eq!(names, [("a:9042", "one"), (known, known), ("[::1]:9042", "three")]);
        for (token, place) in
            [(i64::MIN, 0), (-100, 0), (-99, 1), (0, 1), (1, 0), (50, 0), (51, 2), (101, 0)]
        {
            assert_eq!(ring.place(token), Some(place), "{token}");
        }
    }

    #[test]
    fn nothing_is_known_of_other_partitioners() {
        assert_eq!(ring("RandomPartitioner").place(0), None);
    }
}
