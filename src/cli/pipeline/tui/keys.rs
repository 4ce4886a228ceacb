//! The keys of the live view, read on their own thread so that they always work: a raw terminal
//! sends no signal for Ctrl-C.

use super::open::is_open;
use crate::cli::pipeline::ending::Ending;
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, poll, read};
use ratatui::crossterm::terminal::disable_raw_mode;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How soon the thread notices that the view has closed.
const LOOKS_EVERY: Duration = Duration::from_millis(200);

/// Whether this key asks to stop, as Ctrl-C does elsewhere.
const fn asks_to_stop(key: KeyEvent) -> bool {
    if matches!(key.kind, KeyEventKind::Release) {
        return false;
    }
    match key.code {
        KeyCode::Char('q' | 'Q') => {
            !key.modifiers.intersects(KeyModifiers::CONTROL.union(KeyModifiers::ALT))
        }
        KeyCode::Char('c' | 'C') => key.modifiers.contains(KeyModifiers::CONTROL),
        _ => false,
    }
}

/// Reads keys until the view is closed.
pub(super) fn listen(ending: Arc<Ending>) -> io::Result<()> {
    std::thread::Builder::new().name("keys".to_owned()).spawn(move || {
        while is_open() {
            match poll(LOOKS_EVERY).and_then(|any| any.then(read).transpose()) {
                Ok(Some(Event::Key(key))) if asks_to_stop(key) => {
                    ending.ask();
                }
                Ok(_) => {}
                Err(_) => {
                    // Keys cannot be read: let the terminal turn Ctrl-C into a signal again.
                    let _ = disable_raw_mode();
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
        let stops = |code, modifiers| asks_to_stop(KeyEvent::new(code, modifiers));
        for (key, modifiers) in [
            ('q', KeyModifiers::NONE),
            ('Q', KeyModifiers::SHIFT),
            ('c', KeyModifiers::CONTROL),
            ('C', KeyModifiers::CONTROL.union(KeyModifiers::SHIFT)),
        ] {
            assert!(stops(KeyCode::Char(key), modifiers), "{key:?} {modifiers:?}");
        }
        for (key, modifiers) in [
            ('c', KeyModifiers::NONE),
            ('C', KeyModifiers::SHIFT),
            ('c', KeyModifiers::ALT),
            ('q', KeyModifiers::CONTROL),
            ('q', KeyModifiers::ALT),
            ('z', KeyModifiers::CONTROL),
            ('x', KeyModifiers::NONE),
        ] {
            assert!(!stops(KeyCode::Char(key), modifiers), "{key:?} {modifiers:?}");
        }
        for code in [KeyCode::Esc, KeyCode::Enter, KeyCode::F(1), KeyCode::Null] {
            assert!(!stops(code, KeyModifiers::CONTROL), "{code:?}");
        }
        // A key that is held repeats; one that is let go says nothing new.
        let mut key = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE);
        key.kind = KeyEventKind::Release;
        assert!(!asks_to_stop(key));
    }
}
