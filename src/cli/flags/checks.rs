//! Flags about whether the database keeps its promises.

use crate::op::Way;
use crate::plan::{self, FeedKind, FollowPlan, PlanSpec, ProbePlan};

const PROBE_HELP: &str = "Measure how long acknowledged writes take to become visible: alongside \
    the load, springload writes documents and looks for each until it appears: by its identifier, \
    in the list of all documents, in the changes, in a query and in a view. It removes them and \
    their index afterwards. visible=get,all_docs,changes,find,view is all five; list the ones you \
    want";

/// The flags of verbs that write documents.
#[derive(Clone, Debug, clap::Args)]
pub(in crate::cli) struct WriteArgs {
    /// Check every acknowledged write at the end
    ///
    /// Keep a journal of acknowledged writes in the run's folder, and look for all of them at the
    /// end. Missing or altered documents are counted under verify, and the exit status is 6. The
    /// verb audit can do this later. With --agents, each sends its journal after a stage
    #[arg(long)]
    audit: bool,
    /// Measure how long acknowledged writes take to become visible
    #[arg(long, value_name = "visible", value_parser = plan::probe, long_help = PROBE_HELP)]
    probe: Option<Probes>,
    /// Time between probes
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = plan::duration_ns)]
    #[arg(requires = "probe")]
    probe_every: u64,
    /// Follow the changes on this many connections
    ///
    /// Follow the changes on this many connections beside the load, and measure the delay from a
    /// write's acknowledgment to its change. At the end, each follower asks for what is left; if
    /// the last change of a document has not come by then, the exit status is 6
    #[arg(long, value_name = "N")]
    follow: Option<u32>,
    /// How followers ask for changes
    ///
    /// continuous: one continuous response; longpoll: a request for the next changes, again and
    /// again; eventsource: as continuous, in the format of browsers
    #[arg(long, value_name = "FEED", default_value = "continuous", value_parser = feed)]
    #[arg(requires = "follow")]
    follow_feed: FeedKind,
    /// Which changes followers want
    ///
    /// A filter of a design document with its parameters, DESIGN/FILTER?NAME=VALUE, or a selector
    /// in JSON. Springload does not know which changes pass: what one follower receives, the others
    /// must receive, too
    #[arg(long, value_name = "FILTER", requires = "follow")]
    follow_filter: Option<String>,
}

fn feed(name: &str) -> Result<FeedKind, String> {
    let known = FeedKind::ALL.into_iter().find(|it| it.name() == name);
    let names = FeedKind::ALL.map(FeedKind::name).join(", ");
    known.ok_or_else(|| format!("it is not one of {names}"))
}

/// Ways to look for documents. An alias, so that clap takes it as one value.
type Probes = Vec<Way>;

impl WriteArgs {
    pub(in crate::cli) fn complete(&self, spec: PlanSpec) -> PlanSpec {
        let every_ns = self.probe_every;
        let probe = self.probe.clone().map(|visible| ProbePlan { visible, every_ns });
        let (feed, filter) = (self.follow_feed, self.follow_filter.clone());
        let follow = self.follow.map(|followers| FollowPlan { followers, feed, filter });
        PlanSpec { audit: self.audit, probe, follow, ..spec }
    }
}

/// The flags of verbs that also read what they have written.
#[derive(Clone, Debug, clap::Args)]
pub(in crate::cli) struct CheckArgs {
    #[command(flatten)]
    writes: WriteArgs,
    /// Compare every document read with what was written
    ///
    /// Compare every document read with what was written: its content, its revision, and whether it
    /// is there at all. Differences are counted under verify, and the exit status is 6
    #[arg(long)]
    pub(in crate::cli) verify: bool,
}

impl CheckArgs {
    pub(in crate::cli) fn complete(&self, spec: PlanSpec) -> PlanSpec {
        PlanSpec { verify: self.verify, ..self.writes.complete(spec) }
    }
}
