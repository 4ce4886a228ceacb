//! Makes a record's key from its number. Knows nothing about which records exist.

use crate::generate::fnv;
use serde::{Deserialize, Serialize};

/// What follows the prefix in a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum KeyOrder {
    /// YCSB's hash of the number, which puts neighbors far apart.
    Hashed,
    /// go-ycsb's hash of the number, which is different.
    GoHashed,
    /// The number itself.
    Ordered,
}

/// The form of keys: prefix, zeros, number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeyNames {
    /// The prefix of keys.
    pub prefix: String,
    /// The minimum number of digits: shorter numbers are padded with zeros.
    pub digits: usize,
    /// The form of the number.
    pub order: KeyOrder,
}

impl KeyNames {
    /// Appends the key of the record with this number.
    #[inline]
    pub fn write(&self, number: u64, out: &mut Vec<u8>) {
        let mut buffer = itoa::Buffer::new();
        let text = match self.order {
            KeyOrder::Hashed => buffer.format(fnv::ycsb(number)),
            KeyOrder::GoHashed => buffer.format(fnv::go_ycsb(number)),
            KeyOrder::Ordered => buffer.format(number),
        };
        out.extend_from_slice(self.prefix.as_bytes());
        let zeros = self.digits.saturating_sub(text.len());
        out.resize(out.len() + zeros, b'0');
        out.extend_from_slice(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(digits: usize, order: KeyOrder, number: u64) -> String {
        let names = KeyNames { prefix: "user".to_owned(), digits, order };
        let mut out = Vec::new();
        names.write(number, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn forms() {
        assert_eq!(key(1, KeyOrder::Hashed, 0), "user6284781860667377211");
        assert_eq!(key(22, KeyOrder::Hashed, 2), "user0001820151046732198393");
        assert_eq!(key(1, KeyOrder::GoHashed, 1), "user6284782960179005422");
        assert_eq!(key(1, KeyOrder::Ordered, 12), "user12");
        assert_eq!(key(0, KeyOrder::Ordered, 0), "user0");
        assert_eq!(key(5, KeyOrder::Ordered, 12), "user00012");
        assert_eq!(key(2, KeyOrder::Ordered, 123), "user123");
    }
}
