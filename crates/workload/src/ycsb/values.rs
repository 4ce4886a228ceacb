//! The text of fields. Knows nothing about documents or the lengths of fields.

use crate::generate::Stream;

/// Characters in a group, which takes 32 bits.
const GROUP: usize = 6;

/// Appends `length` random characters from space to DEL. As in YCSB, a group of six takes 32 bits,
/// with 32, 64 or 64 different characters by position; they include quote and backslash.
pub fn random_text(length: usize, stream: &mut Stream, out: &mut Vec<u8>) {
    let start = out.len();
    // Two groups are generated at a time, each written as a word of eight bytes.
    out.resize(start + length + 2 * GROUP + 2, 0);
    let mut at = start;
    while at < start + length {
        let draw = stream.draw();
        out[at..at + 8].copy_from_slice(&characters((draw >> 32) as u32).to_le_bytes());
        at += GROUP;
        out[at..at + 8].copy_from_slice(&characters(draw as u32).to_le_bytes());
        at += GROUP;
    }
    out.truncate(start + length);
}

/// Like [`random_text`], with quotes and backslashes escaped as in a JSON string. `length` counts
/// characters before escaping.
pub fn random_json(length: usize, stream: &mut Stream, out: &mut Vec<u8>) {
    let mut at = out.len();
    // Twice the room, in case every character is escaped.
    out.resize(at + 2 * length + 2 * GROUP + 4, 0);
    let mut left = length;
    while left > 0 {
        let draw = stream.draw();
        for group in [characters((draw >> 32) as u32), characters(draw as u32)] {
            if left >= GROUP && !has(group, b'"') && !has(group, b'\\') {
                out[at..at + 8].copy_from_slice(&group.to_le_bytes());
                (at, left) = (at + GROUP, left - GROUP);
                continue;
            }
            // There is no branch on the character, because the processor could not predict it.
            for &byte in &group.to_le_bytes()[..left.min(GROUP)] {
                out[at] = b'\\';
                at += usize::from(matches!(byte, b'"' | b'\\'));
                out[at] = byte;
                at += 1;
            }
            left -= left.min(GROUP);
        }
    }
    out.truncate(at);
}

/// Whether one of eight bytes equals `byte`: subtracting 1 sets a new sign bit only in a zero byte.
/// Source: Henry S. Warren, "Hacker's Delight", section 6-1.
#[inline]
const fn has(word: u64, byte: u8) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let zero_there = word ^ (ONES * byte as u64);
    zero_there.wrapping_sub(ONES) & !zero_there & (ONES << 7) != 0
}

/// Six characters in the lower bytes, the first in the lowest, each from some of the 32 bits, as in
/// YCSB's `RandomByteIterator`. Seven bits without the sixth give the characters from space to `?`
/// and from the backquote to DEL.
#[inline]
fn characters(bits: u32) -> u64 {
    const SPACES: u64 = 0x2020_2020_2020;
    // The sign bit is extended from the left.
    let last = (bits.cast_signed() >> 25).cast_unsigned() & 0b101_1111;
    let bits = u64::from(bits);
    let text = (bits & 0x1f)
        | ((bits >> 5) & 0x3f) << 8
        | ((bits >> 10) & 0b101_1111) << 16
        | ((bits >> 15) & 0x1f) << 24
        | ((bits >> 20) & 0x3f) << 32
        | u64::from(last) << 40;
    text + SPACES
}

/// Appends the text of a field whose data are verified: key, `:` and field, then `:` and Java's
/// hash of the text so far, repeatedly, truncated to `length` characters (as Java counts them, in
/// UTF-16 units).
pub fn integrity_text(key: &str, field: &str, length: usize, out: &mut Vec<u8>) {
    let mut text = Hashed { out, left: length, hash: 0 };
    text.push(key);
    text.push(":");
    text.push(field);
    while text.left > 0 {
        // The hash includes the colon.
        text.push(":");
        let hash = text.hash;
        text.push(itoa::Buffer::new().format(hash));
    }
}

/// Java's `String.hashCode` of a text.
pub fn java_hash(text: &str) -> i32 {
    let mut hashed = Hashed { out: &mut Vec::new(), left: 0, hash: 0 };
    hashed.push(text);
    hashed.hash
}

/// A text of limited length, and the `String.hashCode` of everything pushed.
struct Hashed<'a> {
    out: &'a mut Vec<u8>,
    left: usize,
    hash: i32,
}

impl Hashed<'_> {
    fn push(&mut self, text: &str) {
        for c in text.chars() {
            // Java SE 17, `String.hashCode`: s[0]*31^(n-1) + ... + s[n-1].
            for unit in c.encode_utf16(&mut [0; 2]) {
                self.hash = self.hash.wrapping_mul(31).wrapping_add(i32::from(*unit));
            }
            if c.len_utf16() <= self.left {
                self.left -= c.len_utf16();
                self.out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            } else {
                self.left = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::mix;
    use proptest::prelude::*;

    #[test]
    fn hash_of_java() {
        // `"The quick brown fox".hashCode()` and `"Grüße 𝄞".hashCode()`, printed by Java 17.
        for (text, hash) in [("The quick brown fox", -1_739_336_029), ("Grüße 𝄞", 412_022_707)]
        {
            let mut out = Vec::new();
            let mut hashed = Hashed { out: &mut out, left: 100, hash: 0 };
            hashed.push(text);
            assert_eq!(hashed.hash, hash, "{text}");
        }
    }

    #[test]
    fn integrity_text_is_cut() {
        let mut out = Vec::new();
        integrity_text("user1", "field0", 8, &mut out);
        assert_eq!(out, b"user1:fi");
        out.clear();
        integrity_text("user1", "field0", 0, &mut out);
        assert_eq!(out, b"");
    }

    proptest! {
        #[test]
        fn json_is_the_text_escaped(length in 0usize..200, seed: u64) {
            let (mut text, mut json) = (Vec::new(), Vec::new());
            random_text(length, &mut Stream::new(mix(seed, 0, 0), 0), &mut text);
            random_json(length, &mut Stream::new(mix(seed, 0, 0), 0), &mut json);
            prop_assert_eq!(text.len(), length);
            let quoted = [b"\"", &json[..], b"\""].concat();
            let read: String = serde_json::from_slice(&quoted).unwrap();
            prop_assert_eq!(read.as_bytes(), text);
        }
    }
}
