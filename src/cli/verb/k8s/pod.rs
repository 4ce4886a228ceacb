//! Settings that a cluster may need on pods: where they may run, which credentials pull their
//! image, how long they are kept.

use super::names;
use super::yaml::{fill, text};
use crate::clock::SECOND_NS;
use crate::mistake::{BadValue, Invalid};
use crate::plan;
use std::error::Error;
use std::fmt::Write as _;
use std::str::FromStr;

/// The path of the certificate authority in the pod.
pub(super) const CA_FILE: &str = "/etc/springload/ca.pem";

/// Flags about pods.
#[derive(Debug, clap::Args)]
pub(super) struct PodArgs {
    /// The Secret that the image is pulled with
    #[arg(long, value_name = "NAME")]
    pull_secret: Option<String>,
    /// A label that nodes must have; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    node_selector: Vec<NodeLabel>,
    /// A taint of nodes that is tolerated; may be given several times
    #[arg(long, value_name = "KEY[=VALUE][:EFFECT]")]
    toleration: Vec<Toleration>,
    #[arg(long, value_name = "NAME", help = "The PriorityClass of all pods")]
    priority_class: Option<String>,
    #[arg(long, value_name = "NAME", help = CA_HELP)]
    ca: Option<String>,
    /// When Kubernetes removes the Jobs after their end, logs included [default: never]
    #[arg(long, value_name = "TIME", value_parser = plan::duration_ns)]
    ttl: Option<u64>,
    #[arg(long, help = POLICY_HELP)]
    network_policy: bool,
}

const CA_HELP: &str = "The ConfigMap with a certificate authority, key ca.pem, which becomes the \
    file /etc/springload/ca.pem";

const POLICY_HELP: &str = "Add a NetworkPolicy by which nothing may connect to the pods";

#[derive(Clone, Debug)]
struct NodeLabel {
    key: String,
    value: String,
}

#[derive(Clone, Debug)]
struct Toleration {
    key: String,
    /// `None`: any value.
    value: Option<String>,
    effect: Option<String>,
}

impl FromStr for NodeLabel {
    type Err = Box<dyn Error + Send + Sync>;

    fn from_str(line: &str) -> Result<Self, Self::Err> {
        let (key, value) = line.split_once('=').ok_or("give KEY=VALUE")?;
        let own = |part: &str| part.to_owned();
        let fits = is_key(key) && (value.is_empty() || is_label(value));
        if !fits {
            let problem = format!("{line:?} is not a label of Kubernetes");
            return Err(BadValue::new(problem, "give KEY=VALUE").into());
        }
        Ok(Self { key: own(key), value: own(value) })
    }
}

impl FromStr for Toleration {
    type Err = BadValue;

    fn from_str(line: &str) -> Result<Self, BadValue> {
        const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        let (taint, effect) = match line.rsplit_once(':') {
            Some((taint, effect)) => (taint, Some(effect)),
            None => (line, None),
        };
        let (key, value) = match taint.split_once('=') {
            Some((key, value)) => (key, Some(value)),
            None => (taint, None),
        };
        if effect.is_some_and(|it| !EFFECTS.contains(&it)) {
            let cure = format!("give one of {}", EFFECTS.join(", "));
            return Err(BadValue::new(format!("{line:?} has no effect"), cure));
        }
        if !is_key(key) || value.is_some_and(|it| !it.is_empty() && !is_label(it)) {
            let cure = "give KEY, KEY=VALUE or KEY=VALUE:EFFECT";
            return Err(BadValue::new(format!("{line:?} is not a taint"), cure));
        }
        let own = |part: &str| part.to_owned();
        Ok(Self { key: own(key), value: value.map(own), effect: effect.map(own) })
    }
}

/// Whether this is the key of a label: a name, optionally after a domain and a slash.
fn is_key(key: &str) -> bool {
    let (domain, name) = key.split_once('/').unwrap_or(("a", key));
    names::name("", domain, names::SUBDOMAIN).is_none() && is_label(name)
}

fn is_label(text: &str) -> bool {
    names::run_id("", text).is_none()
}

impl PodArgs {
    pub(super) fn mistakes(&self) -> Vec<Invalid> {
        let of = |flag, name: &Option<String>| {
            name.as_deref().and_then(|name| names::name(flag, name, names::SUBDOMAIN))
        };
        let all = [
            of("--pull-secret", &self.pull_secret),
            of("--priority-class", &self.priority_class),
            of("--ca", &self.ca),
        ];
        all.into_iter().flatten().collect()
    }

    /// The line of a Job that limits how long it is kept.
    pub(super) fn ttl(&self) -> String {
        let line = |ns: u64| format!("ttlSecondsAfterFinished: {}", ns.div_ceil(SECOND_NS));
        self.ttl.map(line).unwrap_or_default()
    }

    /// The lines of each pod about nodes, priority and image.
    pub(super) fn lines(&self) -> String {
        let mut out = String::new();
        if let Some(name) = &self.pull_secret {
            let _ = writeln!(out, "imagePullSecrets:\n- name: {}", text(name));
        }
        if let Some(name) = &self.priority_class {
            let _ = writeln!(out, "priorityClassName: {}", text(name));
        }
        if !self.node_selector.is_empty() {
            out.push_str("nodeSelector:\n");
        }
        for NodeLabel { key, value } in &self.node_selector {
            let _ = writeln!(out, "  {}: {}", text(key), text(value));
        }
        if !self.toleration.is_empty() {
            out.push_str("tolerations:\n");
        }
        for Toleration { key, value, effect } in &self.toleration {
            let operator = if value.is_some() { "Equal" } else { "Exists" };
            let _ = writeln!(out, "- key: {}\n  operator: {operator}", text(key));
            if let Some(value) = value {
                let _ = writeln!(out, "  value: {}", text(value));
            }
            if let Some(effect) = effect {
                let _ = writeln!(out, "  effect: {effect}");
            }
        }
        out
    }

    /// The lines about the certificate authority in each container, and in its pod.
    pub(super) fn authority(&self) -> (String, String) {
        let Some(name) = &self.ca else { return Default::default() };
        let mount = format!("- name: authority\n  mountPath: {CA_FILE}\n  subPath: ca.pem\n");
        let volume = format!("- name: authority\n  configMap:\n    name: {}\n", text(name));
        (mount, volume)
    }

    /// The policy that forbids connections to the pods of a run; empty if it is not asked for.
    pub(super) fn policy(&self, values: &[(&str, String)]) -> String {
        const POLICY: &str = include_str!("policy.yaml");
        if self.network_policy { fill(POLICY, values) } else { String::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_taints_are_read_or_refused() {
        for (text, fits) in [
            ("pool=load", true),
            ("a.b/c=d", true),
            ("pool=", true),
            ("pool", false),
            ("=x", false),
            ("po ol=x", false),
            ("pool=x\ny", false),
            ("A/b=c", false),
        ] {
            assert_eq!(text.parse::<NodeLabel>().is_ok(), fits, "{text}");
        }
        for (text, fits) in [
            ("load", true),
            ("load=yes", true),
            ("load=yes:NoSchedule", true),
            ("load:NoExecute", true),
            ("load:Never", false),
            ("", false),
            ("load=a b", false),
        ] {
            assert_eq!(text.parse::<Toleration>().is_ok(), fits, "{text}");
        }
    }
}
