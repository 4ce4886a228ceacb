//! Who logs in to the target, and with which password: the only place that decides this.
//!
//! Any user of a machine can list the command lines of its processes, so a password can be given in
//! other ways: in a file, the environment or a netrc. A flag takes precedence over the target, the
//! target over the environment, and the environment over a netrc.

use crate::cli::flags::address::{Address, Login, login_of};
use crate::cli::flags::bearer::BearerArgs;
use crate::cli::flags::netrc::of_netrc;
use crate::cli::flags::target::Named;
use crate::cli::flags::variable;
use crate::cli::secrets::strike_password;
use crate::driver::TargetPlan;
use crate::files;
use crate::plan::Invalid;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use serde_json::Value;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The variable with the user, if the target names none.
const USER_VARIABLE: &str = "SPRINGLOAD_USER";
/// The variable with the password of that user, or of the user in the target.
pub(super) const PASSWORD_VARIABLE: &str = "SPRINGLOAD_PASSWORD";
/// The longest password, in bytes.
const MOST_BYTES: u64 = 1 << 20;
/// How long a program that writes the password to a pipe may itself prompt the user, in seconds.
const PROMPT_S: i64 = 120;

/// A file rather than a value, because process lists show command lines.
const PASSWORD_HELP: &str = "A file containing the password for the target, or - for stdin \
    [default: the variable SPRINGLOAD_PASSWORD, for the user in SPRINGLOAD_USER or the target]";

/// Flags about credentials.
#[derive(Clone, Debug, Default, clap::Args)]
pub(in crate::cli) struct CredentialArgs {
    /// The user to log in as
    ///
    /// The user to log in as. On a terminal, springload prompts for the password if none is set. A
    /// password given here is visible to other users of this machine
    #[arg(short, long, value_name = "USER[:PASSWORD]")]
    user: Option<String>,
    #[arg(long, value_name = "FILE", help = PASSWORD_HELP)]
    password_file: Option<PathBuf>,
    /// What was read from there: stdin or a pipe can only be read once.
    #[arg(skip)]
    password_read: OnceLock<String>,
    /// Look up a missing user or password in ~/.netrc, or in the file named by NETRC
    #[arg(long)]
    netrc: bool,
    #[command(flatten)]
    bearer: BearerArgs,
}

/// The servers of a run, and the headers of every request to them.
#[derive(Clone, Default)]
pub(in crate::cli) struct Servers {
    /// The address of each node, with the credentials that belong to it.
    pub(in crate::cli) targets: Vec<String>,
    /// The same without passwords.
    pub(in crate::cli) shown: Vec<String>,
    /// The headers, including the token's.
    pub(in crate::cli) headers: Vec<String>,
}

/// Finds the entry of a user, or of any user, in the netrc, if that is used.
type Finder<'a> = dyn Fn(Option<&str>) -> Result<Option<Login>, Invalid> + 'a;

struct Sources<'a> {
    flags: Login,
    target: Login,
    environment: Login,
    netrc: &'a Finder<'a>,
}

impl Sources<'_> {
    /// User and password, each from the first source that has it. A password from the environment
    /// is only used for the environment's user.
    fn choose(self) -> Result<Login, Invalid> {
        let Self { flags, target, environment, netrc } = self;
        let user = flags.user.clone().or_else(|| target.user.clone());
        let own = environment.user.is_none() || user.is_none() || user == environment.user;
        let user = user.or(environment.user);
        let of_target =
            target.password.filter(|_| flags.user.is_none() || flags.user == target.user);
        let password = flags.password.or(of_target).or(environment.password.filter(|_| own));
        if password.is_some() {
            return Ok(Login { user, password });
        }
        let found = netrc(user.as_deref())?.unwrap_or_default();
        Ok(Login { user: user.or(found.user), password: found.password })
    }
}

