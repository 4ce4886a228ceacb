//! Measurements: marks for one operation, recorders per shard, summaries per stage.
//!
//! Knows nothing about databases, plans or reports.

mod backlog;
mod compaction;
mod connection;
mod copies;
mod counts;
mod figure;
mod following;
mod growth;
mod hiccup;
mod histogram;
mod interval;
mod latency;
mod loss;
mod merged;
mod node;
mod outage;
mod pool;
mod probe;
mod recorder;
mod replication;
mod series;
mod served;
mod silence;
mod slots;
mod spans;
mod spread;
mod summary;
mod visibility;

pub use backlog::Backlog;
pub use compaction::Compaction;
pub use connection::{ConnectionTimes, PhaseTable};
pub use copies::{Copies, NodeCopies};
pub use counts::{BodyBytes, Wire};
pub use figure::Count;
pub use following::{Ack, Change, FollowedBy, FollowedSum, Following, Follows, document_hash};
pub use growth::{FillLog, Growth, GrowthPoint, SizePoint};
pub use hiccup::{HiccupMeter, Hiccups};
pub use histogram::{Histogram, HistogramError, Kept, earned};
pub use interval::{FailedTimes, HeldTimes, Interval, KindInterval, RawRow};
pub use latency::{Latency, Shown, Statistic};
pub use loss::{HELD_NS, PAUSE_NS, Pause, ThreadLoss};
pub use merged::Merged;
pub use node::{Absence, NodeInterval, NodeLog, NodeSummary, Unreachable};
pub use outage::{Outage, OutageLog, Pulse, Spell};
pub use pool::{Held, Opened, PoolLog};
pub use probe::{OLDEST_NOTE_NS, Probe, Sample, Timing};
pub use recorder::Recorder;
pub use replication::{
    Comparison, EndToEnd, LagPoint, LinkEnd, MarkerLog, Markers, ReplicaPlace, Replication,
    ReplicationLink,
};
pub use series::{Second, Seconds, Series, SeriesKind, SeriesLog, SeriesNode, SeriesRow};
pub use served::{Served, Tally};
pub use silence::{Answers, NodeAnswers, Silences};
pub use slots::{Slot, SlotSums};
pub use spans::{Span, Spans};
pub use spread::Spread;
pub use summary::{OperationSummary, Totals, failure_words, failure_words_of};
pub use visibility::{Sightings, Visibility, VisibleBy};

/// Whether a value is its default. Records leave out such keys, so that older records, which lack
/// the key, are written back unchanged.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
