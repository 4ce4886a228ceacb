//! Decides which task is woken when something happens on a connection.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

/// The waker of a connection, which passes wake-ups on to whichever task is driving the connection.
/// All of it is used by one thread, so the lock is never contended.
#[derive(Debug)]
pub(super) struct Signal {
    /// Whether something happened that no task has looked at.
    woken: AtomicBool,
    target: Mutex<Waker>,
}

impl Signal {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { woken: AtomicBool::new(false), target: Mutex::new(Waker::noop().clone()) })
    }

    fn target(&self) -> MutexGuard<'_, Waker> {
        self.target.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a task is looking at what has happened.
    pub(super) fn look(&self) {
        self.woken.store(false, Ordering::Relaxed);
    }

    /// From now on, `target` is woken.
    pub(super) fn aim_quietly(&self, target: &Waker) {
        self.target().clone_from(target);
    }

    /// Like [`aim_quietly`](Self::aim_quietly), but wakes `target` at once if something happened
    /// that no task has looked at.
    pub(super) fn aim(&self, target: &Waker) {
        self.aim_quietly(target);
        if self.woken.load(Ordering::Relaxed) {
            target.wake_by_ref();
        }
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Relaxed);
        self.target().wake_by_ref();
    }
}
