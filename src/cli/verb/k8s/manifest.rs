//! The Jobs of a run, or their JobSet: `spec.yaml` filled in, and the YAML around it. Knows what
//! Kubernetes expects, but does not check it.

use super::pod::PodArgs;
use super::yaml::{fill, text};

/// The key of the Secret that holds the broker's address, and the variable that it becomes.
pub(super) const BROKER: &str = "SPRINGLOAD_BROKER";
const JOB: &str = include_str!("job.yaml");
const SPEC: &str = include_str!("spec.yaml");
const JOBSET: &str = include_str!("jobset.yaml");
const REPLICATED: &str = include_str!("replicated.yaml");
/// The set is complete once its coordinator is; agents that are still running are ended.
const SUCCESS: &str = "\
successPolicy:
  operator: All
  targetReplicatedJobs:
  - coordinator
";
const OF_RUN: &str = "\
app.kubernetes.io/name: springload
app.kubernetes.io/instance: {run}
";
const LABELS: &str = "\
app.kubernetes.io/name: springload
app.kubernetes.io/instance: {run}
app.kubernetes.io/component: {part}
";
const ENV: &str = "\
- name: {key}
  valueFrom:
    secretKeyRef:
      name: {secret}
      key: {key}
";
const EVEN: &str = "\
topologySpreadConstraints:
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {labels}
";
const ONE_PER_NODE: &str = "\
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname
      labelSelector:
        matchLabels:
          {labels}
";
/// The coordinator avoids the nodes of its agents if possible.
const APART: &str = "\
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            {labels}
";
/// The directory that the coordinator writes to.
const DIRECTORY: &str = "workingDir: /results";
const MOUNT: &str = "- name: results\n  mountPath: /results\n";

/// A Job of a run: its part, and its specification.
pub(super) struct JobPart {
    part: &'static str,
    spec: String,
}

/// The settings that both Jobs share.
pub(super) struct Fleet<'a> {
    /// The prefix of both names.
    pub(super) name: &'a str,
    pub(super) namespace: Option<&'a str>,
    pub(super) run: &'a str,
    pub(super) image: &'a str,
    pub(super) secret: &'a str,
    pub(super) cpu: &'a str,
    pub(super) memory: &'a str,
    /// The deadline, including the wait for a node.
    pub(super) deadline_s: u64,
    /// Whether they are Jobs of a JobSet.
    pub(super) in_set: bool,
    pub(super) pod: &'a PodArgs,
}

/// How agents are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Spread {
    /// Evenly across the nodes, as far as they have room
    Even,
    /// At most one on each node; others wait for a node
    OnePerNode,
    /// As Kubernetes chooses
    Any,
}

/// The settings in which the Jobs differ.
struct Own<'a> {
    part: &'static str,
    /// The number of pods, and the attempts for each.
    mode: String,
    args: &'a [String],
    /// The keys of the Secret that it needs.
    secrets: &'a [String],
    /// Further lines of its container and its pod.
    directory: &'a str,
    mounts: &'a str,
    rest: String,
    volumes: String,
}

