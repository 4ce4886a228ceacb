//! How far the numbers of a stage can be relied on: what the client lost is weighed against what
//! was measured, figure by figure.

use super::Account;
use super::facts::{Facts, ThreadFacts};
use crate::measure::Statistic;
use serde::{Deserialize, Serialize};

/// A load thread that computes, or waits for a processor, for this share of the time is the limit
/// of a closed loop ...
const OCCUPIED: f64 = 0.95;
/// ... and cannot be on time in an open one, which needs more spare time.
const OCCUPIED_OPEN: f64 = 0.80;
/// A client that waited this long cannot blame the server for operations an open loop left undone.
const WAITED_OPEN: f64 = 0.20;
/// If the client may have added more than this share to a figure, the figure says nothing about the
/// server ...
const UNKNOWN: f64 = 0.20;
/// ... and if it may have added this much, the figure is reported as disturbed.
const DISTURBED: f64 = 0.05;
/// A percentile that the client lengthened by at most this much, in microseconds, is sound.
const LEAST_US: f64 = 1_000.0;

/// How far a figure can be relied on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Sureness {
    /// It reflects the server.
    #[default]
    Sound,
    /// The client changed it slightly, and this is reported.
    Disturbed,
    /// It may reflect the client rather than the server.
    Unknown,
}

/// How far the numbers of a stage can be relied on. Data and counts always can: they do not depend
/// on timing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trust {
    /// The throughput.
    pub throughput: Sureness,
    /// The median and the 99th percentile of response times, or the highest with enough samples.
    pub latency: Sureness,
}

/// The bounds of a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Range {
    /// Without what the client may have added.
    pub low: f64,
    /// As measured.
    pub high: f64,
}

impl Range {
    /// The range of a percentile of the response times, in microseconds; `None` with too few.
    pub(super) fn of(facts: &Facts, percentile: f64) -> Option<Self> {
        let measured = facts.response.percentile(percentile) as f64;
        let reading_ns = facts.threads.reading_us.at(percentile) * 1e3;
        let without = facts.without_client.percentile(percentile) as f64 - reading_ns;
        let range = Self { low: without.clamp(0.0, measured) / 1e3, high: measured / 1e3 };
        facts.response.earns(percentile).then_some(range)
    }

    /// The client's share of the measured value, 0 to 1.
    pub fn client_share(&self) -> f64 {
        if self.high > 0.0 { 1.0 - self.low / self.high } else { 0.0 }
    }

    /// Whether the client may have changed the value by enough to mention it.
    pub fn is_disturbed(&self) -> bool {
        self.sureness() > Sureness::Sound
    }

    fn sureness(&self) -> Sureness {
        let short = self.high - self.low <= LEAST_US;
        if short { Sureness::Sound } else { by_share(self.client_share()) }
    }
}

fn by_share(share: f64) -> Sureness {
    match share {
        it if it > UNKNOWN => Sureness::Unknown,
        it if it > DISTURBED => Sureness::Disturbed,
        _ => Sureness::Sound,
    }
}

impl ThreadFacts {
    /// Whether a load thread had no time to spare.
    pub(super) fn are_saturated(&self, open: bool) -> bool {
        let occupied = self.occupied.max(self.busiest);
        if open {
            occupied > OCCUPIED_OPEN || self.waited > WAITED_OPEN
        } else {
            occupied > OCCUPIED
        }
    }
}

impl Trust {
    pub(super) fn of(facts: &Facts, account: &Account) -> Self {
        if facts.without_server {
            return Self::default();
        }
        let of_range = |range: Option<Range>| range.map_or(Sureness::Sound, |it| it.sureness());
        let leading = Statistic::leading(|it| it.of_histogram(&facts.response));
        let percent = leading.and_then(|(it, _)| it.percent());
        let leading = percent.and_then(|percent| Range::of(facts, percent));
        let latency = of_range(account.p50_us).max(of_range(leading));
        let threads = &facts.threads;
        let throughput = match (facts.load.open, threads.are_saturated(facts.load.open)) {
            (true, _) if facts.load.is_sustained() => Sureness::Sound,
            (_, true) => Sureness::Unknown,
            (true, false) => by_share(account.time.client_s / facts.elapsed_s),
            (false, false) => by_share(account.client_share),
        };
        Self { throughput, latency }
    }
}
