//! RabbitMQ: one for all tests of a binary, or one for a test that harms it.

use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use super::process::{Process, free_ports};
use super::{PATIENCE, absent, write_certificates};

/// The path in Debian's package; the `rabbitmq-server` in `PATH` requires a dedicated user.
const PROGRAM: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";
/// The user that may use springload's names, and nothing else.
pub(crate) const USER: &str = "ann@load";
/// The run that the next two users may take part in, in the virtual host `narrow`, ...
pub(crate) const NARROW: &str = "tuesday";
/// ... as its coordinator, ...
pub(crate) const COORDINATOR: &str = "coordinator";
/// ... and as its agents.
pub(crate) const AGENT: &str = "agent";
/// The password of all users.
pub(crate) const PASSWORD: &str = "s3cret:/?#";

/// A running broker.
pub(crate) struct RabbitMq {
    server: Process,
    /// The name server for its node, which is ended with it.
    _names: Process,
    ports: [u16; 2],
    epmd: u16,
}

/// Only the guard of its process ends it, with this binary.
static SHARED: Mutex<Option<&'static RabbitMq>> = Mutex::new(None);

impl RabbitMq {
    /// The broker shared by all tests of this binary, which must not harm it; `None`, with a
    /// message, if it is not installed.
    pub(crate) fn shared() -> Option<&'static Self> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.is_none() {
            *shared = Some(Box::leak(Box::new(Self::own()?)));
        }
        *shared
    }

    /// A broker for one test.
    pub(crate) fn own() -> Option<Self> {
        Self::with("")
    }

    /// A broker for one test, with lines of `rabbitmq.conf`.
    pub(crate) fn with(settings: &'static str) -> Option<Self> {
        if !Path::new(PROGRAM).exists() {
            absent("RabbitMQ", "install the package rabbitmq-server");
            return None;
        }
        // Another process may take a free port before it is used: try again.
        let started = (0..3).map(|_| start(settings)).find_map(Result::ok);
        Some(started.unwrap_or_else(|| start(settings).expect("RabbitMQ starts")))
    }

    /// Its address for [`USER`], without the password.
    pub(crate) fn url(&self) -> String {
        format!("amqp://ann%40load@127.0.0.1:{}/load%2Ftest", self.ports[0])
    }

    /// Its address with user and password.
    pub(crate) fn full_url(&self) -> String {
        self.url().replace("@127", ":s3cret%3A%2F%3F%23@127")
    }

    /// Its address for another user of the virtual host `narrow`.
    pub(crate) fn narrow_url(&self, user: &str) -> String {
        self.full_url().replace("ann%40load", user).replace("load%2Ftest", "narrow")
    }

    /// The same with TLS, with its authority trusted.
    pub(crate) fn tls_url(&self) -> String {
        format!("{}?cacertfile={}", self.strange_url(), self.file("ca.pem"))
    }

    /// The same with TLS, without its authority.
    pub(crate) fn strange_url(&self) -> String {
        let [plain, tls] = self.ports.map(|port| format!(":{port}/"));
        self.full_url().replace("amqp:", "amqps:").replace(&plain, &tls)
    }

    /// The port without TLS, and the one with it.
    pub(crate) fn ports(&self) -> [u16; 2] {
        self.ports
    }

    /// Its process ID, for `kill`.
    pub(crate) fn pid(&self) -> u32 {
        self.server.pid()
    }

    /// Kills it as `kill -9` does.
    pub(crate) fn kill(&mut self) {
        self.server.kill();
    }

    /// Starts it again after that, in the same folder.
    pub(crate) fn start_again(&mut self) {
        self.server.start_again().expect("it starts");
        let up = |process: &Process| process.output().contains("Server startup complete");
        self.server.until(PATIENCE, up).expect("it starts");
    }

    /// Closes the connection that is named after its queue.
    pub(crate) fn cut(&self, queue: &str) {
        let find = format!(
            "[rabbit_networking:close_connection(pget(pid, C), \"cut\") || \
             C <- rabbit_networking:connection_info_all([pid, client_properties]), \
             lists:keyfind(<<\"connection_name\">>, 1, pget(client_properties, C)) \
             == {{<<\"connection_name\">>, longstr, <<\"{queue}\">>}}]."
        );
        self.control(&["eval", &find.replace("pget(", "rabbit_misc:pget(")]);
    }

    /// Runs a command of `rabbitmqctl`.
    pub(crate) fn control(&self, words: &[&str]) {
        let folder = self.server.folder();
        let mut command = Command::new(PROGRAM.replace("-server", "ctl"));
        surroundings(&mut command, folder, self.epmd);
        command.args(words);
        let output = command.output().expect("rabbitmqctl runs");
        assert!(output.status.success(), "{words:?}: {output:?}");
    }

    fn file(&self, name: &str) -> String {
        self.server.folder().join(name).display().to_string()
    }
}

