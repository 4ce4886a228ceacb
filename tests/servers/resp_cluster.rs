//! A cluster of three nodes of Redis.

use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use super::database::output_of;
use super::process::{Process, free_ports};
use super::resp::{redis_command, redis_missing};

/// The nodes, each with its port.
pub(crate) struct Cluster(Vec<(Process, u16)>);

/// The limit for any action of a node.
const PATIENCE: Duration = Duration::from_secs(60);

/// A cluster in which each node has a third of the slots; `None`, with a message, if Redis is not
/// installed.
pub(crate) fn redis_cluster() -> Option<Cluster> {
    if let Some(cure) = redis_missing() {
        super::absent("Redis-cluster", cure);
        return None;
    }
    // By default, a node also listens 10,000 ports above its own.
    let ports = free_ports(6).expect("free ports");
    let nodes = ports.chunks(2).map(|pair| {
        let (port, bus) = (pair[0], pair[1]);
        let process = Process::start(Box::new(move |folder| {
            let mut command = redis_command(folder, &[port]);
            command.args(["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"]);
            command.args(["--cluster-port", &bus.to_string(), "--cluster-node-timeout", "2000"]);
            command
        }));
        (process.expect("it starts"), port)
    });
    let mut cluster = Cluster(nodes.collect());
    for (node, port) in &mut cluster.0 {
        let port = *port;
        node.until(PATIENCE, |_| TcpStream::connect(("127.0.0.1", port)).is_ok()).expect("up");
    }
    let mut create = Command::new("redis-cli");
    create.args(["--cluster", "create"]);
    create.args(cluster.0.iter().map(|(_, port)| format!("127.0.0.1:{port}")));
    create.arg("--cluster-yes");
    output_of(create);
    cluster.until_whole();
    Some(cluster)
}

impl Cluster {
    /// The port of a node.
    pub(crate) fn port(&self, node: usize) -> u16 {
        self.0[node].1
    }

    /// The output of Redis' own client after a command to a node.
    #[track_caller]
    pub(crate) fn redis_cli(&self, node: usize, words: &[&str]) -> String {
        let mut command = Command::new("redis-cli");
        command.args(["-e", "-p", &self.port(node).to_string()]).args(words);
        output_of(command).trim_end().to_owned()
    }

    /// The keys on each node that match a pattern.
    pub(crate) fn keys(&self, pattern: &str) -> Vec<Vec<String>> {
        let keys = |node| self.redis_cli(node, &["keys", pattern]);
        let lines = |text: String| text.lines().map(str::to_owned).collect();
        (0..self.0.len()).map(|node| lines(keys(node))).collect()
    }

    /// Moves slots from the first node to the second, with their keys.
    pub(crate) fn reshard(&self, slots: u32) {
        let id = |node| self.redis_cli(node, &["cluster", "myid"]);
        let mut command = Command::new("redis-cli");
        command.args(["--cluster", "reshard", &format!("127.0.0.1:{}", self.port(0))]);
        command.args(["--cluster-from", &id(0), "--cluster-to", &id(1)]);
        command.args(["--cluster-slots", &slots.to_string(), "--cluster-yes"]);
        output_of(command);
    }

    /// Kills a node as `kill -9` does.
    pub(crate) fn kill(&mut self, node: usize) {
        self.0[node].0.kill();
    }

    /// Starts it again, and waits until all nodes know it.
    pub(crate) fn start_again(&mut self, node: usize) {
        self.0[node].0.start_again().expect("it starts");
        let port = self.port(node);
        let up = |_: &Process| TcpStream::connect(("127.0.0.1", port)).is_ok();
        self.0[node].0.until(PATIENCE, up).expect("up");
        self.until_whole();
    }

    fn until_whole(&self) {
        let whole = |node| {
            let info = self.redis_cli(node, &["cluster", "info"]);
            info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3")
        };
        assert!((0..600).any(|_| {
            std::thread::sleep(Duration::from_millis(100));
            (0..self.0.len()).all(whole)
        }));
    }
}
