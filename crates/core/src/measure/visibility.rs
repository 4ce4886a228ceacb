//! How long it takes until an acknowledged write becomes visible.

use super::histogram::Histogram;
use super::is_default;
use super::latency::Latency;
use crate::clock::Nanos;
use crate::op::Way;
use serde::{Deserialize, Serialize};

/// What visibility probes found in a stage. A probe is a document that springload adds for this
/// purpose.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Visibility {
    /// Probes whose write was acknowledged.
    pub written: u64,
    /// Probes whose write was not acknowledged.
    #[serde(default, skip_serializing_if = "is_default")]
    pub write_failures: u64,
    /// Probes that are still in the database, as far as is known.
    #[serde(default, skip_serializing_if = "is_default")]
    pub left: u64,
    /// The first error in a write or a removal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The results for each way in which probes were looked for.
    pub by: Vec<VisibleBy>,
}

/// What was found in one way. Of `probes`, `unseen` were never seen; `time` covers all others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VisibleBy {
    /// The way.
    pub way: Way,
    /// The node that was asked, if there are several. The probe may have been written to another
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Probes that were looked for. Those written during the search for the previous one are not
    /// included.
    pub probes: u64,
    /// Probes that were not in the first response.
    pub stale_first: u64,
    /// Probes that were in no response by the time the search was abandoned.
    pub unseen: u64,
    /// Requests that failed and were retried.
    #[serde(default, skip_serializing_if = "is_default")]
    pub failures: u64,
    /// The reason this way could not be used, or the first error of a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The time from the acknowledgement of the write to the end of the first response that showed
    /// it.
    pub time: Latency,
}

impl Visibility {
    /// Probes that were never seen, over all ways.
    pub fn unseen(&self) -> u64 {
        self.by.iter().map(|by| by.unseen).sum()
    }
}

impl VisibleBy {
    /// The share of probes that the first answer did not show, 0 to 1; `None` without probes.
    pub fn stale_share(&self) -> Option<f64> {
        (self.probes > 0).then(|| self.stale_first as f64 / self.probes as f64)
    }
}

/// Counts probes that are looked for in one way, one after the other.
#[derive(Debug)]
pub struct Sightings {
    by: VisibleBy,
    times: Histogram,
    /// Whether there was an answer for the current probe.
    answered: bool,
}

impl Sightings {
    /// Counts from zero.
    pub fn new(way: Way, node: Option<String>) -> Self {
        let by = VisibleBy {
            way,
            node,
            probes: 0,
            stale_first: 0,
            unseen: 0,
            failures: 0,
            reason: None,
            time: Latency::new(Histogram::default()),
        };
        Self { by, times: Histogram::default(), answered: false }
    }

    /// Notes that this way cannot be used for now.
    pub fn unusable(&mut self, reason: &str) {
        self.by.reason.get_or_insert_with(|| reason.to_owned());
    }

    /// Notes that this way can be used again.
    pub fn usable(&mut self) {
        self.by.reason = None;
    }

    /// Starts looking for the next probe.
    pub const fn begin(&mut self) {
        self.answered = false;
    }

    /// Notes that a request for the current probe failed.
    pub fn failed(&mut self, reason: &str) {
        self.by.failures += 1;
        self.by.reason.get_or_insert_with(|| reason.to_owned());
    }

    /// Notes an answer that did not show the probe, which counts as unseen until one does.
    pub const fn missed(&mut self) {
        if !self.answered {
            self.by.probes += 1;
            self.by.stale_first += 1;
            self.by.unseen += 1;
        }
        self.answered = true;
    }

    /// Notes an answer that showed the probe, `after_ns` after its acknowledgement.
    pub fn seen(&mut self, after_ns: Nanos) {
        if self.answered {
            self.by.unseen -= 1;
        } else {
            self.by.probes += 1;
        }
        self.answered = true;
        self.times.record(after_ns);
    }

    /// The results.
    pub fn finish(self) -> VisibleBy {
        VisibleBy { time: Latency::new(self.times), ..self.by }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_is_stale_unseen_or_seen() {
        let mut found = Sightings::new(Way::View, None);
        found.unusable("not yet");
        found.usable();
        // Seen at once; seen later; never seen; no answer at all.
        found.begin();
        found.seen(1_000_000);
        found.begin();
        found.missed();
        found.failed("no answer");
        found.missed();
        found.seen(5_000_000);
        found.begin();
        found.missed();
        found.begin();
        found.failed("again");
        let by = found.finish();
        assert_eq!((by.probes, by.stale_first, by.unseen, by.failures), (3, 2, 1, 2));
        assert_eq!(by.time.samples, by.probes - by.unseen);
        assert_eq!(by.reason.as_deref(), Some("no answer"));
        assert_eq!(by.stale_share(), Some(2.0 / 3.0));
        let twice = vec![by.clone(), by];
        assert_eq!(Visibility { by: twice, ..Visibility::default() }.unseen(), 2);
        assert_eq!(Sightings::new(Way::Get, None).finish().stale_share(), None);
    }
}
