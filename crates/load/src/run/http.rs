//! A list of HTTP requests for its workload, and a single one of them.

use super::RunError;
use crate::clock::{Clock, Nanos};
use crate::driver::{Opening, Session as _, Shard as _, Target, WithTarget};
use crate::http1::{Exchange, Watcher};
use crate::measure::Probe;
use crate::net::ShardContext;
use crate::op::{Failure, OpKind};
use crate::plan::{HttpPlan, PlanRecord, RequestPlan, SchemaPlan};
use crate::schema::Pattern;
use crate::workload::{Next, UrlBody, UrlEntry, UrlOrder, Urls, Workload as _};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::channel;
use tokio::runtime::Runtime;
use tokio::task::{LocalSet, spawn_local};

/// Separates the document schemas of different entries.
const BODIES: u64 = u64::from_be_bytes(*b"url body");

fn http(plan: &PlanRecord) -> Result<&HttpPlan, RunError> {
    let missing = || io::Error::other("a plan for HTTP without requests");
    Ok(plan.http.as_ref().ok_or_else(missing)?)
}

/// The entries of a plan's list, for the workload.
pub(super) fn entries(plan: &PlanRecord) -> Result<Arc<[UrlEntry]>, RunError> {
    let entry = |entry: &RequestPlan| -> Result<UrlEntry, RunError> {
        let target = entry.target.clone();
        let body = match &entry.body {
            None => UrlBody::Pattern(Pattern::default()),
            Some(body) => {
                match body.schema.and_then(|place| Some((place, plan.schemas.get(place)?))) {
                    None => UrlBody::Pattern(body.pattern.clone()),
                    Some((place, schema)) => {
                        let seed = crate::generate::mix(plan.seed, BODIES, place as u64);
                        let documents = SchemaPlan::documents(seed, std::slice::from_ref(schema))?;
                        UrlBody::Documents(Arc::new(documents))
                    }
                }
            }
        };
        let kind = entry.name.unwrap_or(OpKind::Request);
        Ok(UrlEntry { kind, target, body })
    };
    http(plan)?.requests.iter().map(entry).collect()
}

/// The result of one request of a list, and of the redirects after it.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Each request and its answer, as sent and received.
    pub exchanges: Vec<Exchange>,
    /// From the first byte sent to the last received, in nanoseconds.
    pub elapsed_ns: Nanos,
    /// Whether it succeeded.
    pub result: Result<(), Failure>,
}

/// Makes only the first request of a plan's list.
///
/// # Errors
/// When a server's name has no address, or the operating system refuses a runtime.
pub fn exchange_once(plan: &PlanRecord) -> Result<Shown, RunError> {
    let (sender, exchanges) = channel();
    let opening = Opening {
        timeout_ns: plan.timeout_ns,
        max_answer: plan.max_answer,
        exchanges: Some(Watcher { sender, whole: true }),
        ..Opening::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (target, _) = runtime.block_on(plan.target.open(&opening))?;
    let user = Urls::new(entries(plan)?, UrlOrder::Sequential, (0, 1), plan.seed, None);
    let clock = Clock::system();
    let began = clock.now();
    let timeout_ns = plan.timeout_ns;
    let result = target.apply(Once { runtime: &runtime, clock, timeout_ns, user })?;
    Ok(Shown {
        exchanges: exchanges.try_iter().collect(),
        elapsed_ns: clock.now().saturating_sub(began),
        result,
    })
}

/// The first operation of a workload, on a new connection.
struct Once<'a> {
    runtime: &'a Runtime,
    clock: Clock,
    timeout_ns: Nanos,
    user: Urls,
}

impl WithTarget for Once<'_> {
    type Output = io::Result<Result<(), Failure>>;

    fn with<T: Target>(mut self, target: &T) -> Self::Output {
        LocalSet::new().block_on(self.runtime, async {
            let context = ShardContext::new(self.clock, self.timeout_ns);
            spawn_local(context.clone().sweep());
            let mut session = target.shard(context).await?.session();
            let mut pen = session.pen();
            // The list has at least one request.
            let Next::Op(op) = self.user.next(&mut pen) else { return Ok(Err(Failure::Rejected)) };
            session.ready().await;
            session.prepare(&op, &mut pen);
            let now = self.clock.now();
            let mut probe = Probe::new(self.clock, now, now);
            let outcome = session.execute(&op, &mut pen, &mut probe).await;
            Ok(outcome.result.map(|_| ()))
        })
    }
}
