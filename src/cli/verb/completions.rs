//! `springload completions` and `springload man`, generated from the definition of the flags.

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::Exit;
use crate::cli::print::print;
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
        ("Zsh, into a folder of its $fpath", "completions zsh"),
        ("Fish", "completions fish"),
    ];

    fn carry_out(self, call: &Call<'_>) -> Exit {
        let mut grammar = (call.grammar)();
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut grammar, "springload", &mut script);
        print(&script);
        Exit::Passed
    }
}

impl Verb for Man {
    const NAME: &'static str = "man";
    const ABOUT: &'static str = "Print the man page, or write all of them";
    const FAMILY: Family = Family::Tools;
    const EXAMPLES: [Example; 3] = [
        ("The main page, as a man page", "man"),
        ("The pages of all verbs", "man --out man1"),
        ("Pages where man finds them", "man --out /usr/local/share/man/man1"),
    ];

    fn carry_out(self, call: &Call<'_>) -> Exit {
        let grammar = (call.grammar)();
        // The pages of `help` would repeat the others.
        let grammar = grammar.disable_help_subcommand(true);
        let written = match &self.out {
            None => {
                let mut page = Vec::new();
                let rendered = clap_mangen::Man::new(grammar).render(&mut page);
                rendered.map(|()| print(&page))
            }
            Some(folder) => write(folder, grammar),
        };
        match written {
            Ok(()) => Exit::Passed,
            Err(error) => {
                let place = self.out.as_deref().unwrap_or_else(|| Path::new("stdout"));
                let name = place.display();
                eprintln!("error: --out: cannot write to {name}: {error}; name a writable folder");
                Exit::Usage
            }
        }
    }
}

fn write(folder: &Path, grammar: Command) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(grammar, folder)
}
