//! `docs/run.schema.json` matches the types, and records conform to it.

use serde_json::Value;

use super::{closed, fleet, not_sustained, the_blog, with_failures};
use springload::record::json_schema;
use std::collections::BTreeSet;

const STORED: &str = include_str!("../../docs/run.schema.json");
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/run.schema.json");

/// Whether this build has every driver, and so the whole schema.
fn is_whole() -> bool {
    cfg!(all(feature = "databases", feature = "ycsb-java"))
}

/// Each definition, each driver's plan, and the rest, as text.
fn parts(schema: &Value) -> BTreeSet<String> {
    let mut rest = schema.clone();
    let mut definitions = rest["$defs"].take();
    let plans = definitions["TargetPlan"]["oneOf"].take();
    let plans = plans.as_array().expect("plans").iter().map(Value::to_string);
    let definitions = definitions.as_object().expect("definitions");
    let definitions = definitions.iter().map(|(name, it)| format!("{name} {it}"));
    plans.chain(definitions).chain([rest.to_string()]).collect()
}

#[test]
fn the_schema_is_that_of_the_types() {
    let generated = json_schema();
    let text = format!("{generated:#}\n");
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        assert!(is_whole(), "some drivers are missing: add --all-features");
        std::fs::write(FILE, text).expect("docs/run.schema.json can be written");
        return;
    }
    let stored = serde_json::from_str(STORED).expect("JSON");
    let same =
        if is_whole() { text == STORED } else { parts(&generated).is_subset(&parts(&stored)) };
    assert!(
        same,
        "docs/run.schema.json is not what the types say: run \
         UPDATE_SCHEMA=1 cargo test --all-features --test reports schema to write it"
    );
}

#[test]
fn the_stored_record_keeps_the_schema_and_a_stray_key_does_not() {
    let schema: Value = serde_json::from_str(STORED).expect("JSON");
    jsonschema::meta::validate(&schema).expect("a JSON Schema");
    let schema = jsonschema::draft202012::new(&schema).expect("a JSON Schema");
    for record in [closed(), with_failures(), not_sustained(), the_blog(), fleet::lost()] {
        let value = serde_json::to_value(&record).expect("plain data");
        let wrong: Vec<_> = schema.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }
    let whole = serde_json::to_value(fleet::lost()).expect("plain data");
    for place in [
        "",
        "/plan",
        "/plan/target",
        "/plan/target/database",
        "/server",
        "/environment",
        "/stages/0",
        "/stages/0/load",
        "/stages/0/client",
        "/stages/0/verdict",
        "/stages/0/operations/0",
        "/stages/0/operations/0/service",
        "/stages/0/connections",
        "/stages/0/series/0",
        "/plan/stages/0",
        "/plan/stages/1/pace",
        "/plan/fleet",
        "/agents/0",
        "/agents/1/lost",
        "/stages/2/verdict",
        "/stages/2/agents/0",
        "/stages/2/agents/0/series/0",
    ] {
        let mut stray = whole.clone();
        let object = stray.pointer_mut(place).and_then(Value::as_object_mut);
        object.expect("an object").insert("stray".to_owned(), Value::Null);
        assert!(!schema.is_valid(&stray), "a stray key in {place:?} is not found");
    }
}

/// Every key of the schema has a description.
#[test]
fn every_key_of_the_schema_is_described() {
    fn walk(schema: &Value, place: &str, undescribed: &mut Vec<String>) {
        match schema {
            Value::Object(members) => {
                for (name, member) in members {
                    let place = format!("{place}/{name}");
                    if name == "properties" || name == "$defs" {
                        for (key, property) in member.as_object().expect("an object") {
                            if property["description"].as_str().is_none_or(str::is_empty) {
                                undescribed.push(format!("{place}/{key}"));
                            }
                        }
                    }
                    walk(member, &place, undescribed);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, place, undescribed)),
            _ => {}
        }
    }
    let schema = serde_json::from_str(STORED).expect("JSON");
    let mut undescribed = Vec::new();
    walk(&schema, "", &mut undescribed);
    assert!(undescribed.is_empty(), "{undescribed:?}");
}
