//! YCSB's bindings to HBase. Their classes differ in the version of HBase's client library, which
//! is not used here.

use super::Durability;
use super::plan::QUORUM_FLAG;
use crate::properties::{PropertyReader, hadoop};
use crate::{Binding, Bound, Buffer, SiteFile};
use indexmap::IndexSet;
use serde_json::{Map, Value};

/// See the module. Names and classes are those of YCSB 0.1.4 to 0.17.0 and its head.
pub(super) const BINDING: Binding = Binding {
    names: &[
        "hbase", "hbase1", "hbase2", "hbase094", "hbase098", "hbase10", "hbase12", "hbase14",
        "hbase20",
    ],
    classes: &[
        "db.HBaseClient",
        "db.HBaseClient10",
        "db.hbase1.HBaseClient1",
        "db.hbase12.HBaseClient12",
        "db.hbase14.HBaseClient14",
        "db.hbase2.HBaseClient2",
        "db.hbase20.HBaseClient20",
        // YCSB 0.14 and 0.15 list it in this package.
        "db.hbase14.HBaseClient20",
    ],
    properties: &PROPERTIES,
    flag: QUORUM_FLAG,
    site: Some(SiteFile { name: "hbase-site.xml", read: hadoop::parse }),
    read,
};

const PROPERTIES: [&str; 25] = [
    "clientbuffering",
    "columnfamily",
    "debug",
    "durability",
    BOOTSTRAP,
    TLS,
    "hbase.client.operation.timeout",
    "hbase.client.pause",
    "hbase.client.retries.number",
    MASTER_PORT,
    MASTERS,
    REGION_PORT,
    "hbase.rpc.timeout",
    KEYSTORE,
    TRUSTSTORE,
    "hbase.security.authentication",
    "hbase.usepagefilter",
    "hbase.usescanvaluefiltering",
    "hbase.zookeeper.property.clientPort",
    QUORUM,
    "keytab",
    "principal",
    "writebuffersize",
    "zookeeper.znode.parent",
    "hadoop.security.authentication",
];

const BOOTSTRAP: &str = "hbase.client.bootstrap.servers";
const MASTERS: &str = "hbase.masters";
const QUORUM: &str = "hbase.zookeeper.quorum";
const TLS: &str = "hbase.client.netty.tls.enabled";
const KEYSTORE: &str = "hbase.rpc.tls.keystore.location";
const TRUSTSTORE: &str = "hbase.rpc.tls.truststore.location";
const MASTER_PORT: &str = "hbase.master.port";
const REGION_PORT: &str = "hbase.regionserver.port";
/// The defaults of HBase and of YCSB.
const MASTER_DEFAULT: u64 = 16000;
const REGION_DEFAULT: u64 = 16020;
const QUORUM_DEFAULT: &str = "127.0.0.1";
const BUFFER_DEFAULT: u64 = 12 << 20;
/// The most hosts that a list may name, and the most characters shown of an invalid one.
const MOST_HOSTS: usize = 1_000;
const MOST_SHOWN: usize = 100;
const HOSTS: &str = "give HOST or HOST:PORT, several with commas between";
fn read(read: &mut PropertyReader<'_>) -> Bound {
    let mut notes = Vec::new();
    refuse(read);
    let seeds = seeds(read, &mut notes);
    let mut options = Map::new();
    let family = read.text("columnfamily", "");
    if family.is_empty() {
        let cure = "give that of the table, as in -p columnfamily=cf";
        read.wrong("columnfamily", "the column family is missing", cure);
    } else {
        options.insert("column_family".to_owned(), family.into());
    }
    if let Some(durability) = durability(read) {
        options.insert("durability".to_owned(), durability);
    }
    let buffering = read.flag("clientbuffering", false);
    let bytes = read.within("writebuffersize", BUFFER_DEFAULT, 1..=1 << 40);
    // The request for a scan has a limit of rows, whatever filter YCSB would send.
    read.flag("hbase.usepagefilter", true);
    note(read, &mut notes);
    let scheme = if tls(read, &mut notes) { "hbases" } else { "hbase" };
    Bound {
        address: Some(format!("{scheme}://{}", seeds.join(","))),
        options,
        notes,
        must_exist: true,
        buffer: buffering.then_some(Buffer { property: "clientbuffering", bytes }),
        ..Bound::default()
    }
}

/// Adds notes about settings that have no effect.
fn note(read: &mut PropertyReader<'_>, notes: &mut Vec<String>) {
    if read.flag("debug", false) {
        notes.push("debug: there is nothing else to print".to_owned());
    }
    let why = "failures are counted, not sent again, except to a region that has moved";
    for (name, why) in [
        ("hbase.client.operation.timeout", "--timeout sets it"),
        ("hbase.rpc.timeout", "--timeout sets it"),
        ("hbase.client.pause", why),
        ("hbase.client.retries.number", why),
    ] {
        if !read.text(name, "").is_empty() {
            notes.push(format!("{name}: ignored, {why}"));
        }
    }
}

/// Whether to use TLS. Java's certificate files cannot be used here.
fn tls(read: &mut PropertyReader<'_>, notes: &mut Vec<String>) -> bool {
    let asked = read.flag(TLS, false);
    let files = [
        (TRUSTSTORE, "the authorities in it, as PEM, with --tls-ca"),
        (KEYSTORE, "the certificate in it, as PEM, with --tls-cert and --tls-key, if it is needed"),
    ];
    for (name, cure) in files {
        if !read.text(name, "").is_empty() && asked {
            notes.push(format!("{name}: not read; give {cure}"));
        }
    }
    asked
}

