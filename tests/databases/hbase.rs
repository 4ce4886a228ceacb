//! HBase, checked with its own client.

use crate::binary::{Running, failures, measure, number, springload};
use crate::own;
use crate::servers::database::{Database, Lease};
use crate::servers::hbase::{
    with_client_certificates, with_one_region_server, with_tls, with_two_region_servers,
};
use crate::servers::write_certificates;
use crate::speech::HBase;
use crate::trust::{Subject, checks_certificates, conforms};
use crate::ycsb::{
    RECORDS, Ycsb, all_rows, done, refused, refused_where_there_is_none, until_it_reads,
};

/// The command line of YCSB's guide, for a table.
fn ycsb(hbase: &Database, table: &str) -> Ycsb {
    let properties = [("table", table), ("columnfamily", "cf")];
    let conf = hbase.folder().to_str().expect("UTF-8");
    Ycsb::new("hbase12", &properties).with(&["-cp", conf])
}

/// Creates an empty table of two regions.
fn create(hbase: &Database, table: &str) {
    hbase.hbase_client(&["drop", table]);
    hbase.hbase_client(&["create", table, "cf", "user5"]);
}

#[test]
fn workloads_and_what_its_own_client_reads_after_them() {
    let Some(hbase) = with_two_region_servers() else { return };
    create(&hbase, "usertable");
    let usertable = ycsb(&hbase, "usertable");
    usertable.load();
    assert_eq!(hbase.hbase_client(&["check", "usertable", "cf"]), all_rows(None));
    for workload in ["a", "b", "c", "f"] {
        usertable.run(workload);
    }
    let inserting = usertable.run("d");
    assert_eq!(hbase.hbase_client(&["check", "usertable", "cf"]), all_rows(Some(&inserting)));
    create(&hbase, "scans");
    let scans = ycsb(&hbase, "scans");
    scans.load();
    let scanning = scans.run("e");
    let scan = scanning.operation("run", "scan");
    assert!(number(&scan["rows"]) > 10 * number(&scan["ok"]), "{scan}");
    assert_eq!(hbase.hbase_client(&["check", "scans", "cf"]), all_rows(Some(&scanning)));
}

#[test]
fn it_reads_what_its_own_client_wrote() {
    let Some(hbase) = with_two_region_servers() else { return };
    create(&hbase, "theirs");
    let count = RECORDS.to_string();
    hbase.hbase_client(&["load", "theirs", "cf", "0", &count]);
    ycsb(&hbase, "theirs").run("c");
    ycsb(&hbase, "theirs").run("f");
    assert_eq!(hbase.hbase_client(&["check", "theirs", "cf"]), all_rows(None));
}

#[test]
fn regions_split_and_move_under_a_run() {
    let Some(hbase) = with_two_region_servers() else { return };
    create(&hbase, "moving");
    let moving = ycsb(&hbase, "moving");
    moving.load();
    let mut run = moving.endless("a");
    let seen = until_it_reads(&mut run, 0);
    hbase.hbase_client(&["split", "moving", "user7"]);
    let seen = until_it_reads(&mut run, seen);
    let moved = hbase.hbase_client(&["move", "moving"]);
    assert_eq!(moved.lines().count(), 3, "{moved}");
    until_it_reads(&mut run, seen + 1);
    run.interrupt();
    let run = run.finish();
    assert_eq!((run.code, &run.record["partial"]), (130, &true.into()), "{}", run.stderr);
    // No failures, and the data is right.
    let done = done(&run, "run");
    assert!(done.iter().any(|(kind, count)| kind == "update" && *count > 0), "{done:?}");
    assert_eq!(hbase.hbase_client(&["check", "moving", "cf"]), all_rows(None));
}

#[test]
fn a_run_outlives_its_server() {
    let Some(hbase) = with_one_region_server() else { return };
    let usertable = ycsb(&hbase, "usertable");
    outlives(hbase, &usertable);
}

#[test]
fn a_run_with_tls_outlives_its_server() {
    let Some(hbase) = with_tls() else { return };
    let authority = hbase.folder().join("ca.pem");
    let words = ["--tls-ca", authority.to_str().expect("UTF-8")];
    let usertable = ycsb(&hbase, "usertable").with(&words);
    outlives(hbase, &usertable);
}

