//! One side: its plan, which `springload run` makes from the flags that both sides share and those
//! that only this one has.

use crate::cli::exit::Exit;
use crate::cli::flags::agents::AgentsArgs;
use crate::cli::flags::credentials::{CredentialArgs, Servers};
use crate::cli::flags::target::Named;
use crate::cli::pipeline::ending::Ending;
use crate::cli::refusal::mistake;
use crate::cli::verb::filled::{as_filled, is_bounded};
use crate::cli::verb::other::Other;
use crate::cli::verb::run::Settings;
use crate::cli::verb::study::{is_same, measured_before, says_nothing};
use crate::cli::verb::sweep::{flags, given, plan_of};
use crate::plan::{Invalid, Plan, PlanRecord, command_line, strike_command, words};
use crate::record::RunRecord;
use crate::run::Said;
use clap::FromArgMatches as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// The most of a command's output that is shown, in bytes.
const MOST_OUTPUT: u64 = 1 << 20;

pub(super) struct Side {
    flag: &'static str,
    pub(super) plan: Plan,
    pub(super) before: Option<String>,
    /// The program that measures it, if not this one.
    program: Option<PathBuf>,
    /// The servers, and the flags of `springload run`.
    servers: Servers,
    words: Vec<String>,
}

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
        let wrong =
            |problem: String| Invalid::new(flag, problem, "give flags of springload run in quotes");
        let own = words(text.unwrap_or_default()).map_err(wrong)?;
        let matches = flags().try_get_matches_from(own).map_err(|error| {
            let (problem, cure) = mistake(&error, Some("run"));
            Invalid::new(flag, problem, cure)
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
        let servers = self.credentials.servers(&named, headers)?;
        let name = |word: &String| word.split('=').next().unwrap_or_default().to_owned();
        let replaced: Vec<String> = own.iter().map(name).collect();
        let kept = self.words.iter().filter(|word| !replaced.contains(&name(word)));
        let words: Vec<String> = kept.chain(&own).cloned().collect();
        let plan = plan_of(&words, flag, &servers, |_| {})?;
        Ok(Side { flag, plan, before, program: None, servers, words })
    }
}

/// Carries out a shell command; returns how it ended, and the end of its output, without secrets.
fn carried_out(command: &str) -> io::Result<(ExitStatus, Option<String>)> {
    let said = Said::new()?;
    let mut shell = Command::new("sh");
    let ended = said.of(shell.args(["-c", command]).stdin(Stdio::null()))?.status()?;
    Ok((ended, said.end(MOST_OUTPUT)))
}

impl Side {
    /// Whether it does not differ from the other side.
    pub(super) fn is_as(&self, other: &Self) -> bool {
        self.command() == other.command() && self.before == other.before
    }

    /// The command of its runs, without passwords.
    pub(super) fn command(&self) -> String {
        match &self.program {
            Some(program) => {
                let own = [program.display().to_string(), "run".to_owned()];
                command_line(own.into_iter().chain(self.line()))
            }
            None => self.plan.command.clone(),
        }
    }

    /// The arguments for `springload run`.
    fn line(&self) -> impl Iterator<Item = String> {
        self.servers.shown.iter().chain(&self.words).cloned()
    }

    /// Whether its next run stores as many documents as time allows.
    pub(super) fn is_bounded(&self) -> bool {
        is_bounded(&self.plan)
    }

    /// From now on, stores as many documents as the run `first` did.
    ///
    /// # Errors
    /// Fails if the plan is invalid with that few.
    pub(super) fn fill_as(
        &mut self,
        first: &RunRecord,
        agents: &AgentsArgs,
    ) -> Result<(), Vec<Invalid>> {
        if let Some(words) = as_filled(&self.words, first) {
            self.plan = agents.share(plan_of(&words, self.flag, &self.servers, |_| {})?)?;
            self.words = words;
        }
        Ok(())
    }

    /// Makes another springload measure this side.
    ///
    /// # Errors
    /// Fails if that program cannot be found, or if a password would be visible in process lists.
    pub(super) fn measured_by(&mut self, program: &Path) -> Result<(), Invalid> {
        let wrong = |problem, cure| Err(Invalid::new("--against", problem, cure));
        if self.line().any(|word| word.contains(":***@")) {
            let problem = "the target has a password, which its command line would show";
            return wrong(problem.to_owned(), "give it in SPRINGLOAD_PASSWORD");
        }
        let version = Command::new(program).arg("--version").output();
        let version = version.map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
        match version {
            Ok(version) if version.starts_with("springload ") => {
                self.program = Some(program.to_owned());
                Ok(())
            }
            Ok(_) => {
                let problem = format!("{} is not springload", program.display());
                wrong(problem, "give the path of another version")
            }
            Err(error) => {
                let problem = format!("{} cannot be started: {error}", program.display());
                wrong(problem, "give its path")
            }
        }
    }

    /// A run by another program into the folder of `file`; `None` if this program is to measure it.
    pub(super) fn by_other(&self, file: &Path, ending: &Ending) -> Option<Result<RunRecord, Exit>> {
        let program = self.program.as_ref()?;
        let words: Vec<String> = std::iter::once("run".to_owned()).chain(self.line()).collect();
        Some(Other { program, words: &words, heard: true }.measure(file, ending))
    }

    /// Carries out the command before a run.
    pub(super) fn before(&self) -> Result<(), Exit> {
        let Some(command) = &self.before else { return Ok(()) };
        let flag = format!("--before-{}", self.flag.trim_start_matches('-'));
        let (ended, said) = match carried_out(command) {
            Ok(done) => done,
            Err(error) => {
                eprintln!("error: {flag}: cannot start a shell: {error}");
                return Err(Exit::Failed);
            }
        };
        // Its output is not part of the report.
        if let Some(said) = said {
            eprintln!("{said}");
        }
        if ended.success() {
            return Ok(());
        }
        eprintln!("error: {flag}: {:?} ended with {ended}", strike_command(command));
        Err(Exit::Failed)
    }

    /// The record in `file`, if it is a complete one of this side and says something about the
    /// server.
    pub(super) fn kept(&self, file: &Path) -> Option<RunRecord> {
        let is_its = |plan: &PlanRecord| self.program.is_some() || is_same(plan, &self.plan);
        measured_before(file, is_its).filter(|it| !says_nothing(Exit::of_record(it)))
    }
}
