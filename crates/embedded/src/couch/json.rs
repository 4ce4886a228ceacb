//! Writes JSON to byte buffers by hand, where a tree of values would be too slow.

/// Appends `text` as a JSON string with its quotes.
pub(crate) fn write_string(text: &str, out: &mut Vec<u8>) {
    let plain = text.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\');
    if plain {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        // Writing to a vector cannot fail.
        let _ = serde_json::to_writer(out, text);
    }
}

pub(crate) fn write_number(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped_only_where_needed() {
        for text in ["", "plain", "ümlaut", "a\"b\\c\n\u{1}"] {
            let mut out = Vec::new();
            write_string(text, &mut out);
            assert_eq!(out, serde_json::to_vec(text).unwrap());
        }
    }
}