/// A server that is killed during a run, and started again.
fn outlives(mut hbase: Lease, usertable: &Ycsb) {
    create(&hbase, "usertable");
    usertable.load();
    let mut run = usertable.endless("a");
    until_it_reads(&mut run, 0);
    hbase.kill();
    hbase.start_again();
    let seen = run.stderr().lines().filter(|line| line.contains(" sec: ")).count();
    until_it_reads(&mut run, seen + 1);
    run.interrupt();
    let run = run.finish();
    assert_eq!(run.code, 130, "{}", run.stderr);
    for kind in ["read", "update"] {
        let operation = run.operation("run", kind);
        let classes = operation["failures"].as_object().expect("failures");
        let known = ["connect", "reset", "timeout", "unanswered", "server_error"];
        assert!(classes.keys().all(|class| known.contains(&&class[..])), "{operation}");
        assert!(failures(&operation) > 0 && number(&operation["ok"]) > 0, "{operation}");
    }
    let wrong = run.operation("run", "verify")["failures"].clone();
    assert_eq!(wrong, serde_json::json!({}));
    // No acknowledged write is lost or half done.
    assert_eq!(hbase.hbase_client(&["check", "usertable", "cf"]), all_rows(None));
}

#[test]
fn the_mix_of_run_fills_a_table_of_its_own_and_removes_it() {
    let Some(hbase) = with_two_region_servers() else { return };
    let before = hbase.hbase_client(&["tables", "any"]);
    let url = format!("hbase://{}", hbase.hbase_address());
    let mix = ["run", &url, "--docs", "500", "--ops", "1000", "-c", "8"];
    let run = measure(mix).passed();
    assert!(run.stages().all(|stage| stage["operations"].as_array().is_some_and(|operations| {
        operations.iter().all(|operation| failures(operation) == 0)
    })));
    assert_eq!(hbase.hbase_client(&["tables", "any"]), before);
}

const SUBJECT: Subject = Subject {
    name: "hbase",
    many: "rows",
    server: with_one_region_server,
    address: |server| format!("hbase://{}", server.hbase_address()),
    made: |address, table| format!("{address}/{table}"),
    count: |server, table| server.hbase_client(&["count", table]).trim().parse().expect("a number"),
    set: |server, table, id| {
        server.hbase_client(&["set", table, id, "name", "lie"]);
    },
    changed: "wrong_body",
    remove: |server, table, id| {
        server.hbase_client(&["remove", table, id]);
    },
    keeps: |_, _| true,
    clean: |server, table| {
        server.hbase_client(&["drop", table]);
    },
};

#[test]
fn it_keeps_its_word_and_is_found_out_if_it_does_not() {
    SUBJECT.keeps_its_word();
}

#[test]
fn it_is_killed() {
    SUBJECT.is_killed();
}

#[test]
fn it_stands_still() {
    SUBJECT.is_frozen();
}

/// Rows in bulk use a different call from single ones.
#[test]
fn writes_that_failed_are_looked_for() {
    SUBJECT.fails_writes(|ports| HBase { ports }, 1);
}

#[test]
fn operations_of_ones_own() {
    let Some(hbase) = with_two_region_servers() else { return };
    let address = format!("hbase://{}?splits=3", hbase.hbase_address());
    // The documents are 0 to 59, sorted as strings.
    own::done(
        &address,
        &[
            r#"whole={"scan":"","expect":{"rows":60}}"#,
            r#"ones={"scan":"prefix=1","expect":{"rows":11}}"#,
            r#"some={"scan":"from=1&to=2","expect":{"rows":12}}"#,
            r#"one={"scan":"from={{key}}&to={{key}}","expect":{"rows":1}}"#,
            r#"few={"scan":"from={{key}}","params":{"limit":3},"expect":{"rows":"1..3"}}"#,
            r#"several={"multi_get":20,"expect":{"rows":20}}"#,
        ],
    );
    own::refused(&address, "x=scan limit=many", "limit is not a number");
    own::refused(&address, "x=multi_get many", "is not JSON");
}

