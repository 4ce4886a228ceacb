//! YCSB's core with its `BasicDB`, and a test binding with odd behavior.

use super::absent;
use super::database::{classpath, java_missing};

/// The class path of both; `None`, with a message, if they are not installed.
pub(crate) fn class_path() -> Option<String> {
    match java_missing("ycsb") {
        Some(cure) => {
            absent("ycsb-java", cure);
            None
        }
        None => Some(classpath("ycsb")),
    }
}
