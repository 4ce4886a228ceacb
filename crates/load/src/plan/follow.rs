//! Followers beside the load: how many, and what they ask for.

use super::PlanSpec;
use crate::driver::Card;
use crate::mistake::Invalid;
use crate::op::Feature;

/// The most followers of a run.
const MOST: u32 = 10_000;

/// Refuses followers of a database without a changes feed, and filters that cannot be valid.
pub(super) fn check(spec: &PlanSpec, card: &Card, mistakes: &mut Vec<Invalid>) {
    let Some(plan) = &spec.follow else { return };
    mistakes.extend(card.lack("--follow", Feature::Changes));
    if !(1..=MOST).contains(&plan.followers) {
        let problem = format!("{} is not from 1 to {MOST}", plan.followers);
        mistakes.push(Invalid::new("--follow", problem, "give a number of followers"));
    }
    if let Some(problem) = plan.filter.as_deref().and_then(wrong) {
        let cure = "give DESIGN/FILTER, DESIGN/FILTER?NAME=VALUE, or a selector in JSON";
        mistakes.push(Invalid::new("--follow-filter", problem, cure));
    }
}

/// Describes what is wrong with a filter, if anything.
fn wrong(filter: &str) -> Option<String> {
    if filter.starts_with('{') {
        let error = serde_json::from_str::<serde_json::Value>(filter).err()?;
        return Some(format!("the selector is not JSON: {error}"));
    }
    let name = filter.split('?').next().unwrap_or_default();
    let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'#' | b'&' | b'"');
    let parts = name.split_once('/');
    let named = name == "_view" || parts.is_some_and(|(a, b)| !a.is_empty() && !b.is_empty());
    if !named || !name.bytes().all(plain) {
        return Some(format!("{filter:?} does not name a filter of a design document"));
    }
    let spaced = filter.bytes().any(|byte| !byte.is_ascii_graphic());
    spaced.then(|| format!("{filter:?} has characters that must be percent-encoded"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_names_one_or_is_a_selector() {
        for right in
            ["app/mine", "app/mine?user=7", "_view?view=app/by", "{\"a\":1}", "{\"a\":{\"$gt\":1}}"]
        {
            assert_eq!(wrong(right), None, "{right}");
        }
        for not in ["", "app", "app/", "/x", "?a=1", "{\"a\":", "a/b&c=1", "a/b?c=d e", "ä/b"] {
            assert!(wrong(not).is_some(), "{not}");
        }
    }
}
