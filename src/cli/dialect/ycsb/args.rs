//! The flags of `bin/ycsb`, as the parser knows them.

use crate::cli::flags::output::OutputArgs;
use crate::plan::{self, Invalid};
use clap::ValueEnum;
use std::ffi::OsString;
use std::path::PathBuf;

/// `springload ycsb`.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(args_override_self = true)]
pub(in crate::cli) struct Ycsb {
    /// What to do
    #[arg(value_enum)]
    pub(super) command: Action,
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
pub(super) enum Action {
    /// Insert the records
    Load,
    /// Do operations on them
    Run,
    /// Read and write records by hand
    Shell,
}

/// A property that makes no sense.
pub(super) fn wrong(name: &str, problem: impl Into<String>, cure: &str) -> Invalid {
    Invalid::new(format!("-p {name}"), problem, cure)
}
