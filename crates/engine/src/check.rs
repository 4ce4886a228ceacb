//! Records the results of workloads' checks of the data in answers.

use super::drive::Shared;
use crate::clock::Nanos;
use crate::measure::{Sample, Timing, Wire};
use crate::op::{Failure, OpKind, Reply, Unconfirmed};
use crate::workload::{Check, WorkloadFor};

impl Shared {
    /// Records a workload's check of the data, if there was one.
    #[inline]
    pub(super) fn checked<P>(
        &self,
        check: Check,
        since: Nanos,
        workload: &mut dyn WorkloadFor<P>,
        place: &dyn Fn() -> Option<String>,
    ) {
        match check {
            Check::Unchecked => {}
            Check::Checked(found) => checked(self, found, since, workload, place),
            Check::Several => {
                while let Some(found) = workload.compared() {
                    checked(self, found, since, workload, place);
                }
            }
        }
    }
}

/// Records a workload's check of the data, with the time that it took. `place` says where its
/// document is, if there are several places.
#[cold]
fn checked<P>(
    shared: &Shared,
    found: Result<(), Failure>,
    since: Nanos,
    workload: &mut dyn WorkloadFor<P>,
    place: &dyn Fn() -> Option<String>,
) {
    shared.issue(OpKind::Verify, 1);
    let timing = Timing::between(since, shared.clock.now());
    let unconfirmed = workload.unconfirmed();
    let wire = unconfirmed.map(Wire::of).unwrap_or_default();
    let result = found.map(|()| Reply::default());
    let mut recorder = shared.recorder.borrow_mut();
    recorder.record(&Sample { wire, ..Sample::single(OpKind::Verify, &timing, result) });
    if unconfirmed == Some(Unconfirmed::NeverWritten) {
        recorder.never_written();
    }
    if let Some(finding) = found.err().and_then(|_| workload.finding()) {
        recorder.find(finding.within(place()));
    }
}
