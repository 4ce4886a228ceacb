//! A schema of arbitrary text: reading it never panics, and documents made from it are JSON with
//! exactly the names of the schema, in order.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use springload::schema::{Documents, Template};

fuzz_target!(|text: &str| {
    let Ok(template) = Template::parse(text) else { return };
    let mut names = vec!["_id".to_owned()];
    names.extend(template.entries().iter().map(|(name, _)| name.clone()));
    let documents = Documents::new(7, vec![(template, 1)]);
    for version in [0, 1, 3] {
        let mut document = Vec::new();
        documents.write(11, version, b"\"_id\":\"11\"", &mut document);
        let json: Value = serde_json::from_slice(&document).expect("a document is JSON");
        let object = json.as_object().expect("a document is an object");
        assert!(object.keys().eq(&names), "{names:?} {json}");
    }
});
