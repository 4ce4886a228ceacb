//! The text of fields. Knows neither documents nor how long fields are.

use crate::generate::Stream;

/// A draw of 64 bits makes two groups of six characters.
const GROUP: usize = 6;

/// Appends `length` random characters from space to DEL, of which a group of six takes 32 bits, in
/// YCSB's way: by place, 32, 64 or 64 different ones, quote and backslash among them.
pub fn random_text(length: usize, stream: &mut Stream, out: &mut Vec<u8>) {
    random(length, stream, |group| out.extend_from_slice(group));
}

/// The same, with quotes and backslashes escaped as in a JSON string. `length` counts characters
/// before they are escaped.
pub fn random_json(length: usize, stream: &mut Stream, out: &mut Vec<u8>) {
    random(length, stream, |group| {
        if group.iter().any(|&byte| byte == b'"' || byte == b'\\') {
            for &byte in group {
                if matches!(byte, b'"' | b'\\') {
                    out.push(b'\\');
                }
                out.push(byte);
            }
        } else {
            out.extend_from_slice(group);
        }
    });
}

fn random(length: usize, stream: &mut Stream, mut take: impl FnMut(&[u8])) {
    let mut left = length;
    while left > 0 {
        let draw = stream.draw();
        for bits in [(draw >> 32) as u32, draw as u32] {
            let group = characters(bits);
            if left < GROUP {
                take(&group[..left]);
                return;
            }
            take(&group);
            left -= GROUP;
        }
    }
}

/// Six characters, each of some bits of 32, as in YCSB's `RandomByteIterator`. Seven bits without
/// the sixth leave the characters from space to `?` and from the backquote to DEL.
#[inline]
const fn characters(bits: u32) -> [u8; GROUP] {
    const SPACE: u32 = b' ' as u32;
    let signed = bits.cast_signed();
    [
        ((bits & 0x1f) + SPACE) as u8,
        (((bits >> 5) & 0x3f) + SPACE) as u8,
        (((bits >> 10) & 0b101_1111) + SPACE) as u8,
        (((bits >> 15) & 0x1f) + SPACE) as u8,
        (((bits >> 20) & 0x3f) + SPACE) as u8,
        // The sign fills the place from the left.
        (((signed >> 25).cast_unsigned() & 0b101_1111) + SPACE) as u8,
    ]
}

/// Appends the text that a field has when data are to be verified: key, `:` and field, then `:` and
/// Java's hash of the text so far, again and again, cut to `length` characters (as Java counts
/// them, in units of UTF-16).
pub fn integrity_text(key: &str, field: &str, length: usize, out: &mut Vec<u8>) {
    let mut text = Hashed { out, left: length, hash: 0 };
    text.push(key);
    text.push(":");
    text.push(field);
    while text.left > 0 {
        // The colon is part of what is hashed.
        text.push(":");
        let hash = text.hash;
        text.push(itoa::Buffer::new().format(hash));
    }
}

/// A text of limited length and the `String.hashCode` of all that was pushed.
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
