//! CouchDB's revisions, and the tokens that carry them.

use crate::op::Token;

/// A CouchDB revision in 20 bytes: generation and hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision {
    /// The number before the dash, counted from 1.
    pub generation: u32,
    /// The 32 hexadecimal digits after the dash.
    pub hash: [u8; 16],
}

impl Revision {
    /// Reads `generation-hash`, where the hash has 32 hexadecimal digits. `None` for anything else.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let dash = text.iter().position(|&b| b == b'-')?;
        let (digits, hex) = (&text[..dash], &text[dash + 1..]);
        if hex.len() != 32 || digits.is_empty() || digits.len() > 9 {
            return None;
        }
        let mut generation = 0u32;
        for &digit in digits {
            if !digit.is_ascii_digit() {
                return None;
            }
            generation = generation * 10 + u32::from(digit - b'0');
        }
        let mut hash = [0; 16];
        const_hex::decode_to_slice(hex, &mut hash).ok()?;
        Some(Self { generation, hash })
    }

    /// Appends the revision in the form [`Revision::parse`] reads.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(itoa::Buffer::new().format(self.generation).as_bytes());
        let mut text = [b'-'; 33];
        const_hex::encode_to_slice(self.hash, &mut text[1..]).expect("two digits for each byte");
        out.extend_from_slice(&text);
    }
}

impl From<Token> for Revision {
    #[inline]
    fn from(token: Token) -> Self {
        Self { generation: token.number, hash: token.rest }
    }
}

impl From<Revision> for Token {
    #[inline]
    fn from(revision: Revision) -> Self {
        Self { number: revision.generation, rest: revision.hash }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_survives_parse_and_write() {
        let text = b"12-967a00dff5e02add41819138abb3284d";
        let mut out = Vec::new();
        Revision::parse(text).unwrap().write(&mut out);
        assert_eq!(out, text);
        let bad = [
            "1",
            "-967a00dff5e02add41819138abb3284d",
            "1-0x7a00dff5e02add41819138abb3284d",
            "1-967a00dff5e02add41819138abb3284g",
            "1-967a00dff5e02add41819138abb3284",
            "1-xyz",
            "x-",
            "",
        ];
        for bad in bad {
            assert_eq!(Revision::parse(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn a_revision_survives_as_a_token() {
        let revision = Revision::parse(b"70000-967a00dff5e02add41819138abb3284d").unwrap();
        assert_eq!(Revision::from(Token::from(revision)), revision);
    }
}
