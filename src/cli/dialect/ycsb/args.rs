//! The flags of `bin/ycsb`.

use crate::cli::flags::checks::WriteArgs;
use crate::cli::flags::give_up::GiveUpArgs;
use crate::cli::flags::output::OutputArgs;
use crate::cli::flags::tls::TlsArgs;
use crate::driver::Binding;
use crate::plan::{self, Invalid};
use clap::ValueEnum;
use std::ffi::OsString;
use std::path::PathBuf;

/// `springload ycsb`.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(in crate::cli) struct Ycsb {
    /// What to do
    #[arg(value_enum)]
    pub(super) command: Action,
    #[arg(help = "The database, such as couchdb", long_help = bindings())]
    pub(super) binding: String,
    /// A property file, such as workloads/workloada
    ///
    /// A property file, one of workloads/workloada to workloads/workloadf, or
    /// workloads/tsworkloada; may be repeated, the last one wins
    #[arg(short = 'P', value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// A property, which overrides those in files
    ///
    /// A property, which overrides those in files; may be repeated
    #[arg(short = 'p', value_name = "NAME=VALUE")]
    pub(super) properties: Vec<String>,
    /// Number of connections [default: 1]
    ///
    /// Number of connections, each with one operation in flight [property threadcount, default: 1]
    #[arg(id = "ycsb_threads", long = "threads", value_name = "N")]
    pub(super) threads: Option<String>,
    /// Operations per second [default: as fast as served]
    ///
    /// Total operations per second [property target, default: as fast as the server answers]
    #[arg(id = "ycsb_target", long = "target", value_name = "N")]
    pub(super) target: Option<String>,
    /// Print status lines on stderr
    #[arg(short = 's')]
    pub(super) status: bool,
    /// The prefix of status lines
    #[arg(short = 'l', value_name = "LABEL")]
    pub(super) status_label: Option<String>,
    /// The table [property table, default: usertable]
    #[arg(long, value_name = "NAME")]
    pub(super) table: Option<String>,
    /// The class of the binding, instead of its name
    #[arg(long, value_name = "CLASS")]
    pub(super) db: Option<String>,
    /// The load phase; the command already says so
    #[arg(long)]
    pub(super) load: bool,
    /// The run phase; the command already says so
    #[arg(short = 't')]
    pub(super) transactions: bool,
    /// Folders with settings such as hbase-site.xml; with java:CLASS the class path
    #[arg(long, value_name = "PATH")]
    pub(super) cp: Option<OsString>,
    /// Arguments for Java, with java:CLASS; otherwise ignored
    #[arg(long = "jvm-args", value_name = "ARGS", allow_hyphen_values = true)]
    pub(super) java: Option<OsString>,
    /// Name records as go-ycsb does, which uses a different hash
    #[arg(long)]
    pub(super) go_ycsb_keys: bool,
    /// Timeout for one operation
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = plan::duration_ns)]
    pub(super) timeout: u64,
    #[command(flatten)]
    pub(super) patience: GiveUpArgs,
    /// Send user and password with every request, instead of a session cookie
    #[arg(long)]
    pub(super) basic_auth: bool,
    #[command(flatten)]
    pub(super) writes: WriteArgs,
    #[command(flatten)]
    pub(super) tls: TlsArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Action {
    /// Insert the records
    Load,
    /// Run operations on the records
    Run,
    /// Read and write records by hand
    Shell,
}

/// The help on bindings.
fn bindings() -> String {
    let names = Binding::all_names();
    let any = Binding::named("java").map_or("", |_| "; java:CLASS runs any of YCSB's own, in Java");
    let more = "rest is for traces of URLs, basic sends nothing and prints the operations";
    format!("The binding: {names}; {more}{any}")
}

/// An invalid property.
pub(super) fn wrong(name: &str, problem: impl Into<String>, cure: &str) -> Invalid {
    Invalid::new(format!("-p {name}"), problem, cure)
}
