//! Checks whether a server is there, regardless of the state of the connections in use.

use super::{Connection, Seat};
use crate::clock::{Clock, Nanos};
use crate::http1::{Request, first_answer};
use crate::measure::Probe;
use crate::net::{Endpoint, ShardContext};
use crate::op::Failure;
use std::rc::Rc;
use std::sync::Arc;
use tokio::task::LocalSet;

/// Asks all of these servers at once, each on several new connections, as HTTP/1.1 would ask them.
/// Any answer will do, even a refusal.
///
/// # Errors
/// If none answers within `timeout_ns`: the reason, as found on one of the connections.
pub async fn answers(asked: &[(Arc<Endpoint>, Vec<u8>)], timeout_ns: Nanos) -> Result<(), Failure> {
    let asking =
        first_answer(asked, |endpoint, request| ask(endpoint.clone(), request, timeout_ns));
    // What serves the connections ends with this.
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
