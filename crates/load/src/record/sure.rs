//! Decides whether a limit is certainly met or missed despite what springload itself lost: the time
//! it added to a response may have caused a limit to be missed, but never to be met.

use super::{StageRecord, Verdict};
use crate::measure::{Histogram, OperationSummary};
use crate::plan::{Metric, Span};

/// The other end of the range that the true value lies in. For times it is the least, without what
/// springload may have added; for rates the greatest, with what it may have kept from being served.
/// `None`: the measured value is exact.
pub(super) fn other_bound<'a>(
    stages: &[&'a StageRecord],
    operations: impl Iterator<Item = &'a OperationSummary>,
    metric: Metric,
    value: f64,
) -> Option<f64> {
    let accounts = || stages.iter().filter_map(|stage| stage.account.as_ref());
    let bound = |stage: &StageRecord| matches!(stage.verdict, Verdict::ClientBound { .. });
    match metric {
        // An older record does not say how much of a time was added by springload.
        Metric::Time(..) if stages.iter().any(|it| bound(it) && it.account.is_none()) => Some(0.0),
        Metric::Time(span, statistic) => {
            let (mut measured, mut without) = (Histogram::default(), Histogram::default());
            for operation in operations {
                let response = &operation.response.histogram;
                let part = operation.response_without_client.as_ref();
                measured.merge(response);
                without.merge(part.map_or(response, |it| &it.histogram));
            }
            let percentile = statistic.covers().unwrap_or(50.0);
            let reading_us = accounts().map(|it| it.reading_us.at(percentile)).fold(0.0, f64::max);
            let held_ns = statistic.in_ns(&measured) - statistic.in_ns(&without);
            let held_us = held_ns.max(0.0) / 1e3;
            let reading_us = if span == Span::Lag { 0.0 } else { reading_us };
            Some((value - held_us - reading_us).max(0.0))
        }
        Metric::Throughput => {
            let share = accounts().map(|it| it.client_share).fold(0.0, f64::max);
            // If the client is the limit, the number of requests it kept from being served is
            // unknown.
            let bound = stages.iter().any(|it| bound(it));
            Some(if bound { f64::INFINITY } else { value / (1.0 - share).max(f64::EPSILON) })
        }
        Metric::Count(_) | Metric::Class(_) | Metric::Dropped => None,
    }
}

#[cfg(test)]
#[path = "sure_tests.rs"]
mod tests;
