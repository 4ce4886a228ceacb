//! Flags about when operations are due, shared by the native verbs that measure.

use super::known::choice;
use crate::engine::{Arrivals, DEFAULT_SLACK_NS, Segment};
use crate::mistake::BadValue;
use crate::plan::{self, Invalid, LoadSpec};
use std::error::Error;

/// The default duration, in nanoseconds.
const DEFAULT_NS: u64 = 15_000_000_000;

/// The initial number of connections with `-c auto`.
pub(in crate::cli) const DEFAULT_CONNECTIONS: u64 = 50;
/// The most connections with `-c auto`, unless the limit on open files is lower.
pub(in crate::cli) const MOST_CONNECTIONS: u64 = 1_000;

/// The number of connections that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Connections {
    /// The default number; with a rate, more are opened as needed.
    Auto,
    Given(u64),
}

impl Connections {
    /// The number of connections that are open from the start.
    pub(in crate::cli) const fn first(self) -> u64 {
        match self {
            Self::Auto => DEFAULT_CONNECTIONS,
            Self::Given(count) => count,
        }
    }
}

/// Parses `auto` or a count.
pub(in crate::cli) fn connections(text: &str) -> Result<Connections, BadValue> {
    if text == "auto" {
        return Ok(Connections::Auto);
    }
    let or_auto = |it: BadValue| BadValue { cure: format!("{}, or auto", it.cure), ..it };
    plan::count(text).map(Connections::Given).map_err(or_auto)
}

/// When operations are due.
#[derive(Clone, Debug, clap::Args)]
pub(in crate::cli) struct LoadArgs {
    /// Operations per second [default: as fast as served]
    ///
    /// Operations to start per second, whether or not the server keeps up [default: each connection
    /// starts one when the previous one is answered]
    #[arg(short, long, value_name = "N", value_parser = plan::rate, group = "open")]
    rate: Option<f64>,
    /// Rates over time: TIME:RATE or TIME:FROM..TO, separated by commas
    #[arg(long, value_name = "STAGES", value_parser = stages, group = "open")]
    stages: Option<Stages>,
    /// The distribution of gaps between operations [default: constant]
    #[arg(long, value_parser = choice(&ARRIVALS), requires = "open")]
    arrivals: Option<Arrivals>,
    /// Operations that may be waiting or in flight before more are dropped [default: 10 s of load]
    #[arg(long, value_name = "N", value_parser = plan::count, requires = "open")]
    max_in_flight: Option<u64>,
    /// How many connections -c auto may open [default: 1000, or as many as the open-file limit
    /// allows]
    #[arg(long, value_name = "N", value_parser = plan::count, requires = "open")]
    max_connections: Option<u64>,
    /// Start operations due within this time of each other together, to save CPU
    #[arg(long, value_name = "TIME", default_value = "50us", value_parser = plan::duration_ns)]
    #[arg(requires = "open")]
    slack: u64,
    /// Think time of each connection between two operations; not with a rate
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = plan::duration_ns)]
    #[arg(conflicts_with_all = ["rate", "stages"])]
    think: u64,
}

/// Distributions of gaps.
const ARRIVALS: [(&str, &str, Arrivals); 2] = [
    ("constant", "Equal gaps", Arrivals::Constant),
    ("poisson", "Exponential gaps, as from independent users", Arrivals::Poisson),
];

/// Operations at a rate, with equal gaps.
pub(in crate::cli) fn at_rate(rate: f64, max_in_flight: Option<u64>) -> LoadSpec {
    LoadSpec::Open {
        segments: vec![Segment { length_ns: 0, from: rate, to: rate }],
        arrivals: Arrivals::Constant,
        max_in_flight,
        slack_ns: DEFAULT_SLACK_NS,
        most_connections: None,
    }
}

/// A list of rates over time.
#[derive(Clone, Debug)]
struct Stages(Vec<Segment>);

