//! Flags about results, and formats as they are named on a command line.

use crate::plan::Invalid;
use crate::report;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

/// Flags about results, the same for every verb that measures.
#[derive(Clone, Debug, clap::Args)]
pub(in crate::cli) struct OutputArgs {
    /// The folder for run.json and report.html [default: springload-runs/TIME]
    #[arg(short, long, value_name = "DIR")]
    pub(in crate::cli) output: Option<PathBuf>,
    /// The report's format [default: text; the dialects: their own]
    #[arg(long, value_name = "FORMAT", value_parser = known_format)]
    pub(in crate::cli) format: Option<report::Format>,
    /// Fail with exit status 4 if this holds, such as 'read.p99 > 20ms'; may be repeated
    #[arg(long, value_name = "THRESHOLD")]
    pub(in crate::cli) fail_if: Vec<String>,
    /// Serve metrics while the run goes on, as GET /metrics at PORT of this machine alone, or at
    /// HOST:PORT; port 0 takes a free one
    #[arg(long, value_name = "ADDR")]
    pub(in crate::cli) metrics: Option<String>,
    /// No progress, only the report
    #[arg(short, long)]
    pub(in crate::cli) quiet: bool,
    /// One line of progress on a terminal, instead of the live view
    #[arg(long)]
    pub(in crate::cli) no_tui: bool,
    /// Print the checked plan as JSON and run nothing
    #[arg(long)]
    pub(in crate::cli) dry_run: bool,
}

impl OutputArgs {
    /// The same where a verb has only these two.
    pub(in crate::cli) fn bare(output: Option<PathBuf>, quiet: bool) -> Self {
        let (format, metrics, fail_if) = (None, None, Vec::new());
        Self { output, format, fail_if, metrics, quiet, no_tui: true, dry_run: false }
    }
}

/// Refuses to print on a terminal what only programs can read.
pub(in crate::cli) fn fit_for_stdout(format: report::Format) -> Result<(), Invalid> {
    if format.binary() && io::stdout().is_terminal() {
        let problem = format!("{} is not for a terminal", format.name);
        let cure = "redirect it, or give springload report an --output FILE";
        return Err(Invalid::new("--format", problem, cure));
    }
    Ok(())
}

/// Finds a format, or names those that there are.
pub(in crate::cli) fn known_format(name: &str) -> Result<report::Format, String> {
    report::format(name).ok_or_else(|| {
        let names: Vec<_> = report::FORMATS.iter().map(|format| format.name).collect();
        format!("there is no format {name:?}; give one of {}", names.join(", "))
    })
}
