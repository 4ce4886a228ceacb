//! The parts of siege's configuration file that affect requests.

use crate::driver::strike_secrets;
use crate::files;
use crate::plan::{Invalid, expand, within};
use std::collections::BTreeMap;
use std::path::Path;

/// Keys with no effect here: they are about printing, or about what springload always or never
/// does. `docs/siege.md` lists them.
const IGNORED: &str = "auth-url cache chunked color csv display-id expire-session failures ftp-login html-parser \
    limit nofollow parser protocol proxy-host proxy-login proxy-port show-logfile show_logfile \
    spinner ssl-cert ssl-ciphers ssl-key ssl-timeout timestamp unique url-escaping username \
    zero-data-ok";

/// Keys that have an effect.
const KNOWN: &str = "accept-encoding benchmark concurrent connection cookies delay file follow-location fullurl \
    gmethod internet json_output logfile logging quiet reps time timeout user-agent verbose";
/// Keys with an effect that may be repeated.
const REPEATED: &str = "header login login-url url";

/// The contents of a configuration file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Rc {
    values: BTreeMap<String, (String, String)>,
    lists: BTreeMap<String, Vec<(String, String)>>,
}

impl Rc {
    /// Reads a file.
    ///
    /// # Errors
    /// Returns every mistake, with its file and line.
    pub(super) fn read(path: &Path) -> Result<Self, Vec<Invalid>> {
        let name = path.display().to_string();
        let text = files::read_text(path, files::SETTINGS).map_err(|error| {
            let name = strike_secrets(&name);
            let problem = format!("cannot read {name}: {error}");
            vec![Invalid::new("--rc", problem, "give a readable file")]
        })?;
        Self::parse(&name, &text)
    }

    pub(super) fn parse(name: &str, text: &str) -> Result<Self, Vec<Invalid>> {
        let (mut rc, mut variables, mut mistakes) = (Self::default(), BTreeMap::new(), Vec::new());
        let mut grown = 0_usize;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let place = format!("{name}:{number}");
            let filled = expand(line, &variables).and_then(|filled| {
                grown += filled.len().saturating_sub(line.len());
                within(grown).map(|()| filled)
            });
            let line = match filled {
                Ok(line) => line,
                Err((problem, cure)) => {
                    mistakes.push(Invalid::new(place, problem, cure));
                    if within(grown).is_err() {
                        break;
                    }
                    continue;
                }
            };
            let (key, value) = line.split_once('=').unwrap_or((&line, ""));
            let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
            let is_in = |keys: &str| keys.split_whitespace().any(|it| it == key);
            if is_in(REPEATED) {
                rc.lists.entry(key).or_default().push((place, value));
            } else if is_in(KNOWN) {
                rc.values.insert(key, (place, value));
            } else if line.contains('=') && key.chars().any(|c| c.is_ascii_uppercase()) {
                variables.insert(key, value);
            } else if !is_in(IGNORED) {
                let cure = "see docs/siege.md for the keys that exist, or leave it out";
                mistakes.push(Invalid::new(place, format!("siege has no key {key:?}"), cure));
            }
        }
        if mistakes.is_empty() { Ok(rc) } else { Err(mistakes) }
    }

    /// The last value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(|(_, value)| value.as_str())
    }

    pub(super) fn is_on(&self, key: &str) -> Option<bool> {
        self.get(key).map(|value| matches!(value, "true" | "on" | "yes" | "1"))
    }

    /// The last value of a key, parsed by `read`.
    ///
    /// # Errors
    /// Fails if it cannot be parsed; the message has file and line.
    pub(super) fn read_value<T, E: std::fmt::Display>(
        &self,
        key: &str,
        read: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Option<T>, Invalid> {
        let Some((place, value)) = self.values.get(key) else { return Ok(None) };
        read(value).map(Some).map_err(|problem| {
            Invalid::new(place.as_str(), format!("{key}: {problem}"), "correct the line")
        })
    }

    /// All values of a key that may be repeated, each with its file and line.
    pub(super) fn list(&self, key: &str) -> &[(String, String)] {
        self.lists.get(key).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_switches_lists_and_variables() {
        let text = "# siege\nHOST = localhost\nconcurrent = 7\nbenchmark = true\ncolor = on\n\
                    url = http://${HOST}/a\nurl = http://$(HOST)/b POST x=1\n";
        let rc = Rc::parse("rc", text).unwrap();
        assert_eq!((rc.get("concurrent"), rc.is_on("benchmark")), (Some("7"), Some(true)));
        assert_eq!((rc.get("color"), rc.is_on("internet")), (None, None));
        let urls: Vec<_> = rc.list("url").iter().map(|(place, url)| (&**place, &**url)).collect();
        assert_eq!(urls, [("rc:6", "http://localhost/a"), ("rc:7", "http://localhost/b POST x=1")]);
    }

    #[test]
    fn an_unknown_key_is_named_with_its_line() {
        let mistakes = Rc::parse("my.rc", "delay = 1\nconcurent = 7\n").unwrap_err();
        let line = mistakes[0].to_string();
        assert!(line.starts_with("my.rc:2: siege has no key \"concurent\""), "{line}");
    }
}
