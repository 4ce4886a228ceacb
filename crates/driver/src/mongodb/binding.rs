//! YCSB's binding `mongodb`.

use crate::properties::PropertyReader;
use crate::{Binding, Bound};
use serde_json::{Map, json};

pub(super) const BINDING: Binding = Binding {
    names: &["mongodb", "mongodb-async"],
    classes: &["db.MongoDbClient", "db.AsyncMongoDbClient"],
    properties: &["mongodb.binary", "mongodb.upsert", "mongodb.url"],
    flag: "-p mongodb.url",
    site: None,
    read,
};

/// YCSB has no `mongodb.binary`: its fields are always binary.
fn read(read: &mut PropertyReader<'_>) -> Bound {
    let address = read.text("mongodb.url", "mongodb://127.0.0.1:27017/ycsb?w=1");
    let (binary, upsert) = (read.flag("mongodb.binary", true), read.flag("mongodb.upsert", false));
    let own = [("binary".to_owned(), json!(binary)), ("upsert".to_owned(), json!(upsert))];
    Bound { address: Some(address), options: Map::from_iter(own), ..Bound::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties::Properties;

    #[test]
    fn fields_are_binary_unless_it_is_said() {
        let mut properties = Properties::default();
        let mut reader = PropertyReader::new(&properties);
        let bound = read(&mut reader);
        assert_eq!(bound.address.as_deref(), Some("mongodb://127.0.0.1:27017/ycsb?w=1"));
        assert_eq!(json!(bound.options), json!({"binary": true, "upsert": false}));
        for (name, value) in [
            ("mongodb.url", "mongodb://h/db"),
            ("mongodb.binary", "false"),
            ("mongodb.upsert", "true"),
        ] {
            properties.set(name, value);
        }
        let bound = read(&mut PropertyReader::new(&properties));
        assert_eq!(bound.address.as_deref(), Some("mongodb://h/db"));
        assert_eq!(json!(bound.options), json!({"binary": false, "upsert": true}));
    }
}
