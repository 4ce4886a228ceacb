//! A `CouchDB` response of arbitrary bytes: reading it never panics, and the fast paths read the
//! same as a JSON parser.
//!
//! An input is one byte (modulo 3: a write, a document, a bulk response) and the body. The
//! requested document is number 7 or, in a bulk response, numbers 7 to 9.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use springload::driver::couchdb::Revision;
use springload::driver::couchdb::answer::{document, rows, written};
use springload::op::Token;

const ID: &str = "7";
const NAMES: &[u8] = b"7\x008\x009";

fn revision(value: &Value) -> Option<Revision> {
    Revision::parse(value.as_str()?.as_bytes())
}

fuzz_target!(|data: &[u8]| {
    let Some((&what, body)) = data.split_first() else { return };
    // Skipped parts need not be UTF-8, or within the range of numbers.
    let well_formed = serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok();
    let json: Option<Value> = serde_json::from_slice(body).ok();
    match what % 3 {
        0 => {
            let Ok(read) = written(body, ID.as_bytes()) else { return };
            assert!(well_formed);
            let Some(json) = json else { return };
            assert_eq!((&json["id"], revision(&json["rev"])), (&ID.into(), Some(read)));
            assert_ne!(json.get("ok"), Some(&false.into()));
            assert!(json.get("error").is_none_or(Value::is_null));
        }
        1 => {
            let Ok(read) = document(body, ID.as_bytes()) else { return };
            assert!(well_formed);
            let Some(json) = json else { return };
            assert_eq!((&json["_id"], revision(&json["_rev"])), (&ID.into(), Some(read)));
        }
        _ => {
            let mut out = Vec::new();
            if rows(body, NAMES, &mut out).is_err() {
                return;
            }
            assert_eq!(out.len(), 3);
            assert!(well_formed);
            let Some(json) = json else { return };
            let elements = json.as_array().expect("what was read is an array");
            for (key, row) in (7..).zip(out) {
                let Ok(read) = row else { continue };
                let id = Value::from(u64::to_string(&key));
                let found = |it: &Value| {
                    it["id"] == id && revision(&it["rev"]).map(Token::from) == Some(read)
                };
                assert!(elements.iter().any(found), "{key}");
            }
        }
    }
});
