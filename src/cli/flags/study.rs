//! Flags of studies: those that are measured into a folder, and those that are computed from saved
//! runs.

use super::known;
use super::place::{study_format, write_to};
use crate::plan::{self, Invalid};
use crate::report::{Look, Study, StudyFormat};
use std::path::PathBuf;

/// Where a study is saved and how it is reported. Each verb explains what is in its folder.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct MeasuredArgs<S: Study> {
    #[arg(short, long, value_name = "DIR")]
    pub(in crate::cli) output: Option<PathBuf>,
    #[arg(long, value_name = "TEXT", value_parser = plan::label)]
    pub(in crate::cli) label: Option<String>,
    /// The report's format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    #[arg(value_parser = known::study_formats::<S>())]
    pub(in crate::cli) format: &'static StudyFormat<S>,
    /// Show no progress, only the report
    #[arg(short, long)]
    pub(in crate::cli) quiet: bool,
}

/// Where a study of saved runs goes.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct WrittenArgs<S: Study> {
    /// The format [default: that of the file's name, or text]
    #[arg(long, value_name = "FORMAT", value_parser = known::study_formats::<S>())]
    format: Option<&'static StudyFormat<S>>,
    /// The file to write to; - is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(in crate::cli) output: PathBuf,
}

impl<S: Study> WrittenArgs<S> {
    /// The format that is asked for by name or, if none is, the one that the file name implies.
    ///
    /// # Errors
    /// Fails if there is no such format, or if the two do not match.
    pub(in crate::cli) fn format(&self) -> Result<&'static StudyFormat<S>, Invalid> {
        study_format(&self.output, self.format)
    }

    /// Writes a study to the output file.
    ///
    /// # Errors
    /// Fails if the format does not fit, or the file cannot be written.
    pub(in crate::cli) fn write(&self, study: &S, look: Look) -> Result<(), Invalid> {
        write_to(&self.output, &self.format()?.render(study, look)?)
    }
}
