//! A statement with its values, ready to be sent.

use super::answer::Prepared;
use super::token::token_of;
use std::rc::Rc;

/// A statement with its values.
#[derive(Debug)]
pub(super) struct SpelledStatement {
    pub(super) cql: String,
    pub(super) statement: Rc<Prepared>,
    pub(super) bound: BoundValues,
}

impl SpelledStatement {
    /// The token of the key, if the key is among the values.
    pub(super) fn token(&self) -> Option<i64> {
        match &*self.statement.key {
            [] => None,
            [only] => self.bound.value(usize::from(*only)).map(token_of),
            several => {
                let mut key = Vec::new();
                for place in several {
                    let value = self.bound.value(usize::from(*place))?;
                    key.extend_from_slice(&u16::try_from(value.len()).ok()?.to_be_bytes());
                    key.extend_from_slice(value);
                    key.push(0);
                }
                Some(token_of(&key))
            }
        }
    }
}

/// The values of a statement, in the order of its question marks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BoundValues {
    pub(super) bytes: Vec<u8>,
    pub(super) count: u16,
}

impl BoundValues {
    /// Adds the value that `write` appends, if it can be written; `None` otherwise.
    pub(super) fn push(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Option<()>) -> Option<()> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        write(&mut self.bytes)?;
        let length = u32::try_from(self.bytes.len() - start - 4).ok()?;
        self.bytes[start..start + 4].copy_from_slice(&length.to_be_bytes());
        self.count += 1;
        Some(())
    }

    pub(super) fn value(&self, place: usize) -> Option<&[u8]> {
        let mut rest = self.bytes.as_slice();
        for _ in 0..place {
            rest = rest.split_at_checked(4 + length(rest)?)?.1;
        }
        rest.get(4..4 + length(rest)?)
    }
}

/// The length of the first value.
fn length(values: &[u8]) -> Option<usize> {
    values.first_chunk().map(|it| u32::from_be_bytes(*it) as usize)
}

#[cfg(test)]
mod tests {
    use super::super::types::Type;
    use super::*;

    #[test]
    fn a_value_that_is_none_is_not_bound() {
        let mut bound = BoundValues::default();
        assert_eq!(bound.push(|_| None), None);
        let mut bound = BoundValues::default();
        for value in ["", "b", "cc"] {
            bound.push(|out| Type::Text.write(value.as_bytes(), out));
        }
        assert_eq!([0, 2].map(|it| bound.value(it)), [Some(&b""[..]), Some(b"cc")]);
        assert_eq!(bound.value(3), None);
    }
}
