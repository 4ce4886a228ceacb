//! YCSB's command line names a Java class, which gets all of the given properties.

use crate::properties::PropertyReader;
use crate::{Binding, Bound};
use serde_json::{Map, Value};

/// See the module. The class is that of the property `db`.
pub(super) const BINDING: Binding = Binding {
    names: &["java"],
    classes: Binding::ANY_CLASS,
    properties: &[],
    flag: "BINDING",
    site: None,
    read,
};

/// A file to which the output of the binding is appended.
const LOG: &str = "springload.log";

fn read(read: &mut PropertyReader<'_>) -> Bound {
    let class = read.text("db", "");
    if class.is_empty() {
        let cure = "give java:CLASS, as in java:site.ycsb.BasicDB";
        read.wrong("db", "the class of the binding is missing", cure);
    }
    let mut properties: Map<String, Value> =
        read.all().iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    let mut options = Map::new();
    for (option, name) in
        [("class_path", Binding::CLASS_PATH), ("jvm_args", Binding::JVM_ARGUMENTS), ("log", LOG)]
    {
        options.extend(properties.remove(name).map(|value| (option.to_owned(), value)));
    }
    options.insert("properties".to_owned(), properties.into());
    Bound { address: Some(format!("ycsb-java:{class}")), options, ..Bound::default() }
}
