//! The control: measures this machine without either side, before each pair and after the last.
//! Saved with the comparison, so that it survives an interruption.

use super::ReadyAb;
use crate::cli::pipeline::ending::Ending;
use crate::clock::{Nanos, SECOND_NS};
use crate::selftest::null_rate_per_s;

/// How long the machine is measured. Half as long varies more.
const LENGTH_NS: Nanos = SECOND_NS;

impl ReadyAb {
    /// Measures the machine after this many pairs, unless that was done already.
    pub(super) fn measure_machine(&mut self, pairs: usize, ending: &Ending) {
        let known = self.pairs.definition.control_per_s.get(pairs).is_some_and(Option::is_some);
        if known || ending.reason().is_some() {
            return;
        }
        let kept = null_rate_per_s(LENGTH_NS, ending.stop()).and_then(|rate| {
            if ending.reason().is_some() {
                return Ok(());
            }
            let rates = &mut self.pairs.definition.control_per_s;
            rates.resize(rates.len().max(pairs + 1), None);
            rates[pairs] = Some((rate * 10.0).round() / 10.0);
            self.place.save(&self.pairs.definition).map_err(|error| error.to_string())
        });
        if let Err(problem) = kept
            && !self.uncontrolled
        {
            eprintln!(
                "warning: this machine itself could not be measured: {problem}; the \
                comparison goes on"
            );
            self.uncontrolled = true;
        }
    }
}
