//! The settings of a plan in the words of the flags that set them, for readers who have never seen
//! a stored plan. Whether plans are alike is judged by their members, not by these words.

use super::threshold::Limit;
use super::usual::{OPEN_END_NS, usual_in_flight};
use crate::clock::Nanos;
use crate::engine::{Arrivals, DEFAULT_SLACK_NS, Pace, Schedule, Segment};
use crate::workload::stage_title;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Formatter};

/// Members of a plan that do not have the name of their flag ...
const OF_RUN: [[&str; 2]; 7] = [
    ["target", ""],
    ["fill", ""],
    ["fleet", ""],
    ["most_connections", "max-connections"],
    ["ids", "id"],
    ["schemas", "schema"],
    ["operations", "op"],
];
/// ... and those of a stage.
const OF_STAGE: [[&str; 2]; 3] =
    [["length_ns", "duration"], ["operations", "ops"], ["documents", "docs"]];
/// The rate of a closed loop, as in the help text of `--rate`.
const CLOSED: &str = "as fast as served";

/// A setting and its value.
struct Setting {
    what: String,
    value: String,
}

/// What a setting is called.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Term {
    /// The title of its stage, if it is not one of the run as a whole.
    stage: Option<String>,
    what: String,
}

impl Display for Term {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { stage, what } = self;
        match stage {
            Some(stage) => write!(f, "{stage}: {what}"),
            None => f.write_str(what),
        }
    }
}

/// The settings of a plan, by what they are called: those of the run as a whole, such as
/// `connections`; those of its stages, such as `mixed: rate`; and its `stages`.
///
/// Expects a plan without its seeds. Some members with default values are left out.
pub fn in_words(plan: &BTreeMap<String, Value>) -> BTreeMap<String, String> {
    settings(plan).into_iter().map(|(term, value)| (term.to_string(), value)).collect()
}

fn settings(plan: &BTreeMap<String, Value>) -> BTreeMap<Term, String> {
    let mut all = BTreeMap::new();
    for (name, value) in plan {
        match value {
            Value::Array(stages) if name == "stages" => {
                for stage in stages {
                    of_stage(stage, &mut all);
                }
            }
            _ => member(name, value, &OF_RUN).into_iter().for_each(|it| add(&mut all, None, it)),
        }
    }
    all
}

/// How two plans differ, as `SETTING BEFORE → AFTER`. Of a stage that only one of them has, no
/// settings are listed.
pub(super) fn differences(
    before: &BTreeMap<String, Value>,
    after: &BTreeMap<String, Value>,
) -> Vec<String> {
    let (old, new) = (settings(before), settings(after));
    let [old_stages, new_stages] = [&old, &new].map(|all| -> BTreeSet<&str> {
        all.keys().filter_map(|term| term.stage.as_deref()).collect()
    });
    let in_both = |term: &&Term| {
        let stage = term.stage.as_deref();
        stage.is_none_or(|it| old_stages.contains(it) && new_stages.contains(it))
    };
    let terms = old.keys().chain(new.keys().filter(|term| !old.contains_key(*term)));
    let shown = |value: Option<&String>| value.map_or("nothing", String::as_str).to_owned();
    let one = |term: &Term| {
        let (before, after) = (old.get(term), new.get(term));
        let words = || format!("{term} {} → {}", shown(before), shown(after));
        (before != after).then(words)
    };
    terms.filter(in_both).filter_map(one).collect()
}

/// Adds a setting. Several of one name are one with several values.
fn add(all: &mut BTreeMap<Term, String>, stage: Option<&str>, setting: Setting) {
    let Setting { what, value } = setting;
    let stage = stage.map(str::to_owned);
    let values = all.entry(Term { stage, what }).or_default();
    if !values.is_empty() {
        values.push_str(", ");
    }
    values.push_str(&value);
}

fn of_stage(stage: &Value, all: &mut BTreeMap<Term, String>) {
    let title = stage_title(stage["name"].as_str().unwrap_or_default());
    add(all, None, Setting { what: "stages".to_owned(), value: title.clone() });
    let length_ns = stage["length_ns"].as_u64();
    for (name, value) in stage.as_object().into_iter().flatten() {
        let settings = match &name[..] {
            "name" => continue,
            "pace" => of_pace(value, length_ns),
            _ => None,
        };
        for setting in settings.unwrap_or_else(|| member(name, value, &OF_STAGE)) {
            add(all, Some(&title), setting);
        }
    }
}

