//! One side: its plan, which is the one `springload run` makes of what both sides share and what
//! this one has of its own.

use crate::cli::flags::credentials::{CredentialArgs, Named};
use crate::cli::refusal::mistake;
use crate::cli::secrets::strike_password;
use crate::cli::verb::run::Settings;
use crate::cli::verb::shell::words;
use crate::cli::verb::sweep::{flags, given, plan_of};
use crate::files;
use crate::plan::{Invalid, Plan};
use crate::record::RunRecord;
use crate::report::read_json;
use clap::FromArgMatches as _;
use std::path::Path;

/// One side.
pub(super) struct Side {
    flag: &'static str,
    pub(super) plan: Plan,
    /// The command before each run.
    pub(super) before: Option<String>,
}

/// What both sides share.
pub(super) struct Common<'a> {
    /// The flags of a run that were given.
    pub(super) words: Vec<String>,
    pub(super) named: Named,
    pub(super) headers: Vec<String>,
    pub(super) credentials: &'a CredentialArgs,
}

impl Common<'_> {
    /// The side whose own flags are in `text`, the value of `flag`.
    pub(super) fn side(
        &self,
        flag: &'static str,
        text: Option<&str>,
        before: Option<String>,
    ) -> Result<Side, Vec<Invalid>> {
        let one = |mistake: Invalid| vec![mistake];
        let wrong = |problem: String| {
            one(Invalid::new(flag, problem, "give flags of springload run in quotes"))
        };
        let own = words(text.unwrap_or_default()).map_err(wrong)?;
        let matches = flags().try_get_matches_from(own).map_err(|error| {
            let (problem, cure) = mistake(&error, Some("run"));
            one(Invalid::new(flag, problem, cure))
        })?;
        let settings =
            Settings::from_arg_matches(&matches).map_err(|error| wrong(error.to_string()))?;
        let own = given(&matches);
        let targets = settings.target.target.clone();
        let named = if targets.is_empty() {
            self.named.clone()
        } else {
            let mut targets = targets.into_iter();
            Named { address: targets.next(), nodes: targets.collect(), flag }
        };
        let headers = [&self.headers[..], &settings.client.header].concat();
        let shown: Vec<String> =
            named.address.iter().chain(&named.nodes).map(|it| strike_password(it)).collect();
        let targets = self.credentials.apply_all(&named).map_err(one)?;
        let headers = self.credentials.with_token(targets.first().map(String::as_str), headers);
        let headers = headers.map_err(one)?;
        let name = |word: &String| word.split('=').next().unwrap_or_default().to_owned();
        let replaced: Vec<String> = own.iter().map(name).collect();
        let kept = self.words.iter().filter(|word| !replaced.contains(&name(word)));
        let words: Vec<String> = kept.chain(&own).cloned().collect();
        let shown: Vec<&String> = shown.iter().collect();
        let plan = plan_of((&words, flag), (&targets, &shown, &headers), |_| {})?;
        Ok(Side { flag, plan, before })
    }
}

impl Side {
    /// Whether nothing distinguishes it from the other.
    pub(super) fn is_as(&self, other: &Self) -> bool {
        self.plan.command == other.plan.command && self.before == other.before
    }

    /// The flag of the command before each run.
    pub(super) fn flag_before(&self) -> String {
        format!("--before-{}", self.flag.trim_start_matches('-'))
    }

    /// The record in `file`, if it is a complete one of this side.
    pub(super) fn kept(&self, file: &Path) -> Option<RunRecord> {
        let text = files::read_text(file, files::RECORD).ok()?;
        let record = read_json(&text).ok()?;
        let own =
            record.plan.stages == self.plan.stages && record.plan.command == self.plan.command;
        (own && !record.partial).then_some(record)
    }
}
