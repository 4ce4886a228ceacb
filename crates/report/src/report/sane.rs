//! Finds numbers in stored records and sweeps that no run can have: adding or multiplying such
//! counts would overflow, so they are refused before anything else is read.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// More than any count or any size in bytes.
const MOST: f64 = 1e15;
/// More seconds than any run takes.
const MOST_S: f64 = 1e12;
/// The nanoseconds since 1970 stay below this until 2096.
const MOST_NS: f64 = 4e18;

/// Checks that all numbers in the JSON `text` could be those of a run.
///
/// # Errors
/// Returns an error if the text is not JSON, or if a number is too large.
pub fn sane(text: &str) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    BoundedNumber { most: MOST }.deserialize(&mut deserializer)?;
    deserializer.end()
}

/// A value with numbers, none of which may exceed `most`. Nothing else in it is checked.
#[derive(Clone, Copy)]
struct BoundedNumber {
    most: f64,
}

impl BoundedNumber {
    /// For a member called `name`; the items of a list have the limit of the list.
    fn of(name: &str) -> Self {
        let most = match name {
            // Seeds, and the start of a series, in any unit: these are never added up.
            name if name.ends_with("seed") || name == "start" => f64::INFINITY,
            name if name.ends_with("_ns") => MOST_NS,
            name if name.ends_with("_s") => MOST_S,
            _ => MOST,
        };
        Self { most }
    }

    fn check<E: Error>(self, value: f64) -> Result<(), E> {
        let beyond = || E::custom(format_args!("{value:e} is a number that no run has"));
        if value.abs() > self.most { Err(beyond()) } else { Ok(()) }
    }
}

impl<'de> DeserializeSeed<'de> for BoundedNumber {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for BoundedNumber {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.check(value as f64)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.check(value as f64)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.check(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<Cow<'_, str>>()? {
            members.next_value_seed(Self::of(&name))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_no_run_has_are_refused() {
        for text in [
            "{\"ok\": 999999999999999, \"seed\": 18446744073709551615, \"a\": [\"1e99\", null]}",
            "{\"start\": 1451606400000000000}",
            "{\"began_wall_ns\": 1800000000000000000, \"began_s\": 1e11, \"x\": true, \"y\": -1.5}",
        ] {
            sane(text).unwrap();
        }
        for text in [
            "{\"began_s\": 1.8e19}",
            "{\"at_s\": [0, {\"a\": 1}, -1e13]}",
            "{\"ok\": 18446744073709551615}",
            "{\"ok\": -1e308}",
            "[[1e16]]",
            "{\"wall_ns\": 5e18}",
        ] {
            assert!(sane(text).unwrap_err().to_string().contains("no run has"), "{text}");
        }
        assert!(sane("{\"a\": ").is_err());
    }
}
