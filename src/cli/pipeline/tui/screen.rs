//! The terminal while the live view owns it. It is restored at the end, on an error, and before the
//! message of a panic on any thread.
//!
//! The view uses the alternate screen, so that it leaves nothing in the scrollback.

use super::ansi::{Ansi, ENTER, LEAVE};
use super::keys;
use super::open::{is_open, set_open};
use crate::cli::pipeline::ending::Ending;
use ratatui_core::backend::Backend as _;
use ratatui_core::layout::Rect;
use ratatui_core::terminal::{Frame, Terminal, TerminalOptions, Viewport};
use rustix::process::getpgrp;
use rustix::termios::{tcgetpgrp, tcgetwinsize};
use std::io::{self, BufWriter, Stderr, Write as _, stderr};
use std::sync::{Arc, Once};

static HOOK: Once = Once::new();

/// The terminal behind stderr, owned by the view until this is dropped.
pub(super) struct Screen(Picture);

type Picture = Terminal<Ansi<BufWriter<Stderr>>>;

impl Screen {
    /// Takes over the terminal and starts reading keys.
    ///
    /// # Errors
    /// Fails if there is no terminal, its size is unknown, or it belongs to another job.
    pub(super) fn open(ending: Arc<Ending>) -> io::Result<Self> {
        // A background job would be stopped for changing the terminal's modes.
        if tcgetpgrp(stderr()).is_ok_and(|foreground| foreground != getpgrp()) {
            return Err(io::Error::other("in the background"));
        }
        let area = area()?;
        let picture = blank(area)?;
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore();
                before(panic);
            }));
        });
        keys::raw()?;
        set_open(true);
        let screen = Self(picture);
        stderr().write_all(ENTER.as_bytes())?;
        keys::listen(ending)?;
        Ok(screen)
    }

    pub(super) fn draw(&mut self, picture: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        if !is_open() {
            return Err(io::Error::other("the view is closed"));
        }
        let area = area()?;
        if area != self.0.get_frame().area() {
            self.0 = blank(area)?;
            self.0.backend_mut().clear()?;
        }
        self.0.draw(picture).map(|_| ())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the terminal, once.
fn restore() {
    if set_open(false) {
        // If this fails, there is nothing left to try.
        let _ = stderr().write_all(LEAVE.as_bytes());
        keys::as_before();
    }
}

/// An empty picture of a terminal of that size.
fn blank(area: Rect) -> io::Result<Picture> {
    // Buffered: a frame is one write, not one per cell.
    let backend = Ansi(BufWriter::with_capacity(1 << 14, stderr()));
    let viewport = Viewport::Fixed(area);
    Terminal::with_options(backend, TerminalOptions { viewport })
}

fn area() -> io::Result<Rect> {
    let size = tcgetwinsize(stderr())?;
    if size.ws_col == 0 || size.ws_row == 0 {
        return Err(io::Error::other("the terminal has no size"));
    }
    Ok(Rect::new(0, 0, size.ws_col, size.ws_row))
}

#[cfg(test)]
#[path = "screen_tests.rs"]
mod tests;
