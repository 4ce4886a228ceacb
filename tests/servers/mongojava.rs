//! mongo-java-server, another server of MongoDB's protocol, which keeps a file of H2's store.

use std::net::TcpStream;
use std::path::Path;

use super::database::{Lease, Recipe, classpath, java, java_missing};
use super::ferretdb;
use super::process::Process;

/// It asks for no password. What it has acknowledged is in its file a second later.
pub(crate) fn mongojava() -> Option<Lease> {
    let command = |folder: &Path, ports: &[u16]| {
        let mut command = java(folder, &[], &classpath("mongojava"));
        command.args(["-Xmx256m", "Main", &ports[0].to_string()]).arg(folder.join("store"));
        command
    };
    let up = |_: &Process, ports: &[u16]| TcpStream::connect(("127.0.0.1", ports[0])).is_ok();
    // The client that looks at it is that of Go.
    let missing = java_missing("mongojava").or_else(ferretdb::missing);
    Recipe { name: "mongo-java-server", missing, ports: 1, command, up }.lease()
}
