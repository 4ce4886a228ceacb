//! The counts of operations as a table, which reports, metrics and thresholds read.

use super::interval::KindInterval;
use super::latency::Shown;
use super::summary::OperationSummary;
use serde::{Deserialize, Serialize};

/// The properties of a count.
struct CountRow {
    name: &'static str,
    title: &'static str,
    meaning: &'static str,
    whole: Option<Count>,
    is_bytes: bool,
    is_better_high: bool,
    shown: Shown,
    is_rare: bool,
    metric: Option<&'static str>,
    of: fn(&OperationSummary) -> u64,
    in_interval: Option<fn(&KindInterval) -> u64>,
}

macro_rules! counts {
    (@in_interval second $of:expr) => { Some($of) };
    (@in_interval stage $of:expr) => { None };
    ($($Count:ident {
        meaning: $meaning:literal, name: $name:literal, $($member:ident: $value:expr,)*
        => $each:ident $of:expr
    })*) => {
        /// A count of operations, such as of those that failed. Counts add up over kinds of
        /// operations and over stages.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Count {
            $(#[doc = $meaning] #[serde(rename = $name)] $Count,)*
        }

        impl Count {
            /// Every count, in the order of reports.
            pub const ALL: &[Self] = &[$(Self::$Count),*];
            #[allow(clippy::redundant_closure_for_method_calls, reason = "the type is not named")]
            const ROWS: &[CountRow] = &[$(CountRow {
                meaning: $meaning,
                name: $name,
                $($member: $value,)*
                of: $of,
                in_interval: counts!(@in_interval $each $of),
            }),*];
        }
    };
}

// Each count is defined by its row here. `name` is used in thresholds, `title` above columns,
// `meaning` in hints and metrics. A percentage of the count is relative to `whole`. If `is_rare`,
// tables only show it where it is not zero. `metric` is its family in OpenMetrics, unless
// `springload_operations` covers it by its result. The last part says whether it is known for each
// second or only for whole stages, and how it is read.
counts! {
    Issued {
        meaning: "Documents for which an operation was started.",
        name: "issued", title: "issued", whole: None, is_bytes: false,
        is_better_high: true, shown: Shown::Detail, is_rare: false, metric: None,
        => stage |it| it.issued
    }
    Ok {
        meaning: "Documents whose operations succeeded.",
        name: "ok", title: "ok", whole: Some(Count::Issued), is_bytes: false,
        is_better_high: true, shown: Shown::Detail, is_rare: false, metric: None,
        => second |it| it.ok
    }
    Failed {
        meaning: "Documents whose operations failed.",
        name: "err", title: "failed", whole: Some(Count::Issued), is_bytes: false,
        is_better_high: false, shown: Shown::Always, is_rare: false, metric: None,
        => second |it| it.failed()
    }
    Unfinished {
        meaning: "Documents without an answer when the run ended.",
        name: "unfinished", title: "unfinished", whole: Some(Count::Issued), is_bytes: false,
        is_better_high: false, shown: Shown::Wide, is_rare: true, metric: None,
        => stage |it| it.unfinished
    }
    Accepted {
        meaning: "Documents accepted, but not by a quorum.",
        name: "accepted", title: "accepted", whole: Some(Count::Issued), is_bytes: false,
        is_better_high: false, shown: Shown::Detail, is_rare: true, metric: Some("springload_accepted"),
        => second |it| it.accepted
    }
    Requests {
        meaning: "Completed requests, successful or not.",
        name: "requests", title: "requests", whole: None, is_bytes: false,
        is_better_high: true, shown: Shown::Wide, is_rare: false, metric: Some("springload_requests"),
        => second |it| it.requests
    }
    Resent {
        meaning: "Requests sent again on a new connection.",
        name: "resent", title: "resent", whole: Some(Count::Requests), is_bytes: false,
        is_better_high: false, shown: Shown::Detail, is_rare: true, metric: Some("springload_resent_requests"),
        => second |it| it.wire.resent
    }
    Rows {
        meaning: "Documents returned by scans, and rows of queries.",
        name: "rows", title: "rows", whole: None, is_bytes: false,
        is_better_high: true, shown: Shown::Detail, is_rare: true, metric: Some("springload_rows"),
        => second |it| it.rows
    }
    Sent {
        meaning: "Bytes of bodies sent.",
        name: "sent_bytes", title: "body sent", whole: None, is_bytes: true,
        is_better_high: false, shown: Shown::Detail, is_rare: false, metric: Some("springload_sent_bytes"),
        => second |it| it.bytes.sent
    }
    Received {
        meaning: "Bytes of bodies received.",
        name: "received_bytes", title: "body received", whole: None, is_bytes: true,
        is_better_high: false, shown: Shown::Detail, is_rare: false, metric: Some("springload_received_bytes"),
        => second |it| it.bytes.received
    }
    Warned {
        meaning: "Answers to which the server added a warning.",
        name: "warned", title: "warned", whole: Some(Count::Requests), is_bytes: false,
        is_better_high: false, shown: Shown::Detail, is_rare: true, metric: Some("springload_warned_answers"),
        => second |it| it.warned
    }
    Outdated {
        meaning: "Answers of an index that lack the last write of the requested document.",
        name: "outdated", title: "outdated", whole: Some(Count::Requests), is_bytes: false,
        is_better_high: false, shown: Shown::Detail, is_rare: true, metric: Some("springload_outdated_answers"),
        => second |it| it.outdated
    }
    FromCache {
        meaning: "Answers served by a cache on the way.",
        name: "from_cache", title: "from a cache", whole: Some(Count::Requests), is_bytes: false,
        is_better_high: true, shown: Shown::Detail, is_rare: true, metric: Some("springload_cached_answers"),
        => second |it| it.wire.from_cache
    }
    RetryAfter {
        meaning: "Answers in which the server asked the client to wait.",
        name: "retry_after", title: "asked to wait", whole: Some(Count::Requests), is_bytes: false,
        is_better_high: false, shown: Shown::Detail, is_rare: true, metric: Some("springload_retry_after_answers"),
        => second |it| it.wire.retry_after
    }
}

