//! `springload selftest`: a table of claims, what was measured, and whether they hold.

use super::exit::Exit;
use crate::selftest::{Length, claims};

/// `springload selftest`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Shorter runs: under 30 s in all
    #[arg(long)]
    quick: bool,
    /// Only the claims whose names contain this, such as T1
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
}

/// Carries out `springload selftest`.
pub(super) fn main(args: &Args) -> Exit {
    let length = if args.quick { Length::Quick } else { Length::Full };
    let chosen = |name: &str| {
        let word = args.only.as_deref();
        word.is_none_or(|word| name.split(' ').any(|part| part == word) || name == word)
    };
    let chosen: Vec<_> = claims().into_iter().filter(|claim| chosen(claim.name)).collect();
    if chosen.is_empty() {
        let names: Vec<_> = claims().map(|claim| claim.name).to_vec();
        eprintln!("error: --only: no claim of that name; give one of {}", names.join(", "));
        return Exit::Usage;
    }
    let mut failed = 0;
    for claim in &chosen {
        println!("{:<16} {}", claim.name, claim.claim);
        let finding = claim.measure(length);
        let mark = if finding.passed { "pass" } else { "FAIL" };
        println!("{mark:>14}   {}", finding.measured);
        failed += u32::from(!finding.passed);
    }
    println!(
        "\n{} of {} claims hold on this machine now",
        chosen.len() as u32 - failed,
        chosen.len()
    );
    if failed == 0 { Exit::Passed } else { Exit::Untrustworthy }
}
