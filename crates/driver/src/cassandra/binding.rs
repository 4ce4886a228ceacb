//! YCSB's binding `cassandra-cql`.

use crate::address::encoded;
use crate::properties::PropertyReader;
use crate::{Binding, Bound};
use serde_json::{Map, Value, json};

/// See the module. YCSB has no `cassandra.url`, which implies all the others except the levels.
pub(super) const BINDING: Binding = Binding {
    names: &["cassandra-cql", "cassandra", "cassandra2-cql"],
    classes: &["db.CassandraCQLClient"],
    properties: &[
        "cassandra.connecttimeoutmillis",
        "cassandra.coreconnections",
        "cassandra.keyspace",
        "cassandra.maxconnections",
        "cassandra.password",
        "cassandra.readconsistencylevel",
        "cassandra.readtimeoutmillis",
        "cassandra.tracing",
        "cassandra.url",
        "cassandra.useSSL",
        "cassandra.username",
        "cassandra.writeconsistencylevel",
        "hosts",
        "port",
    ],
    flag: "-p cassandra.url",
    site: None,
    read,
};

fn read(read: &mut PropertyReader<'_>) -> Bound {
    if read.flag("cassandra.tracing", false) {
        read.wrong("cassandra.tracing", "requests are not traced", "leave it out");
    }
    let scheme = if read.flag("cassandra.useSSL", false) { "cassandras" } else { "cassandra" };
    let port = read.within("port", 9042, 1..=65_535);
    let hosts = read.text("hosts", "127.0.0.1");
    let hosts: Vec<_> = hosts.split(',').map(|host| format!("{}:{port}", host.trim())).collect();
    let keyspace = read.text("cassandra.keyspace", "ycsb");
    let user = read.text("cassandra.username", "");
    let password = read.text("cassandra.password", "");
    let login = match user.as_str() {
        "" => String::new(),
        user => format!("{}:{}@", encoded(user), encoded(&password)),
    };
    let url = format!("{scheme}://{login}{}/{keyspace}", hosts.join(","));
    let address = read.text("cassandra.url", &url);
    let mut options = Map::new();
    for (name, option) in [
        ("cassandra.readconsistencylevel", "read_consistency"),
        ("cassandra.writeconsistencylevel", "write_consistency"),
    ] {
        let level = read.text(name, "");
        if !level.is_empty() {
            options.insert(option.to_owned(), Value::from(level.to_ascii_uppercase()));
        }
    }
    // Both limit the pool, which opens as many connections as it is allowed to.
    let core = read.optional("cassandra.coreconnections");
    if let Some(count) = read.optional("cassandra.maxconnections").or(core) {
        options.insert("pool".to_owned(), json!(count));
    }
    // The time to connect counts as part of the first operation.
    let _ = read.optional("cassandra.connecttimeoutmillis");
    let timeout_ns = read.optional("cassandra.readtimeoutmillis");
    let timeout_ns = timeout_ns.map(|ms| ms.saturating_mul(1_000_000));
    Bound { address: Some(address), options, timeout_ns, ..Bound::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties::Properties;

    fn properties(pairs: &[(&str, &str)]) -> Properties {
        let mut properties = Properties::default();
        for (name, value) in pairs {
            properties.set(*name, *value);
        }
        properties
    }

    #[test]
    fn the_properties_of_ycsb_make_an_address_and_levels() {
        let none = read(&mut PropertyReader::new(&properties(&[])));
        assert_eq!(none.address.as_deref(), Some("cassandra://127.0.0.1:9042/ycsb"));
        assert!(none.options.is_empty());
        let all = properties(&[
            ("hosts", "a, b"),
            ("port", "7"),
            ("cassandra.keyspace", "k"),
            ("cassandra.username", "ann"),
            ("cassandra.password", "p@w"),
            ("cassandra.readconsistencylevel", "one"),
            ("cassandra.writeconsistencylevel", "LOCAL_QUORUM"),
            ("cassandra.coreconnections", "2"),
            ("cassandra.maxconnections", "4"),
            ("cassandra.readtimeoutmillis", "12"),
            ("cassandra.useSSL", "true"),
        ]);
        let bound = read(&mut PropertyReader::new(&all));
        assert_eq!(bound.address.as_deref(), Some("cassandras://ann:p%40w@a:7,b:7/k"));
        let wanted = json!({
            "read_consistency": "ONE", "write_consistency": "LOCAL_QUORUM", "pool": 4
        });
        assert_eq!((json!(bound.options), bound.timeout_ns), (wanted, Some(12_000_000)));
    }

    #[test]
    fn what_is_not_done_is_refused() {
        let properties = properties(&[("cassandra.tracing", "true")]);
        let mut reader = PropertyReader::new(&properties);
        let bound = read(&mut reader);
        assert!(reader.end(bound).is_err());
    }
}