impl Count {
    const fn row(self) -> &'static CountRow {
        &Self::ROWS[self as usize]
    }

    /// The count with this name in thresholds.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.name() == name)
    }

    /// Its name in thresholds.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// The title of its column.
    pub const fn title(self) -> &'static str {
        self.row().title
    }

    /// A sentence about what is counted.
    pub const fn meaning(self) -> &'static str {
        self.row().meaning
    }

    /// The count that a share of it is relative to; `None` if it has none.
    pub const fn whole(self) -> Option<Self> {
        self.row().whole
    }

    /// Whether it counts bytes.
    pub const fn is_bytes(self) -> bool {
        self.row().is_bytes
    }

    /// Whether a higher count is better.
    pub const fn is_better_high(self) -> bool {
        self.row().is_better_high
    }

    /// Its own family of metrics, if it has one.
    pub const fn metric(self) -> Option<&'static str> {
        self.row().metric
    }

    /// The count of one kind of operations.
    pub fn of(self, operation: &OperationSummary) -> u64 {
        (self.row().of)(operation)
    }

    /// The count of one kind of operations in an interval; `None` if it is only known for whole
    /// stages.
    pub fn in_interval(self, part: &KindInterval) -> Option<u64> {
        self.row().in_interval.map(|of| of(part))
    }

    /// The sum over these operations, none of which may be part of another.
    pub fn sum<'a>(self, operations: impl IntoIterator<Item = &'a OperationSummary>) -> u64 {
        operations.into_iter().map(|it| self.of(it)).sum()
    }

    /// The counts that a table of this rank shows for these operations.
    pub fn shown(rank: Shown, operations: &[&OperationSummary]) -> Vec<Self> {
        let occurs = |it: &Self| !it.row().is_rare || it.sum(operations.iter().copied()) > 0;
        let ranked = Self::ALL.iter().filter(|it| it.row().shown >= rank);
        ranked.copied().filter(occurs).collect()
    }

    /// Whether a narrow table may leave it out.
    pub fn is_wide(self) -> bool {
        self.row().shown < Shown::Always
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Interval, Statistic, Totals};
    use crate::op::{Failure, OpKind};

    #[test]
    fn names_are_of_one_thing_each() {
        let counts = Count::ALL.iter().map(|it| it.name());
        let others = Statistic::ALL.iter().map(|it| it.name());
        let others = others.chain(Failure::ALL.map(Failure::name));
        let others = others.chain(OpKind::BUILT_IN.map(OpKind::name));
        let mut names: Vec<&str> = counts.chain(others).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        assert!(Count::ALL.iter().all(|it| Count::named(it.name()) == Some(*it)));
        for (place, count) in Count::ALL.iter().enumerate() {
            assert_eq!(*count as usize, place);
        }
    }

    fn summary(resent: u64, issued: u64) -> OperationSummary {
        let mut interval = Interval::new(0);
        let part = interval.kind_mut(OpKind::Read);
        (part.requests, part.ok, part.wire.resent) = (2, 2, resent);
        let mut totals = Totals::default();
        totals.add(&interval);
        *totals.issued.of(OpKind::Read) = issued;
        totals.summarize(1.0).remove(0)
    }

    #[test]
    fn what_is_rare_is_shown_where_it_occurs() {
        let (plain, resent, lost) = (summary(0, 2), summary(1, 2), summary(0, 3));
        assert_eq!(Count::shown(Shown::Always, &[&lost]), [Count::Failed]);
        assert_eq!(Count::shown(Shown::Wide, &[&plain]), [Count::Failed, Count::Requests]);
        let with_unfinished = [Count::Failed, Count::Unfinished, Count::Requests];
        assert_eq!(Count::shown(Shown::Wide, &[&plain, &lost]), with_unfinished);
        let detail = |it: &OperationSummary| Count::shown(Shown::Detail, &[it]);
        assert!(!detail(&plain).contains(&Count::Resent));
        assert!(detail(&resent).contains(&Count::Resent));
        let narrow: Vec<_> = Count::ALL.iter().filter(|it| !it.is_wide()).collect();
        assert_eq!(narrow, [&Count::Failed]);
    }
}
