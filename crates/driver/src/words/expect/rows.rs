//! `rows`: the number of rows.

use super::{Expectation, JudgedAnswer};
use serde::{Deserialize, Serialize};
use std::fmt;

/// An expected number of rows, or a range of them: `20` or `"1..20"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "Written", into = "Written")]
pub struct Rows(u64, u64);

/// As it is written.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
enum Written {
    Number(i64),
    Range(String),
}

impl TryFrom<Written> for Rows {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let wrong = |text: &dyn fmt::Display| {
            format!("{text} is not a number of rows; write it like 20, or \"1..20\"")
        };
        match written {
            Written::Number(rows) => {
                let rows = u64::try_from(rows).map_err(|_| wrong(&rows))?;
                Ok(Self(rows, rows))
            }
            Written::Range(text) => {
                let (low, high) = text.split_once("..").unwrap_or((&text, &text));
                let number = |part: &str| part.trim().parse::<u64>().ok();
                let range = number(low).zip(number(high)).filter(|(low, high)| low <= high);
                let (low, high) = range.ok_or_else(|| wrong(&format!("{text:?}")))?;
                Ok(Self(low, high))
            }
        }
    }
}

impl From<Rows> for Written {
    fn from(rows: Rows) -> Self {
        match i64::try_from(rows.0) {
            Ok(number) if rows.0 == rows.1 => Self::Number(number),
            _ => Self::Range(rows.to_string()),
        }
    }
}

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == self.1 { write!(f, "{}", self.0) } else { write!(f, "{}..{}", self.0, self.1) }
    }
}

impl Expectation for Rows {
    fn is_met(&self, found: &JudgedAnswer<'_>) -> bool {
        (self.0..=self.1).contains(&found.rows)
    }

    fn words(&self, found: &JudgedAnswer<'_>) -> String {
        format!("{self} rows expected, {} came", found.rows)
    }
}
