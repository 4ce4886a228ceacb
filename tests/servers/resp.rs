//! Servers that speak Redis' protocol, Redis itself and Infinispan, and Redis' own client.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::database::{Database, Lease, Recipe, classpath, java, java_missing, output_of};
use super::process::Process;
use super::write_certificates;

/// The password that servers with one ask for.
pub(crate) const PASSWORD: &str = "sec:ret";

/// Redis without a password.
pub(crate) fn redis() -> Option<Lease> {
    let recipe = Recipe { name: "Redis", missing: None, ports: 1, command: redis_command, up };
    Recipe { missing: redis_missing(), ..recipe }.lease()
}

/// Redis that asks for `PASSWORD`.
pub(crate) fn redis_with_password() -> Option<Lease> {
    let command = |folder: &Path, ports: &[u16]| {
        let mut command = redis_command(folder, ports);
        command.args(["--requirepass", PASSWORD]);
        command
    };
    let missing = redis_missing();
    Recipe { name: "Redis-with-a-password", missing, ports: 1, command, up }.lease()
}

/// Redis with TLS; `ca.pem` in its folder is its authority.
pub(crate) fn redis_with_tls() -> Option<Lease> {
    let command = |folder: &Path, ports: &[u16]| {
        write_certificates(folder);
        let mut command = redis_command(folder, ports);
        command.args(["--port", "0", "--tls-port", &ports[0].to_string()]);
        command.args(["--tls-auth-clients", "no", "--tls-cert-file", "server.pem"]);
        command.args(["--tls-key-file", "key.pem", "--tls-ca-cert-file", "ca.pem"]);
        // The files are in its folder.
        command.current_dir(folder);
        command
    };
    let missing = redis_missing();
    Recipe { name: "Redis-with-TLS", missing, ports: 1, command, up: listens }.lease()
}

/// Redis that appends acknowledged writes to a file, and takes long to load it.
pub(crate) fn redis_that_loads() -> Option<Lease> {
    let command = |folder: &Path, ports: &[u16]| {
        let mut command = redis_command(folder, ports);
        command.args(["--appendonly", "yes", "--appendfsync", "no"]);
        // Microseconds per key, and the bytes between two moments at which it answers meanwhile.
        command.args([
            "--key-load-delay",
            "100",
            "--loading-process-events-interval-bytes",
            "1024",
        ]);
        command
    };
    Recipe { name: "Redis-that-loads", missing: redis_missing(), ports: 1, command, up }.lease()
}

/// Infinispan's RESP endpoint.
pub(crate) fn infinispan() -> Option<Lease> {
    let command = |folder: &Path, ports: &[u16]| {
        let mut command = java(folder, &[], &classpath("infinispan"));
        command.args(["-Xmx512m", "Main"]).arg(ports[0].to_string());
        command
    };
    let missing = java_missing("infinispan");
    Recipe { name: "Infinispan", missing, ports: 1, command, up }.lease()
}

/// The same, asking for the user `ann` and `PASSWORD`.
pub(crate) fn infinispan_with_password() -> Option<Lease> {
    let command = |folder: &Path, ports: &[u16]| {
        let mut command = java(folder, &[], &classpath("infinispan"));
        command.args(["-Xmx512m", "Main", &ports[0].to_string(), "password", "ann", PASSWORD]);
        command
    };
    let missing = java_missing("infinispan");
    Recipe { name: "Infinispan-with-a-password", missing, ports: 1, command, up }.lease()
}

/// The same with TLS; `ca.pem` in its folder is its authority.
pub(crate) fn infinispan_with_tls() -> Option<Lease> {
    let command = |folder: &Path, ports: &[u16]| {
        write_certificates(folder);
        let mut command = java(folder, &[], &classpath("infinispan"));
        command.args(["-Xmx512m", "Main", &ports[0].to_string(), "tls"]).arg(folder);
        command
    };
    let missing = java_missing("infinispan");
    Recipe { name: "Infinispan-with-TLS", missing, ports: 1, command, up: listens }.lease()
}

pub(super) fn redis_missing() -> Option<&'static str> {
    let cure = "install redis-server, or redis-tools of Debian";
    let client = program("redis-cli");
    (client.is_none() || redis_program().is_none()).then_some(cure)
}

/// The path of Redis.
fn redis_program() -> Option<PathBuf> {
    // Debian's redis-tools contains the server under the name of its checker, without starting a
    // service.
    program("redis-server").or_else(|| program("redis-check-rdb"))
}

pub(super) fn redis_command(folder: &Path, ports: &[u16]) -> Command {
    let program = redis_program().expect("it is not missing");
    // It acts as the server if called by this name.
    let named = folder.join("redis-server");
    if !named.exists() {
        std::os::unix::fs::symlink(program, &named).expect("a link");
    }
    let mut command = Command::new(named);
    command
        .args(["--bind", "127.0.0.1", "--port", &ports[0].to_string(), "--daemonize", "no"])
        .args(["--save", "", "--appendonly", "no", "--maxmemory", "512mb"])
        .arg("--dir")
        .arg(folder);
    command
}

/// A program in `PATH`.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn listens(_: &Process, ports: &[u16]) -> bool {
    TcpStream::connect(("127.0.0.1", ports[0])).is_ok()
}

fn up(_: &Process, ports: &[u16]) -> bool {
    let ask = || {
        let mut stream = TcpStream::connect(("127.0.0.1", ports[0]))?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(b"*1\r\n$4\r\nPING\r\n")?;
        // A demand for a password is a response, too.
        stream.read_exact(&mut [0; 1])
    };
    ask().is_ok()
}

impl Database {
    /// Runs Redis' own client.
    #[track_caller]
    pub(crate) fn redis_cli(&self, words: &[&str]) -> String {
        let mut command = Command::new("redis-cli");
        command.args(["-e", "-p", &self.port(0).to_string()]).args(words);
        output_of(command).trim_end().to_owned()
    }

    /// The same, with commands on its standard input.
    #[track_caller]
    pub(crate) fn redis_script(&self, commands: &str) -> String {
        let file = self.folder().join("commands");
        std::fs::write(&file, commands).expect("a file");
        let mut command = Command::new("redis-cli");
        command.args(["-e", "-p", &self.port(0).to_string()]);
        command.stdin(File::open(file).expect("a file"));
        output_of(command)
    }
}
