//! Checks whether a server is reachable, regardless of the state of the connections in use.

use super::{Connection, Seat};
use crate::clock::{Clock, Nanos};
use crate::http1::{Request, first_answer};
use crate::measure::Probe;
use crate::net::{Endpoint, ShardContext};
use crate::op::Failure;
use std::rc::Rc;
use std::sync::Arc;
use tokio::task::LocalSet;

/// Sends a request to all of these servers at once, on several new connections each, as with
/// HTTP/1.1. Any answer will do, even a refusal.
///
/// # Errors
/// Returns an error if none answers within `timeout_ns`: the failure of one of the connections.
pub async fn answers(asked: &[(Arc<Endpoint>, Vec<u8>)], timeout_ns: Nanos) -> Result<(), Failure> {
    let asking =
        first_answer(asked, |endpoint, request| ask(endpoint.clone(), request, timeout_ns));
    // The tasks that drive the connections end with this set.
    LocalSet::new().run_until(asking).await
}

async fn ask(endpoint: Arc<Endpoint>, request: &[u8], timeout_ns: Nanos) -> Result<(), Failure> {
    let clock = Clock::system();
    let context = ShardContext::new(clock, timeout_ns);
    let mut connection = Connection::new(Rc::new(Seat::new(endpoint, 1)), &context);
    let now = clock.now();
    let mut probe = Probe::new(clock, now, now);
    tokio::select! {
        answer = connection.exchange(Request::reading(request), &mut probe) => answer.map(|_| ()),
        () = context.clone().sweep() => Err(Failure::Timeout),
    }
}