impl CredentialArgs {
    /// The flag that was given, if any.
    fn given(&self) -> Option<&'static str> {
        match (&self.user, &self.password_file, self.netrc) {
            (Some(_), ..) => Some("--user"),
            (None, Some(_), _) => Some("--password-file"),
            (None, None, true) => Some("--netrc"),
            (None, None, false) => self.bearer.is_given().then_some("--bearer-file"),
        }
    }

    /// Whether flags name a user or have a password.
    pub(super) const fn is_given_login(&self) -> bool {
        self.password_file.is_some() || self.user.is_some()
    }

    /// Refuses to read the password from stdin if stdin is read for something else.
    pub(in crate::cli) fn keep_stdin(&self) -> Result<(), Invalid> {
        if self.password_file.as_deref() == Some(Path::new("-")) {
            let problem = "stdin is already used for the commands";
            return Err(Invalid::new("--password-file", problem, "name a file"));
        }
        Ok(())
    }

    /// The target with its credentials.
    ///
    /// # Errors
    /// Fails if the credentials are invalid or cannot be read.
    pub(in crate::cli) fn apply(&self, named: &Named) -> Result<Option<String>, Invalid> {
        let address = named.address.as_deref();
        let Some(parts) = address.and_then(Address::of) else {
            if let Some(flag) = self.given() {
                let problem = "there is no server to log in to";
                return Err(Invalid::new(flag, problem, "name one, or leave it out"));
            }
            return Ok(named.address.clone());
        };
        let login = self.login(parts.login(), parts)?;
        Ok(Some(parts.with(&login)))
    }

    /// The named servers with their credentials, and with `headers` and the token's header.
    ///
    /// # Errors
    /// Fails if the credentials are invalid or cannot be read.
    pub(in crate::cli) fn servers(
        &self,
        named: &Named,
        headers: Vec<String>,
    ) -> Result<Servers, Invalid> {
        let targets = self.apply_all(named)?;
        let headers = self.with_token(targets.first().map(String::as_str), headers)?;
        let shown = named.address.iter().chain(&named.nodes);
        let shown = shown.map(|it| strike_password(it)).collect();
        Ok(Servers { targets, shown, headers })
    }

    /// The same for servers that are not nodes of one cluster: who logs in to one of them by its
    /// address does not log in to the others. A server that is named again is the same one.
    ///
    /// # Errors
    /// Fails if the credentials are invalid or cannot be read.
    pub(in crate::cli) fn servers_apart(
        &self,
        named: &Named,
        headers: Vec<String>,
    ) -> Result<Servers, Invalid> {
        let alone = Named { nodes: Vec::new(), ..named.clone() };
        let mut servers = self.servers(&alone, headers)?;
        let Some(first) = servers.targets.first().map(|it| login_of(it)) else {
            return Ok(servers);
        };
        // The file may be a pipe, which can only be read once.
        let flags = match &self.password_file {
            Some(_) => Login { user: self.user.clone(), password: first.password },
            None => self.of_flags()?,
        };
        for address in &named.nodes {
            let before = |parts: Address<'_>| {
                let is_same = |it: &&String| {
                    Address::of(it).is_some_and(|other| other.is_same_server(&parts))
                };
                servers.targets.iter().find(is_same).map(|it| login_of(it))
            };
            let target = match Address::of(address).map(|parts| (parts, before(parts))) {
                Some((_, Some(same))) => self.apply_to(address, &same)?,
                Some((parts, None)) => {
                    parts.with(&self.chosen(flags.clone(), parts.login(), parts)?)
                }
                None => address.clone(),
            };
            servers.targets.push(target);
            servers.shown.push(strike_password(address));
        }
        Ok(servers)
    }

    /// The headers of every request to `target`, which already has its credentials: `headers`, and
    /// the token's.
    ///
    /// # Errors
    /// Fails if the token is invalid or cannot be read.
    pub(in crate::cli) fn with_token(
        &self,
        target: Option<&str>,
        mut headers: Vec<String>,
    ) -> Result<Vec<String>, Invalid> {
        if let Some(parts) = target.and_then(Address::of) {
            let user = parts.login() != Login::default();
            headers.extend(self.bearer.header(user, parts.wants_user())?);
        }
        Ok(headers)
    }

    /// The token's header for the servers in a list.
    ///
    /// # Errors
    /// Fails if the token is invalid or cannot be read.
    pub(in crate::cli) fn token_of_list(&self) -> Result<Option<String>, Invalid> {
        let user = self.user.is_some() || variable(USER_VARIABLE).is_some();
        self.bearer.header(user, true)
    }

    /// The target and the other nodes, each with its credentials.
    ///
    /// # Errors
    /// Fails if the credentials are invalid or cannot be read.
    fn apply_all(&self, named: &Named) -> Result<Vec<String>, Invalid> {
        let address = self.apply(named)?;
        address.map_or_else(|| Ok(Vec::new()), |first| self.with_nodes(first, &named.nodes))
    }

    /// The `first` address, which has its credentials, and the other nodes with theirs.
    fn with_nodes(&self, first: String, nodes: &[String]) -> Result<Vec<String>, Invalid> {
        let login = login_of(&first);
        let nodes = nodes.iter().map(|node| self.apply_to(node, &login));
        std::iter::once(Ok(first)).chain(nodes).collect()
    }

    /// The address of another node. The credentials of the `first` apply if it does not have its
    /// own.
    fn apply_to(&self, node: &str, first: &Login) -> Result<String, Invalid> {
        let Some(parts) = Address::of(node) else { return Ok(node.to_owned()) };
        let own = parts.login();
        let shared = own.user.is_none() || own.user == first.user;
        let login = if self.user.is_some() || shared && own.password.is_none() {
            first.clone()
        } else if self.password_file.is_some() {
            Login { password: first.password.clone(), ..own }
        } else {
            self.login(own, parts)?
        };
        Ok(parts.with(&login))
    }

    /// `address` with the user who logged in to that server in an earlier run, if there is a
    /// password now and nobody else is named. Other servers are not sent that password.
    pub(in crate::cli) fn as_recorded(&self, address: &str, recorded: &TargetPlan) -> String {
        let named = self.user.is_some() || variable(USER_VARIABLE).is_some();
        let password = self.password_file.is_some() || variable(PASSWORD_VARIABLE).is_some();
        let parts = Address::of(address).filter(|parts| parts.login() == Login::default());
        let Some(parts) = parts.filter(|_| password && !named) else { return address.to_owned() };
        let recorded = serde_json::to_value(recorded).unwrap_or_default();
        let nodes = recorded["nodes"].as_array().into_iter().flatten();
        let node = std::iter::once(&recorded).chain(nodes).find(|node| {
            let own = node["server"].as_str().and_then(Address::of);
            own.is_some_and(|own| own.is_same_server(&parts))
        });
        let user = node.and_then(|node| node["user"].as_str()).map(str::to_owned);
        parts.with(&Login { user, password: None })
    }

    /// Completes a target that was stored in JSON.
    ///
    /// # Errors
    /// Fails if the credentials are invalid or cannot be read.
    pub(in crate::cli) fn log_in(&self, target: &mut Value) -> Result<(), Invalid> {
        let text = |target: &Value, name: &str| target[name].as_str().map(str::to_owned);
        let address = text(target, "server");
        let parts = address.as_deref().and_then(Address::of);
        let (Some(parts), Some(_)) = (parts, target.get("user")) else {
            let list = target["driver"] == "http";
            return match self.given().filter(|&flag| !list || flag == "--bearer-file") {
                Some(flag) => {
                    let problem = "the plan has no server to log in to";
                    Err(Invalid::new(flag, problem, "leave it out"))
                }
                None => Ok(()),
            };
        };
        let stored = Login { user: text(target, "user"), password: None };
        let Login { user, password } = self.login(stored, parts)?;
        if let Some(token) = self.bearer.header(user.is_some(), parts.wants_user())? {
            let own = target["headers"].as_array().cloned().unwrap_or_default();
            let named = |it: &Value| it.as_str().is_some_and(|it| it.starts_with("Authorization:"));
            let others = own.into_iter().filter(|it| !named(it));
            target["headers"] = others.chain([token.into()]).collect();
        }
        let first = Login { user, password };
        for (name, value) in [("user", &first.user), ("password", &first.password)] {
            if let Some(value) = value {
                target[name] = value.as_str().into();
            }
        }
        let nodes = target.get_mut("nodes").and_then(Value::as_array_mut);
        for node in nodes.into_iter().flatten() {
            let server = text(node, "server").unwrap_or_default();
            let Some(parts) = Address::of(&server) else { continue };
            let own = parts.with(&Login { user: text(node, "user"), password: None });
            let Login { user, password } = login_of(&self.apply_to(&own, &first)?);
            (node["user"], node["password"]) = (user.into(), password.into());
        }
        Ok(())
    }

    /// The credentials for the server at `address`, which has those in `target`.
    ///
    /// # Errors
    /// Fails if they are invalid or cannot be read.
    pub(super) fn login(&self, target: Login, address: Address<'_>) -> Result<Login, Invalid> {
        self.chosen(self.of_flags()?, target, address)
    }

    /// The same; `flags`: the credentials that the flags give.
    fn chosen(&self, flags: Login, target: Login, address: Address<'_>) -> Result<Login, Invalid> {
        let host = address.host();
        let flag = if flags.password.is_some() { "--password-file" } else { PASSWORD_VARIABLE };
        let environment =
            Login { user: variable(USER_VARIABLE), password: variable(PASSWORD_VARIABLE) };
        let netrc = |user: Option<&str>| {
            if self.netrc { of_netrc(host, user).map(Some) } else { Ok(None) }
        };
        for login in [&flags, &target, &environment] {
            login.learn();
        }
        let mut login = Sources { flags, target, environment, netrc: &netrc }.choose()?;
        if let Login { user: Some(user), password: None } = &login
            && io::stdin().is_terminal()
        {
            let asked = ask(user, host).map_err(|error| {
                let problem = format!("cannot read the password: {error}");
                let flag = if self.user.is_some() { "--user" } else { "TARGET" };
                Invalid::new(flag, problem, "give --password-file FILE")
            })?;
            // An empty line: there is no password, for example with a certificate.
            login.password = Some(asked).filter(|asked| !asked.is_empty());
        }
        if let Login { user: Some(user), password: None } = &login {
            self.is_a_user(user)?;
        }
        login.learn();
        if address.wants_user() && login.user.is_none() && login.password.is_some() {
            // There may be several.
            let address = strike_password(&address.bare());
            let problem = format!("a password without a user for {address}");
            let cure =
                "give the user with --user, in the address as user@host, or in SPRINGLOAD_USER";
            return Err(Invalid::new(flag, problem, cure));
        }
        Ok(login)
    }

    /// Refuses a number with `-u` as a user without a password: other tools set the number of users
    /// with that letter.
    fn is_a_user(&self, user: &str) -> Result<(), Invalid> {
        let number = user.bytes().all(|byte| byte.is_ascii_digit());
        if self.user.as_deref() != Some(user) || !number {
            return Ok(());
        }
        let problem = format!("{user} would be the name of a user, and there is no password");
        let cure = format!(
            "give -c {user} for the number of connections, or {user}@ in the target for such a name"
        );
        Err(Invalid::new("--user", problem, cure))
    }

    /// The credentials that the flags give.
    fn of_flags(&self) -> Result<Login, Invalid> {
        let (user, own) = match self.user.as_deref().map(|text| (text, text.split_once(':'))) {
            Some((_, Some((user, password)))) => (Some(user), Some(password)),
            Some((user, None)) => (Some(user), None),
            None => (None, None),
        };
        if user == Some("") {
            let cure = "give USER or USER:PASSWORD";
            return Err(Invalid::new("--user", "the user is missing", cure));
        }
        let password = self.password()?;
        if own.is_some() && password.is_some() {
            let cure = "leave it out of --user";
            return Err(Invalid::new("--password-file", "the password is given twice", cure));
        }
        let own = own.map(str::to_owned);
        Ok(Login { user: user.map(str::to_owned), password: password.or(own) })
    }

    /// The password in the file.
    fn password(&self) -> Result<Option<String>, Invalid> {
        let Some(file) = &self.password_file else { return Ok(None) };
        if let Some(read) = self.password_read.get() {
            return Ok(Some(read.clone()));
        }
        let wrong = |problem: String| {
            Invalid::new("--password-file", problem, "give a file whose only line is the password")
        };
        let stdin = file == Path::new("-");
        let shown = if stdin { "stdin".to_owned() } else { file.display().to_string() };
        let bytes = if stdin {
            files::bounded(io::stdin(), MOST_BYTES)
        } else {
            files::read_within(file, MOST_BYTES, PROMPT_S)
        };
        let text = bytes
            .and_then(text_of)
            .map_err(|error| wrong(format!("cannot read {shown}: {error}")))?;
        let password = text.strip_suffix('\n').unwrap_or(&text);
        let password = password.strip_suffix('\r').unwrap_or(password);
        if password.is_empty() || password.contains('\n') {
            let what = if password.is_empty() { "no password" } else { "more than one line" };
            return Err(wrong(format!("{shown} contains {what}")));
        }
        Ok(Some(self.password_read.get_or_init(|| password.to_owned()).clone()))
    }
}

