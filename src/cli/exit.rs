//! The exit statuses of all verbs, and the error that a verb ends with.

use super::look;
use super::print::print;
use crate::driver::{GIVE_PASSWORD, LOG_IN, TargetError};
use crate::plan::Invalid;
use crate::record::RunRecord;
use crate::report::shown;
use crate::run::RunError;
use std::{fmt, io};

/// The variable by which springload asks a springload that it starts itself to print the user's
/// mistakes as JSON on stdout, too.
pub(super) const AS_JSON: &str = "SPRINGLOAD_MISTAKES_AS_JSON";
/// What to do without a password in a command line that has no flag for one.
const GIVE_PASSWORD_ONLY: &str =
    "no password was given: type it on a terminal, or give it in SPRINGLOAD_PASSWORD";

/// The exit status of the process. docs/exit-codes.md has the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Success.
    Passed = 0,
    /// springload itself failed.
    Failed = 1,
    /// The command line or the plan is invalid; nothing was sent.
    Usage = 2,
    /// The target cannot be reached or used, or the run was aborted.
    Target = 3,
    /// A threshold was missed, or too little was measured to check it.
    Threshold = 4,
    /// Measured, but not trustworthy.
    Untrustworthy = 5,
    /// The data read is not the data that was written.
    DataWrong = 6,
    /// Worse than the baseline.
    Regression = 7,
    /// Stopped by the user; the partial result is saved.
    Interrupted = 130,
}

/// The exit statuses that a verb can end with, in numerical order, each with a short description.
pub(super) type Statuses = &'static [(Exit, &'static str)];

