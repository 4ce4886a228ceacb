//! The task of a shard that checks whether the server is there when operations suggest that it is
//! not.

use super::drive::Shared;
use crate::driver::Target;
use crate::op::Failure;
use std::rc::Rc;

/// Waits for doubts until dropped, and stops the run if they are confirmed.
pub(super) async fn doubt<T: Target>(shared: Rc<Shared>, target: T) {
    let patience = &shared.patience;
    loop {
        shared.doubt.wake.notified().await;
        if patience.ask(shared.clock.now()) {
            let answer = target.answers(patience.answer_ns()).await;
            let last = shared.doubt.last.get().unwrap_or(Failure::Timeout);
            if let Some(reason) = patience.judge(answer, last, shared.clock.now()) {
                shared.stop.raise(reason);
            }
        }
    }
}
