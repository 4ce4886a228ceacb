//! Lists of values that a plan defines.

use crate::generate::below;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The lists of a plan, by name.
pub type Data = BTreeMap<String, DataPlan>;

/// A list from which requests take values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DataPlan {
    /// The values: strings, numbers, or any other JSON.
    #[serde(rename = "one-of", default, skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<Value>,
    /// A CSV file to read the values from instead; its first line names the columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub csv: Option<String>,
    /// The column of that file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// Which of the values a request takes.
    #[serde(default, skip_serializing_if = "Order::is_random")]
    pub order: Order,
}

/// Which value of a list a request takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// A random one, all equally likely.
    #[default]
    Random,
    /// The next one, starting over after the last.
    Sequential,
    /// The next one; after the last, the operation is no longer carried out.
    Once,
}

impl Order {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_random(&self) -> bool {
        *self == Self::Random
    }

    /// The index of the value that a request takes; `turn` is the request's number among those of
    /// its operation.
    pub(super) fn place(self, len: u64, turn: u64, draw: impl FnOnce() -> u64) -> u64 {
        match self {
            Self::Random => below(draw(), len),
            Self::Sequential | Self::Once => turn % len.max(1),
        }
    }
}

impl DataPlan {
    /// Reads a list from a command line: JSON as in a plan file, or texts separated by commas.
    ///
    /// # Errors
    /// Returns a message that says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with('{') {
            return serde_json::from_str(text).map_err(|error| error.to_string());
        }
        let one_of = text.split(',').map(str::trim).filter(|it| !it.is_empty()).map(Value::from);
        Ok(Self { one_of: one_of.collect(), csv: None, column: None, order: Order::default() })
    }

    /// What is wrong with the list, apart from the contents of its file.
    pub fn problem(&self) -> Option<&'static str> {
        match (self.one_of.is_empty(), &self.csv, &self.column) {
            (true, None, None) => Some("it is empty"),
            (false, None, None) | (true, Some(_), Some(_)) => None,
            (false, ..) => Some("it has one-of, and a CSV file besides"),
            (true, Some(_), None) => Some("it has no column"),
            (true, None, Some(_)) => Some("it has a column, but no CSV file"),
        }
    }
}