/// When the operations of a stage of this length are due; `None`: the pace is unknown.
fn of_pace(pace: &Value, length_ns: Option<Nanos>) -> Option<Vec<Setting>> {
    let mut pace = pace.clone();
    let seeded = if pace["schedule"].is_object() { &mut pace["schedule"] } else { &mut pace };
    seeded.as_object_mut()?.insert("seed".to_owned(), 0.into());
    let mut all = Vec::new();
    let mut add = |what: &str, value: String| all.push(Setting { what: what.to_owned(), value });
    match serde_json::from_value::<Pace>(pace).ok()? {
        Pace::Closed { think_ns } => {
            add("rate", CLOSED.to_owned());
            if think_ns > 0 {
                add("think", time(think_ns));
            }
        }
        Pace::Thinking { most_ns, .. } => {
            add("rate", CLOSED.to_owned());
            add("delay", format!("up to {}", time(most_ns)));
        }
        Pace::Open { schedule: Schedule { segments, arrivals, .. }, max_in_flight, slack_ns } => {
            add("rate", rate(&segments, length_ns));
            if arrivals == Arrivals::Poisson {
                add("arrivals", "poisson".to_owned());
            }
            if max_in_flight != usual_in_flight(&segments) {
                add("max-in-flight", max_in_flight.to_string());
            }
            if slack_ns != DEFAULT_SLACK_NS {
                add("slack", time(slack_ns));
            }
        }
    }
    Some(all)
}

/// The rates over time, as for `--stages`; a single one as for `--rate`, if it lasts as long as the
/// stage.
fn rate(segments: &[Segment], length_ns: Option<Nanos>) -> String {
    let rates = |it: &Segment| {
        let is_flat = (it.from - it.to).abs() < f64::EPSILON;
        if is_flat { it.from.to_string() } else { format!("{}..{}", it.from, it.to) }
    };
    match segments {
        [one] if one.length_ns == OPEN_END_NS || Some(one.length_ns) == length_ns => {
            format!("{}/s", rates(one))
        }
        several => {
            let each = several.iter().map(|it| format!("{}:{}", time(it.length_ns), rates(it)));
            each.collect::<Vec<_>>().join(",")
        }
    }
}

fn time(ns: Nanos) -> String {
    Limit::Time(ns).to_string()
}

/// The settings in a member, called as in `names` or, if they are not listed there, as they are
/// stored.
fn member(name: &str, value: &Value, names: &[[&str; 2]]) -> Vec<Setting> {
    let mut leaves = Vec::new();
    leaves_of(name.to_owned(), value, &mut leaves);
    let setting = |Leaf { path, value }: Leaf<'_>| {
        let (first, rest) = path.split_once('.').unwrap_or((&path, ""));
        let named = names.iter().find(|[stored, _]| *stored == first);
        let first = named.map_or(first, |[_, name]| *name);
        let is_time = path.ends_with("_ns");
        let what = format!("{first}.{rest}");
        let what = what.trim_matches('.').trim_end_matches("_ns");
        let value = match value {
            Value::Null => "none".to_owned(),
            Value::Bool(true) => "yes".to_owned(),
            Value::Bool(false) => "no".to_owned(),
            Value::String(text) => text.clone(),
            Value::Number(ns) if is_time => ns.as_u64().map_or_else(|| ns.to_string(), time),
            other => other.to_string(),
        };
        Setting { what: what.replace('_', "-").replace('.', " "), value }
    };
    leaves.into_iter().map(setting).collect()
}

/// A value in a plan, with its path.
struct Leaf<'a> {
    path: String,
    value: &'a Value,
}

