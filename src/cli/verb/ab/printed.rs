//! What the user sees of a comparison: the state after each pair, and the report at its end.

use super::{Ab, ReadyAb};
use crate::cli::exit::Exit;
use crate::cli::verb::compare::status;
use crate::compare::Comparison;
use crate::report::{ComparisonReport, verdict_words};

impl ReadyAb {
    /// Prints the state after a pair, and updates the page.
    pub(super) fn so_far(&mut self, quiet: bool) {
        let reading = self.pairs.reading(false);
        if !quiet {
            eprintln!("{}", verdict_words(&reading));
        }
        if let Err(problem) = self.place.write_page(&self.shown(&reading))
            && !self.unwritten
        {
            eprintln!("warning: {problem}; the comparison goes on");
            self.unwritten = true;
        }
    }

    /// Prints the result so far if the comparison ends without a verdict, and how to continue.
    pub(super) fn ended_early(&self, quiet: bool) {
        if self.pairs.count() > 0 {
            let reading = self.pairs.reading(true);
            if !quiet {
                eprintln!("{}", verdict_words(&reading));
            }
            self.place.tell_page(&self.shown(&reading), quiet);
        }
        let folder = self.place.folder.display();
        eprintln!("the comparison is incomplete; the same command with -o {folder} continues it");
    }

    /// Prints the report and writes the page.
    pub(super) fn report(&self, verdict: &Comparison, args: &Ab) -> Exit {
        let label = self.pairs.definition.label.as_deref();
        let reported = self.place.report(&self.shown(verdict), label, &args.study);
        status(verdict).if_written(reported)
    }

    /// The comparison, with the runs for its charts.
    fn shown(&self, it: &Comparison) -> ComparisonReport {
        ComparisonReport { comparison: it.clone(), drawn: self.pairs.drawn() }
    }
}
