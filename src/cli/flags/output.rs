//! Flags about results, and the names of formats on the command line.

use super::agents::AgentsArgs;
use super::known;
use super::place::format_of_file;
use super::push::PushArgs;
use crate::plan::{self, Invalid, Noise};
use crate::report::{self, Format};
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

/// Flags about results, shared by all verbs that measure.
#[derive(Clone, Debug, clap::Args)]
pub(in crate::cli) struct OutputArgs {
    /// A folder for run.json and page, or a report file
    #[arg(short, long, value_name = "PATH", long_help = output_help())]
    pub(in crate::cli) output: Option<PathBuf>,
    /// What to call the run in lists and reports, such as 'after the update'
    #[arg(long, value_name = "TEXT", value_parser = plan::label)]
    pub(in crate::cli) label: Option<String>,
    /// The report's format [default: text]
    ///
    /// The report's format [default: text; in the dialects: their own]
    #[arg(long, value_name = "FORMAT", value_parser = known::formats())]
    pub(in crate::cli) format: Option<report::Format>,
    /// Fail if this is true, such as 'read.p99 > 20ms'
    ///
    /// Fail with exit status 4 if this is true, such as 'read.p99 > 20ms' or 'err > 0.1%'; may be
    /// repeated
    #[arg(long, value_name = "THRESHOLD")]
    pub(in crate::cli) fail_if: Vec<String>,
    /// If this machine is too busy to measure reliably: fail or warn
    ///
    /// What to do if this machine was too busy to measure reliably: fail, with exit status 5, or
    /// warn [default: fail; in the dialects: warn]
    #[arg(long, value_name = "WHAT", value_parser = Noise::NAMES)]
    pub(in crate::cli) noise: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) metrics: MetricsArgs,
    #[command(flatten)]
    pub(in crate::cli) live: LiveArgs,
    /// Show no progress, and a one-line report: the result and where it is saved
    #[arg(short, long)]
    pub(in crate::cli) quiet: bool,
    /// Show one line of progress on a terminal, instead of the live view
    #[arg(long)]
    pub(in crate::cli) no_tui: bool,
    /// Print the checked plan as JSON and run nothing
    #[arg(long)]
    pub(in crate::cli) dry_run: bool,
    #[command(flatten)]
    pub(in crate::cli) agents: AgentsArgs,
}

fn output_help() -> String {
    let endings = report::FORMATS.iter().filter_map(|it| it.endings.first());
    let endings: Vec<String> = endings.map(|ending| format!(".{ending}")).collect();
    let (last, others) = endings.split_last().expect("there are formats with endings");
    format!(
        "The folder for run.json and report.html [default: springload-runs/TIME]; or a file for \
         the report, if the name ends in {} or {last}",
        others.join(", ")
    )
}

/// Whether metrics are served, and to whom.
#[derive(Clone, Debug, Default, clap::Args)]
pub(in crate::cli) struct MetricsArgs {
    /// Serve metrics at /metrics during the run, on PORT for this machine only, or on HOST:PORT;
    /// port 0 picks a free port
    #[arg(id = "metrics", long = "metrics", value_name = "ADDR")]
    pub(in crate::cli) address: Option<String>,
    /// Allow other machines to read the metrics; there is no password
    #[arg(id = "metrics_public", long = "metrics-public", requires = "metrics")]
    pub(in crate::cli) public: bool,
}

/// How a run can be followed from outside besides metrics.
#[derive(Clone, Debug, Default, clap::Args)]
pub(in crate::cli) struct LiveArgs {
    #[command(flatten)]
    pub(in crate::cli) page: PageArgs,
    /// Write a line of JSON for each second, while it runs, to FILE or to stdout (-)
    ///
    /// Write a line of JSON for each second, as soon as it ends, to a file, a pipe, or standard
    /// output (-), which then has no report
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) jsonl: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) push: PushArgs,
}

impl LiveArgs {
    /// Whether standard output has JSON lines and nothing else.
    pub(in crate::cli) fn lines_on_stdout(&self) -> bool {
        self.jsonl.as_deref() == Some(Path::new("-"))
    }
}

/// Whether the page is served during the run, and to whom.
#[derive(Clone, Debug, Default, clap::Args)]
pub(in crate::cli) struct PageArgs {
    /// Serve the report's page while it runs, on PORT for this machine only, or on HOST:PORT
    ///
    /// Serve the report's page while it runs, on PORT for this machine only, or on HOST:PORT; port
    /// 0 picks a free port. The page renews itself every few seconds
    #[arg(id = "serve_page", long = "serve-page", value_name = "ADDR")]
    pub(in crate::cli) address: Option<String>,
    /// Allow other machines to see the page; there is no password
    #[arg(id = "serve_page_public", long = "serve-page-public", requires = "serve_page")]
    pub(in crate::cli) public: bool,
}

/// How much the report of a native verb shows.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(in crate::cli) struct VerboseArgs {
    /// Show all figures: service times, connection times, bytes, calibration and every warning
    #[arg(short, long)]
    pub(in crate::cli) verbose: bool,
}

impl OutputArgs {
    /// The file for the report and its format, if `--output` names one.
    ///
    /// # Errors
    /// Fails if name and format do not match.
    pub(in crate::cli) fn file(&self) -> Result<Option<(&Path, Format)>, Invalid> {
        let Some(path) = self.output.as_deref() else { return Ok(None) };
        let format = format_of_file(path, self.format)?;
        Ok(format.map(|format| (path, format)))
    }

    /// The folder, if `--output` names one.
    pub(in crate::cli) fn folder(&self) -> Option<&Path> {
        let file = self.file().is_ok_and(|file| file.is_some());
        self.output.as_deref().filter(|_| !file)
    }

    /// The format to print in, if one is asked for; the format of a file does not count.
    pub(in crate::cli) fn printed(&self) -> Option<Format> {
        let file = self.file().is_ok_and(|file| file.is_some());
        self.format.filter(|_| !file)
    }

    /// The output flags of a verb that has only these two.
    pub(in crate::cli) fn bare(output: Option<PathBuf>, quiet: bool) -> Self {
        Self {
            output,
            label: None,
            format: None,
            fail_if: Vec::new(),
            noise: None,
            metrics: MetricsArgs::default(),
            live: LiveArgs::default(),
            quiet,
            no_tui: true,
            dry_run: false,
            agents: AgentsArgs::default(),
        }
    }
}

/// Refuses to print a binary format on a terminal.
pub(in crate::cli) fn fit_for_stdout(format: report::Format) -> Result<(), Invalid> {
    if format.binary() && io::stdout().is_terminal() {
        let problem = format!("{} cannot be shown on a terminal", format.name);
        let cure = "redirect it, or use springload report --output FILE";
        return Err(Invalid::new("--format", problem, cure));
    }
    Ok(())
}
