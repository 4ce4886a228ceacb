//! Revisions as CouchDB writes them: `generation-hash`. Knows nothing about documents or storage.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rev {
    /// The number of edits so far; the first edit is 1.
    pub(crate) generation: u32,
    hash: [u8; 16],
}

const HEX: &[u8; 16] = b"0123456789abcdef";

impl Rev {
    /// Parses `generation-hash`; `None` for any other form. CouchDB also allows a hash that is not
    /// 32 hexadecimal digits. Here such a hash is hashed again, so that it equals only itself.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (generation, hash) = text.split_once('-')?;
        if hash.is_empty() || !generation.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let generation = generation.parse().ok()?;
        Some(Self { generation, hash: unhex(hash).unwrap_or_else(|| md5::compute(hash).0) })
    }

    /// The revision after an edit of `parent`. Equal edits give equal revisions, as in CouchDB,
    /// where the hash is an MD5 of the parent, the deleted flag and the body.
    pub(crate) fn next(parent: Option<Self>, deleted: bool, body: &str) -> Self {
        let mut digest = md5::Context::new();
        digest.consume([u8::from(deleted)]);
        if let Some(parent) = parent {
            digest.consume(parent.generation.to_le_bytes());
            digest.consume(parent.hash);
        }
        digest.consume(body.as_bytes());
        let generation = parent.map_or(0, |parent| parent.generation).saturating_add(1);
        Self { generation, hash: digest.finalize().0 }
    }

    /// Appends `generation-hash`.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(itoa::Buffer::new().format(self.generation).as_bytes());
        out.push(b'-');
        for byte in self.hash {
            out.push(HEX[usize::from(byte >> 4)]);
            out.push(HEX[usize::from(byte & 15)]);
        }
    }
}

fn unhex(text: &str) -> Option<[u8; 16]> {
    let digits: &[u8; 32] = text.as_bytes().try_into().ok()?;
    let mut hash = [0; 16];
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        let high = char::from(pair[0]).to_digit(16)?;
        let low = char::from(pair[1]).to_digit(16)?;
        *byte = (high << 4 | low) as u8;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(rev: Rev) -> String {
        let mut out = Vec::new();
        rev.write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_revision_reads_back_as_written() {
        let written = "1-967a00dff5e02add41819138abb3284d";
        assert_eq!(text(Rev::parse(written).unwrap()), written);
    }

    #[test]
    fn what_is_no_revision_is_refused() {
        for bad in ["", "1", "-", "1-", "x-967a", "-1-ab", "+1-ab", "99999999999-ab"] {
            assert_eq!(Rev::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_short_hash_equals_itself_only() {
        assert_eq!(Rev::parse("1-abc"), Rev::parse("1-abc"));
        assert_ne!(Rev::parse("1-abc"), Rev::parse("1-abd"));
    }

    #[test]
    fn the_generation_grows_and_equal_edits_agree() {
        let first = Rev::next(None, false, "\"a\":1");
        assert_eq!(first, Rev::next(None, false, "\"a\":1"));
        assert_ne!(first, Rev::next(None, true, "\"a\":1"));
        let second = Rev::next(Some(first), false, "\"a\":1");
        assert_eq!((first.generation, second.generation), (1, 2));
        assert_eq!(text(second).len(), 34);
    }
}
