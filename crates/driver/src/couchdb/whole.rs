//! Whether the rest of a JSON object is complete: a fast check for the text that servers send.
//!
//! It accepts only what `serde_json` accepts, but not everything: white space between tokens, keys
//! with escapes and the rarer forms of numbers are left to the parser.

/// Whether `text`, which follows a member, is certainly the rest of an object whose first members
/// were `_id` and `_rev`, with only white space after it. If this returns `false`, ask the parser.
pub(super) fn ends_object(text: &[u8]) -> bool {
    let mut short = [b' '; 8];
    let last = if let Some(last) = text.last_chunk() {
        last
    } else {
        short[8 - text.len()..].copy_from_slice(text);
        &short
    };
    is_whole(text, u64::from_le_bytes(*last)) == Some(true)
}

/// The open containers, the innermost in the lowest bit: 1 for an object. The bit above the
/// outermost one is set.
const TOP: u64 = 0b11;

/// `last` are the last eight bytes of the text.
fn is_whole(mut text: &[u8], last: u64) -> Option<bool> {
    let mut kinds = TOP;
    loop {
        if kinds & 1 == 1
            && let Some(rest) = after_short_key(text, kinds == TOP)
        {
            text = rest;
        } else if let [b',', rest @ ..] = text {
            text = if kinds & 1 == 1 { after_key(rest, last, kinds == TOP)? } else { rest };
        } else {
            text = closed(text, kinds)?;
            kinds >>= 1;
            if kinds == 1 {
                return Some(is_blank(text));
            }
            continue;
        }
        // A value; for a container, also the first value inside it.
        loop {
            let (&first, rest) = text.split_first()?;
            if first == b'"' {
                text = after_string(rest, last)?;
                break;
            }
            if first <= b'9' {
                text = after_number(text, last)?;
                break;
            }
            if first | 0x20 == b'{' {
                // Too deep for the available bits.
                if kinds >> 63 == 1 {
                    return None;
                }
                kinds = kinds << 1 | u64::from(first == b'{');
                text = rest;
                if closed(text, kinds).is_some() {
                    break;
                }
                if first == b'{' {
                    text = after_key(text, last, false)?;
                }
                continue;
            }
            text = match first {
                b't' => rest.strip_prefix(b"rue")?,
                b'f' => rest.strip_prefix(b"alse")?,
                b'n' => rest.strip_prefix(b"ull")?,
                _ => return None,
            };
            break;
        }
    }
}

/// What follows the end of the innermost container.
#[inline]
fn closed(text: &[u8], kinds: u64) -> Option<&[u8]> {
    let closing = if kinds & 1 == 1 { b'}' } else { b']' };
    text.split_first().filter(|(next, _)| **next == closing).map(|(_, rest)| rest)
}

#[inline]
fn is_blank(text: &[u8]) -> bool {
    text == b"\n" || text.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
}

/// What follows a comma, a key of up to seven bytes and its colon. Most members begin like this,
/// and one length check is enough for them. If `None`, try [`after_key`].
#[inline]
fn after_short_key(text: &[u8], top: bool) -> Option<&[u8]> {
    let [b',', b'"', key @ ..] = text.first_chunk::<12>()? else { return None };
    let (word, _) = key.split_first_chunk()?;
    let word = u64::from_le_bytes(*word);
    let at = first(key_marks(word))? & 7;
    let own = !top || word as u8 != b'_';
    (own && key[at] == b'"' && key[at + 1] == b':').then(|| &text[at + 4..])
}

/// What follows a key and its colon.
#[inline(never)]
fn after_key(text: &[u8], last: u64, top: bool) -> Option<&[u8]> {
    let (b'"', text) = text.split_first()? else { return None };
    // A second one at the top level would contradict those already read.
    if top && (text.starts_with(b"_id\"") || text.starts_with(b"_rev\"")) {
        return None;
    }
    let mut rest = text;
    loop {
        let (word, after) = word(rest, last);
        if let Some(at) = first(key_marks(word)) {
            return rest.get(at..)?.strip_prefix(b"\":");
        }
        rest = after;
    }
}