impl Exit {
    /// All of them in numerical order, each with a short description.
    pub(super) const ALL: [(Self, &'static str); 9] = [
        (Self::Passed, "passed"),
        (Self::Failed, "springload itself failed"),
        (Self::Usage, "a mistake in the command line or the plan; nothing was sent"),
        (Self::Target, "the server cannot be reached or used"),
        (Self::Threshold, "a threshold was missed, or too many operations failed"),
        (Self::Untrustworthy, "measured, but not trustworthy"),
        (Self::DataWrong, "data wrong or lost"),
        (Self::Regression, "worse than the baseline"),
        (Self::Interrupted, "stopped by the user; what was measured is saved"),
    ];

    pub(super) const MEASURED: Statuses = &Self::ALL;
    /// Those of verbs that measure without a baseline.
    pub(super) const WITHOUT_BASELINE: Statuses = &[
        Self::ALL[0],
        Self::ALL[1],
        Self::ALL[2],
        Self::ALL[3],
        Self::ALL[4],
        Self::ALL[5],
        Self::ALL[6],
        Self::ALL[8],
    ];
    /// Those of verbs that ask a server.
    pub(super) const ASKED: Statuses = &[Self::DONE, Self::ALL[1], Self::WRONG, Self::ALL[3]];
    /// Those of all others.
    pub(super) const PLAIN: Statuses = &[Self::DONE, Self::ALL[1], Self::WRONG];

    /// Success of a verb that judges nothing.
    pub(super) const DONE: (Self, &'static str) = (Self::Passed, "success");
    /// The user's mistake, if nothing would be sent in any case.
    pub(super) const WRONG: (Self, &'static str) =
        (Self::Usage, "a mistake in the command line, or a file that cannot be used");

    /// The status of a run with a record.
    pub(super) fn of_record(record: &RunRecord) -> Self {
        let status = record.result().exit_status;
        let known = Self::ALL.into_iter().map(|(exit, _)| exit).find(|exit| *exit as u8 == status);
        known.unwrap_or(Self::Failed)
    }

    /// The status of several runs together: the most important one.
    pub(super) fn worst(exits: &[Self]) -> Self {
        let order = [
            Self::Failed,
            Self::Interrupted,
            Self::Target,
            Self::DataWrong,
            Self::Untrustworthy,
            Self::Regression,
            Self::Threshold,
            Self::Usage,
        ];
        order.into_iter().find(|exit| exits.contains(exit)).unwrap_or(Self::Passed)
    }

    /// The same, or a failure if not everything could be `written`. Other failures take precedence.
    pub(super) const fn if_written(self, written: bool) -> Self {
        match self {
            Self::Passed if !written => Self::Failed,
            exit => exit,
        }
    }

    /// The status of a run that could not be carried out.
    pub(super) const fn of_error(error: &RunError) -> Self {
        match error {
            RunError::Aborted => Self::Interrupted,
            error if error.is_targets() => Self::Target,
            _ => Self::Failed,
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The reason a verb did not do what it was asked to.
#[derive(Debug)]
pub(super) struct Trouble {
    exit: Exit,
    /// The message; empty if it was printed already.
    lines: Vec<String>,
    /// The user's mistakes, if these are what the message tells.
    mistakes: Vec<Invalid>,
}

impl Trouble {
    pub(super) fn new(exit: Exit, line: impl Into<String>) -> Self {
        Self { exit, lines: vec![line.into()], mistakes: Vec::new() }
    }

    pub(super) const fn exit(&self) -> Exit {
        self.exit
    }

    /// The same without flags that the imitated command lines do not have.
    pub(super) fn in_own_words(mut self) -> Self {
        for line in &mut self.lines {
            let words = line.replace(LOG_IN, "give user and password");
            *line = words.replace(GIVE_PASSWORD, GIVE_PASSWORD_ONLY);
        }
        self
    }

    /// Prints the message, and returns the exit status.
    pub(super) fn tell(&self) -> Exit {
        for line in &self.lines {
            eprintln!("error: {}", shown(line, look::ascii()));
        }
        if !self.mistakes.is_empty() && std::env::var_os(AS_JSON).is_some() {
            print(self.as_json().as_bytes());
        }
        self.exit
    }

    fn as_json(&self) -> String {
        serde_json::to_string(&self.mistakes).expect("mistakes are plain data")
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines.join("; "))
    }
}

/// The message was printed already.
impl From<Exit> for Trouble {
    fn from(exit: Exit) -> Self {
        Self { exit, lines: Vec::new(), mistakes: Vec::new() }
    }
}

impl From<Vec<Invalid>> for Trouble {
    fn from(mistakes: Vec<Invalid>) -> Self {
        let lines = mistakes.iter().map(ToString::to_string).collect();
        Self { exit: Exit::Usage, lines, mistakes }
    }
}

impl From<Invalid> for Trouble {
    fn from(mistake: Invalid) -> Self {
        vec![mistake].into()
    }
}

/// A message that names the flag and the cure.
impl From<String> for Trouble {
    fn from(mistake: String) -> Self {
        Self::new(Exit::Usage, mistake)
    }
}

impl From<TargetError> for Trouble {
    fn from(error: TargetError) -> Self {
        Self::new(Exit::Target, error.to_string())
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::new(Exit::Failed, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_important_status_of_several_is_that_of_all() {
        let all = [
            Exit::Usage,
            Exit::Threshold,
            Exit::Untrustworthy,
            Exit::DataWrong,
            Exit::Target,
            Exit::Interrupted,
            Exit::Failed,
        ];
        // Each takes precedence over those before it in this list.
        for (place, exit) in all.into_iter().enumerate() {
            let mut exits = vec![Exit::Passed];
            exits.extend(&all[..=place]);
            assert_eq!(Exit::worst(&exits), exit);
        }
        assert_eq!(Exit::worst(&[Exit::Passed; 2]), Exit::Passed);
    }
    #[test]
    fn mistakes_can_be_read_again() {
        let mistakes = [
            Invalid::new("--agents", "60 agents; too many", "give fewer; or more connections"),
            Invalid::new("-d", "none", "give one"),
        ];
        let trouble = Trouble::from(mistakes.to_vec());
        assert_eq!(serde_json::from_str::<Vec<Invalid>>(&trouble.as_json()).unwrap(), mistakes);
        assert_eq!(trouble.lines[0], mistakes[0].to_string());
        assert_eq!(Trouble::new(Exit::Failed, "x").as_json(), "[]");
    }
}