fn start(settings: &'static str) -> std::io::Result<RabbitMq> {
    let ports = free_ports(4)?;
    let [plain, tls, distribution, epmd] = ports[..] else { unreachable!("four ports") };
    // Without a name server, the broker would start one that outlives it.
    let mut names = Process::start(Box::new(move |_| {
        let mut command = Command::new("epmd");
        command.args(["-port", &epmd.to_string(), "-address", "127.0.0.1"]);
        command
    }))?;
    names.until(PATIENCE, |_| std::net::TcpStream::connect(("127.0.0.1", epmd)).is_ok())?;
    let mut server = Process::start(Box::new(move |folder| {
        write_settings(folder, plain, tls, settings);
        let mut command = Command::new(PROGRAM);
        surroundings(&mut command, folder, epmd);
        // With input allowed, the script becomes the server, which then has the known process ID.
        let arguments = "-noinput -kernel inet_dist_use_interface {127,0,0,1} +S 2:2 +sbwt none";
        command
            .env("RABBITMQ_ALLOW_INPUT", "1")
            .env("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", arguments)
            .env("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1")
            .env("RABBITMQ_DIST_PORT", distribution.to_string())
            .env("RABBITMQ_LOGS", "-")
            .env("RABBITMQ_MNESIA_BASE", folder.join("data"))
            .env("RABBITMQ_GENERATED_CONFIG_DIR", folder.join("generated"));
        command
    }))?;
    server.until(PATIENCE, |process| process.output().contains("Server startup complete"))?;
    Ok(RabbitMq { server, _names: names, ports: [plain, tls], epmd })
}

/// The environment shared by the server and `rabbitmqctl`.
fn surroundings(command: &mut Command, folder: &Path, epmd: u16) {
    command
        .env("HOME", folder)
        .env("ERL_EPMD_ADDRESS", "127.0.0.1")
        .env("ERL_EPMD_PORT", epmd.to_string())
        .env("RABBITMQ_NODENAME", "springload@localhost")
        .env("RABBITMQ_CONF_ENV_FILE", "/dev/null")
        .env("RABBITMQ_CONFIG_FILE", folder.join("rabbitmq.conf"))
        .env("RABBITMQ_ENABLED_PLUGINS_FILE", folder.join("plugins"))
        .env("RABBITMQ_LOG_BASE", folder.join("log"));
}

fn write_settings(folder: &Path, plain: u16, tls: u16, more: &str) {
    let write = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).expect("a file");
    };
    write("plugins", "[].");
    write_certificates(folder);
    let file = |name: &str| folder.join(name).display().to_string();
    let settings = format!(
        "listeners.tcp.1 = 127.0.0.1:{plain}\n\
         listeners.ssl.1 = 127.0.0.1:{tls}\n\
         ssl_options.cacertfile = {}\n\
         ssl_options.certfile = {}\n\
         ssl_options.keyfile = {}\n\
         load_definitions = {}\n\
         disk_free_limit.absolute = 1MB\n{more}\n",
        file("ca.pem"),
        file("server.pem"),
        file("key.pem"),
        file("definitions.json"),
    );
    write("rabbitmq.conf", &settings);
    // Only the permissions that docs/broker.md asks for.
    let (own, all) = ("^springload\\..*", "^(springload\\..*|amq\\.default)$");
    let run = format!("springload\\.{NARROW}\\.");
    let vhosts = ["load/test", "closed", "mute", "narrow"];
    let user = |name| serde_json::json!({ "name": name, "password": PASSWORD, "tags": [] });
    let definitions = serde_json::json!({
        "users": [user(USER), user(COORDINATOR), user(AGENT)],
        "vhosts": vhosts.map(|name| serde_json::json!({ "name": name })),
        "permissions": [
            { "user": USER, "vhost": "load/test", "configure": own, "write": all, "read": own },
            { "user": USER, "vhost": "mute", "configure": "", "write": "", "read": "" },
            {
                "user": COORDINATOR,
                "vhost": "narrow",
                "configure": format!("^{run}(up|down|hold)$"),
                "write": format!("^({run}(down|hold)|amq\\.default)$"),
                "read": format!("^{run}(up|down)$"),
            },
            {
                "user": AGENT,
                "vhost": "narrow",
                "configure": format!("^{run}(agent\\..*|down)$"),
                "write": format!("^({run}agent\\..*|amq\\.default)$"),
                "read": format!("^{run}(agent\\..*|down)$"),
            },
        ],
    });
    write("definitions.json", &definitions.to_string());
}
