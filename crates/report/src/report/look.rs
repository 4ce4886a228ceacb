//! The look of a text report: chosen by the caller, never read from the environment.

use crate::op::{plain, steers};

/// The look of a text report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Columns; lines are cut or broken to fit.
    pub width: usize,
    /// Use ANSI colors.
    pub color: bool,
    /// Use no characters beyond ASCII.
    pub ascii: bool,
    /// Show all figures, not only the usual ones.
    pub verbose: bool,
}

impl Look {
    /// The minimum width that reports are made for.
    pub const LEAST_WIDTH: usize = 40;
    /// The maximum width: longer lines are hard to read.
    pub const MOST_WIDTH: usize = 120;
}

impl Default for Look {
    /// For files: 80 columns, Unicode, no colors.
    fn default() -> Self {
        Self { width: 80, color: false, ascii: false, verbose: false }
    }
}

/// Makes `text` safe to show: on one line, without characters that could move a terminal's cursor,
/// color it, or change the direction of writing; with `ascii`, without any beyond ASCII.
pub fn shown(text: &str, ascii: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' | '\n' | '\r' => out.push(' '),
            c if steers(c) => out.push(if ascii { '?' } else { plain(c) }),
            c if c.is_ascii() || !ascii => out.push(c),
            c => out.push_str(in_ascii(c)),
        }
    }
    out
}

/// The ASCII stand-in for a character.
const fn in_ascii(c: char) -> &'static str {
    match c {
        '✗' => "x",
        '■' | '█' => "#",
        '…' => "~",
        'µ' => "u",
        '≤' => "<=",
        '≥' => ">=",
        '±' => "+-",
        '▁' => ".",
        '▂' => ":",
        '·' | '–' | '—' | '−' | '▃' | '─' => "-",
        '▄' | '━' => "=",
        '✓' | '▅' => "+",
        '▆' => "*",
        '▇' => "%",
        '│' => "|",
        '→' => "->",
        '‘' | '’' => "'",
        '“' | '”' => "\"",
        _ => "?",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_can_steer_a_terminal() {
        let hostile = "a\u{1b}[31mb\u{7}\u{9b}2J\r\nc\u{202e}d\u{200b}e";
        assert_eq!(shown(hostile, false), "a�[31mb��2J  c�d�e");
        assert_eq!(shown(hostile, true), "a?[31mb??2J  c?d?e");
    }

    #[test]
    fn signs_have_a_form_in_ascii() {
        assert_eq!(shown("✓ p99 ≤ 5 µs · Ω…", true), "+ p99 <= 5 us - ?~");
        assert_eq!(shown("✓ p99 ≤ 5 µs · Ω…", false), "✓ p99 ≤ 5 µs · Ω…");
    }
}
