//! Secondary indexes: how an address spells them, and whether the collection has them.

use super::Mongo;
use crate::TargetError;
use crate::address::decoded;
use crate::library::CallError;
use ::mongodb::bson::{Bson, Document, doc};

/// The most indexes in a collection of MongoDB, besides that of `_id`, and the most fields in each.
const MOST: usize = 63;
const MOST_FIELDS: usize = 32;

/// Reads the fields of an index in the order of its keys, as written in an address: `field,-other`.
pub(super) fn read(value: &str, before: &[String]) -> Result<String, String> {
    let mut spelled = Vec::new();
    for part in value.split(',').map(decoded) {
        let field = part.strip_prefix('-').unwrap_or(&part);
        let is_name = |it: &str| !it.is_empty() && !it.starts_with('$');
        if !field.split('.').all(is_name) || field.contains(['\0', ',']) || field == "_id" {
            return Err(format!("index of {field:?}, which is no field to be indexed,"));
        }
        if spelled.iter().any(|it: &String| it.trim_start_matches('-') == field) {
            return Err(format!("index with {field:?} twice"));
        }
        spelled.push(part);
    }
    let spelled = spelled.join(",");
    if spelled.split(',').count() > MOST_FIELDS {
        return Err(format!("index of more than {MOST_FIELDS} fields"));
    }
    if before.len() == MOST || before.contains(&spelled) {
        return Err(format!("index twice, or more than {MOST},"));
    }
    Ok(spelled)
}

/// The keys of an index: 1 for ascending, -1 for descending.
fn keys(index: &str) -> Document {
    let key = |field: &str| match field.strip_prefix('-') {
        Some(field) => (field.to_owned(), Bson::Int32(-1)),
        None => (field.to_owned(), Bson::Int32(1)),
    };
    index.split(',').map(key).collect()
}

/// The name that MongoDB's shell would give it.
fn name(keys: &Document) -> String {
    let parts = keys.iter().map(|(field, order)| format!("{field}_{order}"));
    parts.collect::<Vec<_>>().join("_")
}

/// Creates these indexes in a collection that was just created.
pub(super) async fn create(mongo: &Mongo, indexes: &[String]) -> Result<(), CallError> {
    let index = |it: &String| {
        let key = keys(it);
        let name = name(&key);
        Bson::Document(doc! {"key": key, "name": name})
    };
    let indexes: Vec<Bson> = indexes.iter().map(index).collect();
    mongo.command(doc! {"createIndexes": &mongo.collection, "indexes": indexes}).await.map(|_| ())
}

/// Checks that the collection has these indexes, whoever created them.
///
/// # Errors
/// Fails if it lacks one, with advice.
pub(super) async fn there(mongo: &Mongo, indexes: &[String]) -> Result<(), TargetError> {
    let Mongo { database, collection, .. } = mongo;
    let listed = mongo.command(doc! {"listIndexes": collection}).await;
    let listed = listed.map_err(|trouble| {
        TargetError(format!("no indexes of {database}.{collection}: {}", trouble.reason))
    })?;
    let found = all_keys(&listed);
    let is_missing = |index: &&String| !found.contains(&spelled(&keys(index)));
    let Some(missing) = indexes.iter().find(is_missing) else { return Ok(()) };
    Err(TargetError(format!(
        "collection {database}.{collection} has no index {missing}; create it first \
         (db.getCollection({collection:?}).createIndex({}) in {database}), or leave out \
         index={missing}",
        keys(missing)
    )))
}

/// The keys of each index in the answer to `listIndexes`.
fn all_keys(listed: &Document) -> Vec<Vec<(String, i64)>> {
    let batch = listed.get_document("cursor").and_then(|it| it.get_array("firstBatch"));
    let batch = batch.into_iter().flatten().filter_map(Bson::as_document);
    batch.filter_map(|it| it.get_document("key").ok()).map(spelled).collect()
}

/// Fields with their orders, which servers return as numbers of any type. An index of another kind,
/// such as `text`, has no order.
fn spelled(keys: &Document) -> Vec<(String, i64)> {
    let order = |order: &Bson| match order {
        Bson::Int32(order) => i64::from(*order),
        Bson::Int64(order) => *order,
        Bson::Double(order) => *order as i64,
        _ => 0,
    };
    keys.iter().map(|(field, it)| (field.clone(), order(it))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_spelled_by_its_fields() {
        assert_eq!(read("city,-age", &[]), Ok("city,-age".to_owned()));
        assert_eq!(read("a%2Eb", &[]), Ok("a.b".to_owned()));
        let key = keys("city,-address.zip");
        assert_eq!(key, doc! {"city": 1, "address.zip": -1});
        assert_eq!(name(&key), "city_1_address.zip_-1");
        let many: Vec<String> = (0..33).map(|it| format!("f{it}")).collect();
        for (wrong, says) in [
            ("", "no field to be indexed"),
            ("a,,b", "no field to be indexed"),
            ("-", "no field to be indexed"),
            ("$where", "no field to be indexed"),
            ("a..b", "no field to be indexed"),
            ("_id", "no field to be indexed"),
            ("a,-a", "with \"a\" twice"),
            (&many.join(","), "more than 32 fields"),
        ] {
            let found = read(wrong, &[]).unwrap_err();
            assert!(found.contains(says), "{wrong}: {found}");
        }
        assert!(read("a", &["a".to_owned()]).is_err());
        assert!(
            read("a", &many[..32]).is_ok()
                && read("a", &[&many[..], &many].concat()[..63]).is_err()
        );
    }

    #[test]
    fn an_index_is_known_by_its_keys_and_their_order() {
        let listed = doc! {"cursor": {"firstBatch": [
            {"key": {"_id": 1}, "name": "_id_"},
            {"key": {"a": 1_i64, "b": -1.0}, "name": "whatever"},
            {"key": {"c": "text"}},
            {"name": "no keys"},
        ]}};
        let found = all_keys(&listed);
        assert!(found.contains(&spelled(&keys("a,-b"))));
        for other in ["a", "a,b", "-b,a", "c"] {
            assert!(!found.contains(&spelled(&keys(other))), "{other}");
        }
    }
}
