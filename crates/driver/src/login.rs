//! Log-ins, and the messages for servers that do not accept them.

use super::address::decoded;
use super::secrets::{LeftOut, Secret};
use serde::{Deserialize, Serialize};
use url::Url;

/// What to do about a server that wants a log-in when none was given.
pub const LOG_IN: &str = "log in with -u USER or SPRINGLOAD_USER, and type the password, or give it \
    in SPRINGLOAD_PASSWORD, with --password-file FILE or with --netrc";
/// What to do if a user was given without a password.
pub const GIVE_PASSWORD: &str = "no password was given: type it on a terminal, or give it in \
    SPRINGLOAD_PASSWORD, with --password-file FILE or with --netrc";
/// What to do if both were given.
pub(super) const CHECK_LOG_IN: &str = "check user and password";

/// Who logs in to a server. Stored without the password.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogIn {
    /// The user to log in as; `None` if springload does not log in.
    pub user: Option<String>,
    /// The password. Never stored.
    #[serde(default, skip_serializing)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub password: Option<Secret>,
}

impl LogIn {
    pub(super) fn of_url(url: &Url) -> Self {
        let user = Some(decoded(url.username())).filter(|user| !user.is_empty());
        Self { user, password: url.password().map(|text| decoded(text).into()) }
    }

    /// User and password as in a URL, `USER[:PASSWORD]`.
    pub(super) fn of_text(text: Option<&str>) -> Self {
        let Some(text) = text else { return Self::default() };
        let (user, password) = text.split_once(':').map_or((text, None), |it| (it.0, Some(it.1)));
        Self { user: Some(decoded(user)), password: password.map(|text| decoded(text).into()) }
    }

    /// The password; empty if there is none.
    pub(super) fn password(&self) -> &str {
        self.password.as_ref().map_or("", Secret::reveal)
    }

    /// The secrets that it is stored without; `at` is the JSON pointer to it.
    pub(super) fn secrets(&self, at: &str) -> LeftOut {
        let password = self.password.as_ref().map(|it| it.reveal().into());
        password.map(|value| (format!("{at}/password"), value)).into_iter().collect()
    }

    /// What reports say about it.
    pub(super) fn fact(&self) -> (&'static str, String) {
        let how = match (&self.user, &self.password) {
            (None, None) => "none",
            (None, Some(_)) => "password",
            (Some(_), _) => "user and password",
        };
        ("authentication", how.to_owned())
    }

    /// The message for a server that refuses this user and password.
    pub(super) fn locked_out(&self, server: &str, reason: &str) -> String {
        let refused = format!("{server} refuses the credentials ({reason})");
        match (&self.user, &self.password) {
            (None, None) => format!("{server} requires a log-in ({reason}); {LOG_IN}"),
            (Some(_), None) => format!("{refused}; {GIVE_PASSWORD}"),
            _ => format!("{refused}; {CHECK_LOG_IN}"),
        }
    }
}
