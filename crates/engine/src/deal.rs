//! Distributes the connections of a stage to threads, without the types of their workloads.

use crate::driver::{Driver, Target, WithTarget};
use crate::lane::Lane;
use crate::shard::{ShardPlan, ShardResult, run_shard};
use crate::workload::{Ended, LaneContext, Runner, Stock, Workload, WorkloadPlan};
use std::any::Any;
use std::io;

/// The threads of a stage that run in this process. Connection c belongs to thread c modulo the
/// number of threads, and thread s to agent s modulo the number of agents.
#[derive(Clone, Copy, Debug)]
pub struct Deal {
    /// The threads that take part, over all agents.
    pub shards: usize,
    /// The number of this agent; 0 if there are no others.
    pub agent: usize,
    /// How many agents there are.
    pub agents: usize,
}

/// The connections of one thread, with their workloads.
pub struct ShardWork {
    /// The number of the thread, over all agents.
    pub shard: usize,
    lanes: Box<dyn AnyLanes>,
}

/// The results of a thread, besides the intervals it has sent.
pub struct Worked {
    /// What it measured.
    pub measured: ShardResult<()>,
    /// The workloads of its connections.
    pub workloads: Workloads,
}

/// The workloads of a thread after a stage.
pub struct Workloads(Box<dyn Any + Send>);

/// Connections' numbers, each with its workload.
type Numbered<W> = Vec<(usize, W)>;

/// Has `run` carry out `work` on the threads of this process, and puts whatever later stages need
/// into `stock`. `run` is called once, with the threads in the order of their numbers; it returns
/// their results in any order, or nothing if the stage could not be run.
pub fn carry_out(
    work: &WorkloadPlan,
    cx: &LaneContext,
    stock: &mut Stock,
    deal: Deal,
    run: &mut dyn FnMut(Vec<ShardWork>) -> Option<Vec<Workloads>>,
) {
    // On failure nothing is kept, and `run` knows the reason.
    let _: Result<(), NotRun> = work.carry_out(cx, stock, Threads { deal, run });
}

impl Deal {
    /// Distributes the connections to threads in turn. Returns those of this process's threads, by
    /// the thread's number, and the workloads of all others, by the connection's.
    #[allow(clippy::type_complexity, reason = "two lists, each of numbers and what they are of")]
    fn dealt<W>(self, workloads: Vec<W>) -> (Vec<(usize, Vec<Lane<W>>)>, Numbered<W>) {
        let Self { shards, agent, agents } = self;
        let own = (agent..shards).step_by(agents);
        let mut own: Vec<(usize, Vec<Lane<W>>)> = own.map(|shard| (shard, Vec::new())).collect();
        let mut others = Vec::new();
        for (connection, workload) in workloads.into_iter().enumerate() {
            let shard = connection % shards;
            if shard % agents == agent {
                own[shard / agents].1.push(Lane { connection, workload });
            } else {
                others.push((connection, workload));
            }
        }
        (own, others)
    }
}

impl ShardWork {
    /// Runs the connections on the calling thread until all of them are done.
    ///
    /// # Errors
    /// Returns an error if the operating system cannot create a runtime or a timer, or the driver
    /// cannot carry out such a workload.
    pub fn run(self, plan: &ShardPlan, target: &Driver) -> io::Result<Worked> {
        self.lanes.run(plan, target)
    }
}

struct NotRun;

/// The threads of this process, with any workload.
struct Threads<'a> {
    deal: Deal,
    run: &'a mut dyn FnMut(Vec<ShardWork>) -> Option<Vec<Workloads>>,
}