/// Prompts for a password on the terminal, without echoing it.
fn ask(user: &str, host: &str) -> io::Result<String> {
    let terminal = io::stdin();
    let before = tcgetattr(&terminal)?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    write!(io::stderr(), "password of {user} at {host}: ")?;
    tcsetattr(&terminal, OptionalActions::Flush, &silent)?;
    let mut line = String::new();
    let read = terminal.read_line(&mut line);
    tcsetattr(&terminal, OptionalActions::Flush, &before)?;
    writeln!(io::stderr())?;
    read?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

fn text_of(bytes: Vec<u8>) -> io::Result<String> {
    let wrong = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8");
    String::from_utf8(bytes).map_err(wrong)
}

/// The address in a command line of another program, which has none of these flags. A user in it
/// without a password gets the same one as in `springload run`; without a user, nobody logs in.
///
/// # Errors
/// Fails if the password cannot be read.
pub(in crate::cli) fn completed(address: &str) -> Result<String, Invalid> {
    let lacks = |login: Login| login.user.is_some() && login.password.is_none();
    let Some(parts) = Address::of(address).filter(|parts| lacks(parts.login())) else {
        return Ok(address.to_owned());
    };
    let none = CredentialArgs::default();
    Ok(parts.with(&none.login(parts.login(), parts)?))
}

/// The same for the nodes of a cluster, which take what they lack from the first.
///
/// # Errors
/// As [`completed`].
pub(in crate::cli) fn completed_nodes(targets: &[String]) -> Result<Vec<String>, Invalid> {
    let Some((first, nodes)) = targets.split_first() else { return Ok(Vec::new()) };
    CredentialArgs::default().with_nodes(completed(first)?, nodes)
}

/// `place`, with the credentials of `target` if it has none and both are on the same server.
pub(in crate::cli) fn as_for(target: Option<&str>, place: &str) -> String {
    let both = target.and_then(Address::of).zip(Address::of(place));
    match both {
        Some((target, own)) if own.server() == target.server() && own.login().user.is_none() => {
            own.with(&target.login())
        }
        _ => place.to_owned(),
    }
}

pub(in crate::cli) fn has_password(address: &str) -> bool {
    login_of(address).password.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(text: &str) -> Login {
        let (user, password) = text.split_once(':').unwrap_or((text, ""));
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Login { user: some(user), password: some(password) }
    }

    #[test]
    fn flags_come_before_the_target_the_environment_and_a_netrc() {
        for (flags, target, environment, netrc, wanted) in [
            ("f:1", "t:2", "e:3", "n:4", "f:1"),
            (":1", "t:2", "e:3", "n:4", "t:1"),
            (":1", "", "e:3", "n:4", "e:1"),
            ("", "t:2", "e:3", "n:4", "t:2"),
            ("", "", "e:3", "n:4", "e:3"),
            ("", "", "", "n:4", "n:4"),
            ("", "", "", "", ""),
            // A password belongs to its user.
            ("", "t", "e:3", "", "t"),
            ("", "t", "e:3", "t:4", "t:4"),
            ("f", "t:2", "", "", "f"),
            ("", "e", "e:3", "n:4", "e:3"),
            ("", "t", ":3", "n:4", "t:3"),
            ("f", "f:2", "", "", "f:2"),
        ] {
            let found = login(netrc);
            let found = move |_: Option<&str>| Ok(Some(found.clone()));
            let (flags, target) = (login(flags), login(target));
            let sources = Sources { flags, target, environment: login(environment), netrc: &found };
            let Login { user, password } = sources.choose().unwrap();
            let text = [user.unwrap_or_default(), password.unwrap_or_default()];
            let wanted = login(wanted);
            let wanted = [wanted.user.unwrap_or_default(), wanted.password.unwrap_or_default()];
            assert_eq!(text, wanted, "{netrc}");
        }
    }

    #[test]
    fn a_password_is_read_once_for_all_servers() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("password");
        std::fs::write(&file, "hush\n").unwrap();
        let args = || {
            let password_file = Some(file.clone());
            CredentialArgs { password_file, ..CredentialArgs::default() }
        };
        let (first, later) = (args(), args());
        assert_eq!(first.password().unwrap().as_deref(), Some("hush"));
        // As stdin is after its end.
        std::fs::write(&file, "").unwrap();
        assert_eq!(first.password().unwrap().as_deref(), Some("hush"));
        let refused = later.password().unwrap_err().to_string();
        assert!(refused.contains("contains no password"), "{refused}");
    }

    #[test]
    fn a_number_with_u_is_not_taken_for_a_user_without_a_password() {
        let login = |given: &str, target: Login| {
            let user = Some(given.to_owned());
            let args = CredentialArgs { user, ..CredentialArgs::default() };
            args.is_a_user(&target.user.unwrap_or_default()).map_err(|it| it.to_string())
        };
        let refused = login("10", login_of("http://10@h")).unwrap_err();
        assert!(refused.starts_with("--user: ") && refused.contains("-c 10"), "{refused}");
        assert_eq!(login("ann", login_of("http://ann@h")), Ok(()));
        assert_eq!(login("a10", login_of("http://a10@h")), Ok(()));
        // The target may name such a user.
        let own = CredentialArgs::default().is_a_user("10");
        assert!(own.is_ok());
    }

    #[test]
    fn nodes_take_the_user_of_the_first_address_and_keep_their_own() {
        let of = |targets: &[&str]| {
            let targets: Vec<_> = targets.iter().map(|&it| it.to_owned()).collect();
            completed_nodes(&targets).unwrap()
        };
        let nodes = of(&["http://ann:pw@a", "http://b:1/db", "ann@c", "http://bob:x@d"]);
        assert_eq!(
            nodes,
            ["http://ann:pw@a", "http://ann:pw@b:1/db", "ann:pw@c", "http://bob:x@d"]
        );
        for alone in ["http://a", "basic", "redis://:pw@a"] {
            assert_eq!(of(&[alone]), [alone]);
        }
        assert!(of(&[]).is_empty());
    }

    #[test]
    fn servers_apart_take_a_user_only_from_the_same_server() {
        let of = |args: &CredentialArgs, targets: &[&str]| {
            let mut targets = targets.iter().map(|&it| it.to_owned());
            let address = targets.next();
            let named = Named { address, nodes: targets.collect(), flag: "TARGET" };
            let servers = args.servers_apart(&named, Vec::new()).unwrap();
            assert_eq!(servers.targets.len(), servers.shown.len());
            servers.targets
        };
        let none = CredentialArgs::default();
        assert_eq!(
            of(&none, &["http://ann:pw@a/x", "http://b", "A/y", "http://bob:x@c", "c", "http://b"]),
            [
                "http://ann:pw@a/x",
                "http://b",
                "ann:pw@A/y",
                "http://bob:x@c",
                "bob:x@c",
                "http://b"
            ]
        );
        let eve = CredentialArgs { user: Some("eve:1".to_owned()), ..CredentialArgs::default() };
        assert_eq!(
            of(&eve, &["http://ann:pw@a", "http://b", "http://bob:x@c", "a"]),
            ["http://eve:1@a", "http://eve:1@b", "http://eve:1@c", "eve:1@a"]
        );
        assert_eq!(of(&none, &["redis://:pw@a", "basic"]), ["redis://:pw@a", "basic"]);
        assert!(of(&none, &[]).is_empty());
    }

    #[test]
    fn a_document_on_the_same_server_is_fetched_by_the_same_user() {
        let target = Some("http://a:b@h:1/db");
        assert_eq!(as_for(target, "http://h:1/x/y"), "http://a:b@h:1/x/y");
        for place in ["http://h:2/x/y", "https://h:1/x/y", "http://c:d@h:1/x/y", "doc.json"] {
            assert_eq!(as_for(target, place), place);
        }
    }
}
