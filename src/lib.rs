//! springload: an honest benchmark and load tester for CouchDB and other document databases.

pub mod clock;
pub mod embedded;
pub mod engine;
pub mod generate;
pub mod measure;
pub mod op;
pub mod schema;
pub mod target;
pub mod workload;
