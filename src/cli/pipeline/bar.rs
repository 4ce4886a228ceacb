//! A progress bar on a terminal: one line of stderr, redrawn in place.

use crate::redact::strike;
use rustix::termios::tcgetwinsize;
use std::io::{Write as _, stderr};

const COLUMNS: usize = 30;
/// Moves to the first column and clears the line.
const CLEAR: &str = "\r\x1b[K";

/// The bar, as it was last drawn.
#[derive(Debug, Default)]
pub(super) struct Bar(String);

impl Bar {
    /// Draws how much of a stage is done, from 0 to 1.
    pub(super) fn progress(&mut self, stage: &str, share: f64, text: &str) {
        self.0 = line(stage, share, text);
        // A longer line would wrap, and redrawing would leave its beginning behind.
        let columns = tcgetwinsize(stderr()).map_or(80, |size| usize::from(size.ws_col).max(1));
        if let Some((end, _)) = self.0.char_indices().nth(columns) {
            self.0.truncate(end);
        }
        show(&self.0);
    }

    /// Prints a line above the bar.
    pub(super) fn tell(&self, sentence: &str) {
        show(&format!("{sentence}\n{}", self.0));
    }

    pub(super) fn clear(&self) {
        if !self.0.is_empty() {
            show("");
        }
    }
}

/// Shows the text instead of the bar.
fn show(text: &str) {
    // If stderr cannot be written to, there is nowhere to say so.
    let _ = write!(stderr(), "{CLEAR}{}", strike(text));
}

fn line(stage: &str, share: f64, text: &str) -> String {
    let done = (share * COLUMNS as f64) as usize;
    let tip = if share > 0.0 && done < COLUMNS { ">" } else { "" };
    let bar = "=".repeat(done) + tip;
    format!("{stage:12} [{bar:COLUMNS$}] {text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_grows_with_its_share() {
        for (share, bar) in [
            (0.0, "fill         [                              ] 5 s"),
            (0.01, "fill         [>                             ] 5 s"),
            (0.5, "fill         [===============>              ] 5 s"),
            (0.99, "fill         [=============================>] 5 s"),
            (1.0, "fill         [==============================] 5 s"),
        ] {
            assert_eq!(line("fill", share, "5 s"), bar);
        }
    }
}
