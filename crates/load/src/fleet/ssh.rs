//! Agents on other machines, started over ssh, with their messages through its standard input and
//! output. A springload installed there is used if it has this version; otherwise this program is
//! copied.
//!
//! ssh's own settings decide who logs in, where, and with which key; it never asks for a password.

use super::Channel;
use super::pipe::{attach, ended, keep_end, last_line, last_words, spawn};
use crate::clock::{Clock, Nanos};
use crate::engine::Stop;
use crate::mistake::BadValue;
use ring::digest::{Context, SHA256};
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::str::FromStr;
use std::time::Duration;

/// No prompts, and an unreachable host is noticed. The user's own options come first, and take
/// precedence: <https://man.openbsd.org/ssh_config>.
const OPTIONS: [&str; 13] = [
    "-T",
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=10",
    "-o",
    "ServerAliveInterval=3",
    "-o",
    "ServerAliveCountMax=3",
    "-o",
    "ClearAllForwardings=yes",
    "-o",
    // A shared connection would outlive the run.
    "ControlMaster=no",
];
/// The version of this program, which agents must have.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The folder for copies, as a shell on the host reads it.
const CACHE: &str = "$HOME/.cache/springload";
/// The prefix of the lines that are looked for: anything else that a host prints on login is
/// ignored.
const MARK: &str = "springload: ";
/// How often to check whether a command has ended.
const LOOK: Duration = Duration::from_millis(20);
/// How many connections to a host are opened at once, and the pause before each further one:
/// servers refuse some if more than 10 have not logged in (`MaxStartups` of sshd).
const AT_ONCE: usize = 8;
const APART: Duration = Duration::from_millis(100);

/// The hosts of agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts(Vec<SshHost>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct SshHost {
    /// The name as passed to ssh.
    name: String,
    agents: usize,
}

/// Agents reached by ssh.
#[derive(Clone, Debug)]
pub struct Ssh {
    /// The program and its first arguments.
    words: Vec<String>,
    hosts: Hosts,
}

/// What to do on the hosts, and the deadline.
struct Errand<'a> {
    ssh: &'a Ssh,
    program: &'a Program,
    until: Nanos,
    stop: &'a Stop,
    notify: &'a (dyn Fn(&str) + Sync),
}

/// This program, to be copied.
struct Program {
    file: PathBuf,
    bytes: u64,
    /// Its name in the cache, which is unique to this program.
    name: String,
}

impl Hosts {
    /// The number of agents on all hosts.
    pub fn agents(&self) -> usize {
        self.0.iter().map(|host| host.agents).sum()
    }
}

impl FromStr for Hosts {
    type Err = BadValue;

    /// Parses `host,user@host:2,[2001:db8::1]:3`: hosts, each with its number of agents, by default
    /// one.
    fn from_str(text: &str) -> Result<Self, BadValue> {
        let mut all: Vec<SshHost> = Vec::new();
        for part in text.split(',').map(str::trim) {
            let host = SshHost::read(part)?;
            match all.iter_mut().find(|it| it.name == host.name) {
                Some(same) => same.agents = same.agents.saturating_add(host.agents),
                None => all.push(host),
            }
        }
        Ok(Self(all))
    }
}

impl fmt::Display for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = |SshHost { name, agents }: &SshHost| match agents {
            1 => name.clone(),
            more => format!("{name} ({more})"),
        };
        f.write_str(&self.0.iter().map(one).collect::<Vec<_>>().join(", "))
    }
}

impl SshHost {
    fn read(part: &str) -> Result<Self, BadValue> {
        let wrong =
            |problem: &str, cure: &str| Err(BadValue::new(format!("{part:?} {problem}"), cure));
        let (user, place) = part.rsplit_once('@').map_or(("", part), |(user, rest)| (user, rest));
        let (address, count) = match place.strip_prefix('[').and_then(|it| it.split_once(']')) {
            Some((address, "")) => (address, None),
            Some((address, after)) => (address, Some(after.strip_prefix(':').unwrap_or(after))),
            None if place.matches(':').count() > 1 => {
                return wrong("is not a host", "write an IPv6 address in brackets: [::1]:2");
            }
            None => place.split_once(':').map_or((place, None), |(name, it)| (name, Some(it))),
        };
        let odd = |c: char| c.is_whitespace() || c.is_control() || "[]'\"\\".contains(c);
        let is_word = |word: &str| !word.starts_with('-') && !word.contains(odd);
        // Text that begins with a dash would be an option of ssh's.
        if address.is_empty() || !is_word(address) || !is_word(user) || part.starts_with('@') {
            return wrong("is not a host", "give HOST, USER@HOST or HOST:N, with commas between");
        }
        let Some(agents) = count.map_or(Some(1), |it| it.parse().ok().filter(|it| *it > 0)) else {
            let cure = "after the colon comes how many agents it has; ssh's own settings, in \
                        ~/.ssh/config, say which port";
            return wrong("has no number of agents", cure);
        };
        let at = if user.is_empty() { "" } else { "@" };
        Ok(Self { name: format!("{user}{at}{address}"), agents })
    }
}