fn leaves_of<'a>(path: String, value: &'a Value, leaves: &mut Vec<Leaf<'a>>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                leaves_of(format!("{path}.{name}"), value, leaves);
            }
        }
        Value::Array(items) => {
            for (place, value) in items.iter().enumerate() {
                leaves_of(format!("{path}.{}", place + 1), value, leaves);
            }
        }
        value => leaves.push(Leaf { path, value }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A plan with a fill and a main stage of this pace and length.
    fn plan(pace: &Value, length_ns: Option<u64>) -> Value {
        json!({
            "target": { "driver": "couch_db", "server": "http://h:1", "user": null,
                "database": { "kind": "scratch", "keep": false } },
            "connections": 2, "timeout_ns": 30_000_000_000_u64,
            "schemas": [{ "name": "a" }, { "name": "b" }],
            "stages": [
                { "name": "bulk_insert", "workload": "bulk_insert", "documents": 50, "batch": 10,
                    "pace": { "loop": "closed", "think_ns": 0 }, "length_ns": null },
                { "name": "crud", "workload": "crud", "mix": { "read": 1 }, "operations": null,
                    "pace": pace, "length_ns": length_ns },
            ],
        })
    }

    fn closed() -> Value {
        plan(&json!({ "loop": "closed", "think_ns": 0 }), Some(10_000_000_000))
    }

    /// The pace at these rates, each with its length in seconds.
    fn open(segments: &[[u64; 3]]) -> Value {
        let segment = |[s, from, to]: &[u64; 3]| {
            let length_ns = s * 1_000_000_000;
            json!({ "length_ns": length_ns, "from": from, "to": to })
        };
        let segments: Vec<Value> = segments.iter().map(segment).collect();
        let schedule = json!({ "segments": segments, "arrivals": "constant" });
        json!({ "loop": "open", "schedule": schedule, "max_in_flight": 5_000, "slack_ns": 50_000 })
    }

    fn members(plan: Value) -> BTreeMap<String, Value> {
        serde_json::from_value(plan).unwrap()
    }

    fn differ(before: Value, after: Value) -> Vec<String> {
        differences(&members(before), &members(after))
    }

    #[test]
    fn settings_are_called_like_their_flags_and_stages_by_their_titles() {
        let flat = || plan(&open(&[[10, 500, 500]]), Some(10_000_000_000));
        assert_eq!(differ(closed(), flat()), ["mixed: rate as fast as served → 500/s"]);
        let rises = plan(&open(&[[10, 500, 500], [3, 500, 15]]), Some(10_000_000_000));
        let rate = "mixed: rate 500/s → 10s:500,3s:500..15";
        assert_eq!(differ(flat(), rises), [rate]);
        let change = |path: &str, value: Value| {
            let mut other = closed();
            *other.pointer_mut(path).unwrap() = value;
            differ(closed(), other)
        };
        for (path, value, words) in [
            ("/connections", json!(77), "connections 2 → 77"),
            ("/timeout_ns", json!(500_000_000), "timeout 30s → 500ms"),
            ("/target/server", json!("http://h:2"), "server http://h:1 → http://h:2"),
            ("/target/database/keep", json!(true), "database keep no → yes"),
            ("/target/user", json!("ann"), "user none → ann"),
            ("/schemas/1/name", json!("c"), "schema 2 name b → c"),
            ("/stages/0/documents", json!(60), "bulk insert: docs 50 → 60"),
            ("/stages/1/length_ns", json!(null), "mixed: duration 10s → none"),
            ("/stages/1/operations", json!(900), "mixed: ops none → 900"),
            ("/stages/1/mix/read", json!(3), "mixed: mix read 1 → 3"),
            ("/stages/1/pace/think_ns", json!(2_000_000), "mixed: think nothing → 2ms"),
        ] {
            assert_eq!(change(path, value), [words], "{path}");
        }
        assert_eq!(differ(closed(), closed()), [""; 0]);
    }

    #[test]
    fn what_is_no_default_of_a_rate_is_named() {
        let usual = || plan(&open(&[[10, 500, 500]]), Some(10_000_000_000));
        for (path, value, words) in [
            ("schedule/arrivals", json!("poisson"), "mixed: arrivals nothing → poisson"),
            ("max_in_flight", json!(9), "mixed: max-in-flight nothing → 9"),
            ("slack_ns", json!(1_000), "mixed: slack nothing → 1us"),
        ] {
            let mut other = usual();
            *other.pointer_mut(&format!("/stages/1/pace/{path}")).unwrap() = value;
            assert_eq!(differ(usual(), other), [words]);
        }
        let year = open(&[[366 * 86_400, 500, 500]]);
        assert_eq!(differ(usual(), plan(&year, Some(10_000_000_000))), [""; 0]);
        let longer = open(&[[20, 500, 500]]);
        let rate = "mixed: rate 500/s → 20s:500";
        assert_eq!(differ(usual(), plan(&longer, Some(10_000_000_000))), [rate]);
        let thinking = plan(&json!({ "loop": "thinking", "most_ns": 1_000_000_000 }), None);
        let other = plan(&json!({ "loop": "closed", "think_ns": 0 }), None);
        assert_eq!(differ(other, thinking), ["mixed: delay nothing → up to 1s"]);
        // A pace of another version is listed as it is stored.
        let unknown = plan(&json!({ "loop": "spiral", "turns": 3 }), Some(10_000_000_000));
        let words = ["mixed: pace loop nothing → spiral", "mixed: pace turns nothing → 3"];
        let listed = differ(closed(), unknown);
        assert!(words.iter().all(|it| listed.contains(&(*it).to_owned())), "{listed:?}");
    }

    #[test]
    fn a_stage_that_only_one_plan_has_is_one_difference() {
        let mut audited = closed();
        let audit = json!({ "name": "audit", "workload": "audit", "length_ns": null,
            "pace": { "loop": "closed", "think_ns": 0 } });
        audited["stages"].as_array_mut().unwrap().push(audit);
        audited["audit"] = json!(true);
        let stages = "stages bulk insert, mixed → bulk insert, mixed, audit";
        assert_eq!(differ(closed(), audited), [stages, "audit nothing → yes"]);
    }
}
