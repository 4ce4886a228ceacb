//! The Jobs of a run, as values of JSON. Knows what Kubernetes expects; checks nothing.

use serde_json::{Map, Value, json};

/// The key of the Secret that holds the broker's address, and the variable that it becomes.
pub(super) const BROKER: &str = "SPRINGLOAD_BROKER";
/// Where the coordinator writes.
const RESULTS: &str = "/results";
/// A user that owns nothing, as in images without a system.
const NOBODY: u32 = 65_532;

/// What both Jobs have in common.
pub(super) struct Fleet<'a> {
    /// What both names begin with.
    pub(super) name: &'a str,
    pub(super) namespace: Option<&'a str>,
    pub(super) run: &'a str,
    pub(super) image: &'a str,
    pub(super) secret: &'a str,
    pub(super) cpu: &'a str,
    pub(super) memory: &'a str,
    /// How long they may take, including the wait for a node.
    pub(super) deadline_s: u64,
}

/// How agents are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Spread {
    /// Evenly over the nodes, as far as these have room
    Even,
    /// At most one on each node; others wait for a node
    OnePerNode,
    /// As Kubernetes does it
    Any,
}

impl Spread {
    /// What the pod says about it.
    fn place(self, labels: &Value, pod: &mut Map<String, Value>) {
        let selector = json!({ "matchLabels": labels });
        let node = "kubernetes.io/hostname";
        let (field, value) = match self {
            Self::Any => return,
            Self::Even => (
                "topologySpreadConstraints",
                json!([{
                    "maxSkew": 1,
                    "topologyKey": node,
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": selector,
                }]),
            ),
            Self::OnePerNode => (
                "affinity",
                json!({ "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution":
                        [{ "topologyKey": node, "labelSelector": selector }],
                } }),
            ),
        };
        pod.insert(field.to_owned(), value);
    }
}

impl Fleet<'_> {
    /// The name of the Job of the agents.
    pub(super) fn agents_name(&self) -> String {
        format!("{}-agents", self.name)
    }

    /// The name of the Job of the coordinator.
    pub(super) fn coordinator_name(&self) -> String {
        format!("{}-coordinator", self.name)
    }

    /// The Job of `count` agents. The loss of one ends the others, unless `each_alone`.
    pub(super) fn agents(&self, count: u64, spread: Spread, each_alone: bool) -> Value {
        let args = ["agent", "--run", self.run, "--index", "$(JOB_COMPLETION_INDEX)"];
        let container = self.container("agent", &args.map(str::to_owned), &[BROKER.to_owned()]);
        let labels = self.labels("agent");
        let mut pod = Self::pod(&container);
        spread.place(&labels, &mut pod);
        // Never a second attempt at an index: what it measured would be counted twice.
        let attempts = if each_alone { "backoffLimitPerIndex" } else { "backoffLimit" };
        let spec = json!({
            "completionMode": "Indexed",
            "completions": count,
            "parallelism": count,
            attempts: 0,
        });
        self.job(&self.agents_name(), &labels, spec, &pod)
    }

    /// The Job of the coordinator, which carries out `command`. `secrets` are the keys of the
    /// Secret that this needs; its results are on `claim`, or end with its pod.
    pub(super) fn coordinator(
        &self,
        command: &[String],
        secrets: &[String],
        claim: Option<&str>,
    ) -> Value {
        let mut container = self.container("coordinator", command, secrets);
        container["workingDir"] = json!(RESULTS);
        container["volumeMounts"] = json!([{ "name": "results", "mountPath": RESULTS }]);
        let mut pod = Self::pod(&container);
        let volume = match claim {
            None => json!({ "name": "results", "emptyDir": {} }),
            Some(claim) => {
                json!({ "name": "results", "persistentVolumeClaim": { "claimName": claim } })
            }
        };
        pod.insert("volumes".to_owned(), json!([volume]));
        let spec = json!({ "completions": 1, "parallelism": 1, "backoffLimit": 0 });
        self.job(&self.coordinator_name(), &self.labels("coordinator"), spec, &pod)
    }

    fn labels(&self, part: &str) -> Value {
        json!({
            "app.kubernetes.io/name": "springload",
            "app.kubernetes.io/instance": self.run,
            "app.kubernetes.io/component": part,
        })
    }

    fn job(&self, name: &str, labels: &Value, spec: Value, pod: &Map<String, Value>) -> Value {
        let mut metadata = json!({ "name": name });
        if let Some(namespace) = self.namespace {
            metadata["namespace"] = json!(namespace);
        }
        metadata["labels"] = labels.clone();
        let mut job = json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata });
        job["spec"] = spec;
        job["spec"]["podReplacementPolicy"] = json!("Failed");
        job["spec"]["activeDeadlineSeconds"] = json!(self.deadline_s);
        // An autoscaler that empties a node would end an agent in the middle of the run.
        let stays = json!({
            "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
            "karpenter.sh/do-not-disrupt": "true",
        });
        job["spec"]["template"] =
            json!({ "metadata": { "labels": labels, "annotations": stays }, "spec": pod });
        job
    }

    /// A pod that needs nothing of the cluster, and may do no more than clusters allow at their
    /// strictest ("restricted" of the Pod Security Standards).
    fn pod(container: &Value) -> Map<String, Value> {
        let pod = json!({
            "restartPolicy": "Never",
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "securityContext": {
                "runAsNonRoot": true,
                "runAsUser": NOBODY,
                "runAsGroup": NOBODY,
                "fsGroup": NOBODY,
                "seccompProfile": { "type": "RuntimeDefault" },
            },
            "containers": [container],
        });
        let Value::Object(pod) = pod else { unreachable!("written as an object") };
        pod
    }

    fn container(&self, name: &str, args: &[String], secrets: &[String]) -> Value {
        let env = |key: &String| {
            json!({
                "name": key,
                "valueFrom": { "secretKeyRef": { "name": self.secret, "key": key } },
            })
        };
        // Requests equal limits: the node keeps these CPUs free, and takes none from the load.
        let amounts = json!({ "cpu": self.cpu, "memory": self.memory });
        json!({
            "name": name,
            "image": self.image,
            "command": ["springload"],
            "args": args,
            "env": secrets.iter().map(env).collect::<Vec<_>>(),
            "resources": { "requests": amounts, "limits": amounts },
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "capabilities": { "drop": ["ALL"] },
            },
        })
    }
}
