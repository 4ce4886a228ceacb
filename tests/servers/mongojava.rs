//! mongo-java-server, another server of MongoDB's protocol, which stores data in an H2 file.

use std::net::TcpStream;
use std::path::Path;

use super::database::{Lease, Recipe, classpath, java, java_missing};
use super::ferretdb;
use super::process::Process;

/// Without a password. Acknowledged writes are in its file a second later.
pub(crate) fn mongojava() -> Option<Lease> {
    let command = |folder: &Path, ports: &[u16]| {
        let mut command = java(folder, &[], &classpath("mongojava"));
        command.args(["-Xmx256m", "Main", &ports[0].to_string()]).arg(folder.join("store"));
        command
    };
    let up = |_: &Process, ports: &[u16]| TcpStream::connect(("127.0.0.1", ports[0])).is_ok();
    // The client that inspects it is the one in Go.
    let missing = java_missing("mongojava").or_else(ferretdb::missing);
    Recipe { name: "mongo-java-server", missing, ports: 1, command, up }.lease()
}
