//! Reads the settings specific to a driver, and tells a setting that it does not have from a wrong
//! value. It knows no driver.

use serde::de::value::MapDeserializer;
use serde::de::{DeserializeOwned, Error, IntoDeserializer, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};
use serde_json::{Map, Value};
use std::fmt::Display;

#[derive(Debug, thiserror::Error)]
pub(super) enum Unread {
    /// The driver has no setting of this name.
    #[error("there is no such option")]
    Unknown,
    #[error("{0}")]
    Value(String),
}

impl Error for Unread {
    fn custom<T: Display>(message: T) -> Self {
        Self::Value(message.to_string())
    }

    fn unknown_field(_: &str, _: &'static [&'static str]) -> Self {
        Self::Unknown
    }
}

pub(super) fn read<T: DeserializeOwned>(options: &Map<String, Value>) -> Result<T, Unread> {
    let given = options.iter().map(|(name, value)| (name.as_str(), Given(value.clone())));
    <T as Deserialize<'_>>::deserialize(MapDeserializer::<_, Unread>::new(given))
}

/// The value of a setting.
struct Given(Value);

fn wrong(error: serde_json::Error) -> Unread {
    Unread::custom(error)
}

impl IntoDeserializer<'_, Unread> for Given {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Given {
    type Error = Unread;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        self.0.deserialize_any(visitor).map_err(wrong)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        self.0.deserialize_option(visitor).map_err(wrong)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Unread> {
        self.0.deserialize_newtype_struct(name, visitor).map_err(wrong)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unread> {
        self.0.deserialize_enum(name, variants, visitor).map_err(wrong)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::num::NonZeroU32;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Options {
        on: bool,
        streams: Option<NonZeroU32>,
        names: Vec<String>,
        level: Level,
        field: Picky,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Level {
        #[default]
        Low,
        High,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(try_from = "String")]
    struct Picky;

    impl TryFrom<String> for Picky {
        type Error = String;

        fn try_from(name: String) -> Result<Self, String> {
            if name == "known" { Ok(Self) } else { Err(format!("unknown field {name}")) }
        }
    }

    fn read_json(value: &Value) -> Result<Options, Unread> {
        read(value.as_object().unwrap())
    }

    #[test]
    fn an_unknown_option_is_told_from_a_wrong_value() {
        let all = json!({"on": true, "streams": 3, "names": ["a"], "level": "high",
            "field": "known"});
        let names = vec!["a".to_owned()];
        let expected = Options {
            on: true,
            streams: NonZeroU32::new(3),
            names,
            level: Level::High,
            field: Picky,
        };
        assert_eq!(read_json(&all).unwrap(), expected);
        assert_eq!(read_json(&json!({"streams": null})).unwrap(), Options::default());
        for unknown in [json!({"off": true}), json!({"on": true, "unknown field": 1})] {
            assert!(matches!(read_json(&unknown), Err(Unread::Unknown)), "{unknown}");
        }
        // The last one says so of a field of its own.
        for wrong in [
            json!({"on": 5}),
            json!({"streams": 0}),
            json!({"streams": "x"}),
            json!({"names": "a"}),
            json!({"names": [1]}),
            json!({"level": "middle"}),
            json!({"field": "x"}),
        ] {
            let words = serde_json::from_value::<Options>(wrong.clone()).unwrap_err().to_string();
            let error = read_json(&wrong).unwrap_err();
            assert!(matches!(&error, Unread::Value(text) if *text == words), "{wrong}: {error}");
        }
    }
}