impl Fleet<'_> {
    /// The name of the Job of the agents, or of the coordinator.
    pub(super) fn name_of(&self, part: &str) -> String {
        format!("{}-{part}{}", self.name, if part == "agent" { "s" } else { "" })
    }

    /// The Job of `count` agents. If one is lost the others are ended, unless `each_alone`.
    pub(super) fn agents(&self, count: u64, spread: Spread, each_alone: bool) -> JobPart {
        // Never retry an index: its measurements would be counted twice.
        let attempts = if each_alone { "backoffLimitPerIndex" } else { "backoffLimit" };
        let place = match spread {
            Spread::Any => "",
            Spread::Even => EVEN,
            Spread::OnePerNode => ONE_PER_NODE,
        };
        let args = ["agent", "--run", self.run, "--index", "$(JOB_COMPLETION_INDEX)"];
        self.part(&Own {
            part: "agent",
            mode: format!(
                "completionMode: Indexed\ncompletions: {count}\nparallelism: {count}\n\
                 {attempts}: 0"
            ),
            args: &args.map(str::to_owned),
            secrets: &[BROKER.to_owned()],
            directory: "",
            mounts: "",
            rest: fill(place, &[("labels", self.labels("agent"))]),
            volumes: String::new(),
        })
    }

    /// The Job of the coordinator, which carries out `command`. `secrets` are the keys of the
    /// Secret that it needs; its results are stored on `claim`, or lost with its pod.
    pub(super) fn coordinator(
        &self,
        command: &[String],
        secrets: &[String],
        claim: Option<&str>,
    ) -> JobPart {
        let volume = claim.map_or_else(
            || "  emptyDir: {}".to_owned(),
            |claim| format!("  persistentVolumeClaim:\n    claimName: {}", text(claim)),
        );
        self.part(&Own {
            part: "coordinator",
            mode: "completions: 1\nparallelism: 1\nbackoffLimit: 0".to_owned(),
            args: command,
            secrets,
            directory: DIRECTORY,
            mounts: MOUNT,
            rest: fill(APART, &[("labels", self.labels("agent"))]),
            volumes: format!("- name: results\n{volume}\n"),
        })
    }

    /// The network policy for the pods of both Jobs, if one is asked for.
    pub(super) fn policy(&self) -> String {
        self.pod.policy(&[
            ("name", text(self.name)),
            ("namespace", self.namespace()),
            ("labels", fill(OF_RUN, &[("run", text(self.run))])),
            ("run", text(self.run)),
        ])
    }

    fn namespace(&self) -> String {
        self.namespace.map(|name| format!("namespace: {}", text(name))).unwrap_or_default()
    }

    fn labels(&self, part: &str) -> String {
        fill(LABELS, &[("run", text(self.run)), ("part", text(part))])
    }

    pub(super) fn job(&self, part: &JobPart) -> String {
        fill(
            JOB,
            &[
                ("name", text(&self.name_of(part.part))),
                ("namespace", self.namespace()),
                ("labels", self.labels(part.part)),
                ("spec", part.spec.clone()),
            ],
        )
    }

    /// All Jobs in a JobSet, which starts and ends them together.
    pub(super) fn job_set(&self, parts: &[JobPart]) -> String {
        let replicated = |part: &JobPart| {
            let named = if part.part == "agent" { "agents" } else { part.part };
            let values = [
                ("part", text(named)),
                ("labels", self.labels(part.part)),
                ("spec", part.spec.clone()),
            ];
            fill(REPLICATED, &values)
        };
        let has_coordinator = parts.iter().any(|part| part.part == "coordinator");
        fill(
            JOBSET,
            &[
                ("name", text(self.name)),
                ("namespace", self.namespace()),
                ("labels", fill(OF_RUN, &[("run", text(self.run))])),
                ("success", if has_coordinator { SUCCESS.to_owned() } else { String::new() }),
                ("ttl", self.pod.ttl()),
                ("jobs", parts.iter().map(replicated).collect()),
            ],
        )
    }

    fn part(&self, own: &Own<'_>) -> JobPart {
        let args = own.args.iter().map(|arg| format!("- {}\n", text(arg)));
        let env = own
            .secrets
            .iter()
            .map(|key| fill(ENV, &[("key", text(key)), ("secret", text(self.secret))]));
        let (mount, volume) = self.pod.authority();
        // A set would recreate a Job that is removed before the set's end.
        let ttl = if self.in_set { String::new() } else { self.pod.ttl() };
        let spec = fill(
            SPEC,
            &[
                ("labels", self.labels(own.part)),
                ("mode", own.mode.clone()),
                ("deadline", self.deadline_s.to_string()),
                ("ttl", ttl),
                ("pod", self.pod.lines()),
                ("part", text(own.part)),
                ("image", text(self.image)),
                ("args", args.collect()),
                ("env", env.collect()),
                ("cpu", text(self.cpu)),
                ("memory", text(self.memory)),
                ("directory", own.directory.to_owned()),
                ("mounts", own.mounts.to_owned() + &mount),
                ("rest", own.rest.clone()),
                ("volumes", own.volumes.clone() + &volume),
            ],
        );
        JobPart { part: own.part, spec }
    }
}
