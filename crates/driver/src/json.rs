//! Writes names and bytes from databases as JSON.

/// Appends a member of a JSON object. Bytes that are not UTF-8 are replaced.
pub(super) fn write_member(name: &str, value: &[u8], out: &mut Vec<u8>) {
    quote(name, out);
    out.push(b':');
    quote(&String::from_utf8_lossy(value), out);
}

/// Appends a JSON string.
pub(super) fn quote(text: &str, out: &mut Vec<u8>) {
    // Writing to a vector does not fail.
    let _ = serde_json::to_writer(out, text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_json_whatever_their_text() {
        let mut out = Vec::new();
        write_member("a\"b", b"c\n\xff", &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "\"a\\\"b\":\"c\\n\u{fffd}\"");
    }
}
