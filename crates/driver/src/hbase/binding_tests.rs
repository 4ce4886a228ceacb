//! How YCSB's properties for HBase are read.

use super::*;
use crate::properties::Properties;

/// The result for `name=value` pairs, or the mistakes.
fn bound(pairs: &str) -> Result<Bound, String> {
    let mut properties = Properties::default();
    for pair in pairs.split(' ').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap();
        properties.set(name, value);
    }
    let mut reader = PropertyReader::new(&properties);
    let bound = read(&mut reader);
    reader
        .end(bound)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

fn seeds_of(pairs: &str) -> String {
    bound(&format!("columnfamily=cf {pairs}")).unwrap().address.unwrap()
}

#[test]
fn the_hosts_of_the_quorum_are_asked_on_the_ports_of_hbase() {
    assert_eq!(seeds_of(""), "hbase://127.0.0.1:16000,127.0.0.1:16020");
    assert_eq!(
        seeds_of("hbase.zookeeper.quorum=a,b:2181,a"),
        "hbase://a:16000,b:16000,a:16020,b:16020"
    );
    assert_eq!(
        seeds_of("hbase.zookeeper.quorum=[::1] hbase.master.port=1 hbase.regionserver.port=2"),
        "hbase://[::1]:1,[::1]:2"
    );
    let random = "hbase.regionserver.port=0 hbase.zookeeper.quorum=a";
    assert_eq!(seeds_of(random), "hbase://a:16000");
    let noted = bound("columnfamily=cf hbase.zookeeper.quorum=a").unwrap().notes;
    assert!(
        noted.len() == 1 && noted[0].contains("region server on a, port 16000 or 16020"),
        "{noted:?}"
    );
}

#[test]
fn servers_that_know_are_asked_instead_of_the_quorum() {
    let quorum = "hbase.zookeeper.quorum=z";
    assert_eq!(seeds_of(&format!("{quorum} hbase.masters=m1,m2:7")), "hbase://m1:16000,m2:7");
    let both = "hbase.masters=m hbase.client.bootstrap.servers=r:1,s";
    assert_eq!(seeds_of(&format!("{quorum} {both}")), "hbase://r:1,s:16020,m:16000");
    assert_eq!(bound("columnfamily=cf hbase.masters=m").unwrap().notes, Vec::<String>::new());
}

#[test]
fn tls_is_spoken_if_hbases_own_client_does() {
    let masters = "columnfamily=cf hbase.masters=m";
    let (on, off) = ("hbase.client.netty.tls.enabled=true", "hbase.client.netty.tls.enabled=false");
    let stores = "hbase.rpc.tls.truststore.location=/t hbase.rpc.tls.keystore.location=/k";
    let with = |more: &str| bound(&format!("{masters} {more}")).unwrap();
    assert_eq!(with(on).address.as_deref(), Some("hbases://m:16000"));
    assert_eq!(with(off).address.as_deref(), Some("hbase://m:16000"));
    assert_eq!(with(&format!("{off} {stores}")).notes, Vec::<String>::new());
    let notes = with(&format!("{on} {stores}")).notes.join("; ");
    assert!(notes.contains("truststore.location: not read; give the authorities"), "{notes}");
    assert!(notes.contains("with --tls-cert and --tls-key, if it is needed"), "{notes}");
}

#[test]
fn settings_of_the_table_become_options() {
    let bound = bound("columnfamily=cf durability=SKIP_WAL").unwrap();
    assert_eq!(bound.options["column_family"], "cf");
    assert_eq!(bound.options["durability"], "SKIP_WAL");
    assert!(bound.must_exist && bound.buffer.is_none());
}

#[test]
fn buffered_writes_have_a_size() {
    let buffer = |pairs: &str| bound(&format!("columnfamily=cf {pairs}")).unwrap().buffer;
    let buffered = buffer("clientbuffering=true").unwrap();
    assert_eq!((buffered.property, buffered.bytes), ("clientbuffering", 12_582_912));
    assert_eq!(buffer("clientbuffering=true writebuffersize=5").unwrap().bytes, 5);
    assert_eq!(buffer("writebuffersize=5"), None);
}

#[test]
fn what_has_no_effect_is_noted() {
    let masters = "columnfamily=cf hbase.masters=m";
    let notes = |pairs: &str| bound(&format!("{masters} {pairs}")).unwrap().notes.join("; ");
    assert!(notes("hbase.client.retries.number=3").contains("counted, not sent again"));
    assert!(notes("hbase.rpc.timeout=3").contains("--timeout sets it"));
    assert!(notes("debug=true").starts_with("debug: "));
    assert_eq!(notes("debug=false zookeeper.znode.parent=/hbase"), "");
}

#[test]
fn a_list_of_hosts_has_an_end() {
    let error = bound(&format!("columnfamily=cf hbase.masters={}", "h,".repeat(1_001)));
    assert!(error.unwrap_err().contains("names more than 1000 hosts"));
    let error = bound(&format!("columnfamily=cf hbase.masters={}", "$".repeat(9_000)));
    assert!(error.unwrap_err().len() < 300);
}

#[test]
fn mistakes_name_the_property() {
    for (pairs, message) in [
        ("", "columnfamily: the column family is missing; give that of the table"),
        ("columnfamily=cf principal=me", "principal: this driver does not support Kerberos"),
        ("columnfamily=cf keytab=/k", "keytab: "),
        ("columnfamily=cf hbase.security.authentication=kerberos", "not support Kerberos"),
        ("columnfamily=cf hbase.client.netty.tls.enabled=1", "netty.tls.enabled: "),
        ("columnfamily=cf durability=true", "durability: \"true\" is not valid; give USE_DEFAULT"),
        ("columnfamily=cf writebuffersize=0", "writebuffersize: 0 is out of range"),
        ("columnfamily=cf clientbuffering=1", "clientbuffering: "),
        ("columnfamily=cf hbase.master.port=65536", "hbase.master.port: 65536 is out of range"),
        ("columnfamily=cf hbase.masters=a hbase.master.port=0", "a:0: its port is not known"),
        ("columnfamily=cf hbase.master.port=0 hbase.regionserver.port=0", "no server has a known"),
        ("columnfamily=cf hbase.zookeeper.quorum=,", "hbase.zookeeper.quorum: names no host"),
        ("columnfamily=cf hbase.zookeeper.quorum=a/b", "quorum: \"a/b\" is not a host"),
        ("columnfamily=cf hbase.masters=a:0", "masters: \"a:0\" is not a host"),
        ("columnfamily=cf hbase.masters=[::1", "is not a host"),
        ("columnfamily=cf hbase.masters=a:1:2", "is not a host"),
        ("columnfamily=cf hbase.usescanvaluefiltering=true", "do not filter"),
    ] {
        let error = bound(pairs).unwrap_err();
        assert!(error.contains(message), "{pairs}: {error}");
    }
}