/// Parses `30s:1000,1m:1000..5000`.
fn stages(text: &str) -> Result<Stages, Box<dyn Error + Send + Sync>> {
    let segment = |part: &str| -> Result<Segment, Box<dyn Error + Send + Sync>> {
        let (time, rates) = part.split_once(':').ok_or_else(|| {
            format!("{part:?} is not TIME:RATE or TIME:FROM..TO, such as 30s:1000")
        })?;
        let (from, to) = rates.split_once("..").unwrap_or((rates, rates));
        let length_ns = plan::duration_ns(time)?;
        if length_ns == 0 {
            let problem = format!("{part:?} has no duration");
            return Err(BadValue::new(problem, "give 30s:1000, for example").into());
        }
        Ok(Segment { length_ns, from: plan::rate(from)?, to: plan::rate(to)? })
    };
    text.split(',').map(|part| segment(part.trim())).collect::<Result<_, _>>().map(Stages)
}

impl LoadArgs {
    /// The first of these flags that was given, if any.
    pub(in crate::cli) fn given(&self) -> Option<&'static str> {
        let flags = [
            ("--rate", self.rate.is_some()),
            ("--stages", self.stages.is_some()),
            ("--think", self.think > 0),
        ];
        flags.into_iter().find_map(|(flag, given)| given.then_some(flag))
    }

    /// Refuses a limit on connections if their number is fixed.
    pub(in crate::cli) fn mistake(&self, connections: Connections) -> Option<Invalid> {
        let fixed = matches!(connections, Connections::Given(_)) && self.max_connections.is_some();
        let problem = "-c already sets their number";
        fixed.then(|| Invalid::new("--max-connections", problem, "use only one of them"))
    }

    /// The load, and its default duration. `endless`: no number of operations ends the run.
    pub(in crate::cli) fn read(
        self,
        connections: Connections,
        endless: bool,
    ) -> (LoadSpec, Option<u64>) {
        let most_connections = match connections {
            Connections::Auto => Some(self.max_connections.unwrap_or(MOST_CONNECTIONS)),
            Connections::Given(_) => None,
        };
        let arrivals = self.arrivals.unwrap_or(Arrivals::Constant);
        let segments = match (self.stages, self.rate) {
            (Some(stages), _) => Some(stages.0),
            (None, Some(rate)) => Some(vec![Segment { length_ns: 0, from: rate, to: rate }]),
            (None, None) => None,
        };
        let has_end = segments.as_ref().is_some_and(|s| s.iter().all(|s| s.length_ns > 0));
        let default_ns = (endless && !has_end).then_some(DEFAULT_NS);
        let load =
            segments.map_or(LoadSpec::Closed { think_ns: self.think }, |segments| LoadSpec::Open {
                segments,
                arrivals,
                max_in_flight: self.max_in_flight,
                slack_ns: self.slack,
                most_connections,
            });
        (load, default_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::DEFAULT_SLACK_NS;
    use super::{Connections, LoadArgs, connections};
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        load: LoadArgs,
    }

    #[test]
    fn connections_are_a_number_or_as_many_as_are_needed() {
        assert_eq!(connections("auto"), Ok(Connections::Auto));
        assert_eq!(connections("2k"), Ok(Connections::Given(2_000)));
        assert!(connections("many").unwrap_err().cure.ends_with(", or auto"));
        let line = |words: &[&str]| {
            let words = ["springload", "--rate", "5"].iter().chain(words);
            Line::parse_from(words).load
        };
        let limited = line(&["--max-connections", "70"]);
        assert!(limited.mistake(Connections::Given(60)).is_some());
        assert!(limited.mistake(Connections::Auto).is_none());
        assert!(line(&[]).mistake(Connections::Given(60)).is_none());
        let most = |load: LoadArgs, connections| match load.read(connections, true).0 {
            super::LoadSpec::Open { most_connections, .. } => most_connections,
            closed @ super::LoadSpec::Closed { .. } => panic!("{closed:?}"),
        };
        assert_eq!(most(limited, Connections::Auto), Some(70));
        assert_eq!(most(line(&[]), Connections::Given(60)), None);
        assert_eq!(most(line(&[]), Connections::Auto), Some(1_000));
    }

    #[test]
    fn the_default_slack_is_that_of_the_engine() {
        let line = Line::parse_from(["springload", "--rate", "5"]);
        assert_eq!(line.load.slack, DEFAULT_SLACK_NS);
    }
}
