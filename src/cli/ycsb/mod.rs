//! `springload ycsb`: the command line of YCSB's `bin/ycsb`.

mod asked;
mod classes;
mod outputs;
mod show;

pub(super) use outputs::Outputs;

use super::execute::{Execution, execute};
use super::exit::Exit;
use super::output::OutputArgs;
use crate::plan::{self, Auth, Invalid, YcsbPhase};
use crate::workload::ycsb::Class;
use asked::Asked;
use clap::ValueEnum;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// `springload ycsb`.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(super) struct Args {
    /// What to do
    #[arg(value_enum)]
    pub(super) command: Command,
    /// What to do it with: couchdb; rest, for traces of URLs; or basic, which sends nothing and
    /// prints operations (basicts is the same)
    pub(super) binding: String,
    /// A property file, or one of workloads/workloada to workloads/workloadf, or
    /// workloads/tsworkloada; may be repeated, the later one wins
    #[arg(short = 'P', value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// A property; wins over those in files; may be repeated
    #[arg(short = 'p', value_name = "NAME=VALUE")]
    pub(super) properties: Vec<String>,
    /// Connections, each with one operation under way [property threadcount, default: 1]
    #[arg(long, value_name = "N")]
    pub(super) threads: Option<String>,
    /// Operations due per second, in all [property target, default: as many as are served]
    #[arg(long, value_name = "N")]
    pub(super) target: Option<String>,
    /// Print status lines on stderr
    #[arg(short = 's')]
    pub(super) status: bool,
    /// What status lines begin with
    #[arg(short = 'l', value_name = "LABEL")]
    pub(super) label: Option<String>,
    /// The table [property table, default: usertable]
    #[arg(long, value_name = "NAME")]
    pub(super) table: Option<String>,
    /// The class of the binding, in its place
    #[arg(long, value_name = "CLASS")]
    pub(super) db: Option<String>,
    /// The load phase: what the command says already
    #[arg(long)]
    pub(super) load: bool,
    /// The run phase: what the command says already
    #[arg(short = 't')]
    pub(super) transactions: bool,
    /// Passed over: there are no classes to load
    #[arg(long, value_name = "PATH")]
    pub(super) cp: Option<OsString>,
    /// Passed over: there is no Java
    #[arg(long = "jvm-args", value_name = "ARGS", allow_hyphen_values = true)]
    pub(super) java: Option<OsString>,
    /// Name records as go-ycsb does, whose hash is another one
    #[arg(long)]
    pub(super) go_ycsb_keys: bool,
    /// How long one operation may take
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = plan::duration_ns)]
    pub(super) timeout: u64,
    /// Present user and password in every request, instead of a session cookie
    #[arg(long)]
    pub(super) basic_auth: bool,
    /// A PEM file with the authorities to trust, instead of the system's
    #[arg(long, value_name = "FILE")]
    pub(super) tls_ca: Option<PathBuf>,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Command {
    /// Insert the records
    Load,
    /// Do operations on them
    Run,
    /// Read and write records by hand
    Shell,
}

/// YCSB's options that have one dash and more than one letter; the second is how they are spelled
/// for the parser.
const OPTIONS: [(&str, &str); 9] = [
    ("-threads", "--threads"),
    // As a guide has it, which YCSB itself never understood.
    ("-thread", "--threads"),
    ("-target", "--target"),
    ("-db", "--db"),
    ("-load", "--load"),
    ("-cp", "--cp"),
    ("-jvm-args", "--jvm-args"),
    ("-table", "--table"),
    ("-help", "--help"),
];
/// Options whose value is the next word, whatever it looks like.
const VALUED: [&str; 9] =
    ["-P", "-p", "-l", "-threads", "-thread", "-target", "-db", "-cp", "-jvm-args"];

/// Spells YCSB's options with two dashes, where its verb is given.
pub(super) fn with_two_dashes(mut arguments: Vec<OsString>) -> Vec<OsString> {
    if arguments.get(1).is_none_or(|verb| verb != "ycsb") {
        return arguments;
    }
    let mut words = arguments.iter_mut().skip(2);
    while let Some(word) = words.next() {
        let original = word.clone();
        let known = OPTIONS.iter().find(|(option, _)| *word == OsStr::new(option));
        if let Some((option, spelled)) = known {
            if *option == "-thread" {
                eprintln!("note: -thread is taken for -threads");
            }
            *word = (*spelled).into();
        }
        if VALUED.iter().any(|option| original == *option) {
            words.next();
        }
    }
    arguments
}

/// Carries out `springload ycsb`.
pub(super) fn main(args: &Args, command: &str) -> Exit {
    for (given, option) in [(args.cp.is_some(), "-cp"), (args.java.is_some(), "-jvm-args")] {
        if given {
            eprintln!("note: {option} is passed over: no Java is run");
        }
    }
    let auth = if args.basic_auth { Auth::Basic } else { Auth::Cookie };
    let mut mistakes = Vec::new();
    let mut asked = Asked::read(args, &mut mistakes);
    if args.command == Command::Shell {
        return asked.shell(args, mistakes);
    }
    let Some(spec) = asked.spec(args, (command, auth), &mut mistakes) else {
        return refuse(&mistakes);
    };
    let ycsb = spec.ycsb.as_ref();
    let loads = ycsb.is_some_and(|ycsb| ycsb.phases == [YcsbPhase::Load]);
    if mistakes.is_empty() && loads && ycsb.is_some_and(|ycsb| matches!(ycsb.class, Class::Rest(_)))
    {
        eprintln!("note: RestWorkload loads nothing");
        return Exit::Passed;
    }
    if mistakes.is_empty() && !args.output.dry_run {
        asked.notes.iter().for_each(|note| eprintln!("note: {note}"));
        if spec.ycsb.as_ref().and_then(|ycsb| ycsb.basic).is_some_and(|basic| basic.printed) {
            show::properties(&asked.properties);
        }
    }
    let exporter = spec.ycsb.as_ref().and_then(|ycsb| ycsb.measurement.as_ref());
    let preamble = exporter.map(|measurement| measurement.exporter.format());
    execute(Execution { spec: &spec, mistakes, output: &args.output, preamble })
}

/// Tells all mistakes.
fn refuse(mistakes: &[Invalid]) -> Exit {
    for mistake in mistakes {
        eprintln!("error: {mistake}");
    }
    Exit::Usage
}

/// A property that makes no sense.
fn wrong(name: &str, problem: impl Into<String>, cure: &str) -> Invalid {
    Invalid::new(format!("-p {name}"), problem, cure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_ycsb_get_their_second_dash() {
        let spelled = |line: &str| {
            let words = line.split(' ').map(OsString::from).collect();
            let words = with_two_dashes(words).into_iter().map(|word| word.into_string().unwrap());
            words.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            spelled("x ycsb run basic -P -cp -p -db -threads 5 -s -jvm-args -load"),
            "x ycsb run basic -P -cp -p -db --threads 5 -s --jvm-args -load"
        );
        assert_eq!(
            spelled("x ycsb load basic -thread 50 -l -target"),
            "x ycsb load basic --threads 50 -l -target"
        );
        assert_eq!(spelled("x run basic -threads 5"), "x run basic -threads 5");
    }
}
