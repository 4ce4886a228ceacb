//! Where results go: `run.json` and a page in a folder, a report on stdout.

use crate::plan::Invalid;
use crate::record::RunRecord;
use crate::report;
use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::slice;

/// The folder that runs go to, one folder each, where no other is named.
pub(in crate::cli) const RUNS: &str = "springload-runs";
/// More runs than anybody keeps side by side.
const MOST_RUNS: u32 = 100_000;

/// The page's name.
pub(in crate::cli) const PAGE: &str = "report.html";

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

/// Writes to stdout. Whoever reads may stop whenever it likes: a closed pipe is no failure.
///
/// # Errors
/// When it cannot be written for another reason, such as a full disk.
pub(in crate::cli) fn write(bytes: &[u8]) -> io::Result<()> {
    use io::Write as _;
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// The same where nothing can be done about it but to say so.
pub(in crate::cli) fn print(bytes: &[u8]) {
    if let Err(error) = write(bytes) {
        eprintln!("error: stdout: {error}");
    }
}

/// Writes a line to stderr, if anybody reads it.
pub(in crate::cli) fn remark(line: &str) {
    use io::Write as _;
    let _ = writeln!(io::stderr().lock(), "{line}");
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

/// The folder of one run. Made before anything is sent, so that a bad path fails early.
#[derive(Debug)]
pub(in crate::cli) struct Folder {
    file: PathBuf,
}

impl Folder {
    /// Makes the folder and sees that files can be written in it. A `run.json` that is there
    /// already is moved aside, to `run-1.json` and so on.
    pub(in crate::cli) fn make(wanted: Option<&Path>, now: &str) -> io::Result<Self> {
        let folder = wanted.map_or_else(|| default_folder(now), Path::to_owned);
        fs::create_dir_all(&folder)?;
        let file = folder.join("run.json");
        let probe = folder.join(".run.json.new");
        fs::write(&probe, b"")?;
        fs::remove_file(&probe)?;
        if file.exists() {
            let aside =
                (1..MOST_RUNS).map(|n| folder.join(format!("run-{n}.json"))).find(|p| !p.exists());
            fs::rename(&file, aside.unwrap_or_else(|| folder.join("run-0.json")))?;
            // The page of the old record would pass for one of the new; it can be made again.
            let _ = fs::remove_file(folder.join(PAGE));
        }
        Ok(Self { file })
    }

    /// Where the record is.
    pub(in crate::cli) fn file(&self) -> &Path {
        &self.file
    }

    /// Replaces the record in one step: a reader sees the old one or the new one.
    pub(in crate::cli) fn save(&self, record: &RunRecord) -> io::Result<()> {
        self.write("run.json", "json", record).map(drop)
    }

    /// Puts the page made of the record beside it; tells where it is.
    pub(in crate::cli) fn save_page(&self, record: &RunRecord) -> io::Result<PathBuf> {
        self.write(PAGE, "html", record)
    }

    fn write(&self, name: &str, format: &str, record: &RunRecord) -> io::Result<PathBuf> {
        let format = known_format(format).map_err(io::Error::other)?;
        let bytes = format.render(slice::from_ref(record), None).map_err(io::Error::other)?;
        let (new, file) = (format!(".{name}.new"), self.file.with_file_name(name));
        let new = self.file.with_file_name(new);
        // Somebody may have taken the folder away meanwhile.
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&new, bytes).inspect_err(|_| {
            let _ = fs::remove_file(&new);
        })?;
        fs::rename(&new, &file)?;
        Ok(file)
    }

    /// Saves the page, and says where everything is: in the folder or, where the record could not
    /// be saved there for the reason `unsaved`, among temporary files. Tells whether all of it is
    /// where it was to be.
    pub(in crate::cli) fn tell(
        &self,
        record: &RunRecord,
        unsaved: Option<io::Error>,
        quiet: bool,
    ) -> bool {
        let Some(error) = unsaved else {
            if !quiet {
                eprintln!("record: {}", self.file.display());
            }
            let page = self.save_page(record);
            match &page {
                Ok(page) if !quiet => eprintln!("page: {}", page.display()),
                Ok(_) => {}
                Err(error) => eprintln!("error: {PAGE} cannot be written: {error}"),
            }
            return page.is_ok();
        };
        eprintln!("error: {} cannot be written: {error}", self.file.display());
        let place = std::env::temp_dir().join(format!("springload-{}", std::process::id()));
        let rescue = Self { file: place.join("run.json") };
        match rescue.save(record).and_then(|()| rescue.save_page(record)) {
            Ok(_) => eprintln!("record: {}", rescue.file.display()),
            Err(error) => eprintln!("error: nor can {}: {error}", rescue.file.display()),
        }
        false
    }
}

/// `springload-runs/TIME`, with a number where two runs begin in the same second.
fn default_folder(now: &str) -> PathBuf {
    let base = Path::new(RUNS);
    let first = base.join(now);
    if !first.exists() {
        return first;
    }
    (2..MOST_RUNS)
        .map(|n| base.join(format!("{now}-{n}")))
        .find(|path| !path.exists())
        .unwrap_or(first)
}
