//! The behavior of CouchDB, tested on all available servers: always the stand-in, pouchdb-server if
//! it is installed, and the one named by `SPRINGLOAD_COUCHDB_URL`.

mod cases;
mod client;
mod faults;
#[path = "../servers/mod.rs"]
mod servers;
mod stand_in;

use std::panic::{AssertUnwindSafe, catch_unwind};

use cases::{CASES, POUCHDB_DIFFERENCES};
use servers::Server;
use springload::embedded::Options;

/// Runs all cases; those in `differences` must fail, all others must not.
#[track_caller]
fn conforms(server: &Server, differences: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (name, case) in CASES {
        let failed = catch_unwind(AssertUnwindSafe(|| case(server))).is_err();
        match (failed, differences.iter().find(|(known, _)| known == name)) {
            (true, None) => wrong.push(format!("{name}: failed, see above")),
            (false, Some((_, reason))) => {
                wrong.push(format!("{name}: listed as different ({reason}) but conforms"));
            }
            (true, Some(_)) | (false, None) => {}
        }
    }
    for (known, _) in differences {
        if !CASES.iter().any(|(name, _)| name == known) {
            wrong.push(format!("{known}: listed as different, but there is no such case"));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", server.name, wrong.join("\n"));
}

#[test]
fn the_stand_in_conforms() {
    conforms(&Server::stand_in(Options::default()), &[]);
}

#[test]
fn the_stand_in_conforms_with_an_admin_and_two_threads() {
    let admin = Some(("admin".to_owned(), "sec:ret".to_owned()));
    conforms(&Server::stand_in(Options { admin, threads: 2, ..Options::default() }), &[]);
}

#[test]
fn pouchdb_server_conforms_but_for_its_known_differences() {
    if let Some(server) = Server::pouchdb() {
        conforms(&server, POUCHDB_DIFFERENCES);
    }
}

#[test]
fn the_named_server_conforms() {
    if let Some(server) = Server::named() {
        conforms(&server, &[]);
    }
}
