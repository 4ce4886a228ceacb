//! CouchDB's reports about itself, as CouchDB 3.5 writes them.

use super::*;
use serde_json::json;

fn counter(value: u64) -> Value {
    json!({"value": value, "type": "counter", "desc": ""})
}

fn read(read: fn(&Value, &mut Reading), answer: &Value) -> Reading {
    let mut reading = Reading::default();
    read(answer, &mut reading);
    reading
}

fn value(reading: &Reading, name: &str) -> Option<f64> {
    let found = reading.values.iter().find(|(meter, _)| meter.name == name);
    found.map(|(_, value)| *value)
}

#[test]
fn counts_are_rates_and_what_rises_and_falls_is_not() {
    let reading = read(
        stats,
        &json!({
            "couchdb": {
                "open_os_files": counter(12),
                "document_writes": counter(700),
                "httpd_request_methods": {"GET": counter(20), "PUT": counter(13)},
                "httpd_status_codes": {"200": counter(21), "201": counter(12)},
            },
            "fsync": {"count": counter(110)},
        }),
    );
    assert_eq!(value(&reading, "fsyncs_per_s"), Some(110.0));
    assert_eq!(value(&reading, "document_writes_per_s"), Some(700.0));
    assert_eq!(value(&reading, "open_os_files"), Some(12.0));
    let counted = |name: &str| reading.values.iter().any(|(it, _)| it.name == name && it.counted);
    assert!(counted("fsyncs_per_s") && !counted("open_os_files"));
    // A number that a server does not have is unknown, and not 0.
    assert_eq!(value(&reading, "mango_results_per_s"), None);
    assert_eq!(reading.served.unwrap().requests(), 33);
}

#[test]
fn a_histogram_without_a_sample_says_nothing() {
    let fsync = |n: u64| {
        let value = json!({"n": n, "percentile": [[95, 26.2], [99, 27.6], [999, 27.9]]});
        json!({"fsync": {"time": {"value": value, "type": "histogram"}}})
    };
    assert_eq!(value(&read(stats, &fsync(18)), "fsync_p99_ms"), Some(27.6));
    assert_eq!(value(&read(stats, &fsync(0)), "fsync_p99_ms"), None);
}

#[test]
fn questions_are_taken_out_of_what_was_served() {
    let all = |get, ok| Served {
        methods: [("GET".to_owned(), get), ("PUT".to_owned(), 5)].into(),
        statuses: [("200".to_owned(), ok)].into(),
    };
    let mut served = all(20, 19);
    let sent = Served { methods: [("GET".to_owned(), 4)].into(), ..Served::default() };
    let answered = Served { statuses: [("200".to_owned(), 3)].into(), ..Served::default() };
    take_away(&mut served, &sent, &answered);
    assert_eq!(served, all(16, 16));
}

#[test]
fn the_longest_queue_counts_and_one_that_is_empty_is_zero() {
    let reading = read(
        system,
        &json!({
            "uptime": 30,
            "memory": {"other": 1, "atom": 2, "atom_used": 2, "processes": 3, "processes_used": 3,
                "binary": 4, "code": 5, "ets": 6},
            "run_queue": 7,
            "os_proc_count": 2,
            "message_queues": {
                "couch_file": {"count": 12, "min": 0, "max": 41, "50": 0},
                "couch_db_updater": {},
                "couch_server": 1, "couch_server_2": 9, "ioq": 3, "rexi_server_n1": 5,
            },
        }),
    );
    assert_eq!(reading.uptime_s, Some(30.0));
    for (name, expected) in [
        ("memory_bytes", 21.0),
        ("run_queue", 7.0),
        ("couchjs", 2.0),
        ("couch_file_queue", 41.0),
        ("db_updater_queue", 0.0),
        ("couch_server_queue", 9.0),
        ("ioq_queue", 3.0),
        ("rexi_queue", 5.0),
    ] {
        assert_eq!(value(&reading, name), Some(expected), "{name}");
    }
    assert_eq!(reading.tasks, None, "a single node knows no others");
}

#[test]
fn a_node_is_down_until_it_is_up_again() {
    let events = |last: &str| {
        let first = json!(["2026-11-23T19:32:36Z", "nodeup"]);
        json!({"distribution_events": {"n3@h": [first, ["2026-11-23T19:33:00Z", last, "timeout"]]}})
    };
    let down = Task { kind: "node_down".to_owned(), what: "n3@h".to_owned() };
    assert_eq!(read(system, &events("nodedown")).tasks, Some(vec![down]));
    assert_eq!(read(system, &events("nodeup")).tasks, Some(Vec::new()));
}

#[test]
fn tasks_are_named_by_database_and_shard() {
    let shard = "shards/80000000-ffffffff/a/b.1795685990";
    let reading = read(
        tasks,
        &json!([
            {"type": "database_compaction", "node": "n1@h", "database": shard},
            {"type": "indexer", "node": "n1@h", "database": shard, "design_document": "_design/v"},
            {"type": "replication", "source": "http://a/", "target": "http://b/"},
        ]),
    );
    let whats: Vec<_> = reading.tasks.unwrap().into_iter().map(|it| it.what).collect();
    assert_eq!(
        whats,
        [
            "a/b 80000000-ffffffff on n1@h",
            "a/b 80000000-ffffffff _design/v on n1@h",
            "http://a/ → http://b/",
        ]
    );
    assert!(reading.of_all);
    assert_eq!(read(tasks, &json!({"error": "x"})).tasks, None);
}

#[test]
fn a_file_is_fragmented_by_what_is_not_live_in_it() {
    let of = |sizes: Value| {
        let reading = read(database, &json!({"doc_count": 7, "sizes": sizes}));
        assert_eq!(value(&reading, "documents"), Some(7.0));
        value(&reading, "fragmentation_percent")
    };
    assert_eq!(of(json!({"file": 200, "active": 50})), Some(75.0));
    assert_eq!(of(json!({"file": 100, "active": 120})), Some(0.0), "what was counted later");
    assert_eq!(of(json!({"file": 0, "active": 0})), None, "there is no file yet");
    assert_eq!(of(json!({"file": 200})), None);
}

#[test]
fn settings_hold_nothing_secret_and_nothing_of_one_installation() {
    let found = settings(&json!({
        "admins": {"admin": "-pbkdf2-1"},
        "chttpd_auth": {"secret": "s", "timeout": "600"},
        "couchdb": {"uuid": "u", "database_dir": "/d", "max_dbs_open": "500"},
        "chttpd": {"port": "5984", "proxy_use_secret": "true", "buffer_response": "false"},
        "smoosh.ratio_dbs": {"concurrency": "2"},
        "replicator": {"password": "p"},
        "jwt_keys": {"hmac:a": "k"},
    }));
    let mut names: Vec<_> = found.iter().map(|(name, value)| format!("{name}={value}")).collect();
    names.sort();
    let expected = [
        "chttpd.buffer_response=false",
        "couchdb.max_dbs_open=500",
        "smoosh.ratio_dbs.concurrency=2",
    ];
    assert_eq!(names, expected);
    let shards = cluster(&json!({"cluster": {"q": 8, "n": 3}}));
    assert!(shards.contains(&("cluster.q".to_owned(), "8".to_owned())));
}
