//! What was measured: marks of one operation, recorders per shard, summaries per stage.
//!
//! Knows nothing of databases, plans or reports.

mod connection;
mod growth;
mod hiccup;
mod histogram;
mod interval;
mod probe;
mod recorder;
mod series;
mod slots;
mod spread;
mod summary;

pub use connection::{ConnectionTimes, PhaseTable};
pub use growth::{FillLog, Growth, GrowthPoint, SizePoint};
pub use hiccup::{HiccupMeter, Hiccups};
pub use histogram::{Histogram, HistogramError, Kept, earned};
pub use interval::{FailedTimes, Interval, KindInterval, RawRow};
pub use probe::{OLDEST_NOTE_NS, Probe, Timing};
pub use recorder::{Recorder, Sample};
pub use series::{Series, SeriesKind, SeriesRow};
pub use slots::{Slot, SlotSums};
pub use spread::Spread;
pub use summary::{Latency, OperationSummary, Totals, failure_words};
