//! Flags about when operations are due, shared by the native verbs that measure.

use crate::engine::{Arrivals, Segment};
use crate::plan::{self, LoadSpec};
use clap::ValueEnum;

/// The default duration, in nanoseconds.
const DEFAULT_NS: u64 = 15_000_000_000;

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
    #[arg(long, value_enum, requires = "open")]
    arrivals: Option<ArrivalsArg>,
    /// Operations that may be waiting or in flight before more are dropped [default: 10 s of load]
    #[arg(long, value_name = "N", value_parser = plan::count, requires = "open")]
    max_in_flight: Option<u64>,
    /// Start operations due within this time of each other at the same moment, to save CPU
    #[arg(long, value_name = "TIME", default_value = "50us", value_parser = plan::duration_ns)]
    #[arg(requires = "open")]
    slack: u64,
    /// Think time of each connection between two operations; not with a rate
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = plan::duration_ns)]
    #[arg(conflicts_with_all = ["rate", "stages"])]
    think: u64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ArrivalsArg {
    /// Equal gaps
    Constant,
    /// Exponential gaps, as with independent users
    Poisson,
}

/// A list of rates over time.
#[derive(Clone, Debug)]
struct Stages(Vec<Segment>);

/// Parses `30s:1000,1m:1000..5000`.
fn stages(text: &str) -> Result<Stages, String> {
    let segment = |part: &str| {
        let (time, rates) = part.split_once(':').ok_or_else(|| {
            format!("{part:?} is not TIME:RATE or TIME:FROM..TO, such as 30s:1000")
        })?;
        let (from, to) = rates.split_once("..").unwrap_or((rates, rates));
        let length_ns = plan::duration_ns(time)?;
        if length_ns == 0 {
            return Err(format!("{part:?} has no duration; give 30s:1000, for example"));
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

    /// The load, and its default duration; `endless`: no number of operations ends it.
    pub(in crate::cli) fn read(self, endless: bool) -> (LoadSpec, Option<u64>) {
        let arrivals = match self.arrivals {
            None | Some(ArrivalsArg::Constant) => Arrivals::Constant,
            Some(ArrivalsArg::Poisson) => Arrivals::Poisson,
        };
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
            });
        (load, default_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::LoadArgs;
    use crate::engine::DEFAULT_SLACK_NS;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        load: LoadArgs,
    }

    #[test]
    fn the_default_slack_is_that_of_the_engine() {
        let line = Line::parse_from(["springload", "--rate", "5"]);
        assert_eq!(line.load.slack, DEFAULT_SLACK_NS);
    }
}
