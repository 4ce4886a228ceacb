//! Measures two settings, one after the other, and writes both onto one page:
//!
//! ```text
//! cargo run --release --example side_by_side -- both.html
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program of its own")]

use springload::{LoadTest, RunRecord, render};
use std::error::Error;
use std::fs;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("give the file to write, such as both.html")?;
    compare(Path::new(&file))
}

/// Measures two batch sizes, and writes `file`.
///
/// # Errors
/// If something cannot be measured or written.
pub fn compare(file: &Path) -> Result<(), Box<dyn Error>> {
    let run = |batch: u32| -> Result<RunRecord, Box<dyn Error>> {
        let batch = format!("--batch={batch}");
        let test = LoadTest::from_flags(["--docs=20k", "--ops=0", "--connections=4", &batch])?;
        Ok(test.run_watched(|progress| eprint!("\r{batch} {} documents", progress.ok))?)
    };
    let records = [run(10)?, run(1_000)?];
    eprintln!();
    for record in &records {
        let stage = record.stages.first().ok_or("nothing was measured")?;
        println!("{:.0} requests/s", stage.load.served_per_s);
    }
    fs::write(file, render("html", &records)?)?;
    println!("{}", file.display());
    Ok(())
}
