//! Flags about what is observed on the servers.

use crate::plan::ObserveSpec;

/// What is observed of the servers beside the load.
#[derive(Clone, Debug, clap::Args)]
pub(in crate::cli) struct ObserveArgs {
    /// Do not ask the server about itself during the run
    ///
    /// Do not ask the server about itself during the run. By default, springload asks each node of
    /// a CouchDB every second or two for its own counters, its queues and its tasks, and shows them
    /// beside its own measurements; that takes the server less than a hundredth of a processor
    #[arg(long)]
    no_observe: bool,
    /// Metrics to fetch during the run, NAME=URL, as of an exporter; may be repeated
    ///
    /// Metrics to fetch every 2 s during the run, such as node=http://localhost:9100/metrics: any
    /// text of Prometheus or OpenMetrics. They are shown under NAME beside springload's own
    /// measurements. The URL may have user:password@; passwords and likely tokens in the query are
    /// not stored. May be repeated
    #[arg(long, value_name = "NAME=URL")]
    observe_url: Vec<String>,
    /// Which series of --observe-url to keep, by a pattern with * and ?; may be repeated
    ///
    /// Which series of --observe-url to keep: names, with or without {labels}, in which * stands
    /// for any text and ? for one character; may be repeated [default: the first 60 of each URL
    /// that are not buckets or quantiles]
    #[arg(long, value_name = "GLOB", requires = "observe_url")]
    observe_series: Vec<String>,
}

impl ObserveArgs {
    pub(in crate::cli) fn spec(&self) -> ObserveSpec {
        ObserveSpec {
            servers: !self.no_observe,
            urls: self.observe_url.clone(),
            series: self.observe_series.clone(),
        }
    }
}
