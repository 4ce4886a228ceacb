//! How documents are named: a pure function of the run's seed and the document's number, so that
//! identifiers can be recomputed and need not be stored.

use crate::generate::{below, mix};
use crate::mistake::BadValue;
use crate::op::{Key, write_id};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Separates the streams for identifiers from other uses of the same seed.
const HIGH: u64 = u64::from_be_bytes(*b"ids high");
const LOW: u64 = u64::from_be_bytes(*b"ids low.");
/// The longest prefix, in bytes.
const MOST_PREFIX: usize = 200;
/// The grammar for other programs, as a regular expression.
#[cfg(feature = "schema")]
const PATTERN: &str = "^(sequential|random(:[0-9]+)?|uuid(:[0-9]+)?|prefix:.+|partitions:[0-9]+)$";
/// The grammar, for messages.
const FORMS: &str = "give sequential, random, uuid, prefix:TEXT or partitions:N";

/// How document IDs are formed, as requested and stored: `sequential`, `random`, `uuid`,
/// `prefix:TEXT` or `partitions:N`. `random:SALT` and `uuid:SALT` give other IDs for the same seed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(extend("pattern" = PATTERN)))]
#[serde(try_from = "String", into = "String")]
pub enum Ids {
    /// The number itself.
    #[default]
    Sequential,
    /// 16 hexadecimal digits, different for every document of a run.
    Random {
        /// Combined with the seed.
        salt: u64,
    },
    /// 32 hexadecimal digits, like CouchDB's own random identifiers.
    Uuid {
        /// Combined with the seed.
        salt: u64,
    },
    /// A text that needs no escaping in JSON, followed by the number.
    Prefix(Arc<str>),
    /// One of so many partitions, as CouchDB's partitioned databases have them, and the number:
    /// `p3:17`.
    Partitions(u64),
}

impl Ids {
    /// Whether the number itself is the identifier.
    pub fn is_sequential(&self) -> bool {
        *self == Self::Sequential
    }

    /// The names for a run with this seed.
    pub fn seeded(&self, seed: u64) -> Naming {
        match self {
            Self::Sequential => Naming::Sequential,
            Self::Random { salt } => Naming::Random(mix(seed, *salt, HIGH)),
            Self::Uuid { salt } => Naming::Uuid(mix(seed, *salt, HIGH), mix(seed, *salt, LOW)),
            Self::Prefix(text) => Naming::Prefix(text.clone()),
            Self::Partitions(number) => Naming::Partitions(mix(seed, *number, HIGH), *number),
        }
    }
}

impl fmt::Display for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sequential => f.write_str("sequential"),
            Self::Random { salt: 0 } => f.write_str("random"),
            Self::Random { salt } => write!(f, "random:{salt}"),
            Self::Uuid { salt: 0 } => f.write_str("uuid"),
            Self::Uuid { salt } => write!(f, "uuid:{salt}"),
            Self::Prefix(text) => write!(f, "prefix:{text}"),
            Self::Partitions(number) => write!(f, "partitions:{number}"),
        }
    }
}

impl FromStr for Ids {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let bad = |problem: &str| BadValue::new(format!("{text:?}{problem}"), FORMS);
        let (kind, rest) =
            text.split_once(':').map_or((text, None), |(kind, rest)| (kind, Some(rest)));
        let salt = || {
            let wrong = |_| bad(": a salt is a whole number");
            rest.map_or(Ok(0), |digits| digits.parse().map_err(wrong))
        };
        match (kind, rest) {
            ("sequential", None) => Ok(Self::Sequential),
            ("random", _) => Ok(Self::Random { salt: salt()? }),
            ("uuid", _) => Ok(Self::Uuid { salt: salt()? }),
            ("prefix", Some(rest)) => prefix(rest),
            ("partitions", Some(rest)) => {
                let number = rest.parse().ok().filter(|number| *number > 0);
                let wrong = || bad(": N is how many partitions there are");
                number.map(Self::Partitions).ok_or_else(wrong)
            }
            _ => Err(bad(" is not a kind of identifier")),
        }
    }
}

fn prefix(text: &str) -> Result<Ids, BadValue> {
    let escaped = |c: char| c.is_control() || matches!(c, '"' | '\\');
    let problem = if text.is_empty() {
        "no text"
    } else if text.starts_with('_') {
        "identifiers that begin with _ are reserved for CouchDB"
    } else if text.len() > MOST_PREFIX {
        "more than 200 bytes"
    } else if text.chars().any(escaped) {
        "quotation marks, backslashes and control characters are not allowed"
    } else {
        return Ok(Ids::Prefix(text.into()));
    };
    let problem = format!("\"prefix:{}\": {problem}", text.escape_debug());
    Err(BadValue::new(problem, "give one such as prefix:run1-"))
}

