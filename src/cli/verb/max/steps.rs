//! The steps of a search: plans that `springload run` makes of the same flags plus a level and a
//! length, or another command line with these added.

use super::words::Words;
use crate::cli::flags::credentials::Servers;
use crate::cli::verb::filled::as_filled;
use crate::cli::verb::sweep::{given, plan_of};
use crate::plan::{Invalid, Metric, Plan, Threshold, command_line};
use crate::record::RunRecord;
use crate::search::{Ask, Searched, requirement};
use clap::ArgMatches;

/// The default length of a step, in nanoseconds.
const LENGTH_NS: u64 = 3_000_000_000;
/// The default limit on errors.
const ERRORS: &str = "err > 1%";

/// The settings that all steps share.
pub(super) struct Steps {
    pub(super) way: StepWay,
    /// The thresholds that make a step miss.
    pub(super) thresholds: Vec<Threshold>,
    length_ns: u64,
}

/// How a step is measured.
pub(super) enum StepWay {
    /// By this program, as in `springload run`.
    Run(Plans),
    /// By another verb.
    Other(Words),
}

/// The settings that the plans of all steps share.
pub(super) struct Plans {
    searched: Searched,
    servers: Servers,
    /// The flags of a run.
    words: Vec<String>,
}

impl Steps {
    /// Steps of this length that must meet `slo`.
    pub(super) fn new(
        way: StepWay,
        matches: &ArgMatches,
        slo: &[Threshold],
    ) -> Result<Self, Vec<Invalid>> {
        let length_ns = matches.get_one::<u64>("duration").copied().unwrap_or(LENGTH_NS);
        if length_ns == 0 {
            let problem = "a step needs some time";
            return Err(Invalid::new("--duration", problem, "give 1s or more").into());
        }
        Ok(Self { way, thresholds: thresholds(slo), length_ns })
    }

    /// The command of each step, without level, length and passwords.
    pub(super) fn command(&self) -> String {
        match &self.way {
            StepWay::Run(plans) => plans.command(),
            StepWay::Other(words) => words.command(),
        }
    }

    pub(super) const fn verb(&self) -> &'static str {
        match &self.way {
            StepWay::Run(_) => "run",
            StepWay::Other(words) => words.verb(),
        }
    }

    /// The length of a step, in seconds.
    pub(super) fn length_s(&self, ask: Ask) -> f64 {
        self.length_ns as f64 * f64::from(ask.lengths) / 1e9
    }
}

/// The thresholds that make a step miss: the opposite of `slo`, and too many errors, unless `slo`
/// itself limits the share of all operations that may fail.
fn thresholds(slo: &[Threshold]) -> Vec<Threshold> {
    let mut thresholds: Vec<Threshold> = slo.iter().copied().map(requirement).collect();
    let errors = |it: &Threshold| it.kind.is_none() && matches!(it.metric, Metric::ERRORS);
    if !thresholds.iter().any(errors) {
        thresholds.extend(ERRORS.parse::<Threshold>());
    }
    thresholds
}

impl Plans {
    pub(super) fn new(
        matches: &ArgMatches,
        searched: Searched,
        servers: Servers,
    ) -> Result<Self, Vec<Invalid>> {
        let mut words = given(matches);
        let ops = (
            "--ops",
            "would end a step before its time",
            "give the length of a step with \
            --duration",
        );
        let stages = ("--stages", "changes the rate during a step", "leave it out");
        let bounds = "leave it out, or give --from and --to";
        let refused = match searched {
            Searched::Rate => vec![("--rate", "is what the search varies", bounds), ops, stages],
            Searched::Connections => vec![
                ("--connections", "is what the search varies", bounds),
                ("--rate", "sets the pace, with any number of connections", "leave it out"),
                ops,
                stages,
            ],
        };
        let is_given = |flag: &str| words.iter().any(|word| word.starts_with(&format!("{flag}=")));
        let mistakes: Vec<Invalid> = refused
            .into_iter()
            .filter(|(flag, ..)| is_given(flag))
            .map(|(flag, problem, cure)| Invalid::new(flag, problem, cure))
            .collect();
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        words.retain(|word| !word.starts_with("--duration="));
        Ok(Self { searched, servers, words })
    }

    /// The command of each step, without level, length and passwords.
    fn command(&self) -> String {
        let words = self.servers.shown.iter().chain(&self.words).map(String::as_str);
        command_line(["springload", "run"].into_iter().chain(words))
    }

    /// From now on, stores as many documents as the run `first` did.
    pub(super) fn fill_as(&mut self, first: &RunRecord) {
        if let Some(words) = as_filled(&self.words, first) {
            self.words = words;
        }
    }

    /// The plan of a step of this length.
    pub(super) fn plan(&self, ask: Ask, length_s: f64) -> Result<Plan, Vec<Invalid>> {
        let level = match self.searched {
            Searched::Rate => format!("--rate={}", ask.level),
            Searched::Connections => format!("--connections={}", ask.level),
        };
        let length = format!("--duration={}ms", (length_s * 1e3).round());
        let words: Vec<String> = self.words.iter().cloned().chain([level, length]).collect();
        plan_of(&words, "springload run", &self.servers, |_| {})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_limited_unless_all_of_them_have_a_limit() {
        let of = |slo: &str| {
            let all = thresholds(&[slo.parse().expect("an slo")]);
            all.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(of("p99 < 20ms"), ["all.p99 >= 20ms", "all.err > 1%"]);
        assert_eq!(of("err < 5%"), ["all.err >= 5%"]);
        // A limit on some errors or operations does not replace the limit on all.
        assert_eq!(of("timeout < 1%"), ["all.timeout >= 1%", "all.err > 1%"]);
        assert_eq!(of("read.err < 1%"), ["read.err >= 1%", "all.err > 1%"]);
    }
}
