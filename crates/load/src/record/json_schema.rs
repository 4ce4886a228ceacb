//! The JSON Schema of `run.json`, generated from the types that it is written from. A test checks
//! that `docs/run.schema.json` matches it.

use super::{RunRecord, SCHEMA_VERSION};
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform as _};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

type Members = Map<String, Value>;

/// The description of the record as a whole.
const ABOUT: &str = "Everything that one run of springload recorded; docs/run-json.md explains it. \
    The end of a key is the unit of a time: _s seconds, _us microseconds, _ns nanoseconds. A key \
    that is not required is absent if its value would be null, false, 0 or the default.";
/// The description of a member that tells the alternatives apart.
const TAG: &str = "The name of the alternative.";

/// The schema of the records that this version writes, and of older ones of the same layout.
///
/// # Panics
/// Panics if the schema of a type is not an object.
pub fn json_schema() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<RunRecord>();
    let all = |schema: &mut Schema| schema.as_object_mut().map_or((), tidy);
    RecursiveTransform(all).transform(&mut schema);
    let root = schema.ensure_object();
    let parts = parts(root);
    close(root, false, &parts);
    let title = format!("springload run record, version {SCHEMA_VERSION}");
    root.insert("title".to_owned(), title.into());
    root.insert("description".to_owned(), ABOUT.into());
    serde_json::to_value(schema).expect("a schema is plain data")
}

/// Adds to one schema what applies to all of `run.json`, and words it for readers of the file.
fn tidy(schema: &mut Members) {
    if let Some(Value::String(words)) = schema.get_mut("description") {
        *words = plain(words);
    }
    bound(schema);
    let whole = schema.get("description").cloned();
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    let mut added = Vec::new();
    for (name, property) in properties {
        let Value::Object(property) = property else { continue };
        let optional = !required.iter().any(|it| it == name);
        if optional {
            fill(property);
        }
        name_nothing(property, if optional { "absent" } else { "null" });
        // Only members that older records lack have a default.
        if property.shift_remove("default").is_some() {
            added.push(name.clone());
        }
        // A member without a description of its own gets that of its object.
        let words = if property.contains_key("const") { Some(TAG.into()) } else { whole.clone() };
        if let Some(words) = words.filter(|_| !property.contains_key("description")) {
            property.insert("description".to_owned(), words);
        }
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| !added.iter().any(|it| name == it));
    }
}

/// Text without the markup of rustdoc, on one line.
fn plain(words: &str) -> String {
    let (mut text, mut rest) = (String::new(), words);
    while let Some((before, link)) = rest.split_once("[`") {
        let (name, after) = link.split_once("`]").unwrap_or((link, ""));
        let address = after.strip_prefix('(').and_then(|it| it.split_once(')'));
        rest = address.map_or(after, |(_, after)| after);
        text.extend([before, name]);
    }
    text.push_str(rest);
    text.replace('`', "").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Replaces Rust's `None` with what a record has instead.
fn name_nothing(property: &mut Members, nothing: &str) {
    let Some(Value::String(words)) = property.get_mut("description") else { return };
    let first = nothing[..1].to_uppercase() + &nothing[1..];
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let begun = line.replace(". `None`", &format!(". {first}"));
    let begun = begun.strip_prefix("`None`").map(|rest| first + rest).unwrap_or(begun);
    *words = begun.replace("`None`", nothing);
}

/// Removes the names of Rust's number types. Figures are not negative, unless their minimum is
/// null.
fn bound(schema: &mut Members) {
    let numeric = |it: &str| ["uint", "int", "double", "float"].iter().any(|n| it.starts_with(n));
    let Some(Value::String(format)) = schema.get("format") else { return };
    if !numeric(format) {
        return;
    }
    let float = !format.contains("int");
    schema.shift_remove("format");
    if float && schema.entry("minimum").or_insert_with(|| 0.into()).is_null() {
        schema.shift_remove("minimum");
    }
}

/// Excludes null, empty and 0 as values of a member that is left out in these cases.
fn fill(property: &mut Members) {
    let nullable = property.get("type").is_some_and(Value::is_array);
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|it| it != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            property.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(choices)) = property.get_mut("anyOf") {
        choices.retain(|it| it["type"] != "null");
        if let [Value::Object(only)] = &mut choices[..] {
            let only = std::mem::take(only);
            property.shift_remove("anyOf");
            only.into_iter().for_each(|(name, value)| _ = property.entry(name).or_insert(value));
        }
    }
    let least = match property.get("type").and_then(Value::as_str) {
        Some("array") => "minItems",
        Some("object") => "minProperties",
        Some("integer") if !nullable => "minimum",
        _ => return,
    };
    if property.get(least).is_none_or(|it| it == 0) {
        property.insert(least.to_owned(), 1.into());
    }
}

