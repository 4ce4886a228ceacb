//! `springload shell`: reads and writes records by hand, with the commands of YCSB's shell.

mod command;
mod own;
mod store;
mod task;

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Statuses, Trouble};
use crate::cli::flags::credentials::CredentialArgs;
use crate::cli::flags::target::named;
use crate::cli::flags::tls::{INSECURE_HELP, TlsArgs};
use crate::cli::print::print;
use crate::clock::Clock;
use crate::plan::Invalid;
use crate::report::shown;
use command::{HELP, ShellCommand};
use rustyline::error::ReadlineError;
use serde_json::{Map, Value};
use std::fmt::Write as _;
use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::PathBuf;
use store::Store;
use task::Answer;

const BANNER: &str = "springload shell, with the commands of YCSB's\nType \"help\" for a list\n";

const TARGET_HELP: &str = "http(s)://[user:password@]host:port[/database], the address of another \
    driver, or basic to print commands without a server [default: the variable SPRINGLOAD_URL]";

/// `springload shell`.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(mut_arg("insecure", |it| it.long_help(INSECURE_HELP)))]
pub(in crate::cli) struct Shell {
    #[arg(help = TARGET_HELP)]
    pub(in crate::cli) target: Option<String>,
    /// The table (a database) to start with [default: TARGET's, or usertable]
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) table: Option<String>,
    /// A plan file, whose operations can be done
    ///
    /// A plan file, whose operations can be done with do NAME; it is not run
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) plan: Option<PathBuf>,
    /// An operation of your own, as for run; may be repeated
    #[arg(long, value_name = "NAME=WORD...")]
    pub(in crate::cli) op: Vec<String>,
    /// A list of values for your own operations: NAME=VALUE,VALUE; may be repeated
    #[arg(long = "data", id = "data_list", value_name = "NAME=VALUES")]
    pub(in crate::cli) data: Vec<String>,
    #[command(flatten)]
    pub(in crate::cli) tls: TlsArgs,
    #[command(flatten)]
    pub(in crate::cli) credentials: CredentialArgs,
    /// Settings specific to the driver, from YCSB's dialect.
    #[arg(skip)]
    pub(in crate::cli) options: Map<String, Value>,
    /// The timeout for one request, from YCSB's dialect.
    #[arg(skip)]
    pub(in crate::cli) timeout_ns: Option<u64>,
}

impl Verb for Shell {
    const NAME: &'static str = "shell";
    const ABOUT: &'static str = "Read and write records by hand or from a script";
    const FAMILY: Family = Family::Tools;
    const BRIEF: &'static str = "target table user insecure";
    const EXAMPLES: [Example; 3] = [
        ("The records of a CouchDB", "shell http://ann@localhost:5984/usertable"),
        ("Try the operations of a plan", "shell localhost:5984/shop --plan plan.toml"),
        ("See what would be sent, without a server", "shell basic"),
    ];
    const EXITS: Statuses = &[
        Exit::DONE,
        Exit::ALL[1],
        (Exit::Usage, "a mistake in the command line, or an invalid line of input"),
        (Exit::Target, "the server cannot be used, or a command did not end in OK"),
    ];

    fn carry_out(mut self, _call: &Call<'_>) -> Result<Exit, Trouble> {
        let named = named(self.target.take());
        if named.address.is_none() {
            let cure = "give the address of a server, or set SPRINGLOAD_URL";
            return Err(Invalid::new("TARGET", "no server is named", cure).into());
        }
        let credentials = &self.credentials;
        credentials.keep_stdin()?;
        let target = credentials.apply(&named)?;
        main(&Self { target, ..self })
    }
}

/// Carries out `springload shell`.
///
/// # Errors
/// Fails if the server cannot be used, or if the input cannot be read.
pub(in crate::cli) fn main(args: &Shell) -> Result<Exit, Trouble> {
    let (store, table) = Store::open(args)?;
    let mut shell = Prompt { store, table, worst: Exit::Passed };
    if io::stdin().is_terminal() { shell.converse() } else { shell.follow() }
}

struct Prompt {
    store: Store,
    table: String,
    /// The exit status of a script.
    worst: Exit,
}

