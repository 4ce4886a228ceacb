//! What a run is to do. A dialect makes a [`PlanSpec`]; only `check` makes a [`Plan`] from it, and
//! a `Plan` can be run as it is. It is stored as a [`PlanRecord`], which
//! [`PlanRecord::checked_again`] turns back into a `Plan`.

mod again;
mod baseline;
mod check;
mod check_drill;
mod databases;
mod drill;
mod follow;
mod http;
mod load;
mod noise;
mod observe;
mod operations;
mod planned;
mod probe;
mod quantity;
mod replicate;
mod replication;
mod schemas;
mod sequence;
mod spec;
mod stage;
mod target;
mod terms;
mod threshold;
mod units;
mod urls;
mod usual;
mod words;
mod ycsb_measurement;

pub use crate::driver::{
    Auth, BodyPlan, Existing, FeedKind, FollowPlan, Http2Plan, HttpPlan, Nouns, RequestPlan, Retry,
    TargetPlan, mask, strike_secret,
};
pub use crate::mistake::{BadValue, Flagged, Invalid};
pub use crate::net::{MAX_ANSWER, TlsOptions};
pub use crate::workload::{Purpose, REPLICATED, StageWork, WorkloadPlan, stage_title};
pub use baseline::{Baseline, BaselineBy, BaselineFigure, BaselineRun, max_regression};
pub use check::check;
pub use drill::{Breaks, DrillPlan, DrillSpec, DrillTimes, strike_command};
pub use http::{HttpFlags, HttpLoad, HttpSpec, Requester, check_http, check_http_as, values_of};
pub use noise::Noise;
pub use observe::{ObservePlan, ObserveSpec};
pub use operations::{definitions, learn_list, operations};
pub use planned::{FillPlan, FleetPlan, Plan, PlanRecord};
pub use probe::{ProbePlan, probe};
pub use quantity::{Metric, Quantity, Span};
pub use replication::{Link, ReplicatePlan, ReplicateSpec, Topology};
pub use schemas::{SchemaPlan, SchemaSource};
pub use spec::{LoadSpec, PlanSpec};
#[cfg(feature = "schema")]
pub use stage::STAGE_NAME;
pub use stage::StagePlan;
pub use terms::in_words;
pub use threshold::{Comparison, Limit, Threshold};
pub use units::{MixAsked, count, duration_ns, label, mix, rate, size};
pub use urls::{METHODS, UrlSource, expand, within};
pub use words::{command_line, flags, words};
pub use ycsb_measurement::{
    ErrorLatency, Exporter, MeasuredInterval, MeasurementPlan, MeasurementType,
};
