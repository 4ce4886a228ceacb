//! `springload k8s`: the manifests checked against Kubernetes' own schema, parsed as Kubernetes
//! does.

use crate::grammar::verbs;
use crate::servers::absent;
use crate::springload::springload;
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Checks every document on stdin against the schema, which forbids unknown fields; prints them as
/// JSON.
const CHECK: &str = "
import json, sys, yaml, kubernetes_validate
documents = list(yaml.safe_load_all(sys.stdin))
for document in documents:
    kubernetes_validate.validate(document, '1.37', strict=True)
print(json.dumps(documents))
";

/// The Python in which the schemas are installed.
fn python() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers/built/python/bin");
    let python = folder.join("python");
    let installed = folder.join("kubernetes-validate").exists() && python.exists();
    if !installed {
        absent("kubernetes-validate", "run make test-servers");
    }
    installed.then_some(python)
}

/// The documents of `manifests`, or the errors in them.
fn check(python: &Path, manifests: &str) -> Result<Value, String> {
    let mut child = Command::new(python)
        .args(["-c", CHECK])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("Python starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(manifests.as_bytes()).expect("Python reads");
    drop(stdin);
    let output = child.wait_with_output().expect("Python ends");
    if output.status.success() {
        Ok(serde_json::from_slice(&output.stdout).expect("Python printed JSON"))
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// The manifests that are printed with these flags.
fn manifests(flags: &[&str]) -> String {
    let given = ["k8s", "--agents", "16", "--image", "reg:5000/springload:0.1"];
    let finished = springload(given.iter().chain(flags).copied());
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    finished.stdout
}

#[test]
fn the_manifests_are_what_the_schema_of_kubernetes_allows() {
    let Some(python) = python() else { return };
    let every = [
        "--run-id",
        "r.1_A",
        "--name",
        "load",
        "--namespace",
        "bench",
        "--broker-secret",
        "rabbit.mq",
        "--cpu",
        "1500m",
        "--memory",
        "0.5Gi",
        "--deadline",
        "90s",
        "--pull-secret",
        "registry",
        "--node-selector",
        "pool=load",
        "--node-selector",
        "example.com/arch=no",
        "--toleration",
        "dedicated=load:NoSchedule",
        "--toleration",
        "spot",
        "--priority-class",
        "high",
        "--ca",
        "authority",
        "--ttl",
        "1d",
        "--network-policy",
        "--claim",
        "results",
    ];
    for spread in ["even", "one-per-node", "any"] {
        for keep in [&[][..], &["--keep-others"]] {
            for command in [&[][..], &["--", "run", "$(TARGET)"]] {
                let flags = ["--spread", spread];
                // A claim is only for the coordinator.
                let every = if command.is_empty() { &every[..every.len() - 2] } else { &every[..] };
                let all = [&flags[..], every, keep, command].concat();
                let documents = check(&python, &manifests(&all)).expect("valid manifests");
                let count = documents.as_array().map_or(0, Vec::len);
                assert_eq!(count, if command.is_empty() { 2 } else { 3 });
            }
        }
    }
}

/// A JobSet has few fields of its own, without a schema here; its Jobs match those checked without
/// it.
#[test]
fn a_jobset_has_the_same_jobs_as_are_printed_without_it() {
    let Some(python) = python() else { return };
    let flags = ["--run-id", "r1", "--ttl", "90s", "--network-policy", "--", "run", "http://h:1"];
    let parsed = |flags: &[&str]| {
        let print =
            "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(sys.stdin))))";
        let mut child = Command::new(&python)
            .args(["-c", print])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python starts");
        child
            .stdin
            .take()
            .expect("a pipe")
            .write_all(manifests(flags).as_bytes())
            .expect("written");
        let output = child.wait_with_output().expect("Python ends");
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")
    };
    let apart = parsed(&flags);
    let together = parsed(&[&["--jobset"], &flags[..]].concat());
    let set = &together[0];
    assert_eq!(
        (&set["apiVersion"], &set["kind"]),
        (&json!("jobset.x-k8s.io/v1alpha2"), &json!("JobSet"))
    );
    let spec = set["spec"].as_object().expect("a specification");
    let names: Vec<_> = spec.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["failurePolicy", "successPolicy", "ttlSecondsAfterFinished", "replicatedJobs"]
    );
    assert_eq!(spec["failurePolicy"], json!({ "maxRestarts": 0 }));
    assert_eq!(spec["successPolicy"]["targetReplicatedJobs"], json!(["coordinator"]));
    for (place, name) in ["agents", "coordinator"].into_iter().enumerate() {
        let replicated = &spec["replicatedJobs"][place];
        assert_eq!((&replicated["name"], &replicated["replicas"]), (&json!(name), &json!(1)));
        // A set would recreate a Job that is removed.
        let mut alone = apart[place]["spec"].clone();
        assert_eq!(
            alone.as_object_mut().and_then(|it| it.remove("ttlSecondsAfterFinished")),
            Some(json!(90))
        );
        assert_eq!(replicated["template"]["spec"], alone);
        let labels = &apart[place]["metadata"]["labels"];
        assert_eq!(&replicated["template"]["metadata"]["labels"], labels);
    }
    assert_eq!(together[1], apart[2], "the policy");
    let alone = parsed(&["--jobset"]);
    assert_eq!(alone[0]["spec"]["successPolicy"], Value::Null);
    let long = "a".repeat(50);
    let given = ["k8s", "--agents", "4", "--image", "x", "--jobset", "--name", &long];
    springload(given).refused(2, &["--name"]);
    assert_eq!(springload(given.into_iter().filter(|word| *word != "--jobset")).code, 0);
}

#[test]
fn a_field_that_kubernetes_does_not_know_is_noticed() {
    let Some(python) = python() else { return };
    let manifests = manifests(&["--", "run", "http://h:1"]);
    for (right, wrong) in [
        ("podReplacementPolicy: Failed", "podReplacementPolice: Failed"),
        ("podReplacementPolicy: Failed", "podReplacementPolicy: 1"),
        ("secretKeyRef:", "secretKeyRefs:"),
        ("topologyKey:", "topologyKeys:"),
        ("emptyDir:", "emptyDirs:"),
        ("restartPolicy: Never", "restartPolicy: [Never]"),
    ] {
        assert!(manifests.contains(right), "{manifests}");
        let error = check(&python, &manifests.replace(right, wrong)).expect_err(wrong);
        assert!(error.contains("ValidationError"), "{wrong}: {error}");
    }
}

#[test]
fn each_agent_runs_once_with_its_index_and_the_address_stays_in_the_secret() {
    let Some(python) = python() else { return };
    let documents = check(&python, &manifests(&["--run-id", "r1"])).expect("valid manifests");
    let job = &documents[0];
    assert_eq!(job["metadata"]["name"], "springload-r1-agents");
    let spec = &job["spec"];
    for (field, value) in [
        ("completionMode", json!("Indexed")),
        ("completions", json!(16)),
        ("parallelism", json!(16)),
        ("backoffLimit", json!(0)),
        ("podReplacementPolicy", json!("Failed")),
        ("activeDeadlineSeconds", json!(3600)),
    ] {
        assert_eq!(spec[field], value, "{field}");
    }
    let pod = &spec["template"]["spec"];
    assert_eq!(pod["restartPolicy"], "Never");
    let container = &pod["containers"][0];
    assert_eq!(container["command"], json!(["springload"]));
    let args = json!(["agent", "--run", "r1", "--index", "$(JOB_COMPLETION_INDEX)"]);
    assert_eq!(container["args"], args);
    let key = json!({ "name": "springload-broker", "key": "SPRINGLOAD_BROKER" });
    let env = json!([{ "name": "SPRINGLOAD_BROKER", "valueFrom": { "secretKeyRef": key } }]);
    assert_eq!(container["env"], env);
    let resources = &container["resources"];
    assert_eq!(resources["requests"], resources["limits"]);
    assert_eq!(resources["limits"], json!({ "cpu": "2", "memory": "1Gi" }));

    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    let tmp = json!([{ "name": "tmp", "mountPath": "/tmp" }]);
    assert_eq!((&container["volumeMounts"], &pod["tolerations"]), (&tmp, &Value::Null));

    let kept = check(&python, &manifests(&["--keep-others"])).expect("valid manifests");
    let spec = &kept[0]["spec"];
    assert_eq!((&spec["backoffLimitPerIndex"], &spec["backoffLimit"]), (&json!(0), &Value::Null));
}

#[test]
fn pods_go_where_they_are_told_and_nothing_reaches_them() {
    let Some(python) = python() else { return };
    let flags = [
        "--run-id",
        "r1",
        "--node-selector",
        "pool=load",
        "--toleration",
        "dedicated=load:NoSchedule",
        "--toleration",
        "spot",
        "--priority-class",
        "high",
        "--pull-secret",
        "registry",
        "--ca",
        "authority",
        "--ttl",
        "90m",
        "--network-policy",
        "--",
        "run",
        "http://h:1",
    ];
    let documents = check(&python, &manifests(&flags)).expect("valid manifests");
    for job in &documents.as_array().expect("a list")[..2] {
        assert_eq!(job["spec"]["ttlSecondsAfterFinished"], 5_400);
        let pod = &job["spec"]["template"]["spec"];
        assert_eq!(pod["nodeSelector"], json!({ "pool": "load" }));
        let dedicated = json!({
            "key": "dedicated", "operator": "Equal", "value": "load", "effect": "NoSchedule"
        });
        assert_eq!(pod["tolerations"], json!([dedicated, { "key": "spot", "operator": "Exists" }]));
        assert_eq!(pod["priorityClassName"], "high");
        assert_eq!(pod["imagePullSecrets"], json!([{ "name": "registry" }]));
        let mounts = pod["containers"][0]["volumeMounts"].as_array().expect("a list");
        let volumes = pod["volumes"].as_array().expect("a list");
        assert_eq!(mounts.last().expect("one")["mountPath"], "/etc/springload/ca.pem");
        assert_eq!(volumes.last().expect("one")["configMap"], json!({ "name": "authority" }));
        assert_eq!(mounts.len(), volumes.len());
    }
    // The coordinator avoids the agents' nodes.
    let affinity = &documents[1]["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"];
    let preferred = &affinity["preferredDuringSchedulingIgnoredDuringExecution"][0];
    let labels = &preferred["podAffinityTerm"]["labelSelector"]["matchLabels"];
    assert_eq!(labels["app.kubernetes.io/component"], "agent");
    let policy = &documents[2];
    assert_eq!(
        (&policy["kind"], &policy["spec"]["policyTypes"]),
        (&json!("NetworkPolicy"), &json!(["Ingress"]))
    );
    assert_eq!(policy["spec"]["podSelector"]["matchLabels"]["app.kubernetes.io/instance"], "r1");
}

/// A command that would fail in the cluster is refused before a manifest is printed, and only such
/// a command.
#[test]
fn a_plan_that_cannot_be_carried_out_is_refused() {
    let given = |agents: &str, rest: &[&str]| {
        springload(["k8s", "--agents", agents, "--image", "x"].iter().chain(rest).copied())
    };
    let message =
        "--agents: 60 agents for 50 connections leave some without one; give fewer agents";
    for target in ["http://h:1", "$(TARGET)"] {
        given("60", &["--", "run", target, "-c", "50"]).refused(2, &[message]);
        let message =
            "--deadline: Kubernetes would end the run after 60 min, and its stages take 120 min";
        given("6", &["--", "run", target, "-c", "50", "-d", "2h"]).refused(2, &[message]);
        assert_eq!(given("50", &["--", "run", target, "-c", "50", "-d", "59m"]).code, 0);
    }
    // A file in the image is not on this machine.
    let schema = ["--", "run", "http://h:1", "-c", "50", "--schema", "/in/the/image.json"];
    assert_eq!(given("6", &schema).code, 0);
    let long = ["--deadline", "3h", "--", "run", "http://h:1", "-d", "2h"];
    assert_eq!(given("6", &long).code, 0);
}

#[test]
fn the_coordinators_words_arrive_as_they_were_given() {
    let Some(python) = python() else { return };
    let words = [
        "ycsb",
        "$(TARGET)",
        "no",
        "NULL",
        "1e3",
        "0x1f",
        "-1",
        "~",
        "",
        " ",
        "# x",
        "a: b",
        "- c",
        "*d",
        "&e",
        "!f",
        "%g",
        "@h",
        "`i",
        "'",
        "\"",
        "\\",
        "{{seq}}",
        "[1]",
        "2026-11-22",
        "1:30",
        ".inf",
        "=",
        "<<",
        "a\nb\r\tc\u{85}\u{2028}\u{7f}\u{fffe}",
        "é😀",
    ];
    let all = [&["--run-id", "r1", "--"][..], &words].concat();
    let documents = check(&python, &manifests(&all)).expect("valid manifests");
    let container = &documents[1]["spec"]["template"]["spec"]["containers"][0];
    let added = ["--agents", "16", "--run-id", "r1", "--ready-timeout", "5m"];
    assert_eq!(container["args"], json!([&words[..], &added].concat()));
    let names: Vec<_> = container["env"].as_array().expect("a list").iter().collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(names[1]["valueFrom"]["secretKeyRef"]["key"], "TARGET");
}

#[test]
fn it_says_how_the_secret_is_made_without_showing_it() {
    let finished = springload(["k8s", "--agents", "2", "--image", "x", "--namespace", "bench"]);
    let made = "printf %s \"$SPRINGLOAD_BROKER\" | kubectl -n bench create secret generic \
                springload-broker --from-file=SPRINGLOAD_BROKER=/dev/stdin";
    assert!(finished.stderr.contains(made), "{}", finished.stderr);
    assert!(finished.stderr.contains(" --agents 2 --run-id "), "{}", finished.stderr);
    let again = springload(["k8s", "--agents", "2", "--image", "x", "--namespace", "bench"]);
    assert_ne!(finished.stdout, again.stdout, "each run is another");
}

#[test]
fn names_that_kubernetes_would_refuse_are_refused() {
    let long = "a".repeat(52);
    for (flags, message) in [
        (
            &["--name", "Load"][..],
            "--name: \"Load\" is not a valid Kubernetes name; give at most 51",
        ),
        (&["--name", &long], "--name: "),
        (&["--run-id", "a b"], "--run-id: \"a b\" cannot be a Kubernetes label; give "),
        (&["--run-id", "A"], "--run-id: "),
        (&["--namespace", "a.b"], "--namespace: \"a.b\" is not a valid Kubernetes name; give "),
        (&["--broker-secret", "a_b"], "--broker-secret: "),
        (&["--cpu", "2Gi"], "--cpu: \"2Gi\" is not an amount; give CPUs such as 2, or thousandths"),
        (&["--memory", "0"], "--memory: \"0\" is not an amount; give a size such as 512Mi or 2Gi"),
        (&["--deadline", "1ms"], "--deadline: less than a second; give a time such as 1h"),
        (&["--pull-secret", "a_b"], "--pull-secret: \"a_b\" is not a valid Kubernetes name; "),
        (&["--node-selector", "pool"], "--node-selector: "),
        (&["--toleration", "a:Never"], "--toleration: "),
        (
            &["--", "serve"],
            "COMMAND: \"serve\" does not run as a Job; begin with one of run, burst",
        ),
        (&["--", "run", "--agents", "3"], "COMMAND: --agents is given twice; leave it out"),
        (
            &["--", "run", "--duraton", "1m"],
            "COMMAND: run has no flag --duraton; did you mean --duration? (see",
        ),
        (&["--", "burst", "--size", "x"], "COMMAND: --size: \"x\" is not a count; give"),
        (
            &["--", "run", "http://ann:pw@h"],
            "COMMAND: a password would be readable in the manifest; put the whole word into the \
             Secret, and give its key as '$(KEY)'",
        ),
    ] {
        let given = ["k8s", "--agents", "16", "--image", "x"];
        springload(given.iter().chain(flags).copied()).refused(2, &[message]);
    }
    let later = ["k8s", "--agents", "1", "--image", "x", "--", "run", "--docs", "$(DOCS)"];
    assert_eq!(springload(later).code, 0, "Kubernetes will know the number");
    springload(["k8s", "--agents", "0", "--image", "x"])
        .refused(2, &["--agents: 0 is out of range; give a number from 1 to 100000"]);
    springload(["k8s", "--agents", "1", "--image", " x"])
        .refused(2, &["--image: \" x\" is not an image name; "]);
}

#[test]
fn every_verb_with_agents_runs_as_a_job() {
    for verb in verbs() {
        let has_agents = springload([&verb, "--help"]).stdout.contains("--agents <N>");
        let given = springload(["k8s", "--agents", "2", "--image", "x", "--", &verb]);
        let runs = !given.stderr.contains("does not run as a Job");
        let expected = has_agents && !["audit", "k8s"].contains(&verb.as_str());
        assert_eq!(runs, expected, "{verb}: {}", given.stderr);
    }
}
