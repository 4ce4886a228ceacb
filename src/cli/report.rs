//! `springload report`: a saved run in any format.

use super::exit::Exit;
use super::output::{known_format, print};
use crate::report::{Format, read_json};
use std::path::PathBuf;

/// `springload report`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A run.json, or the folder that holds one
    run: PathBuf,
    /// The format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = known_format)]
    format: Format,
}

/// Carries out `springload report`.
pub(super) fn main(args: &Args) -> Exit {
    let file = if args.run.is_dir() { args.run.join("run.json") } else { args.run.clone() };
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) => {
            let name = file.display();
            eprintln!("error: RUN: cannot read {name}: {error}; name a run.json or its folder");
            return Exit::Usage;
        }
    };
    match read_json(&text) {
        Ok(record) => {
            print(&(args.format.render)(&record));
            Exit::Passed
        }
        Err(error) => {
            eprintln!("error: RUN: {} is {error}; name a whole run.json", file.display());
            Exit::Usage
        }
    }
}
