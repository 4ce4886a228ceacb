//! `springload selftest`: a table of claims, what was measured, and whether each holds, fails, or
//! cannot be decided because the machine is too busy.

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Statuses, Trouble};
use crate::plan::Invalid;
use crate::selftest::{CLAIMS, Length, Outcome};

/// `springload selftest`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Selftest {
    /// Shorter runs, under 30 s in total
    #[arg(long)]
    quick: bool,
    /// Check only claims whose names contain this, such as T1
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Exit with status 5 if a claim cannot be judged, too, because the machine is too busy
    #[arg(long)]
    strict: bool,
}

impl Verb for Selftest {
    const NAME: &'static str = "selftest";
    const ABOUT: &'static str = "Check springload's own measurements on this machine";
    const FAMILY: Family = Family::Tools;
    const EXAMPLES: [Example; 3] = [
        ("All claims", "selftest"),
        ("The same in half a minute", "selftest --quick"),
        ("One claim", "selftest --only T1"),
    ];
    const EXITS: Statuses = &[
        (Exit::Passed, "no claim failed"),
        Exit::ALL[1],
        Exit::WRONG,
        (Exit::Untrustworthy, "a claim does not hold; with --strict, or cannot be judged"),
    ];

    fn carry_out(self, _call: &Call<'_>) -> Result<Exit, Trouble> {
        let length = if self.quick { Length::Quick } else { Length::Full };
        let chosen = |name: &str| {
            let word = self.only.as_deref();
            word.is_none_or(|word| name.split(' ').any(|part| part == word) || name == word)
        };
        let chosen: Vec<_> = CLAIMS.into_iter().filter(|claim| chosen(claim.name)).collect();
        if chosen.is_empty() {
            let names: Vec<_> = CLAIMS.map(|claim| claim.name).to_vec();
            let cure = format!("give one of {}", names.join(", "));
            return Err(Invalid::new("--only", "no such claim", cure).into());
        }
        let (mut failed, mut unjudged) = (0, 0);
        for claim in &chosen {
            println!("{:<16} {}", claim.name, claim.claim);
            let finding = claim.measure(length);
            let (mark, why) = match finding.outcome {
                Outcome::Holds => ("pass", String::new()),
                Outcome::Fails => ("FAIL", String::new()),
                Outcome::CannotTell(why) => ("cannot tell", format!("{why}: ")),
            };
            let again = match finding.attempts {
                1 => String::new(),
                attempts => format!("; measured {attempts} times"),
            };
            println!("{mark:>14}   {why}{}{again}", finding.measured);
            println!("{:>14}   {}", "machine", finding.noise);
            failed += usize::from(mark == "FAIL");
            unjudged += usize::from(mark == "cannot tell");
        }
        let all = chosen.len();
        println!("\n{} of {all} claims hold on this machine", all - failed - unjudged);
        if failed > 0 {
            println!("{failed} of {all} do not hold");
        }
        if unjudged > 0 {
            println!(
                "{unjudged} of {all} cannot be judged: this machine is too busy; try again later"
            );
        }
        Ok(status(failed, unjudged, self.strict))
    }
}

/// The exit status if `failed` claims do not hold, and `unjudged` ones cannot be decided.
fn status(failed: usize, unjudged: usize, strict: bool) -> Exit {
    if failed > 0 || strict && unjudged > 0 { Exit::Untrustworthy } else { Exit::Passed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_judged_fails_only_if_that_is_asked_for() {
        assert_eq!(status(0, 0, true), Exit::Passed);
        assert_eq!(status(0, 1, false), Exit::Passed);
        assert_eq!(status(0, 1, true), Exit::Untrustworthy);
        assert_eq!(status(1, 0, false), Exit::Untrustworthy);
        assert_eq!(status(1, 0, true), Exit::Untrustworthy);
    }
}
