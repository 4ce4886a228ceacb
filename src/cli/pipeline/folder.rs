//! The folder that a run leaves: `run.json` and a page made of it.

use crate::clock::{SECOND_NS, wall_ns};
use crate::record::RunRecord;
use crate::report;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::slice;

/// The folder that runs go to, one folder each, where no other is named.
pub(in crate::cli) const RUNS: &str = "springload-runs";
/// More runs than anybody keeps side by side.
const MOST_RUNS: u32 = 100_000;

/// The page's name.
pub(in crate::cli) const PAGE: &str = "report.html";

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
        let format = report::format(format).ok_or_else(|| io::Error::other("no such format"))?;
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
        unsaved: Option<&io::Error>,
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

/// The time, as folders are named after it.
pub(in crate::cli) fn now() -> String {
    let seconds = (wall_ns() / SECOND_NS).cast_signed();
    let now = jiff::Timestamp::from_second(seconds).unwrap_or_default();
    now.strftime("%Y%m%dT%H%M%SZ").to_string()
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