#[test]
fn several_rows_are_one_request_to_each_server() {
    let Some(hbase) = with_two_region_servers() else { return };
    hbase.hbase_client(&["drop", "several"]);
    hbase.hbase_client(&["create", "several", "cf", "3"]);
    for row in ["a", "2", "5"] {
        hbase.hbase_client(&["set", "several", row, "name", row]);
    }
    let regions = hbase.hbase_client(&["regions", "several"]);
    let servers = regions.lines().filter_map(|line| line.split(" on ").nth(1));
    let servers: std::collections::HashSet<_> = servers.collect();
    let address = format!("hbase://{}/several", hbase.hbase_address());
    let rows = r#"x={"multi_get":["a","absent","2","5"],"expect":{"rows":3}}"#;
    let words = ["run", &address, "--use-existing", "--docs", "4", "-c", "1", "-n", "30"];
    let run = measure([&words[..], &["--mix", "x=1", "--op", rows]].concat()).passed();
    let found = run.operation("crud", "x");
    assert_eq!((number(&found["ok"]), number(&found["rows"])), (30, 90), "{found}");
    assert_eq!(number(&found["http_requests"]), 30 * servers.len() as u64, "{found}{regions}");
}

#[test]
fn regions_move_under_requests_for_several_rows() {
    let Some(hbase) = with_two_region_servers() else { return };
    hbase.hbase_client(&["drop", "walking"]);
    hbase.hbase_client(&["create", "walking", "cf", "3"]);
    for row in ["a", "2", "5"] {
        hbase.hbase_client(&["set", "walking", row, "name", row]);
    }
    let address = format!("hbase://{}/walking", hbase.hbase_address());
    let rows = r#"x={"multi_get":["a","absent","2","5"],"expect":{"rows":3}}"#;
    let words = ["run", &address, "--use-existing", "--docs", "4", "-c", "2", "-d", "5m"];
    let more = ["-r", "200", "--mix", "x=1", "--op", rows, "--warmup", "0s"];
    let mut run = Running::start([&words[..], &more].concat());
    while !run.has_begun() {
        assert!(!run.ended(), "{}", run.stderr());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    // The new regions exist when this returns, which takes longer than many of the requests.
    hbase.hbase_client(&["move", "walking"]);
    hbase.hbase_client(&["split", "walking", "a"]);
    run.interrupt();
    let run = run.finish();
    assert_eq!(run.code, 130, "{}", run.stderr);
    let found = run.operation("crud", "x");
    assert_eq!(failures(&found), 0, "{found}");
    assert_eq!(number(&found["rows"]), 3 * number(&found["ok"]), "{found}");
    assert!(number(&found["relocated"]) > 0, "{found}");
}

#[test]
fn rows_of_some_columns_are_those_that_its_own_client_finds() {
    let Some(hbase) = with_two_region_servers() else { return };
    hbase.hbase_client(&["drop", "sparse"]);
    hbase.hbase_client(&["create", "sparse", "cf", "row5"]);
    for row in 0..9 {
        let columns = ["name", "tag:a", "tag:b", "tags"].into_iter().enumerate();
        for (_, column) in columns.filter(|(place, _)| row % (place + 2) == 0) {
            hbase.hbase_client(&["set", "sparse", &format!("row{row}"), column, "x"]);
        }
    }
    let address = format!("hbase://{}/sparse", hbase.hbase_address());
    let mut seen = Vec::new();
    for (prefix, columns, begins) in [
        ("row", "name", "-"),
        ("row", "tag:a,tags", "-"),
        ("row", "-", "tag"),
        ("-", "-", "tag:"),
        ("-", "tag:b", "tag:"),
        ("row6", "-", "tag:"),
        ("row", "none", "-"),
    ] {
        let theirs = hbase.hbase_client(&["scan", "sparse", prefix, columns, begins]);
        let rows: u64 = theirs.split(' ').next().and_then(|it| it.parse().ok()).expect("rows");
        let given = [("prefix", prefix), ("columns", columns), ("column_prefix", begins)];
        let given = given.into_iter().filter(|(_, value)| *value != "-");
        let given: Vec<_> = given.map(|(name, value)| format!("{name}={value}")).collect();
        let scan = format!("x=scan {}", given.join("&"));
        let words = ["run", &address, "--use-existing", "--docs", "4", "-c", "1", "-n", "5"];
        let run = measure([&words[..], &["--mix", "x=1", "--op", &scan]].concat()).passed();
        let found = run.operation("crud", "x");
        // A count of 0 is omitted.
        let ours = found["rows"].as_u64().unwrap_or(0);
        assert_eq!((number(&found["ok"]), ours), (5, 5 * rows), "{scan}: {found}");
        seen.push(rows);
    }
    // Each of them returns other rows.
    assert_eq!(seen, [5, 4, 6, 5, 3, 1, 0]);
}

#[test]
fn wrong_tables_and_families_are_refused() {
    let Some(hbase) = with_two_region_servers() else { return };
    create(&hbase, "usertable");
    let address = hbase.hbase_address();
    refused(
        &format!("hbase://{address}/absent?cf=cf"),
        &["there is no table \"absent\"", "create it first"],
    );
    refused(
        &format!("hbase://{address}/usertable?cf=other"),
        &["has no column family \"other\"; it has cf"],
    );
    conforms("hbase", "wrong object");
}

#[test]
fn certificates_are_checked() {
    let Some(hbase) = with_tls() else { return };
    let address = |scheme: &str| format!("{scheme}://{}", hbase.hbase_address());
    checks_certificates("hbase", &hbase, &address("hbases"), &address("hbase"));
    let write = format!("write {}", address("hbases"));
    measure(["run", &address("hbase")]).refused(3, &["the server speaks TLS", &write]);
    let other_name = address("hbases").replace("127.0.0.1", "localhost");
    let authority = hbase.folder().join("ca.pem");
    let authority = ["--tls-ca", authority.to_str().expect("UTF-8")];
    let named = measure([&["run", &other_name][..], &authority].concat());
    named.refused(3, &["its certificate is for 127.0.0.1", "use the name of the certificate"]);
    let made = format!("{}/made", address("hbases"));
    let create = ["hbase", "create-table", &made];
    springload([&create[..], &authority].concat()).passed();
    springload(create).refused(3, &["certificate is not trusted", "--tls-ca FILE"]);
    assert!(hbase.hbase_client(&["tables", "any"]).contains("made"));
}

#[test]
fn a_server_that_wants_a_certificate_is_shown_one() {
    let Some(hbase) = with_client_certificates() else { return };
    let file = |name: &str| hbase.folder().join(name).display().to_string();
    let address = format!("hbases://{}", hbase.hbase_address());
    let run = |more: &[&str]| {
        let words = ["run", &address, "--docs", "20", "--ops", "40", "-c", "2", "--timeout", "5s"];
        measure([&words[..], &["--tls-ca", &file("ca.pem")], more].concat())
    };
    let (own, key) = (file("server.pem"), file("key.pem"));
    run(&["--tls-cert", &own, "--tls-key", &key]).passed();
    // Java has no alert of its own for the lack of one.
    let parts = ["client certificate", "--tls-cert FILE and --tls-key"];
    run(&[]).refused(3, &parts);
    let others = tempfile::tempdir().expect("a folder");
    write_certificates(others.path());
    let other = |name: &str| others.path().join(name).display().to_string();
    run(&["--tls-cert", &other("server.pem"), "--tls-key", &other("key.pem")]).refused(3, &parts);
}

#[test]
fn other_peers_are_refused() {
    if let Some(hbase) = with_one_region_server() {
        let address = hbase.hbase_address();
        let parts = ["it does not speak TLS", "whether it is hbase:// or hbases://"];
        measure(["run", &format!("hbases://{address}"), "-k"]).refused(3, &parts);
        let flag = measure(["run", &format!("hbase://{address}"), "-k"]);
        flag.refused(2, &["--insecure: the target does not use TLS", "write hbases://"]);
    }
    measure(["run", "hbase://ann:guessed@127.0.0.1:9"]).refused(2, &["a password, which this"]);
    conforms("hbase", "passwords are refused");
    refused_where_there_is_none("hbase", "does not speak HBase's RPC", |port| {
        format!("hbase://127.0.0.1:{port}/usertable?cf=cf")
    });
}
