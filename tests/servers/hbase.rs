//! HBase: master, region servers and `ZooKeeper` in one process, and HBase's own client.

use std::path::Path;
use std::process::Command;

use super::database::{Database, Lease, Recipe, classpath, java, java_missing};
use super::process::Process;
use super::write_certificates;

/// The packages that HBase needs opened in Java 17.
const OPENED: [&str; 10] = [
    "java.base/java.lang",
    "java.base/java.lang.reflect",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/jdk.internal.misc",
    "java.base/jdk.internal.ref",
    "java.base/sun.net.dns",
    "java.base/sun.net.util",
    "java.base/sun.nio.ch",
];

/// With one region server, which has the same port after a restart.
pub(crate) fn with_one_region_server() -> Option<Lease> {
    recipe("HBase", |folder, ports| command(folder, ports, 1))
}

/// With two region servers, whose ports change with each start.
pub(crate) fn with_two_region_servers() -> Option<Lease> {
    recipe("HBase-with-two-region-servers", |folder, ports| command(folder, ports, 2))
}

/// With TLS only; `ca.pem` in its folder is its authority.
pub(crate) fn with_tls() -> Option<Lease> {
    recipe("HBase-with-TLS", |folder, ports| command_with_tls(folder, ports, "NONE", "TLSv1.2"))
}

/// The same, for clients with a certificate of the same authority; TLS 1.3.
pub(crate) fn with_client_certificates() -> Option<Lease> {
    recipe("HBase-with-client-certificates", |folder, ports| {
        command_with_tls(folder, ports, "NEED", "TLSv1.3")
    })
}

fn recipe(name: &'static str, command: fn(&Path, &[u16]) -> Command) -> Option<Lease> {
    let up = |process: &Process, _: &[u16]| {
        process.output().contains("Master has completed initialization")
    };
    Recipe { name, missing: java_missing("hbase"), ports: 3, command, up }.lease()
}

fn command(folder: &Path, ports: &[u16], region_servers: u16) -> Command {
    let [master, region_server, zookeeper] = ports else { panic!("three ports") };
    let region_server = if region_servers == 1 { *region_server } else { 0 };
    let site = site(folder, [*master, region_server, *zookeeper], region_servers);
    write_site(folder, &site);
    // HBase looks for its settings on the class path.
    let classpath = format!("{}:{}", folder.display(), classpath("hbase"));
    let mut command = java(folder, &OPENED, &classpath);
    command
        .args(["-Xmx512m", "-Dlevel=INFO"])
        .arg("org.apache.hadoop.hbase.master.HMaster")
        .arg(format!("--localRegionServers={region_servers}"))
        .arg("start");
    command
}

fn command_with_tls(folder: &Path, ports: &[u16], clients: &str, version: &str) -> Command {
    let command = command(folder, ports, 1);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a file");
    let both = folder.join("both.pem");
    // A restarted server keeps its certificate.
    if !both.exists() {
        write_certificates(folder);
        std::fs::write(&both, read("server.pem") + &read("key.pem")).expect("a file");
    }
    let (store, trusted) = (both.display().to_string(), folder.join("ca.pem"));
    let trusted = trusted.display().to_string();
    let mut site = vec![
        ("hbase.server.netty.tls.enabled", "true"),
        // Its servers are clients of each other.
        ("hbase.client.netty.tls.enabled", "true"),
        ("hbase.server.netty.tls.supportplaintext", "false"),
        ("hbase.server.netty.tls.client.auth.mode", clients),
        ("hbase.rpc.tls.protocol", version),
        ("hbase.rpc.tls.enabledProtocols", version),
        ("hbase.rpc.tls.keystore.location", &store),
        ("hbase.rpc.tls.keystore.type", "PEM"),
        ("hbase.rpc.tls.truststore.location", &trusted),
        ("hbase.rpc.tls.truststore.type", "PEM"),
    ];
    if version == "TLSv1.3" {
        site.push(("hbase.rpc.tls.ciphersuites", "TLS_AES_128_GCM_SHA256"));
    }
    let own = read(SITE);
    let more: String = site.iter().map(|(name, value)| property(name, value)).collect();
    write_site(folder, &own.replace(END, &(more + END)));
    command
}

const SITE: &str = "hbase-site.xml";
const END: &str = "</configuration>\n";

fn write_site(folder: &Path, text: &str) {
    std::fs::write(folder.join(SITE), text).expect("a file");
}

fn property(name: &str, value: &str) -> String {
    format!("<property><name>{name}</name><value>{value}</value></property>\n")
}

/// `hbase-site.xml`: everything on loopback and in the folder.
fn site(folder: &Path, [master, region_server, zookeeper]: [u16; 3], servers: u16) -> String {
    let folder = folder.display();
    let root = format!("file://{folder}/data");
    let temporary = format!("{folder}/tmp");
    let servers = servers.to_string();
    let (master, region_server) = (master.to_string(), region_server.to_string());
    let zookeeper = zookeeper.to_string();
    let properties = [
        ("hbase.rootdir", &root[..]),
        ("hbase.tmp.dir", &temporary),
        ("hbase.cluster.distributed", "false"),
        ("hbase.unsafe.stream.capability.enforce", "false"),
        ("hbase.wal.provider", "filesystem"),
        ("hbase.master.hostname", "127.0.0.1"),
        ("hbase.master.ipc.address", "127.0.0.1"),
        ("hbase.master.port", &master),
        ("hbase.master.info.port", "-1"),
        // Otherwise it waits 4.5 s for more of them.
        ("hbase.master.wait.on.regionservers.mintostart", &servers),
        ("hbase.master.wait.on.regionservers.maxtostart", &servers),
        ("hbase.regionserver.hostname", "127.0.0.1"),
        ("hbase.regionserver.ipc.address", "127.0.0.1"),
        ("hbase.regionserver.port", &region_server),
        ("hbase.regionserver.info.port", "-1"),
        ("hbase.regionserver.handler.count", "10"),
        ("hbase.zookeeper.quorum", "127.0.0.1"),
        ("hbase.zookeeper.property.clientPort", &zookeeper),
        ("hbase.zookeeper.property.clientPortAddress", "127.0.0.1"),
        // A killed server is noticed sooner.
        ("zookeeper.session.timeout", "5000"),
        // Regions move when a test moves them.
        ("hbase.balancer.period", "86400000"),
    ];
    let each: String = properties.iter().map(|(name, value)| property(name, value)).collect();
    format!("<configuration>\n{each}{END}")
}

impl Database {
    /// The address of its master, for springload.
    pub(crate) fn hbase_address(&self) -> String {
        format!("127.0.0.1:{}", self.port(0))
    }

    /// Runs HBase's own client; `tests/servers/hbase/Client.java` has its commands.
    #[track_caller]
    pub(crate) fn hbase_client(&self, words: &[&str]) -> String {
        self.client(words, || {
            // It takes the TLS settings, if there are any, from those of the server.
            let classpath = format!("{}:{}", self.folder().display(), classpath("hbase"));
            let mut command = java(self.folder(), &OPENED, &classpath);
            command.args(["-Xmx256m", "-Dlevel=OFF", "Client"]);
            command.arg(self.port(2).to_string());
            command
        })
    }
}
