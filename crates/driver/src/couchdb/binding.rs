//! The binding `couchdb`, which YCSB itself never had.

use crate::properties::PropertyReader;
use crate::{Binding, Bound};
use serde_json::Map;
use url::Url;

pub(super) const BINDING: Binding = Binding {
    names: &["couchdb"],
    classes: &["db.CouchDbClient"],
    properties: &["couchdb.update", "couchdb.url"],
    flag: "-p couchdb.url",
    site: None,
    read,
};

fn read(read: &mut PropertyReader<'_>) -> Bound {
    let address = read.text("couchdb.url", "http://127.0.0.1:5984");
    if Url::parse(&address).is_ok_and(|url| !url.path().trim_matches('/').is_empty()) {
        read.wrong("couchdb.url", "names a database", "give it as -p table=NAME");
    }
    let cached = read.text("couchdb.update", "read");
    if !matches!(&cached[..], "read" | "cached") {
        read.wrong("couchdb.update", format!("{cached:?} is unknown"), "give read or cached");
    }
    let cached = (cached == "cached").then(|| ("cached_updates".to_owned(), true.into()));
    Bound { address: Some(address), options: Map::from_iter(cached), ..Bound::default() }
}
