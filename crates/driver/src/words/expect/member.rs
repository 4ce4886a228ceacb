//! `member`: the value at a place in the answer.

use super::{Expectation, JudgedAnswer};
use crate::values::json_at;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Expected values by their path, such as `total_rows` or `rows.0.id`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Members(BTreeMap<String, Value>);

/// A place where an answer differs from what is expected.
struct Unmet<'m, 'f> {
    place: &'m str,
    wanted: &'m Value,
    /// What is there, if anything.
    there: Option<&'f [u8]>,
}

impl Members {
    /// The first place where an answer differs.
    fn unmet<'f>(&self, found: &JudgedAnswer<'f>) -> Option<Unmet<'_, 'f>> {
        self.0.iter().find_map(|(place, wanted)| {
            let there = json_at(found.body, place);
            let is =
                |text: &[u8]| serde_json::from_slice::<Value>(text).is_ok_and(|it| it == *wanted);
            (!there.is_some_and(is)).then_some(Unmet { place, wanted, there })
        })
    }
}

impl Expectation for Members {
    fn is_met(&self, found: &JudgedAnswer<'_>) -> bool {
        self.unmet(found).is_none()
    }

    fn words(&self, found: &JudgedAnswer<'_>) -> String {
        let Some(Unmet { place, wanted, there }) = self.unmet(found) else { return String::new() };
        let there = there.map_or("nothing".into(), String::from_utf8_lossy);
        let there: String = there.chars().take(60).collect();
        format!("{wanted} expected at {place}, {there} came")
    }
}
