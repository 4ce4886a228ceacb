//! All nodes that a run knows, each with a number that is the same for all threads: those that the
//! user named, and those that the cluster reports. The record contains the history of each.

use super::ring::{Member, Ring};
use super::servers::Servers;
use crate::net::{Endpoint, ShardContext};
use crate::pipe::Reach;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

/// How much longer to wait for the other named nodes once one of them answers, at most.
const MOMENT: Duration = Duration::from_secs(5);

/// A node and its address.
#[derive(Clone, Debug)]
pub(super) struct Located {
    pub(super) number: usize,
    /// `host:port`.
    pub(super) name: Arc<str>,
    /// `None` if its name cannot be resolved.
    pub(super) endpoint: Option<Arc<Endpoint>>,
    /// Whether it has keys. A named address that does not answer need not be a node at all.
    pub(super) has_keys: bool,
}

#[derive(Debug)]
struct Known {
    /// Its first known address.
    name: Arc<str>,
    id: String,
}

/// All nodes seen so far. A node is never forgotten, so its number stays valid.
#[derive(Debug, Default)]
pub(super) struct Roster(Mutex<Vec<Known>>);

impl Roster {
    /// The first addresses of all nodes, by number.
    pub(super) fn names(&self) -> Vec<Arc<str>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().map(|it| it.name.clone()).collect()
    }

    fn number(&self, name: &Arc<str>, id: &str) -> usize {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().position(|it| it.id == id).unwrap_or_else(|| {
            known.push(Known { name: name.clone(), id: id.to_owned() });
            known.len() - 1
        })
    }

    /// Resolves the addresses of the nodes of a ring, in its order.
    pub(super) async fn locate(&self, ring: &Ring, reach: &Reach) -> Vec<Located> {
        let endpoints = all(ring.nodes().iter().map(|it| reach.endpoint(&it.name))).await;
        // Processes that know the same nodes give them the same numbers, whichever node they have
        // asked.
        let mut members: Vec<&Member> = ring.nodes().iter().collect();
        members.sort_unstable_by_key(|it| &it.id);
        for Member { name, id } in members {
            self.number(name, id);
        }
        let nodes = ring.nodes().iter().zip(endpoints);
        nodes
            .map(|(Member { name, id }, endpoint)| Located {
                number: self.number(name, id),
                name: name.clone(),
                endpoint: endpoint.ok(),
                has_keys: true,
            })
            .collect()
    }

    /// The nodes of the ring, followed by the named addresses that do not answer and do not seem to
    /// be any of these nodes.
    pub(super) async fn muster(
        &self,
        ring: &Ring,
        servers: &Servers,
        context: &ShardContext,
    ) -> Vec<Located> {
        let mut nodes = self.locate(ring, &servers.reach).await;
        let endpoints = all(servers.hosts.iter().map(|host| servers.reach.endpoint(host))).await;
        let others: Vec<_> = servers
            .hosts
            .iter()
            .zip(endpoints.into_iter().map(Result::ok))
            .filter(|(host, endpoint)| !nodes.iter().any(|it| it.is_at(host, endpoint.as_deref())))
            .collect();
        let asking =
            others.iter().map(|(_, endpoint)| answers(servers, endpoint.as_deref(), context));
        let answers = all(asking).await;
        for ((host, endpoint), _) in others.into_iter().zip(answers).filter(|(_, there)| !there) {
            let name: Arc<str> = host.as_str().into();
            let number = self.number(&name, host);
            nodes.push(Located { number, name, endpoint, has_keys: false });
        }
        nodes
    }
}

impl Located {
    fn is_at(&self, name: &str, endpoint: Option<&Endpoint>) -> bool {
        let (Some(own), Some(other)) = (&self.endpoint, endpoint) else {
            return *self.name == *name;
        };
        own.addresses().iter().any(|it| other.addresses().contains(it))
    }
}

/// Whether a server can be used.
async fn answers(servers: &Servers, endpoint: Option<&Endpoint>, context: &ShardContext) -> bool {
    let Some(endpoint) = endpoint else { return false };
    let moment = servers.timeout.min(MOMENT);
    let connected = tokio::time::timeout(moment, servers.connect(endpoint, 0, context)).await;
    connected.is_ok_and(|it| it.is_ok())
}

/// The results of all these futures, which run at the same time.
async fn all<T>(work: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut work: Vec<_> = work.map(|it| (Box::pin(it), None)).collect();
    poll_fn(|context| {
        for (work, ended) in work.iter_mut().filter(|(_, ended)| ended.is_none()) {
            if let Poll::Ready(end) = work.as_mut().poll(context) {
                *ended = Some(end);
            }
        }
        let is_over = work.iter().all(|(_, ended)| ended.is_some());
        if is_over { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    work.into_iter().filter_map(|(_, ended)| ended).collect()
}
