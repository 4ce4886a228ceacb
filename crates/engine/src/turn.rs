//! Measures what the loop costs when there is nothing to wait for.

use crate::clock::Clock;
use crate::driver;
use crate::lane::Lane;
use crate::schema::Documents;
use crate::shard::{ShardPlan, run_shard};
use crate::workload::{Budget, Crud, KeySequence, Live, LiveEntry, Mix};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::channel;

const TURNS: u64 = 5_000;

/// Measures the duration of one turn of the loop without a network, in nanoseconds, with reads from
/// a target that answers at once.
///
/// # Errors
/// Returns an error if the operating system cannot create a thread, a runtime or a timer.
pub fn turn_ns(clock: Clock, documents: &Arc<Documents>) -> io::Result<f64> {
    let mut live = Live::default();
    (0..100).for_each(|key| live.add(LiveEntry::new(key, 0, None)));
    let (budget, keys) =
        (Budget::Counted(Mix::crud([0, TURNS, 0, 0])), KeySequence { next: 100, step: 1 });
    let workload = Crud::new(documents.clone(), 0, 0, budget, live, keys);
    let (sink, _source) = channel();
    let plan = ShardPlan { clock, ..ShardPlan::alone((0, 1), 1, sink) };
    let run = move || run_shard(&plan, &driver::at_once(), vec![Lane { connection: 0, workload }]);
    // On a new thread: a shard's runtime needs one.
    let shard = std::thread::spawn(run).join().map_err(|_| io::Error::other("panicked"))??;
    Ok(shard.elapsed_ns as f64 / TURNS as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{DEFAULT, Template};

    #[test]
    fn a_turn_takes_its_share_of_the_time_of_all() {
        let clock = Clock::system();
        let documents = Documents::new(1, vec![(Template::parse(DEFAULT).unwrap(), 1)]);
        let before = clock.now();
        let turn_ns = turn_ns(clock, &Arc::new(documents)).unwrap();
        let most_ns = (clock.now() - before) as f64 / TURNS as f64;
        assert!(turn_ns > 1.0 && turn_ns <= most_ns, "{turn_ns} of {most_ns} ns");
    }
}
