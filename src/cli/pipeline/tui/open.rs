//! Whether the live view owns the terminal. One flag per process, as there is one terminal.

use std::sync::atomic::{AtomicBool, Ordering};

static OPEN: AtomicBool = AtomicBool::new(false);

/// Whether the view owns the terminal: printing would garble it.
pub(in crate::cli::pipeline) fn is_open() -> bool {
    OPEN.load(Ordering::SeqCst)
}

/// Takes or releases the terminal; returns whether the view owned it before.
pub(super) fn set_open(open: bool) -> bool {
    OPEN.swap(open, Ordering::SeqCst)
}
