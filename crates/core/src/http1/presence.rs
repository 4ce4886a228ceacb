//! Checks whether a server is reachable, regardless of the state of the connections in use.

use super::{Connection, Request};
use crate::clock::{Clock, Nanos};
use crate::measure::Probe;
use crate::net::{Endpoint, ShardContext};
use crate::op::Failure;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

/// New connections per address: several servers may be behind it, one of which hangs.
const TRIES: usize = 4;

/// Sends a request to all of these servers at once, on several new connections each. Any answer
/// will do, even a refusal.
///
/// # Errors
/// Returns an error if none answers within `timeout_ns`: the failure of one of the connections.
pub async fn answers(asked: &[(Arc<Endpoint>, Vec<u8>)], timeout_ns: Nanos) -> Result<(), Failure> {
    first_answer(asked, |endpoint, request| ask(endpoint, request, timeout_ns)).await
}

/// Like [`answers`], with `ask` for each connection.
///
/// # Errors
/// Returns an error if none answers: the failure of one of the connections.
pub(crate) async fn first_answer<'a, F: Future<Output = Result<(), Failure>>>(
    asked: &'a [(Arc<Endpoint>, Vec<u8>)],
    ask: impl Fn(&'a Arc<Endpoint>, &'a [u8]) -> F,
) -> Result<(), Failure> {
    let all = asked.iter().flat_map(|one| std::iter::repeat_n(one, TRIES));
    let mut all: Vec<Pin<Box<_>>> =
        all.map(|(endpoint, request)| Box::pin(ask(endpoint, request))).collect();
    let mut why = Failure::Timeout;
    poll_fn(|context| {
        let mut at = 0;
        while at < all.len() {
            match all[at].as_mut().poll(context) {
                Poll::Ready(Ok(())) => return Poll::Ready(Ok(())),
                Poll::Ready(Err(failure)) => {
                    // If the client could not even try to connect, that says nothing about the
                    // server.
                    why = if why.by_client() { why } else { failure };
                    drop(all.swap_remove(at));
                }
                Poll::Pending => at += 1,
            }
        }
        if all.is_empty() { Poll::Ready(Err(why)) } else { Poll::Pending }
    })
    .await
}

async fn ask(endpoint: &Arc<Endpoint>, request: &[u8], timeout_ns: Nanos) -> Result<(), Failure> {
    let clock = Clock::system();
    let context = ShardContext::new(clock, timeout_ns);
    let mut connection = Connection::new(endpoint.clone(), &context);
    let now = clock.now();
    let mut probe = Probe::new(clock, now, now);
    tokio::select! {
        answer = connection.exchange(Request::reading(request), &mut probe) => answer.map(|_| ()),
        () = context.clone().sweep() => Err(Failure::Timeout),
    }
}
