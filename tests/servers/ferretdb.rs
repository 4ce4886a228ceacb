//! A server of MongoDB's protocol that stores data in `SQLite` files, and MongoDB's own client.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::database::{Database, Lease, Recipe, output_of};
use super::process::Process;
use super::{here, write_certificates};

/// `FerretDB` without a password.
pub(crate) fn ferretdb() -> Option<Lease> {
    let missing = missing();
    let command = |folder: &Path, ports: &[u16]| {
        let mut command = Command::new(program());
        command.env("GOMEMLIMIT", "512MiB").arg("serve").arg(address(ports[0])).arg(folder);
        command
    };
    let up = |_: &Process, ports: &[u16]| TcpStream::connect(address(ports[0])).is_ok();
    Recipe { name: "FerretDB", missing, ports: 1, command, up }.lease()
}

/// `FerretDB` with TLS; `ca.pem` in its folder is its authority.
pub(crate) fn ferretdb_with_tls() -> Option<Lease> {
    let missing = missing();
    let command = |folder: &Path, ports: &[u16]| {
        write_certificates(folder);
        let mut command = Command::new(program());
        command.env("GOMEMLIMIT", "512MiB").arg("serve-tls").arg(address(ports[0])).arg(folder);
        command
    };
    let up = |_: &Process, ports: &[u16]| TcpStream::connect(address(ports[0])).is_ok();
    Recipe { name: "FerretDB-with-TLS", missing, ports: 1, command, up }.lease()
}

/// How to install it and its client, if they are not installed.
pub(super) fn missing() -> Option<&'static str> {
    (!program().exists()).then_some("install Go, and run make test-servers")
}

fn program() -> PathBuf {
    here().join("built/ferretdb/ferretdb")
}

fn address(port: u16) -> String {
    format!("127.0.0.1:{port}")
}

impl Database {
    /// Reads a collection with MongoDB's own client, and checks its values.
    #[track_caller]
    pub(crate) fn check_collection(&self, database: &str, collection: &str) -> String {
        self.ferretdb_client("check", database, collection, &[])
    }

    /// Runs a command of `tests/servers/ferretdb/main.go` on a collection.
    #[track_caller]
    pub(crate) fn ferretdb_client(
        &self,
        command: &str,
        database: &str,
        collection: &str,
        more: &[&str],
    ) -> String {
        let url = format!("mongodb://{}", address(self.port(0)));
        let mut client = Command::new(program());
        client.args([command, &url, database, collection]).args(more);
        output_of(client)
    }
}