impl TryFrom<String> for Ids {
    type Error = BadValue;

    fn try_from(text: String) -> Result<Self, BadValue> {
        text.parse()
    }
}

impl From<Ids> for String {
    fn from(ids: Ids) -> Self {
        ids.to_string()
    }
}

/// Writes the identifiers of one run.
#[derive(Clone, Debug, Default)]
pub enum Naming {
    /// The number.
    #[default]
    Sequential,
    /// A bijection of the number: no two documents of a run share an identifier.
    Random(u64),
    /// Two such bijections.
    Uuid(u64, u64),
    /// A text followed by the number.
    Prefix(Arc<str>),
    /// One of this many partitions, drawn with a seed, and the number.
    Partitions(u64, u64),
}

impl Naming {
    /// Appends the identifier of the document with this number.
    #[inline]
    pub fn write(&self, key: Key, out: &mut Vec<u8>) {
        if matches!(self, Self::Sequential) {
            write_id(key, out);
        } else {
            self.write_other(key, out);
        }
    }

    fn write_other(&self, key: Key, out: &mut Vec<u8>) {
        match self {
            Self::Sequential => write_id(key, out),
            Self::Random(state) => write_hex(mix(*state, key, 0), out),
            Self::Uuid(high, low) => {
                write_hex(mix(*high, key, 0), out);
                write_hex(mix(*low, key, 0), out);
            }
            Self::Prefix(text) => {
                out.extend_from_slice(text.as_bytes());
                write_id(key, out);
            }
            Self::Partitions(seed, number) => {
                out.push(b'p');
                write_id(below(mix(*seed, key, 0), *number), out);
                out.push(b':');
                write_id(key, out);
            }
        }
    }
}

fn write_hex(value: u64, out: &mut Vec<u8>) {
    let mut text = [0; 16];
    const_hex::encode_to_slice(value.to_be_bytes(), &mut text).expect("two digits for each byte");
    out.extend_from_slice(&text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn ids(text: &str, seed: u64, keys: std::ops::Range<u64>) -> Vec<String> {
        let naming = text.parse::<Ids>().unwrap().seeded(seed);
        let id = |key| {
            let mut out = Vec::new();
            naming.write(key, &mut out);
            String::from_utf8(out).unwrap()
        };
        keys.map(id).collect()
    }

    #[test]
    fn each_kind_has_its_form() {
        assert_eq!(ids("sequential", 1, 0..3), ["0", "1", "2"]);
        assert_eq!(ids("prefix:p:é-", 1, 9..11), ["p:é-9", "p:é-10"]);
        let partitioned = ids("partitions:4", 1, 0..4_000);
        for partition in 0..4 {
            let start = format!("p{partition}:");
            let count = partitioned.iter().filter(|id| id.starts_with(&start)).count();
            // Five standard deviations of a binomial around 1,000: 137.
            assert!(count.abs_diff(1_000) < 137 && partitioned[17].ends_with(":17"), "{count}");
        }
        let none = "partitions:0".parse::<Ids>().unwrap_err();
        assert!(none.problem.ends_with(": N is how many partitions there are"), "{none}");
        for (text, digits) in [("random", 16), ("uuid", 32)] {
            let all = ids(text, 1, 0..1000);
            let hex = |id: &String| id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
            assert!(all.iter().all(|id| id.len() == digits && hex(id)), "{text}");
            assert!(!all.is_sorted(), "{text}");
        }
    }

    #[test]
    fn they_follow_from_seed_and_salt_and_never_meet() {
        for text in ["random", "uuid"] {
            assert_eq!(ids(text, 1, 5..9), ids(text, 1, 5..9));
            let salted = format!("{text}:1");
            let all = [ids(text, 1, 0..5000), ids(text, 2, 0..5000), ids(&salted, 1, 0..5000)];
            let distinct: HashSet<_> = all.iter().flatten().collect();
            assert_eq!(distinct.len(), 15_000, "{text}");
        }
    }

    #[test]
    fn they_are_stored_as_they_are_asked() {
        for text in ["sequential", "random", "random:7", "uuid", "uuid:18446744073709551615"] {
            assert_eq!(text.parse::<Ids>().unwrap().to_string(), text);
        }
        let json = "\"prefix:a b/c\"";
        let ids: Ids = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&ids).unwrap(), json);
        for bad in ["", "prefix", "prefix:", "prefix:_x", "prefix:a\"b", "prefix:a\\b", "uuid:x"] {
            assert!(bad.parse::<Ids>().is_err_and(|it| it.cure.starts_with("give ")), "{bad}");
        }
        assert!("sequential:1".parse::<Ids>().is_err());
        assert!(format!("prefix:{}", "x".repeat(201)).parse::<Ids>().is_err());
    }
}
