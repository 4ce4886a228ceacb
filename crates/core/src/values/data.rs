//! Lists of values that a plan brings along.

use crate::generate::below;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The lists of a plan, by name.
pub type Data = BTreeMap<String, DataPlan>;

/// A list of values that requests take one of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DataPlan {
    /// The values: texts, numbers, or any other JSON.
    #[serde(rename = "one-of")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub one_of: Vec<Value>,
    /// Which of them a request takes.
    #[serde(default, skip_serializing_if = "Order::is_random")]
    pub order: Order,
}

/// Which value of a list a request takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Any, all equally likely.
    #[default]
    Random,
    /// The next one, from the beginning again after the last.
    Sequential,
}

impl Order {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_random(&self) -> bool {
        *self == Self::Random
    }

    /// The place of the value that a request takes.
    pub(super) fn place(self, len: usize, number: u64, draw: impl FnOnce() -> u64) -> usize {
        let len = len.max(1) as u64;
        match self {
            Self::Random => below(draw(), len) as usize,
            Self::Sequential => (number % len) as usize,
        }
    }
}

impl DataPlan {
    /// Reads a list from a command line: JSON as in a plan file, or texts separated by commas.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with('{') {
            return serde_json::from_str(text).map_err(|error| error.to_string());
        }
        let one_of = text.split(',').map(str::trim).filter(|it| !it.is_empty()).map(Value::from);
        Ok(Self { one_of: one_of.collect(), order: Order::default() })
    }
}
