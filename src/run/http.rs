//! A list of HTTP requests made ready: servers looked up, entries for workload and driver.

use super::RunError;
use crate::clock::{Clock, Nanos};
use crate::driver::http::{Exchange, Http, LogIn, Request, Server, Settings, Watcher};
use crate::driver::{Session as _, Shard as _, ShardOf};
use crate::measure::Probe;
use crate::net::ShardContext;
use crate::net::{Endpoint, EndpointError, TlsOptions};
use crate::op::Failure;
use crate::plan::{HttpPlan, Plan, RequestPlan, SchemaPlan};
use crate::record::ServerRecord;
use crate::schema::{Pattern, Values};
use crate::workload::{UrlBody, UrlEntry, UrlOrder, Urls, Workload as _};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::channel;
use url::Url;

/// Tells document schemas of different entries apart.
const BODIES: u64 = u64::from_be_bytes(*b"url body");

/// What login requests have in their places.
const LOG_IN: Values = Values { seq: 1, random: [0; 16], int: 0 };

fn http(plan: &Plan) -> Result<&HttpPlan, RunError> {
    let missing = || io::Error::other("a plan for HTTP without requests");
    Ok(plan.http.as_ref().ok_or_else(missing)?)
}

/// The target of a plan for HTTP, which tells `watcher` of each exchange that has ended.
///
/// # Errors
/// When the name of a server has no address, or its certificates cannot be judged.
fn http_target(
    plan: &Plan,
    watcher: Option<Watcher>,
    head_becomes_get: bool,
) -> Result<Http, RunError> {
    let http = http(plan)?;
    let tls = TlsOptions { authorities: plan.target.tls_ca.clone() };
    let mut servers = Vec::new();
    let mut request = |entry: &RequestPlan| -> Result<Request, RunError> {
        Ok(Request {
            method: entry.method.clone(),
            server: place_of(entry, &mut servers, (&tls, plan.max_answer))?,
            content_type: entry.content_type.clone(),
        })
    };
    let requests = http.requests.iter().map(&mut request).collect::<Result<_, _>>()?;
    let mut log_in = Vec::new();
    for entry in &http.log_in {
        let mut text = LogIn::default();
        entry.target.write(&LOG_IN, &mut text.target);
        if let Some(body) = &entry.body {
            body.pattern.write(&LOG_IN, &mut text.body);
        }
        log_in.push((request(entry)?, text));
    }
    let pair = |header: &String| {
        let (name, value) = header.split_once(':').unwrap_or((header, ""));
        (name.trim().to_owned(), value.trim().to_owned())
    };
    let settings = Settings {
        headers: http.headers.iter().map(pair).collect(),
        follow: http.follow,
        keep_alive: http.keep_alive,
        cookies: http.cookies,
        max_answer: plan.max_answer,
        retry: http.retry,
        head_becomes_get,
        watcher,
    };
    Ok(Http::new(servers, requests, log_in, settings, tls))
}

/// The place of an entry's server among `servers`, to which it is added if it is new. One that
/// is spoken to as two users counts twice.
fn place_of(
    entry: &RequestPlan,
    servers: &mut Vec<Server>,
    (tls, max_answer): (&TlsOptions, u64),
) -> Result<usize, RunError> {
    let url = Url::parse(&entry.server)
        .map_err(|_| RunError::Endpoint(EndpointError::Url(entry.server.clone())))?;
    let same = |server: &Server| server.url == url && server.user == entry.user;
    if let Some(place) = servers.iter().position(same) {
        return Ok(place);
    }
    let endpoint = Arc::new(Endpoint::resolve(&url, tls)?.with_max_answer(max_answer));
    servers.push(Server { url, endpoint, user: entry.user.clone() });
    Ok(servers.len() - 1)
}

/// The target, and what is on record of its servers.
pub(super) fn prepare(
    plan: &Plan,
    watcher: Option<Watcher>,
) -> Result<(Http, ServerRecord), RunError> {
    let target = http_target(plan, watcher, false)?;
    let server = ServerRecord {
        url: plan.target.server.clone().unwrap_or_default(),
        name: "HTTP".to_owned(),
        version: "1.1".to_owned(),
        same_machine: target.is_loopback(),
        ..ServerRecord::default()
    };
    Ok((target, server))
}

/// The entries of a plan's list, for the workload.
pub(super) fn entries(plan: &Plan) -> Result<Arc<[UrlEntry]>, RunError> {
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
        Ok(UrlEntry { target, body })
    };
    http(plan)?.requests.iter().map(entry).collect()
}

/// What one request of a list, and the redirects that it led to, came to.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Each request and its answer, as they went.
    pub exchanges: Vec<Exchange>,
    /// From the first byte sent to the last received, in nanoseconds.
    pub elapsed_ns: Nanos,
    /// Whether it succeeded.
    pub result: Result<(), Failure>,
}

/// Makes the first request of a plan's list. As siege 4.0.7 has it, a redirected HEAD becomes
/// a GET.
///
/// # Errors
/// When a server's name has no address, or the operating system refuses a runtime.
pub fn exchange_once(plan: &Plan) -> Result<Shown, RunError> {
    let (sender, exchanges) = channel();
    let target = http_target(plan, Some(Watcher { sender, whole: true }), true)?;
    let mut user = Urls::new(entries(plan)?, UrlOrder::Sequential, (0, 1), plan.seed, None);
    let clock = Clock::system();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let began = clock.now();
    let result = runtime.block_on(async {
        let context = ShardContext::new(clock, plan.timeout_ns);
        let mut session = ShardOf { target, context: context.clone() }.session();
        let mut pen = session.pen();
        // The list has one request at least.
        let Some(op) = user.next(&mut pen) else { return Err(Failure::Rejected) };
        let exchange = async {
            session.ready().await;
            let now = clock.now();
            let mut probe = Probe::new(clock, now, now);
            let outcome = session.execute(&op, &mut pen, &mut probe).await;
            outcome.result.map(|_| ())
        };
        tokio::select! {
            result = exchange => result,
            () = context.sweep() => Err(Failure::Timeout),
        }
    });
    Ok(Shown {
        exchanges: exchanges.try_iter().collect(),
        elapsed_ns: clock.now().saturating_sub(began),
        result,
    })
}
