//! Cassandra, and its own client.

use std::path::Path;
use std::process::Command;

use super::database::{Database, Lease, Recipe, classpath, java, java_missing};
use super::process::Process;
use super::write_certificates;

/// The user and the password of `guarded`.
pub(crate) const CREDENTIALS: &str = "cassandra:cassandra";

/// The packages that Cassandra's own start script opens for Java 17.
const OPENED: [&str; 17] = [
    "java.base/java.io",
    "java.base/java.lang",
    "java.base/java.lang.module",
    "java.base/java.lang.reflect",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/jdk.internal.loader",
    "java.base/jdk.internal.math",
    "java.base/jdk.internal.misc",
    "java.base/jdk.internal.module",
    "java.base/jdk.internal.ref",
    "java.base/jdk.internal.reflect",
    "java.base/sun.nio.ch",
    "java.rmi/sun.rmi.registry",
    "java.rmi/sun.rmi.server",
    "jdk.attach/sun.tools.attach",
];

/// Cassandra without a password.
pub(crate) fn cassandra() -> Option<Lease> {
    let command = |folder: &Path, ports: &[u16]| command(folder, ports, false);
    let up = |process: &Process, _: &[u16]| process.output().contains(LISTENING);
    recipe("Cassandra", command, up)
}

/// Cassandra with TLS only, which asks for `CREDENTIALS`. `ca.pem` in its folder is its authority.
pub(crate) fn guarded() -> Option<Lease> {
    let command = |folder: &Path, ports: &[u16]| command(folder, ports, true);
    let up = |process: &Process, _: &[u16]| {
        let output = process.output();
        output.contains(LISTENING) && output.contains("Created default superuser role")
    };
    recipe("Cassandra-guarded", command, up)
}

const LISTENING: &str = "Starting listening for CQL clients";

fn recipe(
    name: &'static str,
    command: fn(&Path, &[u16]) -> Command,
    up: fn(&Process, &[u16]) -> bool,
) -> Option<Lease> {
    Recipe { name, missing: java_missing("cassandra"), ports: 2, command, up }.lease()
}

fn command(folder: &Path, ports: &[u16], is_guarded: bool) -> Command {
    let settings = folder.join("cassandra.yaml");
    let guard = if is_guarded { guard(folder) } else { String::new() };
    std::fs::write(&settings, yaml(folder, ports, &guard)).expect("a file");
    let classpath = classpath("cassandra");
    // The agent that measures objects in memory.
    let jamm = classpath.split(':').find(|jar| jar.contains("/jamm-")).expect("its jar");
    let mut command = java(folder, &OPENED, &classpath);
    command
        .args(["-Xms400m", "-Xmx400m", "-Dlevel=INFO"])
        .arg(format!("-javaagent:{jamm}"))
        .arg(format!("-Dcassandra.config=file://{}", settings.display()))
        .arg(format!("-Dcassandra.storagedir={}", folder.display()))
        .args(["-Djdk.attach.allowAttachSelf=true", "-Dcassandra-foreground=yes"])
        // There is no other node to wait for.
        .args(["-Dcassandra.skip_wait_for_gossip_to_settle=0", "-Dcassandra.ring_delay_ms=1"])
        .args(["-Dcassandra.initial_token=0", "-Dcassandra.superuser_setup_delay_ms=0"])
        .arg("org.apache.cassandra.service.CassandraDaemon");
    command
}

/// The settings of a server with TLS only and a password.
fn guard(folder: &Path) -> String {
    write_certificates(folder);
    let [key, certificate, ca] = ["key.pem", "server.pem", "ca.pem"].map(|name| {
        let text = std::fs::read_to_string(folder.join(name)).expect("a certificate");
        // Indented as a YAML block.
        text.replace('\n', "\n        ")
    });
    format!(
        "authenticator: PasswordAuthenticator
authorizer: CassandraAuthorizer
client_encryption_options:
  enabled: true
  optional: false
  ssl_context_factory:
    class_name: org.apache.cassandra.security.PEMBasedSslContextFactory
    parameters:
      private_key: |
        {key}
        {certificate}
      trusted_certificates: |
        {ca}
"
    )
}

fn yaml(folder: &Path, ports: &[u16], guard: &str) -> String {
    let folder = folder.display();
    let (native, storage) = (ports[0], ports[1]);
    format!(
        "cluster_name: springload
num_tokens: 1
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
commitlog_sync: periodic
commitlog_sync_period: 10000ms
commitlog_segment_size: 8MiB
data_file_directories: ['{folder}/data']
commitlog_directory: {folder}/commitlog
saved_caches_directory: {folder}/saved_caches
hints_directory: {folder}/hints
cdc_raw_directory: {folder}/cdc_raw
listen_address: 127.0.0.1
rpc_address: 127.0.0.1
storage_port: {storage}
native_transport_port: {native}
endpoint_snitch: SimpleSnitch
disk_access_mode: standard
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters:
      - seeds: '127.0.0.1:{storage}'
{guard}
"
    )
}

impl Database {
    /// Runs a statement with Cassandra's own client.
    #[track_caller]
    pub(crate) fn cql(&self, statement: &str) {
        self.cassandra_client(&["cql", statement]);
    }

    /// Reads a table with Cassandra's own client, and checks its values.
    #[track_caller]
    pub(crate) fn check_table(&self, table: &str) -> String {
        self.cassandra_client(&["check", table])
    }

    /// The number of rows in a table, counted by Cassandra's own client.
    #[track_caller]
    pub(crate) fn count_table(&self, table: &str) -> u64 {
        self.cassandra_client(&["count", table]).trim().parse().expect("a number")
    }

    #[track_caller]
    fn cassandra_client(&self, words: &[&str]) -> String {
        self.client(words, || {
            let mut command = java(self.folder(), &[], &classpath("cassandra"));
            command.args(["-Xmx256m", "-Dlevel=OFF", "Client"]);
            command.arg(self.port(0).to_string());
            command
        })
    }
}
