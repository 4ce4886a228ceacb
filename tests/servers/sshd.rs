//! sshd for the user of the tests, with a key for each kind of host that tests need.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::process::{Process, free_ports};
use super::{PATIENCE, absent};

/// The path in Debian's package; sshd requires an absolute one.
const PROGRAM: &str = "/usr/sbin/sshd";
/// The hosts. `one` and `two` have the program under test, the others something else in its place.
const HOSTS: [&str; 6] = ["one", "two", "bare", "older", "other", "full"];

/// A server with several names, each for one host.
pub(crate) struct Sshd {
    server: Process,
    port: u16,
}

impl Sshd {
    /// Starts one; `None`, with a message, if it is not installed. Its hosts `one` and `two` have
    /// `program`.
    pub(crate) fn start(program: &Path) -> Option<Self> {
        if !Path::new(PROGRAM).exists() {
            absent("sshd", "install the package openssh-server");
            return None;
        }
        // As root it needs the folder that a service would create.
        let _ = std::fs::create_dir_all("/run/sshd");
        let binaries = program.parent().expect("a folder").to_owned();
        let start = || {
            let port = free_ports(1)?[0];
            let binaries = binaries.clone();
            let mut server = Process::start(Box::new(move |folder| {
                write_settings(folder, &binaries, port);
                let mut command = Command::new(PROGRAM);
                command.args(["-D", "-e", "-f"]).arg(folder.join("sshd_config"));
                command
            }))?;
            server.until(PATIENCE, |process| process.output().contains("Server listening"))?;
            Ok::<_, std::io::Error>(Self { server, port })
        };
        // Another process may take a free port before it is used: try again.
        let started = (0..3).find_map(|_| start().ok());
        Some(started.unwrap_or_else(|| start().expect("sshd starts")))
    }

    /// `ssh` with settings for its hosts: [`HOSTS`]; `closed`, without a listener; `stranger`, with
    /// a different key; and `keyless`, which does not know the user.
    pub(crate) fn ssh(&self) -> String {
        format!("ssh -F {}", self.server.folder().join("ssh_config").display())
    }

    /// The home of the user on a host.
    pub(crate) fn home(&self, host: &str) -> PathBuf {
        self.server.folder().join(host)
    }

    /// Its port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

fn write_settings(folder: &Path, binaries: &Path, port: u16) {
    let write = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).expect("a file");
    };
    let file = |name: &str| folder.join(name).display().to_string();
    let key = |name: &str| {
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"])
            .arg(folder.join(name))
            .status();
        assert!(made.expect("ssh-keygen runs").success());
        std::fs::read_to_string(folder.join(format!("{name}.pub"))).expect("a key")
    };
    let script = |host: &str, name: &str, text: &str| {
        let path = folder.join(host).join("bin").join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a file");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(path, mode).expect("its mode");
    };
    let servers = key("host_key");
    write("known_hosts", &format!("[127.0.0.1]:{port} {servers}"));
    write("strange_hosts", &format!("[127.0.0.1]:{port} {}", key("strange_key")));
    key("unknown");
    let authorized = HOSTS.map(|host| {
        std::fs::create_dir_all(folder.join(host).join("bin")).expect("a folder");
        let home = file(host);
        let more = match host {
            "one" | "two" => format!(":{}", binaries.display()),
            _ => String::new(),
        };
        // Files are limited to 8 blocks.
        let small = r#",command="trap '' XFSZ; ulimit -f 8; sh -c \"$SSH_ORIGINAL_COMMAND\"""#;
        let small = if host == "full" { small } else { "" };
        let path = format!("{home}/bin{more}:/usr/bin:/bin");
        let environment = format!("environment=\"HOME={home}\",environment=\"PATH={path}\"");
        // Agents that are started over ssh have no broker, whatever the host's environment.
        let environment = format!("{environment},environment=\"SPRINGLOAD_BROKER=amqp://broker\"");
        format!("{environment}{small} {}", key(&format!("key_{host}")))
    });
    script("older", "springload", "echo springload 0.0.9");
    script("other", "uname", "echo Plan9 mips");
    write("authorized_keys", &authorized.concat());
    let settings = format!(
        "ListenAddress 127.0.0.1:{port}\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\n\
         UsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPidFile none\n\
         PermitRootLogin prohibit-password\nPermitUserEnvironment yes\n",
        file("host_key"),
        file("authorized_keys"),
    );
    write("sshd_config", &settings);
    let host = |name: &str, more: &str| format!("Host {name}\n{more}");
    let of_user =
        |name: &str| host(name, &format!("  IdentityFile {}\n", file(&format!("key_{name}"))));
    let mut client: String = HOSTS.into_iter().map(of_user).collect();
    client += &host("keyless", &format!("  IdentityFile {}\n", file("unknown")));
    client += &host("stranger", &format!("  UserKnownHostsFile {}\n", file("strange_hosts")));
    // Nothing listens on this port, which is reserved for root.
    client += &host("closed", "  Port 1\n");
    client += &host(
        "* !nowhere.invalid",
        &format!(
            "  HostName 127.0.0.1\n  Port {port}\n  IdentitiesOnly yes\n  IdentityAgent none\n  \
             UserKnownHostsFile {}\n  GlobalKnownHostsFile /dev/null\n  \
             StrictHostKeyChecking yes\n",
            file("known_hosts")
        ),
    );
    write("ssh_config", &client);
}
