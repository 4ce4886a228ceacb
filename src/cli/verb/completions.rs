//! `springload completions` and `springload man`, generated from the definition of the flags.

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Trouble};
use crate::cli::print::print;
use crate::plan::Invalid;
use clap::Command;
use clap_complete::Shell;
use std::io;
use std::path::{Path, PathBuf};

/// `springload completions`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// `springload man`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Man {
    /// Write the pages of all verbs to a folder, instead of printing the main one
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Verb for Completions {
    const NAME: &'static str = "completions";
    const ABOUT: &'static str = "Print a shell completion script";
    const FAMILY: Family = Family::Tools;
    const EXAMPLES: [Example; 3] = [
        ("Bash", "completions bash"),
        ("Zsh, into a folder of its $fpath", "completions zsh > ~/.zfunc/_springload"),
        ("Fish", "completions fish"),
    ];

    fn carry_out(self, call: &Call<'_>) -> Result<Exit, Trouble> {
        let mut grammar = (call.grammar)();
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut grammar, "springload", &mut script);
        let script = String::from_utf8_lossy(&script);
        print(with_runs(self.shell, &script).as_bytes());
        Ok(Exit::Passed)
    }
}

/// Completes the names of runs by calling springload; in bash after all other completions.
const BASH: &str = include_str!("completions.bash");
/// The same, where zsh would complete files.
const ZSH: &str = include_str!("completions.zsh");
/// The same, in addition to the files that fish completes.
const FISH: &str = include_str!("completions.fish");

/// A completion script that also completes the names of runs, in interactive shells.
fn with_runs(shell: Shell, script: &str) -> String {
    match shell {
        Shell::Bash => {
            let (before, after) = script.rsplit_once("\nif [[").unwrap_or((script, ""));
            let after = after.replace("complete -F _springload ", "complete -F _springload_runs ");
            format!("{before}{BASH}\nif [[{after}")
        }
        Shell::Zsh => {
            let (before, after) = script.rsplit_once("if [ \"$funcstack").unwrap_or((script, ""));
            let line = |line: &str| {
                let run = line.starts_with("'*::run -- ");
                let offers = run.then(|| line.replace(":_files'", ":_springload_runs'"));
                offers.unwrap_or_else(|| line.to_owned()) + "\n"
            };
            let before: String = before.lines().map(line).collect();
            format!("{before}{ZSH}if [ \"$funcstack{after}")
        }
        Shell::Fish => {
            let more = ["report", "show"].map(|verb| FISH.replace("VERB", verb));
            format!("{script}{}", more.concat())
        }
        _ => script.to_owned(),
    }
}

impl Verb for Man {
    const NAME: &'static str = "man";
    const ABOUT: &'static str = "Print the man page, or write all of them";
    const FAMILY: Family = Family::Tools;
    const EXAMPLES: [Example; 3] = [
        ("The main page, as a man page", "man | man -l -"),
        ("The pages of all verbs", "man --out man1"),
        ("Pages where man will find them", "man --out /usr/local/share/man/man1"),
    ];

    fn carry_out(self, call: &Call<'_>) -> Result<Exit, Trouble> {
        let grammar = (call.grammar)();
        // The pages of `help` would duplicate the others.
        let grammar = grammar.disable_help_subcommand(true);
        let written = match &self.out {
            None => {
                let mut page = Vec::new();
                let rendered = clap_mangen::Man::new(grammar).render(&mut page);
                rendered.map(|()| print(&page))
            }
            Some(folder) => write(folder, grammar),
        };
        written.map_err(|error| {
            let place = self.out.as_deref().unwrap_or_else(|| Path::new("stdout"));
            let problem = format!("cannot write to {}: {error}", place.display());
            Invalid::new("--out", problem, "choose a writable folder")
        })?;
        Ok(Exit::Passed)
    }
}

fn write(folder: &Path, grammar: Command) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(grammar, folder)
}
