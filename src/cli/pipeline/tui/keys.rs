//! The keys of the live view, read on their own thread so that they always work: a raw terminal
//! sends no signal for Ctrl-C.

use super::open::is_open;
use crate::cli::pipeline::ending::Ending;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use std::fs::File;
use std::io::{self, IsTerminal as _, stdin};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

/// How soon the thread notices that the view has closed.
const LOOKS_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
/// The first byte of keys beyond letters, and of letters with Alt.
const ESCAPE: u8 = 0x1b;
const CTRL_C: u8 = 0x03;

/// The terminal that keys are read from, and its settings before the view.
static BEFORE: Mutex<Option<(OwnedFd, Termios)>> = Mutex::new(None);

/// The terminal that the user types on.
fn terminal() -> io::Result<OwnedFd> {
    if stdin().is_terminal() { stdin().as_fd().try_clone_to_owned() } else { tty() }
}

fn tty() -> io::Result<OwnedFd> {
    File::options().read(true).write(true).open("/dev/tty").map(OwnedFd::from)
}

/// Makes the terminal deliver each key at once, without Enter and without echo.
pub(super) fn raw() -> io::Result<()> {
    let terminal = terminal()?;
    let before = tcgetattr(&terminal)?;
    let mut raw = before.clone();
    raw.make_raw();
    tcsetattr(&terminal, OptionalActions::Now, &raw)?;
    *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some((terminal, before));
    Ok(())
}

/// Restores those settings, once.
pub(super) fn as_before() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((terminal, before)) = before {
        // If this fails, there is nothing left to try.
        let _ = tcsetattr(terminal, OptionalActions::Now, &before);
    }
}

/// Whether the keys ask to stop, as Ctrl-C does elsewhere.
fn asks_to_stop(typed: &[u8]) -> bool {
    !typed.starts_with(&[ESCAPE]) && typed.iter().any(|key| matches!(*key, b'q' | b'Q' | CTRL_C))
}

/// Reads keys until the view is closed; `None` if there were none for a while.
fn typed<'a>(terminal: &OwnedFd, keys: &'a mut [u8]) -> io::Result<Option<&'a [u8]>> {
    let mut ready = [PollFd::new(terminal, PollFlags::IN)];
    match poll(&mut ready, Some(&LOOKS_EVERY)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
        ready => ready?,
    };
    match rustix::io::read(terminal, &mut *keys)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        count => Ok(Some(&keys[..count])),
    }
}

/// Reads keys until the view is closed.
pub(super) fn listen(ending: Arc<Ending>) -> io::Result<()> {
    let terminal = terminal()?;
    std::thread::Builder::new().name("keys".to_owned()).spawn(move || {
        let mut keys = [0; 64];
        while is_open() {
            match typed(&terminal, &mut keys) {
                Ok(Some(keys)) if asks_to_stop(keys) => {
                    ending.ask();
                }
                Ok(_) => {}
                Err(_) => {
                    // Keys cannot be read: let the terminal turn Ctrl-C into a signal again.
                    as_before();
                    return;
                }
            }
        }
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q_and_ctrl_c_ask_to_stop_and_nothing_else_does() {
        for keys in ["q", "Q", "\x03", "xq"] {
            assert!(asks_to_stop(keys.as_bytes()), "{keys:?}");
        }
        // Letters; Ctrl with q and z; Alt with c, q and Q; Escape, Enter, Null, F1, F5, Up; "é".
        for keys in ["c", "C", "x", "\x11", "\x1a", "\x1bc", "\x1bq", "\x1bQ", "\x1b", "\r", "\0"] {
            assert!(!asks_to_stop(keys.as_bytes()), "{keys:?}");
        }
        for keys in ["\x1bOP", "\x1b[15~", "\x1b[A", "é"] {
            assert!(!asks_to_stop(keys.as_bytes()), "{keys:?}");
        }
    }
}
