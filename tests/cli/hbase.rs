//! HBase through YCSB's command line: spellings, properties and `hbase-site.xml`, without a server.
//! Tests with one are in `tests/databases`.

use crate::springload::{Finished, springload};
use serde_json::Value;
use std::path::Path;

const LOAD: [&str; 8] = [
    "load",
    "hbase12",
    "-P",
    "workloads/workloada",
    "-p",
    "recordcount=4000",
    "-p",
    "columnfamily=cf",
];

/// `springload ycsb` with these words in addition to the guide's load phase.
fn load(more: &[&str]) -> Finished {
    springload([&["ycsb"], &LOAD[..], more].concat())
}

/// The plan with these words in addition.
fn planned(more: &[&str]) -> Value {
    let run = load(&[more, &["--dry-run"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    serde_json::from_str(&run.stdout).expect("a plan")
}

fn write(folder: &Path, text: impl AsRef<[u8]>) -> String {
    std::fs::write(folder.join("hbase-site.xml"), text).expect("a writable folder");
    folder.to_str().expect("a name in UTF-8").to_owned()
}

fn site(pairs: &[(&str, &str)]) -> String {
    let all = pairs.iter().map(|(name, value)| {
        format!("<property><name>{name}</name><value>{value}</value></property>")
    });
    format!("<?xml version=\"1.0\"?>\n<configuration>{}</configuration>", all.collect::<String>())
}

#[test]
fn every_spelling_of_ycsb_means_hbase() {
    for name in
        ["hbase", "hbase1", "hbase2", "hbase098", "hbase10", "hbase12", "hbase14", "hbase20"]
    {
        let words = ["ycsb", "load", name, "-P", "workloads/workloada", "-p", "columnfamily=cf"];
        let run = springload([&words[..], &["--dry-run"]].concat());
        let plan: Value = serde_json::from_str(&run.stdout).expect("a plan");
        assert_eq!(plan["target"]["driver"], "hbase", "{name}: {}", run.stderr);
    }
    for class in ["db.HBaseClient", "db.HBaseClient10", "db.hbase12.HBaseClient12"] {
        for package in ["com.yahoo.ycsb", "site.ycsb"] {
            let plan = planned(&["-db", &format!("{package}.{class}")]);
            assert_eq!(plan["target"]["driver"], "hbase", "{package}.{class}");
        }
    }
}

#[test]
fn what_the_guide_asks_for_is_planned() {
    let plan = planned(&["-p", "table=t", "-thread", "50", "-s"]);
    let target = &plan["target"];
    assert_eq!(target["servers"], serde_json::json!(["127.0.0.1:16000", "127.0.0.1:16020"]));
    assert_eq!(target["database"], serde_json::json!({"kind": "existing", "name": "t"}));
    assert_eq!(target["column_family"], "cf");
    assert_eq!((&plan["connections"], &plan["stages"][0]["batch"]), (&50.into(), &1.into()));
}

#[test]
fn tls_is_planned_where_the_site_has_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = ("hbase.rpc.tls.truststore.location", "/etc/hbase/trust.jks");
    let tls = "hbase.client.netty.tls.enabled";
    let path = write(folder.path(), site(&[(tls, "true"), store]));
    let plan = planned(&["-cp", &path, "-k"]);
    assert_eq!((&plan["target"]["tls"], &plan["target"]["insecure"]), (&true.into(), &true.into()));
    let nobody = format!("hbase.masters=127.0.0.1:{}", free_port());
    let noted = load(&["-cp", &path, "-k", "-p", &nobody, "--timeout", "2s"]).stderr;
    assert!(noted.contains("truststore.location: not read; give the authorities"), "{noted}");
    let without = write(folder.path(), site(&[(tls, "false"), store]));
    assert_eq!(planned(&["-cp", &without])["target"]["tls"], Value::Null);
    let cure = "give -p hbase.client.netty.tls.enabled=true, or leave it out";
    let words = ["-p", "hbase.masters=m", "-k"];
    load(&words).refused(2, &["--insecure: the target does not use TLS", cure]);
}

#[test]
fn buffered_writes_of_the_load_phase_go_in_batches() {
    let batch = |more: &[&str]| {
        let words = [&["-p", "clientbuffering=true"], more].concat();
        planned(&words)["stages"][0]["batch"].as_u64().expect("a number")
    };
    assert_eq!(batch(&[]), 1_000);
    // Ten fields of 106 bytes each, including the name.
    assert_eq!(batch(&["-p", "writebuffersize=10600"]), 10);
    assert_eq!(batch(&["-p", "writebuffersize=1"]), 1);
    assert_eq!(batch(&["-p", "batchsize=7"]), 7);
}

#[test]
fn settings_of_the_site_are_read_and_properties_override_them() {
    let folders = [(); 3].map(|()| tempfile::tempdir().expect("a folder"));
    let [first, second, empty] = folders.each_ref().map(tempfile::TempDir::path);
    let quorum = "hbase.zookeeper.quorum";
    let first = write(first, site(&[(quorum, "zk1, zk2"), ("hbase.master.port", "7")]));
    let second = write(second, site(&[(quorum, "other")]));
    let empty = empty.to_str().expect("UTF-8");
    let servers = |more: &[&str]| planned(more)["target"]["servers"].clone();
    let path = format!("{empty}:/nowhere:{first}:{second}");
    assert_eq!(
        servers(&["-cp", &path]),
        serde_json::json!(["zk1:7", "zk2:7", "zk1:16020", "zk2:16020"])
    );
    let over = servers(&["-cp", &first, "-p", "hbase.zookeeper.quorum=h"]);
    assert_eq!(over, serde_json::json!(["h:7", "h:16020"]));
    let file = servers(&["-cp", &format!("{second}/hbase-site.xml")]);
    assert_eq!(file, serde_json::json!(["other:16000", "other:16020"]));
}

#[test]
fn settings_are_found_where_the_launcher_of_ycsb_looks() {
    for folder in ["conf", "hbase12-binding/conf", "hbase12/conf"] {
        let home = tempfile::tempdir().expect("a folder");
        let conf = home.path().join(folder);
        std::fs::create_dir_all(&conf).expect("a folder");
        write(&conf, site(&[("hbase.masters", "m:1")]));
        let mut command = assert_cmd::Command::new(crate::springload::BINARY);
        command.current_dir(home.path()).arg("ycsb").args(LOAD).arg("--dry-run");
        let plan = command.output().expect("it runs").stdout;
        let plan: Value = serde_json::from_slice(&plan).expect("a plan");
        assert_eq!(plan["target"]["servers"], serde_json::json!(["m:1"]), "{folder}");
    }
}

#[test]
fn a_site_that_cannot_be_read_is_reported_by_its_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let entity = "<!DOCTYPE c [<!ENTITY a \"&b;&b;\"><!ENTITY b \"ha\">]>\n<configuration>\n\
                  <property><name>hbase.masters</name><value>&a;</value></property>\n\
                  </configuration>";
    let large = format!("<configuration>{}</configuration>", " ".repeat(1 << 20));
    for (text, message) in [
        (entity, "line 3: &a; is not resolved"),
        ("<configuration>\n<property>", "line 2: "),
        ("\u{0}\u{1}", "line 1: there is text"),
        (&large, "larger than 1048576 bytes"),
        (&site(&[("hbase.security.authentication", "kerberos")]), "not support Kerberos"),
        (&site(&[("hbase.zookeeper.quorum", "a b")]), "\"a b\" is not a host"),
    ] {
        let path = write(folder.path(), text);
        load(&["-cp", &path]).refused(2, &[message]);
    }
    let path = folder.path().join("hbase-site.xml");
    std::fs::remove_file(&path).expect("it was written");
    std::fs::create_dir(&path).expect("a folder");
    let folder = folder.path().to_str().expect("UTF-8");
    load(&["-cp", folder]).refused(2, &["hbase-site.xml: it is not a file", "fix it"]);
}

#[test]
fn a_missing_column_family_is_reported_before_anything_is_sent() {
    for phase in ["load", "run", "shell"] {
        let words = ["ycsb", phase, "hbase12", "-P", "workloads/workloada"];
        springload(words).refused(2, &["-p columnfamily: the column family is missing"]);
    }
}

#[test]
fn a_quorum_without_hbase_cannot_be_reached() {
    let port = free_port();
    let ports = [format!("hbase.master.port={port}"), "hbase.regionserver.port=0".to_owned()];
    let words = ["-p", &ports[0], "-p", &ports[1], "--timeout", "2s"];
    let refused = load(&words);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    let (note, error) = refused.stderr.split_once('\n').expect("two lines");
    assert!(note.starts_with("note: ZooKeeper is not used: "), "{note}");
    let message = format!("error: cannot reach HBase at 127.0.0.1:{port}");
    assert!(error.starts_with(&message) && error.lines().count() == 1, "{error}");
}

#[test]
fn the_guides_table_has_the_guides_split_points() {
    let points = |more: &[&str]| {
        let words = [&["hbase", "create-table", "hbase://h/usertable", "--dry-run"], more].concat();
        let run = springload(words);
        assert_eq!((run.code, &run.stderr[..]), (0, ""));
        run.stdout.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    // (1..n).map {|i| "user#{1000+i*(9999-1000)/n}"}
    let of_ruby = |n: u64| -> Vec<_> {
        (1..=n).map(|i| format!("user{}", 1000 + i * (9999 - 1000) / n)).collect()
    };
    for count in [1, 7, 20, 200] {
        assert_eq!(points(&["--splits", &count.to_string()]), of_ruby(count));
    }
    assert_eq!(points(&["--split-keys", "m,b,x y"]), ["b", "m", "x y"]);
    assert_eq!(points(&[]), [""; 0]);
}

#[test]
fn a_table_that_cannot_be_made_is_refused() {
    let create = |more: &str| springload(format!("hbase create-table {more}").split(' '));
    for (words, message) in [
        ("hbase://h", "TARGET: no table in"),
        ("http://h/t", "TARGET: no hbase:// in"),
        ("hbase://h/a/b", "TARGET: "),
        ("hbase://h/t --splits 0", "--splits: 0 is out of range"),
        ("hbase://h/t --splits 9000", "--splits: 9000 is out of range"),
        ("hbase://h/t --split-keys a,,b", "--split-keys: an empty row"),
        ("hbase://h/t --split-keys a,a", "--split-keys: \"a\" twice"),
        ("hbase://h/t --cf a:b", "a column family"),
        ("hbase://h/t -k", "--insecure: the target does not use TLS"),
        ("hbases://h/t --tls-ca /none.pem", "--tls-ca: "),
    ] {
        create(words).refused(2, &[message]);
    }
    assert_eq!(create("hbase://h/t --splits 2 --split-keys a").code, 2);
    create(&format!("hbase://127.0.0.1:{}/t --timeout 2s", free_port()))
        .refused(3, &["cannot reach HBase at 127.0.0.1"]);
}

#[test]
fn the_shell_takes_an_address_with_settings() {
    let address = format!("hbase://127.0.0.1:{}/t?cf=f", free_port());
    springload(["shell", &address]).refused(3, &["cannot reach HBase at 127.0.0.1"]);
    springload(["shell", "hbase://h/t?cd=f"]).refused(2, &["an unknown setting \"cd\""]);
    springload(["shell", "http://h/t?q=2"]).refused(2, &["a query has no effect"]);
}

#[test]
fn a_property_of_the_guide_that_does_not_exist_names_the_one_that_does() {
    let port = format!("hbase.masters=127.0.0.1:{}", free_port());
    let run = load(&["-p", "thread=50", "-p", "recordcont=1", "-p", "x=1", "-p", &port]);
    for note in
        ["thread: ignored, no such property; did you mean threadcount?", "mean recordcount?"]
    {
        assert!(run.stderr.contains(note), "{}", run.stderr);
    }
    assert!(run.stderr.contains("-p x: ignored, no such property\n"), "{}", run.stderr);
}

/// A port on which nothing listens: a listener was just closed.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0");
    listener.and_then(|listener| listener.local_addr()).expect("a port").port()
}
