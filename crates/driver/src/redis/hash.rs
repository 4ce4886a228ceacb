//! Java's hash of a string, by which YCSB's index is sorted.

/// `String.hashCode` of the text, after replacing bytes that are not UTF-8.
pub(super) fn java_hash(text: &[u8]) -> i32 {
    let step = |hash: i32, unit: u16| hash.wrapping_mul(31).wrapping_add(i32::from(unit));
    String::from_utf8_lossy(text).encode_utf16().fold(0, step)
}

#[cfg(test)]
mod tests {
    use super::java_hash;

    /// Values printed by Java 17's `String.hashCode`.
    #[test]
    fn texts_hash_as_in_java() {
        assert_eq!(java_hash(b""), 0);
        assert_eq!(java_hash(b"a"), 97);
        assert_eq!(java_hash(b"user6284781860667377211"), -594_971_599);
        assert_eq!(java_hash("üñ😀".as_bytes()), 9_511_832);
    }
}
