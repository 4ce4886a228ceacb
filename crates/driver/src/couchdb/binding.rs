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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties::Properties;

    /// What these properties mean; if some are wrong, which.
    fn bound(pairs: &[(&str, &str)]) -> Result<(String, bool), Vec<String>> {
        let mut properties = Properties::default();
        for (name, value) in pairs {
            properties.set(*name, *value);
        }
        let mut reader = PropertyReader::new(&properties);
        let Bound { address, options, .. } = read(&mut reader);
        let bound = reader.end((address.unwrap(), options.contains_key("cached_updates")));
        bound.map_err(|wrong| wrong.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn properties_name_the_server_and_how_updates_begin() {
        let local = "http://127.0.0.1:5984".to_owned();
        assert_eq!(bound(&[]), Ok((local.clone(), false)));
        assert_eq!(bound(&[("couchdb.update", "read")]), Ok((local.clone(), false)));
        assert_eq!(bound(&[("couchdb.update", "cached")]), Ok((local, true)));
        let named = [("couchdb.url", "http://h:1/")];
        assert_eq!(bound(&named), Ok(("http://h:1/".to_owned(), false)));
        for (wrong, says) in [
            (("couchdb.url", "http://h:1/db"), "couchdb.url: names a database; give it as -p "),
            (("couchdb.update", "blind"), "couchdb.update: \"blind\" is unknown; give read or"),
        ] {
            let errors = bound(&[wrong]).unwrap_err();
            assert!(errors.len() == 1 && errors[0].starts_with(says), "{errors:?}");
        }
    }
}