impl Ssh {
    /// Reaches these hosts by ssh: `words` are the program and its first arguments, at least one
    /// word.
    pub const fn new(words: Vec<String>, hosts: Hosts) -> Self {
        Self { words, hosts }
    }

    /// The hosts.
    pub const fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// Starts the agents of `run` on their hosts, once springload is there, and returns the
    /// coordinator's end. `notify` is called with what is copied.
    ///
    /// # Errors
    /// Returns the hosts that cannot be used, and the reasons.
    pub fn start(
        &self,
        run: &str,
        patience: Duration,
        stop: &Stop,
        notify: &(dyn Fn(&str) + Sync),
    ) -> Result<Channel, String> {
        let program = Program::own().map_err(|error| format!("cannot read itself: {error}"))?;
        let until = Clock::system().now() + patience.as_nanos() as Nanos;
        let errand = Errand { ssh: self, program: &program, until, stop, notify };
        let hosts = &self.hosts.0;
        let found: Vec<_> = std::thread::scope(|scope| {
            let all: Vec<_> = hosts.iter().map(|it| scope.spawn(|| errand.ready(it))).collect();
            let broken = || Err("its thread broke".to_owned());
            all.into_iter().map(|it| it.join().unwrap_or_else(|_| broken())).collect()
        });
        let named = hosts.iter().zip(&found);
        let wrong: Vec<_> = named
            .filter_map(|(host, found)| Some(format!("{}: {}", host.name, found.as_ref().err()?)))
            .collect();
        if !wrong.is_empty() {
            return Err(wrong.join("; "));
        }
        // Two hosts next to each other need not wait for each other.
        let places = hosts.iter().zip(found.into_iter().flatten());
        let agents = places
            .flat_map(|(host, there)| (0..host.agents).map(move |nth| (host, there.clone(), nth)));
        let commands = agents.enumerate().map(|(agent, (host, there, nth))| {
            if nth >= AT_ONCE {
                std::thread::sleep(APART);
            }
            let line = agents_line(&there, run, agent);
            let mut command = self.command(&host.name, &line);
            command.stderr(Stdio::piped());
            (command, format!("{}: ", host.name))
        });
        attach(commands).map_err(|error| self.unstarted(&error))
    }

    /// The command that has `host` carry out `line`.
    fn command(&self, host: &str, line: &str) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).args(OPTIONS).args([host, line]);
        command
    }

    fn unstarted(&self, error: &io::Error) -> String {
        let program = &self.words[0];
        format!(
            "cannot start {program}: {error}; install OpenSSH's client, or name another program \
             with --ssh"
        )
    }
}

/// The shell command that starts agent number `agent` on a host. A broker named in the environment
/// there must not be used.
fn agents_line(program: &str, run: &str, agent: usize) -> String {
    let run = run.replace('\'', r"'\''");
    format!("exec env SPRINGLOAD_BROKER= {program} agent --run '{run}' --index {agent}")
}

