//! The netrc of the user, which is only read if a flag asks for it.

use super::address::Login;
use super::variable;
use crate::files;
use crate::plan::Invalid;
use crate::properties::netrc::{find, parse};
use std::io;
use std::path::{Path, PathBuf};

/// The variable with the path of the netrc, if it is not in the user's folder.
const NETRC_VARIABLE: &str = "NETRC";
/// The largest netrc, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// The credentials for `host` in the netrc; `user`: only those of that user.
///
/// # Errors
/// Fails if it cannot be read or has none.
pub(super) fn of_netrc(host: &str, user: Option<&str>) -> Result<Login, Invalid> {
    let cure = format!("set {NETRC_VARIABLE} to the path of a netrc, or leave it out");
    let wrong = |problem: String| Invalid::new("--netrc", problem, cure.clone());
    let own = || variable("HOME").map(|home| Path::new(&home).join(".netrc"));
    let path = variable(NETRC_VARIABLE).map(PathBuf::from).or_else(own);
    let path = path.ok_or_else(|| wrong("HOME is not set".to_owned()))?;
    let shown = path.display();
    let read = |error: io::Error| wrong(format!("cannot read {shown}: {error}"));
    let text = files::read_text(&path, MOST_BYTES).map_err(read)?;
    let open = is_open_to_all(&path);
    let entries = parse(&text).map_err(|error| wrong(format!("{shown}: {error}")))?;
    let entry = find(&entries, host, user).ok_or_else(|| {
        let who = user.map_or_else(String::new, |user| format!("{user} at "));
        let cure = format!("add this line: machine {host} login USER password PASSWORD");
        Invalid::new("--netrc", format!("{shown} has no entry for {who}{host}"), cure)
    })?;
    if open {
        eprintln!(
            "warning: every user of this machine can read {shown}; protect it with chmod \
            600"
        );
    }
    Ok(Login { user: entry.login.clone(), password: entry.password.clone() })
}

/// Whether every user of the machine can read the file.
fn is_open_to_all(file: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    file.metadata().is_ok_and(|data| data.mode() & 0o004 != 0)
}
