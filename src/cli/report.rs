//! `springload report` and `springload show`: a saved run in any format.

use super::exit::Exit;
use super::output::{known_format, print};
use super::runs;
use crate::report::Format;
use std::path::PathBuf;

/// `springload report` and `springload show`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A run of springload list or the beginning of its name, latest, latest~1 for the one before;
    /// or a run.json, or the folder that holds one
    run: PathBuf,
    /// The format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = known_format)]
    format: Format,
}

/// Carries out either.
pub(super) fn main(args: &Args) -> Exit {
    match runs::read(&args.run) {
        Ok(record) => {
            print(&(args.format.render)(&record));
            Exit::Passed
        }
        Err(mistake) => {
            eprintln!("error: {mistake}");
            Exit::Usage
        }
    }
}
