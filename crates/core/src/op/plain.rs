//! Decides which characters may appear in a line on a terminal.

/// Whether a character is invisible, or could move a terminal's cursor, color it, end its line, or
/// change the direction of writing.
pub fn steers(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{061c}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
        )
}

/// What replaces such a character: a space for tabs and line ends, otherwise the replacement
/// character.
pub fn plain(c: char) -> char {
    match c {
        '\t' | '\n' | '\r' => ' ',
        c if steers(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_is_replaced_and_nothing_else() {
        let hostile = "a\u{1b}[0m\u{7}\u{7f}\u{9b}2J\r\n\tb\u{202e}\u{200b}\0é日✓";
        let plain: String = hostile.chars().map(plain).collect();
        assert_eq!(plain, "a�[0m���2J   b���é日✓");
        assert!(plain.chars().all(|c| !steers(c)));
    }
}
