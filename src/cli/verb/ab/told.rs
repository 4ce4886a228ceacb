//! What the user sees of a comparison: how it stands after each pair, and the report at its end.

use super::{Ab, Ready};
use crate::cli::exit::Exit;
use crate::cli::pipeline::dialect::deliver;
use crate::cli::pipeline::folder::PAGE;
use crate::cli::pipeline::keep_in_mind;
use crate::cli::verb::compare::{ComparisonFormat, status};
use crate::compare::Comparison;
use crate::files;
use crate::report::verdict_words;

impl Ready {
    /// Prints how it stands after a pair, and updates the page.
    pub(super) fn so_far(&mut self, quiet: bool) {
        let reading = self.pairs.reading(false);
        if !quiet {
            eprintln!("{}", verdict_words(&reading));
        }
        if let Err(problem) = self.write_page(&reading)
            && !self.unwritten
        {
            eprintln!("warning: {problem}; the comparison goes on");
            self.unwritten = true;
        }
    }

    /// Prints what there is if it ends before there is a verdict, and how to go on.
    pub(super) fn ended_early(&self, quiet: bool) {
        if self.pairs.count() > 0 {
            let reading = self.pairs.reading(true);
            if !quiet {
                eprintln!("{}", verdict_words(&reading));
            }
            match self.write_page(&reading) {
                Ok(()) if !quiet => eprintln!("page: {}", self.folder.join(PAGE).display()),
                Ok(()) => {}
                Err(problem) => eprintln!("error: {problem}"),
            }
        }
        let folder = self.folder.display();
        eprintln!("the comparison is incomplete; the same command with -o {folder} continues it");
    }

    /// Prints the report and writes the page.
    pub(super) fn report(&self, verdict: &Comparison, args: &Ab) -> Exit {
        let told = deliver(args.format.render(verdict, &self.pairs.drawn()).as_bytes());
        if let Err(unwritten) = &told {
            eprintln!("error: {unwritten}");
        }
        let written = self.write_page(verdict);
        match &written {
            Ok(()) if !args.quiet => eprintln!("page: {}", self.folder.join(PAGE).display()),
            Ok(()) => {}
            Err(problem) => eprintln!("error: {problem}"),
        }
        keep_in_mind(&self.folder, "", self.pairs.definition.label.as_deref());
        status(verdict).if_written(told.is_ok() && written.is_ok())
    }

    /// Replaces the page in one step.
    fn write_page(&self, it: &Comparison) -> Result<(), String> {
        let (page, html) = (self.folder.join(PAGE), ComparisonFormat::Html);
        files::replace(&page, html.render(it, &self.pairs.drawn()).as_bytes())
            .map_err(|error| format!("cannot write {}: {error}", page.display()))
    }
}
