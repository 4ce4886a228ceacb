//! Who logs in for the requests of a list, and that no password goes to several servers.

use super::address::{Address, Login};
use super::credentials::{CredentialArgs, PASSWORD_VARIABLE};
use super::variable;
use crate::plan::{Invalid, RequestPlan};

/// Credentials for the requests of a list, server by server.
pub(in crate::cli) struct Requesters<'a> {
    credentials: &'a CredentialArgs,
    /// Whether there is a token, which may go to one server only.
    token: bool,
    /// Server and user of each entry so far, with the login there.
    known: Vec<((String, Option<String>), Login)>,
}

impl<'a> Requesters<'a> {
    pub(in crate::cli) const fn new(credentials: &'a CredentialArgs, token: bool) -> Self {
        Self { credentials, token, known: Vec::new() }
    }

    /// User and password for a request to `server`; `own` are those given in the list.
    ///
    /// # Errors
    /// Fails if they are invalid, or if the same password would be sent to more than one server.
    pub(in crate::cli) fn of(
        &mut self,
        server: &str,
        own: Option<(String, String)>,
    ) -> Result<Option<(String, String)>, Invalid> {
        if self.token {
            return self.token_for(server, own.is_some()).map(|()| None);
        }
        let file = self.credentials.is_given_login();
        let own = own.map_or_else(Login::default, |(user, password)| Login {
            user: Some(user),
            password: Some(password).filter(|password| !password.is_empty()),
        });
        let pair = |login: &Login| {
            let Login { user, password } = login.clone();
            user.map(|user| (user, password.unwrap_or_default()))
        };
        if own.password.is_some() && !file {
            return Ok(pair(&own));
        }
        let key = (server.to_owned(), own.user.clone());
        if let Some((_, login)) = self.known.iter().find(|(known, _)| *known == key) {
            return Ok(pair(login));
        }
        let flag = if file { "--password-file" } else { PASSWORD_VARIABLE };
        let shared = file || variable(PASSWORD_VARIABLE).is_some();
        let other = |known: &(String, _)| known.0 != server;
        if shared
            && self.known.iter().any(|(known, login)| other(known) && login.password.is_some())
        {
            let problem = "the URLs name several servers, and all of them would receive the \
                password";
            let cure = "put user:password@ in the URLs; springload http also has --netrc";
            return Err(Invalid::new(flag, problem, cure));
        }
        let Some(address) = Address::of(server) else { return Ok(pair(&own)) };
        let login = self.credentials.login(own, address)?;
        self.known.push((key, login));
        Ok(self.known.last().and_then(|(_, login)| pair(login)))
    }

    /// User and password for a request in a command line of another program: only a user in the
    /// URL logs in.
    ///
    /// # Errors
    /// As [`Requesters::of`].
    pub(in crate::cli) fn of_request(
        &mut self,
        request: &RequestPlan,
    ) -> Result<Option<(String, String)>, Invalid> {
        match &request.user {
            Some((_, password)) if password.is_empty() => {
                self.of(&request.server, request.user.clone())
            }
            own => Ok(own.clone()),
        }
    }

    /// Refuses to send the token to a second server, or along with a user.
    fn token_for(&mut self, server: &str, user: bool) -> Result<(), Invalid> {
        let flag = "--bearer-file";
        if user {
            let problem = "a URL also has a user";
            return Err(Invalid::new(flag, problem, "leave one of them out"));
        }
        if self.known.iter().any(|((known, _), _)| known != server) {
            let problem = "the URLs name several servers, and all of them would receive the token";
            return Err(Invalid::new(flag, problem, "name one server"));
        }
        self.known.push(((server.to_owned(), None), Login::default()));
        Ok(())
    }
}