/// Marks what [`marks`] marks, and the first non-ASCII byte.
#[inline]
const fn key_marks(word: u64) -> u64 {
    marks(word) | word & LOW << 7
}

/// The position of the first mark.
#[inline]
const fn first(marks: u64) -> Option<usize> {
    if marks == 0 { None } else { Some((marks.trailing_zeros() / 8) as usize) }
}

/// What follows a string, given the text after its opening quote.
#[inline]
fn after_string(text: &[u8], last: u64) -> Option<&[u8]> {
    let mut rest = text;
    loop {
        while let Some((block, after)) = rest.split_first_chunk::<32>() {
            if stops(block) {
                break;
            }
            rest = after;
        }
        if let Some((block, after)) = rest.split_first_chunk::<16>()
            && !stops(block)
        {
            rest = after;
        }
        let at = loop {
            let (word, after) = word(rest, last);
            if let Some(at) = first(marks(word)) {
                break at;
            }
            rest = after;
        };
        match rest.get(at..)? {
            [b'"', after @ ..] => return Some(after),
            [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', after @ ..] => {
                rest = after;
            }
            _ => return None,
        }
    }
}

/// What follows a number without an exponent.
#[inline]
fn after_number(text: &[u8], last: u64) -> Option<&[u8]> {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    if let [b'0', b'0'..=b'9', ..] = text {
        return None;
    }
    match after_digits(text, last)? {
        [b'.', rest @ ..] => after_digits(rest, last),
        rest => Some(rest),
    }
}

/// What follows one or more digits.
#[inline]
fn after_digits(text: &[u8], last: u64) -> Option<&[u8]> {
    if !text.first()?.is_ascii_digit() {
        return None;
    }
    let mut rest = text;
    loop {
        let (word, after) = word(rest, last);
        // For a digit, the remainder is at most 9.
        let left = word ^ (LOW * 0x30);
        let others = (left.wrapping_add(LOW * 0x76) | left) & LOW << 7;
        if let Some(at) = first(others) {
            return rest.get(at..);
        }
        rest = after;
    }
}

const LOW: u64 = u64::from_ne_bytes([1; 8]);

/// The next eight bytes and what follows them. At the end of the text, `last` is padded with zeros,
/// which no string, key or number contains.
#[inline]
fn word(text: &[u8], last: u64) -> (u64, &[u8]) {
    match text.split_first_chunk() {
        Some((word, after)) => (u64::from_le_bytes(*word), after),
        None => (last.checked_shr(64 - 8 * text.len() as u32).unwrap_or(0), &[]),
    }
}

/// Marks the first quote, backslash or control character of eight bytes in its highest bit. There
/// may be wrong marks above it, but none below.
///
/// Bit Twiddling Hacks, "Determine if a word has a byte less than n"; exchanging 0x20 and 0x22 puts
/// the quote next to the control characters.
#[inline]
const fn marks(word: u64) -> u64 {
    let quote = word ^ (LOW * 2);
    let backslash = word ^ (LOW * b'\\' as u64);
    (quote.wrapping_sub(LOW * 0x21) & !quote | backslash.wrapping_sub(LOW) & !backslash) & LOW << 7
}

/// Whether any byte is a quote, a backslash or a control character, again with 0x20 and 0x22
/// exchanged: one test for the whole block if the processor has vector instructions.
#[inline]
fn stops<const N: usize>(block: &[u8; N]) -> bool {
    let stop = |byte: u8| u8::from(byte ^ 2 < 0x21) | u8::from(byte == b'\\');
    block.iter().fold(0, |any, &byte| any | stop(byte)) > 0
}

#[cfg(test)]
#[path = "whole_tests.rs"]
mod tests;