impl Runner for Threads<'_> {
    type Output = ();
    type Error = NotRun;

    fn run<W>(self, lanes: Vec<W>) -> Result<((), Ended<W>), NotRun>
    where
        W: Workload + Send + 'static,
    {
        let (own, others) = self.deal.dealt(lanes);
        let boxed = |(connection, workload)| (connection, Box::new(workload));
        let mut all: Numbered<Box<W>> = others.into_iter().map(boxed).collect();
        let own = own.into_iter().map(|(shard, lanes)| ShardWork { shard, lanes: Box::new(lanes) });
        for Workloads(some) in (self.run)(own.collect()).ok_or(NotRun)? {
            let some = some.downcast::<Numbered<Box<W>>>().expect("the type that they had");
            all.extend(*some);
        }
        all.sort_unstable_by_key(|(connection, _)| *connection);
        Ok(((), all.into_iter().map(|(_, workload)| workload).collect()))
    }
}

/// Connections, without the type of their workloads.
trait AnyLanes: Send {
    fn run(self: Box<Self>, plan: &ShardPlan, target: &Driver) -> io::Result<Worked>;
}

impl<W: Workload + Send + 'static> AnyLanes for Vec<Lane<W>> {
    fn run(self: Box<Self>, plan: &ShardPlan, target: &Driver) -> io::Result<Worked> {
        let (measured, workloads) = target.apply(OnTarget { plan, lanes: *self })?.parted();
        Ok(Worked { measured, workloads: Workloads(Box::new(workloads)) })
    }
}

/// The work of one thread, with any driver.
struct OnTarget<'a, W> {
    plan: &'a ShardPlan,
    lanes: Vec<Lane<W>>,
}

impl<W: Workload + 'static> WithTarget for OnTarget<'_, W> {
    type Output = io::Result<ShardResult<Box<W>>>;

    fn with<T: Target>(self, target: &T) -> Self::Output {
        // Known at compile time, so that nothing is compiled for combinations that cannot occur.
        if W::LISTED && T::LISTED || !W::LISTED && T::DOCUMENTS {
            return run_shard(self.plan, target, self.lanes);
        }
        Err(io::Error::other("a workload that this driver has no operations for"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Nanos;
    use crate::driver::{Outcome, Session, Shard};
    use crate::measure::Probe;
    use crate::net::ShardContext;
    use crate::op::{Answered, Draft, Failure, Op, Pen, Reply};
    use crate::workload::{Check, Next};
    use std::rc::Rc;
    use std::sync::mpsc::channel;

    /// A database without a list of requests.
    #[derive(Clone)]
    struct Documents;

    struct OnDocuments;

    impl Target for Documents {
        type Shard = Self;

        async fn shard(&self, _: Rc<ShardContext>) -> io::Result<Self> {
            Ok(Self)
        }
    }

    impl Shard for Documents {
        type Session = OnDocuments;

        fn session(&self) -> OnDocuments {
            OnDocuments
        }
    }

    impl Session for OnDocuments {
        type Pen = Draft;

        fn pen(&self) -> Draft {
            Draft::default()
        }

        async fn ready(&mut self) -> Option<Nanos> {
            None
        }

        async fn execute(&mut self, _: &Op, _: &mut Draft, _: &mut Probe) -> Outcome {
            Outcome::of(Ok(Reply::default()))
        }
    }

    /// No operations, on a list or on documents.
    struct Nothing<const LISTED: bool>;

    impl<const LISTED: bool> Workload for Nothing<LISTED> {
        const LISTED: bool = LISTED;

        fn next<P: Pen>(&mut self, _: &mut P) -> Next {
            Next::End
        }

        fn observe(&mut self, _: &Op, _: Result<Reply, Failure>, _: &Answered<'_>) -> Check {
            Check::Unchecked
        }
    }

    fn runs<const LISTED: bool>() -> bool {
        let (sink, _source) = channel();
        let plan = &ShardPlan::alone((0, 1), 1, sink);
        let lanes = vec![Lane { connection: 0, workload: Nothing::<LISTED> }];
        OnTarget { plan, lanes }.with(&Documents).is_ok()
    }

    #[test]
    fn a_list_of_requests_is_refused_by_a_database_that_has_documents_only() {
        assert!(runs::<false>() && !runs::<true>());
    }
}