impl Prompt {
    /// Reads lines from a terminal, with editing and a history.
    fn converse(&mut self) -> Result<Exit, Trouble> {
        let failed = |error: ReadlineError| Trouble::new(Exit::Failed, error.to_string());
        let mut editor = rustyline::DefaultEditor::new().map_err(failed)?;
        print(format!("{BANNER}Connected.\n").as_bytes());
        loop {
            match editor.readline("> ") {
                Ok(line) => {
                    let _ = editor.add_history_entry(&line);
                    if !self.line(&line) {
                        return Ok(Exit::Passed);
                    }
                }
                Err(ReadlineError::Interrupted) => {}
                Err(ReadlineError::Eof) => return Ok(Exit::Passed),
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Reads lines from a pipe or file: only results go to stdout, and the exit status reports
    /// failures.
    fn follow(&mut self) -> Result<Exit, Trouble> {
        let mut input = io::stdin().lock();
        let mut line = Vec::new();
        loop {
            line.clear();
            if input.read_until(b'\n', &mut line)? == 0
                || !self.line(&String::from_utf8_lossy(&line))
            {
                return Ok(self.worst);
            }
        }
    }

    /// Carries out one line. Returns false once the session is over.
    fn line(&mut self, line: &str) -> bool {
        let mut out = String::new();
        let clock = Clock::system();
        let began = clock.now();
        match ShellCommand::parse(line) {
            Ok(None) => return true,
            Ok(Some(ShellCommand::Quit)) => return false,
            Ok(Some(ShellCommand::Help)) => {
                print(HELP.as_bytes());
                return true;
            }
            Ok(Some(command)) => self.execute(command, &mut out),
            Err(mistake) => {
                let _ = writeln!(out, "Error: {mistake}");
                self.worst = Exit::Usage;
            }
        }
        let _ = writeln!(out, "{} ms", (clock.now() - began) / 1_000_000);
        print(out.as_bytes());
        true
    }

    fn execute(&mut self, command: ShellCommand, out: &mut String) {
        if let ShellCommand::Table { name } = command {
            if let Some(name) = name {
                self.table = name;
            }
            let _ = writeln!(out, "Using table \"{}\"", self.table);
            return;
        }
        if let ShellCommand::Do { operation, values } = &command {
            let done = self.store.carry_out_own(&self.table, operation, values, out);
            match done {
                Ok(true) => {}
                Ok(false) => self.note(Exit::Target),
                Err(trouble) => {
                    self.note(trouble.exit());
                    let _ = writeln!(out, "Error: {trouble}");
                }
            }
            return;
        }
        match self.store.execute(&self.table, &command, out) {
            Ok(answer) => {
                self.note(if answer.code == Answer::OK { Exit::Passed } else { Exit::Target });
                tell(&command, &answer, out);
            }
            Err(trouble) => {
                self.note(trouble.exit());
                let _ = writeln!(out, "Error: {trouble}");
            }
        }
    }

    /// Notes a failure. A mistake in the script takes precedence over a refusal by the server.
    fn note(&mut self, exit: Exit) {
        if self.worst == Exit::Passed || exit == Exit::Usage {
            self.worst = exit;
        }
    }
}

/// Prints the result of a command under YCSB's labels.
fn tell(command: &ShellCommand, answer: &Answer, out: &mut String) {
    const RULE: &str = "--------------------------------";
    let label = match command {
        ShellCommand::Read { .. } => "Return code",
        ShellCommand::Delete { .. } => "Return result",
        _ => "Result",
    };
    let _ = writeln!(out, "{label}: {}", answer.code);
    let scan = matches!(command, ShellCommand::Scan { .. });
    if scan {
        let _ = writeln!(out, "{}", if answer.records.is_empty() { "0 records" } else { RULE });
    }
    for (number, record) in answer.records.iter().enumerate() {
        if scan {
            let _ = writeln!(out, "Record {number}");
        }
        for (name, value) in record {
            // One line each, whatever the values contain.
            let _ = writeln!(out, "{}={}", shown(name, false), shown(value, false));
        }
        if scan {
            let _ = writeln!(out, "{RULE}");
        }
    }
}
