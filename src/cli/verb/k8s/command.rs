//! The coordinator's command line, as a container gets it.

use super::manifest::BROKER;
use crate::cli::exit::AS_JSON;
use crate::cli::refusal::mistake;
use crate::cli::secrets::without_secrets_after;
use crate::clock::{Nanos, SECOND_NS};
use crate::mistake::Invalid;
use clap::error::ErrorKind;
use serde_json::Value;
use std::process::Stdio;

/// How long the coordinator waits for agents unless its command sets it: nodes may have to be
/// started, and images to be pulled.
const READY_TIMEOUT: &str = "5m";
/// Verbs that support agents, except `audit`, which needs the journal of an earlier run.
const VERBS: [&str; 12] = [
    "run",
    "burst",
    "sweep",
    "max",
    "ab",
    "http",
    "drill",
    "replicate",
    "ycsb",
    "cushion",
    "bm-couchdb",
    "siege",
];
/// Those of them whose plan is known before they run.
const PLANNED: [&str; 3] = ["run", "burst", "http"];
/// Stands in for an address that only the Secret contains.
const SOMEWHERE: &str = "http://localhost";
/// Flags that are added here.
const ADDED: [&str; 3] = ["--agents", "--broker", "--run-id"];

/// The command after `--`.
pub(super) struct Command<'a> {
    words: &'a [String],
    agents: u64,
    run: &'a str,
}

enum WordPart<'a> {
    Literal(&'a str),
    /// `$(NAME)`: a key of the Secret.
    Key(&'a str),
}

impl<'a> Command<'a> {
    pub(super) fn new(words: &'a [String], agents: u64, run: &'a str) -> Self {
        // The program's own name is optional.
        let words = match words {
            [first, rest @ ..] if first == "springload" => rest,
            all => all,
        };
        Self { words, agents, run }
    }

    pub(super) fn mistakes(&self) -> Vec<Invalid> {
        let mut all = Vec::new();
        let verb = self.words.first().map_or("", String::as_str);
        if !VERBS.contains(&verb) {
            let cure = format!("begin with one of {}", VERBS.join(", "));
            all.push(Invalid::new("COMMAND", format!("{verb:?} does not run as a Job"), cure));
        }
        if verb == "max" && self.words.iter().any(|word| word == "--") {
            let problem = "agents stay for one command line, and each step of max would be another";
            all.push(Invalid::new("COMMAND", problem, "leave out the second -- and what follows"));
        }
        let mut before = "";
        for word in self.words {
            let flag = word.split('=').next().unwrap_or_default();
            if ADDED.contains(&flag) {
                let cure = "leave it out of the command: springload k8s adds it";
                all.push(Invalid::new("COMMAND", format!("{flag} is given twice"), cure));
            }
            let before = std::mem::replace(&mut before, word);
            if without_secrets_after(before, word) != *word {
                let cure = "put the whole word into the Secret, and give its key as '$(KEY)'";
                let problem = "a password would be readable in the manifest";
                all.push(Invalid::new("COMMAND", problem, cure));
            }
        }
        all
    }

    /// The mistake in its flags, if `grammar` can find one: it is better found here than in a
    /// container.
    pub(super) fn misspelt(&self, grammar: fn() -> clap::Command) -> Option<Invalid> {
        let verb = self.words.first()?;
        if verb == "ycsb" {
            // Its flags are YCSB's, which the grammar does not define.
            return None;
        }
        let line = ["springload".to_owned()].into_iter().chain(self.plain_args());
        let error = grammar().try_get_matches_from(line).err()?;
        // `$(NAME)` has not been replaced by its number yet.
        if error.kind() == ErrorKind::DisplayHelp || error.to_string().contains("$(") {
            return None;
        }
        let (problem, cure) = mistake(&error, Some(verb));
        Some(Invalid::new("COMMAND", problem, format!("{cure} (see springload {verb} --help)")))
    }

    /// The mistake in its plan, as far as it can be found here: more agents than connections, or
    /// stages longer than `deadline_ns`. Files in the image and keys of the Secret are not known.
    pub(super) fn unfit(&self, deadline_ns: Nanos) -> Option<Invalid> {
        let verb = self.words.first()?;
        if !PLANNED.contains(&verb.as_str()) {
            return None;
        }
        let args = self.plain_args().into_iter().map(|word| {
            let keys = parts(&word).iter().any(|part| matches!(part, WordPart::Key(_)));
            if keys { SOMEWHERE.to_owned() } else { word }
        });
        let own = std::env::current_exe().ok()?;
        let output = std::process::Command::new(own)
            .args(args.chain(["--dry-run".to_owned()]))
            .env(BROKER, "amqp://localhost")
            .env(AS_JSON, "1")
            .stdin(Stdio::null())
            .output()
            .ok()?;
        if let Ok(mistakes) = serde_json::from_slice::<Vec<Invalid>>(&output.stdout) {
            return mistakes.into_iter().find(|it| it.flag() == "--agents");
        }
        let plan: Value = serde_json::from_slice(&output.stdout).ok()?;
        let lengths = plan["stages"].as_array()?.iter().map(|stage| stage["length_ns"].as_u64());
        let length_ns: Nanos = lengths.flatten().sum();
        (length_ns >= deadline_ns).then(|| {
            let minutes = |ns: Nanos| ns.div_ceil(60 * SECOND_NS);
            let (needed, given) = (minutes(length_ns), minutes(deadline_ns));
            let problem = format!(
                "Kubernetes would end the run after {given} min, and its stages take {needed} min"
            );
            let cure = "give more, and time for nodes to start and for the fill, or a shorter -d";
            Invalid::new("--deadline", problem, cure)
        })
    }

    /// The arguments. Kubernetes replaces `$(NAME)`, and turns `$$` into `$`, so all other `$` are
    /// doubled.
    pub(super) fn args(&self) -> Vec<String> {
        let escaped = |word: &String| {
            let parts = parts(word).into_iter().map(|part| match part {
                WordPart::Literal(text) => text.replace('$', "$$"),
                WordPart::Key(name) => format!("$({name})"),
            });
            parts.collect()
        };
        self.with_agents(self.words.iter().map(escaped).collect())
    }

    /// The arguments as the program will see them.
    fn plain_args(&self) -> Vec<String> {
        self.with_agents(self.words.to_vec())
    }

    fn with_agents(&self, mut args: Vec<String>) -> Vec<String> {
        let mut add = |flag: &str, value: String| args.extend([flag.to_owned(), value]);
        add("--agents", self.agents.to_string());
        add("--run-id", self.run.to_owned());
        let waits = |word: &String| word.split('=').next() == Some("--ready-timeout");
        if !self.words.iter().any(waits) {
            add("--ready-timeout", READY_TIMEOUT.to_owned());
        }
        args
    }

    /// The keys of the Secret that it needs, the broker's first.
    pub(super) fn secrets(&self) -> Vec<String> {
        let mut keys = vec![BROKER.to_owned()];
        for part in self.words.iter().flat_map(|word| parts(word)) {
            if let WordPart::Key(name) = part
                && !keys.iter().any(|key| key == name)
            {
                keys.push(name.to_owned());
            }
        }
        keys
    }
}

/// Splits a word into its text and each `$(NAME)` whose name can be that of a variable.
fn parts(word: &str) -> Vec<WordPart<'_>> {
    let (mut parts, mut rest) = (Vec::new(), word);
    let mut from = 0;
    while let Some(at) = rest[from..].find("$(").map(|at| from + at) {
        let inner = &rest[at + 2..];
        let name = inner.split_once(')').map(|(name, _)| name).filter(|name| variable(name));
        let Some(name) = name else {
            from = at + 2;
            continue;
        };
        parts.extend([WordPart::Literal(&rest[..at]), WordPart::Key(name)]);
        rest = &inner[name.len() + 1..];
        from = 0;
    }
    parts.push(WordPart::Literal(rest));
    parts
}

