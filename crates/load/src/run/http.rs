//! Prepares a list of HTTP requests for its workload, and makes single requests from it.

use super::RunError;
use crate::clock::{Clock, Nanos};
use crate::driver::{Listed, Opening, Session as _, Shard as _, Target, TargetError, WithTarget};
use crate::http1::{Exchange, Watcher};
use crate::measure::Probe;
use crate::net::ShardContext;
use crate::op::{Failure, OpKind};
use crate::plan::{HttpPlan, PlanRecord, SchemaPlan, values_of};
use crate::schema::Documents;
use crate::workload::{Next, UrlEntry, Urls, Workload as _};
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
    let entry = |listed: Listed<'_>| -> Result<UrlEntry, RunError> {
        let entry = listed.common;
        let place = entry.body.as_ref().and_then(|body| body.schema);
        let schema = place.and_then(|place| Some((place, plan.schemas.get(place)?)));
        let documents = schema.map(|(place, schema)| {
            let seed = crate::generate::mix(plan.seed, BODIES, place as u64);
            SchemaPlan::documents(seed, std::slice::from_ref(schema)).map(Arc::new)
        });
        let values = values_of(entry, &plan.data);
        Ok(UrlEntry {
            kind: entry.name.unwrap_or(OpKind::Request),
            sequence: entry.sequence,
            follows: entry.follows,
            values: values.map_err(|mistake| TargetError(mistake.to_string()))?,
            documents: documents.transpose()?,
            saves: entry.save.keys().cloned().collect(),
        })
    };
    http(plan)?.requests.iter().map(entry).collect()
}

/// The result of one request of a list, and of the redirects after it.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Each request and its response, as sent and received.
    pub exchanges: Vec<Exchange>,
    /// From the first byte sent to the last received, in nanoseconds.
    pub elapsed_ns: Nanos,
    /// Whether it succeeded.
    pub result: Result<(), Failure>,
}

/// Makes only the first request of a plan's list.
///
/// # Errors
/// Returns an error if a server's name has no address, or the operating system refuses a runtime.
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
    let documents = Arc::new(Documents::new(plan.seed, Vec::new()));
    let user = Urls::alone(entries(plan)?, plan.seed, documents);
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

#[cfg(test)]
mod tests {
    use super::super::fixture_tests::{planned, spec};
    use super::*;
    use crate::clock::SECOND_NS;
    use crate::plan::{HttpFlags, HttpLoad, HttpSpec, LoadSpec, UrlSource, check_http};
    use crate::workload::UrlOrder;
    use springload_embedded::{Options, StandIn, bind};

    /// A list of the welcome and of a database that does not exist.
    fn list(server: &StandIn) -> HttpSpec {
        let line = |path: &str| UrlSource::Line {
            place: "URL".to_owned(),
            text: format!("{}{path}", server.url()),
        };
        HttpSpec {
            command: "springload http".to_owned(),
            urls: vec![line("/"), line("/nowhere")],
            flags: HttpFlags::NATIVE,
            log_in: Vec::new(),
            user: None,
            settings: HttpPlan::default(),
            content_type: None,
            data: Vec::new(),
            literal: false,
            order: UrlOrder::Sequential,
            tls: crate::net::TlsOptions::default(),
            method: None,
            body: None,
            users: 1,
            threads: Some(1),
            seed: 1,
            timeout_ns: 30 * SECOND_NS,
            give_up_ns: None,
            max_answer: 100_000,
            once: false,
            operations: Some(2),
            duration_ns: None,
            warmup_ns: 0,
            load: HttpLoad::Steady(LoadSpec::Closed { think_ns: 0 }),
            thresholds: Vec::new(),
        }
    }

    #[test]
    fn only_the_first_request_of_a_list_is_made_and_shown_as_it_was_sent() {
        let server = StandIn::start(bind("127.0.0.1:0").unwrap(), Options::default()).unwrap();
        let plan = check_http(&list(&server)).unwrap();
        let clock = Clock::system();
        let began = clock.now();
        let shown = exchange_once(&plan).unwrap();
        let took_ns = clock.now() - began;
        assert_eq!(shown.result, Ok(()));
        assert!(shown.elapsed_ns > 0 && shown.elapsed_ns <= took_ns);
        let [exchange] = &shown.exchanges[..] else { panic!("{:?}", shown.exchanges) };
        assert_eq!((exchange.status, exchange.method.as_str()), (Ok(200), "GET"));
        assert!(exchange.request.starts_with(b"GET / HTTP/1.1\r\n"), "{exchange:?}");
        assert!(String::from_utf8_lossy(&exchange.body).contains("couchdb"), "{exchange:?}");
    }

    #[test]
    fn a_plan_of_another_kind_has_no_list() {
        let plan = planned(&spec(60, Some(6)));
        let why = entries(&plan).err().map(|error| error.to_string());
        assert_eq!(why.as_deref(), Some("a plan for HTTP without requests"));
    }
}