/// The subschemas of a schema, each with its keyword and, in a table, its name.
fn under(schema: &mut Members) -> Vec<(&str, &str, &mut Members)> {
    let mut all = Vec::new();
    for (keyword, value) in schema {
        match (keyword.as_str(), value) {
            ("properties" | "patternProperties" | "$defs", Value::Object(table)) => {
                let named = table.iter_mut();
                all.extend(named.map(|(name, it)| (keyword.as_str(), name.as_str(), it)));
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(list)) => {
                all.extend(list.iter_mut().map(|it| (keyword.as_str(), "", it)));
            }
            ("items" | "additionalProperties" | "propertyNames", one) => {
                all.push((keyword.as_str(), "", one));
            }
            _ => {}
        }
    }
    let objects = all.into_iter().filter_map(|(keyword, name, it)| match it {
        Value::Object(schema) => Some((keyword, name, schema)),
        _ => None,
    });
    objects.collect()
}

/// The types that others add members to: they cannot be closed where they are defined.
fn parts(schema: &mut Members) -> BTreeSet<String> {
    let adds = schema.contains_key("properties");
    let part = schema.get("$ref").and_then(Value::as_str).filter(|_| adds);
    let part = part.and_then(|it| it.strip_prefix("#/$defs/")).map(str::to_owned);
    let below = under(schema).into_iter().flat_map(|(_, _, it)| parts(it));
    below.chain(part).collect()
}

/// Refuses members that a schema does not list. A part is closed by the schema that includes it.
fn close(schema: &mut Members, part: bool, parts: &BTreeSet<String>) {
    let lists = schema.contains_key("properties");
    let refers = schema.get("$ref").and_then(Value::as_str);
    let opened = refers.is_some_and(|it| parts.contains(it.trim_start_matches("#/$defs/")));
    let consists = ["$ref", "allOf", "anyOf", "oneOf"].iter().any(|it| schema.contains_key(*it));
    if !part && (opened || lists && consists) {
        schema.insert("unevaluatedProperties".to_owned(), false.into());
    } else if !part && lists {
        schema.entry("additionalProperties").or_insert_with(|| false.into());
    }
    for (keyword, name, below) in under(schema) {
        let choice = ["allOf", "anyOf", "oneOf"].contains(&keyword);
        let is_part = choice && (part || lists) || keyword == "$defs" && parts.contains(name);
        close(below, is_part, parts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tidied(mut schema: Value) -> Value {
        tidy(schema.as_object_mut().expect("an object"));
        schema
    }

    #[test]
    fn words_are_those_of_readers_of_the_file() {
        assert_eq!(
            plain("See [`a::b`](crate::a)\n and [`C`]: `d` [0, 1]."),
            "See a::b and C: d [0, 1]."
        );
        let schema = tidied(json!({
            "properties": {
                "left": { "description": "How.\n`None`: none." },
                "there": { "description": "`None` if `None`" },
            },
            "required": ["there"],
        }));
        let words = |name: &str| schema["properties"][name]["description"].clone();
        assert_eq!([words("left"), words("there")], ["How. Absent: none.", "Null if null"]);
    }

    #[test]
    fn what_is_left_out_is_not_stored_as_nothing() {
        let schema = tidied(json!({
            "properties": {
                "count": { "type": "integer", "format": "uint64", "minimum": 0 },
                "share": { "type": ["number", "null"], "format": "double" },
                "span": { "anyOf": [{ "$ref": "#/$defs/Span" }, { "type": "null" }] },
                "later": { "type": ["integer", "null"], "default": null },
            },
            "required": ["later"],
        }));
        assert_eq!(schema["properties"]["count"]["minimum"], 1);
        assert_eq!(schema["properties"]["share"]["type"], "number");
        assert_eq!(schema["properties"]["span"], json!({ "$ref": "#/$defs/Span" }));
        assert_eq!(schema["properties"]["later"], json!({ "type": ["integer", "null"] }));
        assert_eq!(schema["required"], json!([]));
    }

    #[test]
    fn only_a_part_is_open_and_what_it_is_part_of_is_closed() {
        let mut schema = json!({
            "properties": { "a": { "$ref": "#/$defs/Part" } },
            "oneOf": [{ "$ref": "#/$defs/Part", "properties": { "kind": { "const": "b" } } }],
            "$defs": { "Part": { "properties": {} }, "Other": { "properties": {} } },
        });
        let root = schema.as_object_mut().expect("an object");
        let open = parts(root);
        close(root, false, &open);
        assert_eq!(schema["unevaluatedProperties"], false);
        assert_eq!(schema["oneOf"][0]["unevaluatedProperties"], Value::Null);
        assert_eq!(schema["properties"]["a"]["unevaluatedProperties"], false);
        assert_eq!(schema["$defs"]["Part"]["additionalProperties"], Value::Null);
        assert_eq!(schema["$defs"]["Other"]["additionalProperties"], false);
    }
}
