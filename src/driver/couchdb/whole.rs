//! Whether the rest of a JSON object is whole: a quick proof for the text that servers send.
//!
//! What it proves is what `serde_json` accepts. It does not prove all of that: white space between
//! tokens, keys with escapes and the rarer forms of numbers are left to the parser.

/// Containers within each other that are followed.
const DEEPEST: u32 = 63;

/// Whether `text`, from after a member on, is certainly the rest of an object whose first members
/// were `_id` and `_rev`, with nothing but white space after it. `false`: ask the parser.
pub(super) fn ends_object(text: &[u8]) -> bool {
    Rest { text, kinds: 1, depth: 1 }.proves_whole()
}

/// What is left of a document.
struct Rest<'a> {
    text: &'a [u8],
    /// The containers that are open, the innermost in the lowest bit: 1 for an object.
    kinds: u64,
    depth: u32,
}

impl Rest<'_> {
    fn proves_whole(&mut self) -> bool {
        while self.depth > 0 {
            let Some((&next, rest)) = self.text.split_first() else { return false };
            self.text = rest;
            let in_object = self.kinds & 1 == 1;
            let fits = match next {
                b',' => (!in_object || self.key()) && self.value(),
                b'}' => in_object && self.close(),
                b']' => !in_object && self.close(),
                _ => false,
            };
            if !fits {
                return false;
            }
        }
        self.text.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
    }

    #[inline]
    const fn open(&mut self, kind: u64) -> bool {
        self.kinds = self.kinds << 1 | kind;
        self.depth += 1;
        self.depth <= DEEPEST
    }

    #[inline]
    const fn close(&mut self) -> bool {
        self.kinds >>= 1;
        self.depth -= 1;
        true
    }

    /// Passes a key and its colon.
    #[inline]
    fn key(&mut self) -> bool {
        let Some((b'"', text)) = self.text.split_first() else { return false };
        let Some((key, rest)) = find::<true>(text) else { return false };
        // Once more at the top, they contradict those that were read.
        let again = self.depth == 1 && matches!(key, b"_id" | b"_rev");
        let [b'"', b':', rest @ ..] = rest else { return false };
        self.text = rest;
        !again
    }

    /// Passes a value, or the first bracket of one, up to its first value.
    #[inline]
    fn value(&mut self) -> bool {
        loop {
            let Some((&first, rest)) = self.text.split_first() else { return false };
            if first == b'"' {
                self.text = rest;
                return self.string();
            }
            if first == b'{' {
                self.text = rest;
                if !self.open(1) {
                    return false;
                }
                if self.text.first() == Some(&b'}') {
                    return true;
                }
                if !self.key() {
                    return false;
                }
                continue;
            }
            if first == b'[' {
                self.text = rest;
                if !self.open(0) {
                    return false;
                }
                if self.text.first() == Some(&b']') {
                    return true;
                }
                continue;
            }
            return match first {
                b't' => self.literal(b"true"),
                b'f' => self.literal(b"false"),
                b'n' => self.literal(b"null"),
                _ => self.number(),
            };
        }
    }

    #[inline]
    fn string(&mut self) -> bool {
        while let Some((_, rest)) = find::<false>(self.text) {
            match rest {
                [b'"', rest @ ..] => {
                    self.text = rest;
                    return true;
                }
                [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', rest @ ..] => {
                    self.text = rest;
                }
                _ => return false,
            }
        }
        false
    }

    /// Passes a number without an exponent.
    #[inline]
    fn number(&mut self) -> bool {
        if let [b'-', rest @ ..] = self.text {
            self.text = rest;
        }
        let first = self.text.first() == Some(&b'0');
        let digits = self.digits();
        if digits == 0 || digits > 1 && first {
            return false;
        }
        if let [b'.', rest @ ..] = self.text {
            self.text = rest;
            return self.digits() > 0;
        }
        true
    }

    /// Passes digits; how many.
    #[inline]
    fn digits(&mut self) -> usize {
        let before = self.text.len();
        while let Some((word, rest)) = self.text.split_first_chunk::<8>() {
            let word = u64::from_le_bytes(*word);
            // The high half of a digit is 3, and stays so when 6 is added.
            let others = (word & (LOW * 0xf0) ^ (LOW * 0x30))
                | (word.wrapping_add(LOW * 6) & (LOW * 0xf0) ^ (LOW * 0x30));
            if others != 0 {
                let digits = others.trailing_zeros() as usize / 8;
                self.text = &self.text[digits..];
                return before - self.text.len();
            }
            self.text = rest;
        }
        while let [b'0'..=b'9', rest @ ..] = self.text {
            self.text = rest;
        }
        before - self.text.len()
    }

    #[inline]
    fn literal(&mut self, word: &[u8]) -> bool {
        match self.text.strip_prefix(word) {
            Some(rest) => {
                self.text = rest;
                true
            }
            None => false,
        }
    }
}

const LOW: u64 = u64::from_ne_bytes([1; 8]);

/// Marks the first quote, backslash or control character of eight bytes in its highest bit; in a
/// key, also the first byte that is not ASCII. There may be marks above it, never below.
///
/// Bit Twiddling Hacks, "Determine if a word has a byte less than n"; exchanging 0x20 and 0x22
/// puts the quote beside the control characters.
#[inline]
fn marks<const KEY: bool>(word: [u8; 8]) -> u64 {
    let word = u64::from_le_bytes(word);
    let below = |word: u64, least: u64| word.wrapping_sub(LOW * least) & !word;
    let backslash = word ^ (LOW * u64::from(b'\\'));
    let mut marks = below(word ^ (LOW * 2), 0x21) | below(backslash, 1);
    if KEY {
        marks |= word;
    }
    marks & LOW << 7
}

/// Whether any of these is a quote, a backslash or a control character, again with 0x20 and 0x22
/// exchanged: one test for all 16 where the processor has vectors, a third of what [`marks`] takes.
#[inline]
fn stops(block: &[u8; 16]) -> bool {
    let stop = |byte: u8| u8::from(byte ^ 2 < 0x21) | u8::from(byte == b'\\');
    block.iter().fold(0, |any, &byte| any | stop(byte)) > 0
}

/// The text before the first byte that [`marks`] looks for, and from it on.
#[inline]
fn find<const KEY: bool>(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut rest = text;
    while let Some((word, after)) = rest.split_first_chunk::<8>() {
        let first = marks::<KEY>(*word);
        if first != 0 {
            let at = text.len() - rest.len() + first.trailing_zeros() as usize / 8;
            return text.split_at_checked(at);
        }
        rest = after;
        if !KEY {
            while let Some((block, after)) = rest.split_first_chunk::<16>() {
                if !stops(block) {
                    rest = after;
                    continue;
                }
                let (words, _) = block.as_chunks::<8>();
                let (one, two) = (marks::<KEY>(words[0]), marks::<KEY>(words[1]));
                if one | two != 0 {
                    let (skip, marks) = if one != 0 { (0, one) } else { (8, two) };
                    let at = text.len() - rest.len() + skip + marks.trailing_zeros() as usize / 8;
                    return text.split_at_checked(at);
                }
                rest = after;
            }
        }
    }
    let ends = |&byte: &u8| matches!(byte, b'"' | b'\\' | ..0x20) || KEY && byte >= 0x80;
    let at = text.len() - rest.len() + rest.iter().position(ends)?;
    text.split_at_checked(at)
}

#[cfg(test)]
#[path = "whole_tests.rs"]
mod tests;
