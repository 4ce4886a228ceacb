//! A token that proves who sends a request, such as a JSON Web Token: read from a file or the
//! environment, sent as `Authorization: Bearer` (RFC 6750) to the servers that are named.

use super::variable;
use crate::files;
use crate::plan::Invalid;
use crate::redact::learn;
use std::path::PathBuf;

/// The variable with the token, which is used if no user is named.
const TOKEN_VARIABLE: &str = "SPRINGLOAD_TOKEN";
/// The longest token, in bytes: servers refuse longer request heads.
const MOST_BYTES: u64 = 1 << 16;

const HELP: &str = "A file containing a token, such as a JWT, to send as Authorization: Bearer \
    [default: the variable SPRINGLOAD_TOKEN, if no user is named]";

/// The flag about the token.
#[derive(Clone, Debug, Default, clap::Args)]
pub(in crate::cli) struct BearerArgs {
    #[arg(long, value_name = "FILE", help = HELP)]
    bearer_file: Option<PathBuf>,
}

impl BearerArgs {
    pub(super) const fn is_given(&self) -> bool {
        self.bearer_file.is_some()
    }

    /// The header with the token. `None` if there is no token, or if the one in the environment is
    /// overridden by a user with a password. `user`: whether a user is named; `http`: whether the
    /// server takes headers.
    ///
    /// # Errors
    /// Fails if the token is invalid or cannot be read.
    pub(super) fn header(&self, user: bool, http: bool) -> Result<Option<String>, Invalid> {
        let Some(file) = &self.bearer_file else {
            let token = variable(TOKEN_VARIABLE).filter(|_| http && !user);
            return token.map(|token| header(TOKEN_VARIABLE, "it", &token)).transpose();
        };
        let flag = "--bearer-file";
        let shown = file.display().to_string();
        if user {
            let problem = "a user with a password is also given";
            return Err(Invalid::new(flag, problem, "leave one of them out"));
        }
        if !http {
            let problem = "only HTTP servers accept a token";
            return Err(Invalid::new(flag, problem, "leave it out"));
        }
        let text = files::read_text(file, MOST_BYTES).map_err(|error| {
            let cure = "give a file whose only line is the token";
            Invalid::new(flag, format!("cannot read {shown}: {error}"), cure)
        })?;
        header(flag, &shown, &text).map(Some)
    }
}

/// The header; `place` is the token's source. An error never shows the token.
fn header(flag: &str, place: &str, text: &str) -> Result<String, Invalid> {
    let token = text.trim();
    // RFC 6750, 2.1.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    if token.is_empty() || !token.bytes().all(plain) {
        let what = if token.is_empty() { "no token" } else { "more than a token" };
        let cure = "it may contain only the token: letters, digits and -._~+/=";
        return Err(Invalid::new(flag, format!("{place} contains {what}"), cure));
    }
    learn(token);
    Ok(format!("Authorization: Bearer {token}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_a_word_that_no_message_shows() {
        let read = |text: &str| header("--bearer-file", "t", text).map_err(|it| it.to_string());
        assert_eq!(read("a.b-c_d~e+f/g=\n").unwrap(), "Authorization: Bearer a.b-c_d~e+f/g=");
        for text in ["", "\n", "Bearer hush", "hush\r\nX: y", "hush\u{e9}", "{\"hush\":1}"] {
            let message = read(text).unwrap_err();
            assert!(
                message.starts_with("--bearer-file: t contains ") && !message.contains("hush"),
                "{message}"
            );
        }
    }
}