impl Errand<'_> {
    /// Makes sure that springload is on a host. Returns the command that starts it there.
    fn ready(&self, host: &SshHost) -> Result<String, String> {
        let name = &self.program.name;
        let copy = format!("\"{CACHE}/{name}\"");
        let script = format!(
            "test -x {copy} && echo \"{MARK}copied\"; \
             v=$(springload --version 2>/dev/null) && echo \"{MARK}version $v\"; \
             echo \"{MARK}system $(uname -sm)\""
        );
        let answer = self.ask(host, &script, None)?;
        let marked = |key: &str| {
            let lines = answer.lines().filter_map(|line| line.trim().strip_prefix(MARK));
            lines.filter_map(|line| line.strip_prefix(key)).next_back().map(str::trim)
        };
        if marked("copied").is_some() {
            return Ok(copy);
        }
        let version = marked("version");
        if version == Some(&format!("springload {VERSION}")) {
            return Ok("springload".to_owned());
        }
        let there = version.map_or("no springload", |it| it);
        let (system, own) = (marked("system").unwrap_or("an unknown system"), system());
        if system != own {
            return Err(format!(
                "there is {there}, and it is {system}, not {own}: this program cannot be copied; \
                 install springload {VERSION} there, where a command over ssh finds it"
            ));
        }
        let size = self.program.bytes.div_ceil(1_000_000);
        (self.notify)(&format!("{}: there is {there}: copying this one ({size} MB)", host.name));
        self.copy(host)?;
        Ok(copy)
    }

    /// Copies this program to a host, completely or not at all.
    fn copy(&self, host: &SshHost) -> Result<(), String> {
        let Program { bytes, name, file } = self.program;
        let script = format!(
            "d=\"{CACHE}\"; t=\"$d/{name}.$$.tmp\"; mkdir -p \"$d\" && cat > \"$t\" && {{ \
             test \"$(wc -c < \"$t\")\" -eq {bytes} || \
             {{ echo \"only a part arrived\" >&2; false; }}; }} && chmod 755 \"$t\" && \
             \"$t\" --version > /dev/null && mv \"$t\" \"$d/{name}\" || \
             {{ rm -f \"$t\"; exit 1; }}"
        );
        let file = File::open(file).map_err(|error| format!("cannot read itself: {error}"))?;
        self.ask(host, &script, Some(file)).map(drop).map_err(|why| {
            format!("cannot copy springload there: {why}; or install springload {VERSION} there")
        })
    }

    /// Runs a script on a host, and returns the end of its output.
    fn ask(&self, host: &SshHost, script: &str, input: Option<File>) -> Result<String, String> {
        let mut command = self.ssh.command(&host.name, &format!("exec sh -c '{script}'"));
        command.stdin(input.map_or_else(Stdio::null, Stdio::from));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = spawn(&mut command).map_err(|error| self.ssh.unstarted(&error))?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let (Some(stdout), Some(stderr)) = (stdout, stderr) else {
            return Err("ssh without output".to_owned());
        };
        let unread = |error: io::Error| format!("cannot read what ssh says: {error}");
        let said = keep_end(stdout).map_err(unread)?;
        let words = keep_end(stderr).map_err(unread)?;
        let status = self.wait(child);
        let line = last_line(&words);
        match status? {
            status if status.success() => Ok(last_words(&said)),
            // The status is ssh's own: it did not get as far as the command.
            status if status.code() == Some(255) => {
                let words = self.ssh.words.join(" ");
                let host = &host.name;
                Err(format!("{line}; make this work first: {words} -o BatchMode=yes {host} true"))
            }
            _ if !line.is_empty() => Err(line),
            status => Err(format!("the command there {}", ended(status))),
        }
    }

    /// Waits for the end of a command, but no longer than agents may take.
    fn wait(&self, mut child: Child) -> Result<ExitStatus, String> {
        let why = loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if self.stop.reason().is_some() => break "the run was stopped".to_owned(),
                Ok(None) if Clock::system().now() >= self.until => {
                    break "no answer in time (see --ready-timeout)".to_owned();
                }
                Ok(None) => std::thread::sleep(LOOK),
                Err(error) => break error.to_string(),
            }
        };
        let _ = child.kill();
        let _ = child.wait();
        Err(why)
    }
}

impl Program {
    /// This program.
    fn own() -> io::Result<Self> {
        let file = std::env::current_exe()?;
        let mut reader = File::open(&file)?;
        let (mut digest, mut piece, mut bytes) = (Context::new(&SHA256), vec![0; 1 << 16], 0);
        while let length @ 1.. = reader.read(&mut piece)? {
            digest.update(&piece[..length]);
            bytes += length as u64;
        }
        let digest = digest.finish();
        let hash = digest.as_ref()[..8].iter().map(|byte| format!("{byte:02x}"));
        let name = format!("springload-{VERSION}-{}", hash.collect::<String>());
        Ok(Self { file, bytes, name })
    }
}

/// This machine in the form of `uname -sm`.
fn system() -> String {
    let name = rustix::system::uname();
    format!("{} {}", name.sysname().to_string_lossy(), name.machine().to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_a_number_of_agents_or_one() {
        for (text, shown, agents) in [
            ("one", "one", 1),
            ("one,two:2", "one, two (2)", 3),
            ("ann@one:3", "ann@one (3)", 3),
            ("[::1]", "::1", 1),
            ("ann@[2001:db8::1]:2", "ann@2001:db8::1 (2)", 2),
            ("one, two ,one:2", "one (3), two", 4),
            ("10.0.0.1", "10.0.0.1", 1),
        ] {
            let hosts: Hosts = text.parse().unwrap();
            assert_eq!((hosts.to_string().as_str(), hosts.agents()), (shown, agents), "{text}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in [
            "",
            ",",
            "one,",
            "one:",
            "one:0",
            "one:x",
            "one:-1",
            "::1",
            "[::1",
            "[::1]x",
            "@one",
            "ann@",
            "-oProxyCommand=x",
            "ann@-x",
            "-x@one",
            "[-x]",
            "a b",
            "a'b",
        ] {
            let error = text.parse::<Hosts>().expect_err(text);
            assert!(error.problem.contains(' '), "{text}: {error}");
        }
    }

    #[test]
    fn a_run_is_one_word_whatever_its_name() {
        let line = agents_line("springload", "it's; rm", 3);
        let wanted = r"exec env SPRINGLOAD_BROKER= springload agent --run 'it'\''s; rm' --index 3";
        assert_eq!(line, wanted);
    }
}