/// Refuses what springload does not support: credentials, filters of values.
fn refuse(read: &mut PropertyReader<'_>) {
    for name in ["principal", "keytab"] {
        if !read.text(name, "").is_empty() {
            read.wrong(name, "this driver does not support Kerberos", "leave it out");
        }
    }
    for name in ["hbase.security.authentication", "hadoop.security.authentication"] {
        let asked = read.text(name, "simple");
        if !asked.eq_ignore_ascii_case("simple") {
            let cure = "give a server that accepts simple authentication";
            read.wrong(name, format!("{asked:?}: this driver does not support Kerberos"), cure);
        }
    }
    if read.flag("hbase.usescanvaluefiltering", false) {
        let name = "hbase.usescanvaluefiltering";
        read.wrong(name, "scans do not filter by value", "leave it out");
    }
}

fn durability(read: &mut PropertyReader<'_>) -> Option<Value> {
    let cure = "give USE_DEFAULT, SKIP_WAL, ASYNC_WAL, SYNC_WAL or FSYNC_WAL";
    let known = |text: &str| {
        let name = Value::from(text.to_ascii_uppercase());
        serde_json::from_value::<Durability>(name.clone()).is_ok().then_some(name)
    };
    read.parsed("durability", cure, known)
}

/// The servers to ask first: those configured for this purpose, or else the hosts of the quorum,
/// which often run masters and region servers, too.
fn seeds(read: &mut PropertyReader<'_>, notes: &mut Vec<String>) -> Vec<String> {
    let master = read.within(MASTER_PORT, MASTER_DEFAULT, 0..=65_535);
    let region = read.within(REGION_PORT, REGION_DEFAULT, 0..=65_535);
    let mut seeds = IndexSet::new();
    for (name, port) in [(BOOTSTRAP, region), (MASTERS, master)] {
        for (host, own) in places(read, name, "") {
            seeds.insert(format!("{host}:{}", own.map_or(port, u64::from)));
        }
    }
    if seeds.is_empty() {
        let quorum = places(read, QUORUM, QUORUM_DEFAULT);
        // A server configured with port 0 takes any free port.
        let ports: IndexSet<_> = [master, region].into_iter().filter(|port| *port > 0).collect();
        for port in &ports {
            // The ports in a quorum are ZooKeeper's.
            seeds.extend(quorum.iter().map(|(host, _)| format!("{host}:{port}")));
        }
        let hosts: IndexSet<_> = quorum.into_iter().map(|(host, _)| host).collect();
        let hosts: Vec<_> = hosts.into_iter().collect();
        let ports: Vec<_> = ports.iter().map(ToString::to_string).collect();
        let (hosts, ports) = (hosts.join(", "), ports.join(" or "));
        notes.push(format!(
            "ZooKeeper is not used: looking for a master or region server on {hosts}, port \
             {ports}; give others with -p {MASTERS}=HOST:PORT"
        ));
    }
    if let Some(unknown) = seeds.iter().find(|seed| seed.ends_with(":0")) {
        let problem = format!("{unknown}: its port is not known");
        read.wrong(MASTERS, problem, "give HOST:PORT");
    }
    if master == 0 && region == 0 && seeds.is_empty() {
        read.wrong(MASTERS, "no server has a known port", "give HOST:PORT of a master");
    }
    // The mistakes have been reported: this would only repeat them.
    if seeds.is_empty() {
        seeds.insert(QUORUM_DEFAULT.to_owned());
    }
    seeds.into_iter().collect()
}

/// Hosts and ports in a list separated by commas.
fn places(read: &mut PropertyReader<'_>, name: &str, default: &str) -> Vec<(String, Option<u16>)> {
    let text = read.text(name, default);
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let found: Vec<_> = parts.map(|part| place(part).ok_or(part)).collect();
    if found.is_empty() && !text.is_empty() {
        read.wrong(name, "names no host", HOSTS);
    }
    if found.len() > MOST_HOSTS {
        read.wrong(name, format!("names more than {MOST_HOSTS} hosts"), "give a few");
        return Vec::new();
    }
    for wrong in found.iter().filter_map(|it| it.as_ref().err()) {
        let wrong: String = wrong.chars().take(MOST_SHOWN).collect();
        let problem = format!("{wrong:?} is not a host");
        read.wrong(name, problem, HOSTS);
    }
    found.into_iter().flatten().collect()
}

/// `host` or `host:port`; the host may be an IPv6 address in brackets.
fn place(text: &str) -> Option<(String, Option<u16>)> {
    let address = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (host, rest) = if let Some((inside, rest)) = address {
        inside.parse::<std::net::Ipv6Addr>().ok()?;
        (format!("[{inside}]"), rest)
    } else {
        let (host, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
        let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        (!host.is_empty() && host.chars().all(known)).then(|| (host.to_owned(), rest))?
    };
    match rest.strip_prefix(':') {
        None if rest.is_empty() => Some((host, None)),
        None => None,
        Some(port) => Some((host, Some(port.parse().ok().filter(|port| *port > 0)?))),
    }
}

#[cfg(test)]
#[path = "binding_tests.rs"]
mod tests;
