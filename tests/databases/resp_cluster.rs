//! A Redis cluster: keys are on the right nodes and move under load, and a killed node is noticed.

use crate::binary::{Finished, Running, measure};
use crate::servers::resp_cluster::{Cluster, redis_cluster};
use crate::trust::{conforms, unsure};

/// Some of all kinds of operations.
const MIX: &str = "create=2,read=3,update=2,delete=1";

/// The documents made by a run that are there, on each node.
fn present(cluster: &Cluster, made: &str) -> Vec<usize> {
    let ids = |keys: Vec<String>| {
        let ids = keys.iter().filter_map(|key| key.rsplit_once(':'));
        ids.filter(|(_, id)| id.parse::<u64>().is_ok()).count()
    };
    cluster.keys(&format!("{made}:*")).into_iter().map(ids).collect()
}

fn address(cluster: &Cluster) -> String {
    format!("redis://127.0.0.1:{}", cluster.port(2))
}

/// Starts a run of some seconds.
fn begin(address: &str, more: &[&str]) -> Running {
    let words = ["run", address, "--docs", "2000", "-r", "500", "-c", "8", "--warmup", "0s"];
    Running::start([&words[..], &["--keep", "--verify", "--audit"], more].concat())
}

/// The number of documents that an audit found missing.
fn lost(run: &Finished) -> u64 {
    run.operation("audit", "verify")["failures"]["lost"].as_u64().unwrap_or(0)
}

#[test]
fn keys_are_on_all_nodes_and_are_found_again() {
    let Some(cluster) = redis_cluster() else { return };
    let address = address(&cluster);
    let words = ["run", &address, "--docs", "600", "--ops", "2000", "-c", "6", "--audit"];
    let more = ["--mix", MIX, "--verify", "--keep"];
    let run = measure([&words[..], &more].concat()).passed();
    let there = present(&cluster, run.database());
    let expected = 600 + run.sum("create", "ok") - run.sum("delete", "ok");
    assert_eq!(there.iter().sum::<usize>() as u64, expected, "{there:?}");
    assert!(there.iter().all(|count| *count > 100), "{there:?}");
    assert!(run.operation("crud", "read")["failures"].as_object().unwrap().is_empty());
    // Without `--keep` everything is removed, from all nodes; batches and scans cover several
    // nodes.
    let words = ["run", &address, "--docs", "600", "--batch", "50", "--ops", "500", "-c", "6"];
    let more = ["--workload", "ycsb-e"];
    let run = measure([&words[..], &more].concat()).passed();
    assert!(run.sum("scan", "ok") > 0);
    let left = cluster.keys(&format!("{}*", run.database()));
    assert!(left.iter().all(|keys| keys.iter().all(String::is_empty)), "{left:?}");
    conforms("redis", "a cluster");
}

#[test]
fn slots_move_to_another_node_and_no_operation_fails() {
    let Some(cluster) = redis_cluster() else { return };
    let run = begin(&address(&cluster), &["-d", "8s", "--mix", MIX]);
    std::thread::sleep(std::time::Duration::from_secs(2));
    cluster.reshard(1_000);
    let run = run.finish();
    assert!(matches!(run.code, 0 | 5), "{}", run.stderr);
    let failed = |kind: &str| run.operation("crud", kind)["failures"].clone();
    for kind in ["create", "read", "update", "delete"] {
        assert_eq!(failed(kind), serde_json::json!({}), "{kind}");
    }
    let relocated: u64 = ["create", "read", "update"]
        .iter()
        .filter_map(|kind| run.operation("crud", kind)["relocated"].as_u64())
        .sum();
    assert!(relocated > 0, "no slot that was used has moved");
    assert_eq!(lost(&run), 0, "{}", run.stdout);
    conforms("redis", "slots that move");
}

/// It stores nothing on disk, so its data is lost; the other nodes keep theirs.
#[test]
fn a_node_that_is_killed_has_lost_what_the_audit_says() {
    let Some(mut cluster) = redis_cluster() else { return };
    let more = ["-d", "8s", "--timeout", "500ms", "--give-up", "20s", "--mix"];
    let mix = "create=2,read=1,update=2";
    let run = begin(&address(&cluster), &[&more[..], &[mix]].concat());
    std::thread::sleep(std::time::Duration::from_secs(3));
    cluster.kill(0);
    std::thread::sleep(std::time::Duration::from_secs(1));
    cluster.start_again(0);
    let run = run.finish();
    assert!(matches!(run.code, 5 | 6), "{}", run.stderr);
    let audit = measure(["audit", run.output().to_str().expect("UTF-8")]);
    assert_eq!(audit.code, 6, "{}", audit.stderr);
    let lost = lost(&audit);
    assert!(lost > 300, "{}", audit.stdout);
    let there = present(&cluster, run.database()).iter().sum::<usize>() as u64;
    let least = 2_000 + run.sum("create", "ok") - lost;
    assert!(
        (least..=least + unsure(&run, "create")).contains(&there),
        "{there} are there, {lost} lost"
    );
    conforms("redis", "a node of a cluster killed");
}
