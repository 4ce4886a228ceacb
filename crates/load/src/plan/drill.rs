//! A drill: what is broken in the middle of the main stage and mended again, and when.
//!
//! Knows nothing of how it is done, or of its outcome.

use crate::clock::Nanos;
use crate::driver::{is_secret, strike_secrets};
use crate::mistake::Invalid;
use serde::{Deserialize, Serialize, Serializer};

/// What replaces a secret.
const STRUCK: &str = "***";

/// A drill as requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrillSpec {
    /// The command that breaks something.
    pub stop: Option<String>,
    /// The command that mends it.
    pub start: Option<String>,
    /// The node that is put into maintenance mode, by its address or its position among the
    /// targets.
    pub maintenance: Option<String>,
    /// The node that the load is cut off from, named the same way.
    pub partition: Option<String>,
    /// The phases, and how long commands may take.
    pub times: DrillTimes,
    /// Whether to look for all acknowledged writes at the end, where that is possible.
    pub audits: bool,
}

/// The lengths of a drill's phases, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DrillTimes {
    /// The time from the start of the stage to the break, in nanoseconds.
    pub before_ns: Nanos,
    /// The time from the break to the mending, in nanoseconds.
    pub broken_ns: Nanos,
    /// The time from the mending to the end of the stage, in nanoseconds.
    pub after_ns: Nanos,
    /// The time from the end of the stage to the first audit, in nanoseconds.
    pub settle_ns: Nanos,
    /// The time limit of each command, or request to a node, in nanoseconds.
    pub limit_ns: Nanos,
}

impl DrillTimes {
    /// The total length of the stage.
    pub const fn length_ns(&self) -> Nanos {
        self.before_ns.saturating_add(self.broken_ns).saturating_add(self.after_ns)
    }
}

/// A drill in the main stage. Plans with a drill are never run from a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DrillPlan {
    /// What is broken and mended.
    #[serde(flatten)]
    pub breaks: Breaks,
    /// The times of its phases.
    #[serde(flatten)]
    pub times: DrillTimes,
}

/// What is broken, and how it is mended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "breaks", rename_all = "snake_case")]
pub enum Breaks {
    /// Two shell commands break and mend something. They are stored without secrets.
    Commands {
        /// The command that breaks something.
        #[serde(serialize_with = "struck")]
        stop: String,
        /// The command that mends it.
        #[serde(serialize_with = "struck")]
        start: String,
    },
    /// A node is put into maintenance mode.
    Maintenance {
        /// Its position among the nodes, from 0.
        node: usize,
        /// Its address, without credentials.
        url: String,
    },
    /// The load is cut off from a node: no traffic passes between them.
    Partition {
        /// Its position among the nodes, from 0.
        node: usize,
        /// Its address, without credentials.
        url: String,
    },
}

impl Breaks {
    /// Whether the load goes through a relay to one of the nodes.
    pub const fn needs_relay(&self) -> bool {
        matches!(self, Self::Partition { .. })
    }
}

fn struck<S: Serializer>(command: &str, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&strike_command(command))
}

/// A shell command or its output with possible secrets struck out: passwords in URLs, values of
/// settings and flags whose names suggest a secret, those of `-u` and `--user`, and everything
/// after `Authorization:` or `Cookie:` up to the end of the line.
pub fn strike_command(text: &str) -> String {
    text.split_inclusive('\n').map(strike_line).collect()
}

fn strike_line(line: &str) -> String {
    let lower = line.to_ascii_lowercase();
    let header = ["authorization:", "cookie:"].iter().filter_map(|it| {
        let at = lower.find(it)?;
        Some(at + it.len())
    });
    let (line, rest) = match header.min() {
        // The value may end anywhere: quotes need not be what they seem.
        Some(at) => line.split_at(at),
        None => (line, ""),
    };
    let mut out = String::new();
    let mut hides_next = false;
    for part in line.split_inclusive(char::is_whitespace) {
        let word = part.trim_end();
        let space = &part[word.len()..];
        let name = word.trim_start_matches('-');
        let is_flag = word.starts_with('-') && !word.contains('=');
        if word.is_empty() {
            out.push_str(part);
            continue;
        }
        if std::mem::replace(&mut hides_next, is_flag && hides_value(word, name)) {
            out.push_str(STRUCK);
        } else if let Some((name, _)) = word.split_once('=').filter(|(name, _)| is_secret(name)) {
            out.extend([name, "=", STRUCK]);
        } else if let Some(user) = word.strip_prefix("-u").filter(|user| user.contains(':')) {
            let user = user.split(':').next().unwrap_or_default();
            out.extend(["-u", user, ":", STRUCK]);
        } else {
            out.push_str(&strike_secrets(word));
        }
        out.push_str(space);
    }
    if !rest.is_empty() {
        out.extend([" ", STRUCK]);
        out.push_str(if rest.ends_with('\n') { "\n" } else { "" });
    }
    out
}

/// Whether the word after a flag is struck out.
fn hides_value(word: &str, name: &str) -> bool {
    matches!(word, "-u" | "--user" | "-a") || is_secret(name)
}

/// Refuses a stored plan with a drill.
pub(super) fn check_again(plan: Option<&DrillPlan>, mistakes: &mut Vec<Invalid>) {
    if plan.is_some() {
        let problem = "commands that break a server are not taken from a file";
        let cure = "use the command line of the run, which its record has";
        mistakes.push(Invalid::new("drill", problem, cure));
    }
}

/// Refuses a drill that several processes would carry out.
pub(super) fn shared(plan: Option<&DrillPlan>) -> Option<Invalid> {
    plan.map(|_| {
        let problem = "a drill is carried out by one process";
        Invalid::new("--agents", problem, "leave it out")
    })
}

#[cfg(test)]
#[path = "drill_tests.rs"]
mod tests;