fn variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(words: &[&str]) -> (Vec<String>, Vec<String>, usize) {
        let words: Vec<String> = words.iter().map(|it| (*it).to_owned()).collect();
        let command = Command::new(&words, 3, "r1");
        (command.args(), command.secrets(), command.mistakes().len())
    }

    #[test]
    fn only_names_of_keys_are_left_to_kubernetes() {
        let words = ["springload", "run", "$(TARGET)", "a$b$$(x y)$(", "p$(A)$(TARGET)q", "$"];
        let (args, secrets, mistakes) = command(&words);
        let added = ["--agents", "3", "--run-id", "r1", "--ready-timeout", "5m"];
        let expected = ["run", "$(TARGET)", "a$$b$$$$(x y)$$(", "p$(A)$(TARGET)q", "$$"];
        assert_eq!(args, [&expected[..], &added[..]].concat());
        assert_eq!(secrets, ["SPRINGLOAD_BROKER", "TARGET", "A"]);
        assert_eq!(mistakes, 0);
    }

    #[test]
    fn a_time_to_wait_is_left_as_it_is() {
        for words in [&["run", "--ready-timeout", "1s"][..], &["run", "--ready-timeout=1s"]] {
            let (args, ..) = command(words);
            assert_eq!(args.iter().filter(|it| it.starts_with("--ready-timeout")).count(), 1);
        }
    }

    #[test]
    fn what_cannot_go_there_is_refused() {
        for words in [
            &["serve"][..],
            &["springload"],
            &["run", "--agents=3"],
            &["run", "--broker", "amqp://h"],
            &["max", "--", "http", "http://h"],
            &["run", "http://ann:secret@h"],
        ] {
            assert_eq!(command(words).2, 1, "{words:?}");
        }
    }
}
