//! A table by kind of operation, only as long as needed.

use super::OpKind;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// A value for each kind of operation; kinds that were never set have the default value. It is
/// stored by the names of kinds, because their numbers mean nothing to another process.
#[derive(Clone, Debug)]
pub struct ByKind<T>(Vec<T>);

impl<T: Default> ByKind<T> {
    /// A table with an entry for each kind that this process has seen.
    pub fn new() -> Self {
        let mut table = Vec::new();
        table.resize_with(OpKind::table_len(), T::default);
        Self(table)
    }

    /// The value of a kind; `None` if it was never set.
    #[inline]
    pub fn get(&self, kind: OpKind) -> Option<&T> {
        self.0.get(kind.index())
    }

    /// The value of a kind, for changing it.
    #[inline]
    pub fn of(&mut self, kind: OpKind) -> &mut T {
        if self.0.len() <= kind.index() {
            self.lengthen(kind);
        }
        &mut self.0[kind.index()]
    }

    #[cold]
    fn lengthen(&mut self, kind: OpKind) {
        self.0.resize_with(kind.index() + 1, T::default);
    }

    /// A table with each value converted by `of`.
    pub fn map<V>(&self, of: impl Fn(&T) -> V) -> ByKind<V> {
        ByKind(self.0.iter().map(of).collect())
    }

    /// All values, in arbitrary order.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }

    /// All values, for changing them.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut()
    }

    /// The kinds whose value satisfies `wanted`, with the values, in the order of reports.
    pub fn iter(&self, wanted: impl Fn(&T) -> bool) -> impl Iterator<Item = (OpKind, &T)> {
        let mut kinds = OpKind::known();
        kinds.retain(|kind| self.get(*kind).is_some_and(&wanted));
        kinds.into_iter().filter_map(|kind| Some((kind, self.get(kind)?)))
    }
}

impl ByKind<u64> {
    /// Adds the numbers of another table.
    pub fn add(&mut self, other: &Self) {
        for (kind, number) in other.iter(|number| *number > 0) {
            *self.of(kind) += number;
        }
    }
}

impl<T> Default for ByKind<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Default + PartialEq> PartialEq for ByKind<T> {
    fn eq(&self, other: &Self) -> bool {
        let (none, longest) = (T::default(), self.0.len().max(other.0.len()));
        let of = |table: &Self, place| *table.0.get(place).unwrap_or(&none) == none;
        (0..longest).all(|place| match (self.0.get(place), other.0.get(place)) {
            (Some(own), Some(theirs)) => own == theirs,
            _ => of(self, place) && of(other, place),
        })
    }
}

impl<T: Default + Eq> Eq for ByKind<T> {}

impl<T: Default + PartialEq + Serialize> Serialize for ByKind<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let none = T::default();
        serializer.collect_map(self.iter(|value| *value != none))
    }
}

impl<'de, T: Default + Deserialize<'de>> Deserialize<'de> for ByKind<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let values = BTreeMap::<OpKind, T>::deserialize(deserializer)?;
        let mut table = Self::default();
        for (kind, value) in values {
            *table.of(kind) = value;
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_stored_by_name_and_equal_however_long() {
        let own = OpKind::of_name("by-kind-test").unwrap();
        let mut table = ByKind::<u64>::default();
        *table.of(OpKind::Read) = 3;
        let short = table.clone();
        *table.of(own) += 5;
        let text = serde_json::to_string(&table).unwrap();
        assert_eq!(text, r#"{"read":3,"by-kind-test":5}"#);
        assert_eq!(serde_json::from_str::<ByKind<u64>>(&text).unwrap(), table);
        assert_ne!(short, table);
        *table.of(own) = 0;
        assert_eq!(short, table, "a value that was not set is the default one");
        table.add(&short);
        assert_eq!((table.get(OpKind::Read), table.get(own)), (Some(&6), Some(&0)));
        assert_eq!(ByKind::<u64>::default().get(own), None);
    }
}
