//! What ends a stage before its time, on paused time: credentials that are refused, and a server
//! that gives no answer.

use super::fake::{FakeSession, Server, ShardOf};
use super::*;
use std::cell::Cell;

/// Answers the operations of its only connection after 100 ms: with success, or with this failure.
#[derive(Clone, Copy)]
struct Fails(fn(u64) -> Option<Failure>);

struct Failing {
    session: FakeSession,
    failure: fn(u64) -> Option<Failure>,
    number: Cell<u64>,
}

impl Target for Fails {
    type Shard = ShardOf<Self>;

    async fn shard(&self, context: Rc<ShardContext>) -> io::Result<Self::Shard> {
        Ok(ShardOf { target: *self, context })
    }
}

impl Shard for ShardOf<Fails> {
    type Session = Failing;

    fn session(&self) -> Failing {
        let server = Server(|sent| Some(sent + 100 * MS));
        let session = ShardOf { target: server, context: self.context.clone() }.session();
        Failing { session, failure: self.target.0, number: Cell::new(0) }
    }
}

impl Session for Failing {
    type Pen = Draft;

    fn pen(&self) -> Draft {
        Draft::default()
    }

    async fn ready(&mut self) -> Option<Nanos> {
        None
    }

    async fn execute(&mut self, op: &Op, pen: &mut Draft, probe: &mut Probe) -> Outcome {
        let outcome = self.session.execute(op, pen, probe).await;
        let number = self.number.replace(self.number.get() + 1);
        match (self.failure)(number) {
            Some(failure) => Outcome { result: Err(failure), ..outcome },
            None => outcome,
        }
    }
}

/// Why a stage of five seconds stops, and how many operations it has begun.
async fn stopped(server: Fails) -> (Option<StopReason>, u64) {
    let stop = Arc::new(Stop::default());
    let work = (vec![Lane { connection: 0, workload: Reads(u64::MAX) }], u64::MAX);
    let load = (server, Pace::Closed { think_ns: 0 });
    let run = run_workloads(load, work, Some(5), stop.clone()).await;
    (stop.reason(), run.load.begun)
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_the_user_is_not_asked_again() {
    // Each refusal counts, until the user is locked out.
    let refused = Fails(|number| (number == 2).then_some(Failure::Authentication));
    assert_eq!(stopped(refused).await, (Some(StopReason::Authentication), 3));
}

#[tokio::test(start_paused = true)]
async fn only_one_that_gives_no_answer_at_all_is_given_up() {
    use Failure::{Local, Reset, ServerError, Unanswered};
    use StopReason::{Starved, Unreachable};
    for (server, reason) in [
        (Fails(|_| Some(Reset)), Some(Unreachable)),
        (Fails(|_| Some(Unanswered)), Some(Unreachable)),
        (Fails(|_| Some(Local)), Some(Starved)),
        // It is there, whatever it says.
        (Fails(|_| Some(ServerError)), None),
        (Fails(|_| None), None),
        // An answer now and then is enough, with success or without.
        (Fails(|number| (number % 10 > 0).then_some(Reset)), None),
        (Fails(|number| Some(if number % 10 > 0 { Reset } else { ServerError })), None),
    ] {
        let (stopped, begun) = stopped(server).await;
        assert_eq!(stopped, reason);
        let expected = if reason.is_some() { 20..=23 } else { 49..=51 };
        assert!(expected.contains(&begun), "{begun} in two seconds of patience, or in all five");
    }
}
