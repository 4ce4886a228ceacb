//! Whether the live view has the terminal. One per process, as there is one terminal.

use std::sync::atomic::{AtomicBool, Ordering};

static OPEN: AtomicBool = AtomicBool::new(false);

/// Whether the view has the terminal: who prints then would spoil it.
pub(in crate::cli::pipeline) fn is_open() -> bool {
    OPEN.load(Ordering::SeqCst)
}

/// The view takes the terminal, or gives it back; tells whether it had it.
pub(super) fn set_open(open: bool) -> bool {
    OPEN.swap(open, Ordering::SeqCst)
}
