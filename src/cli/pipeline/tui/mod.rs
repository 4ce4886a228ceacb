//! The live view of a run on the terminal's alternate screen, drawn from the observer's reports. It
//! opens once a run has lasted a second. It does not depend on how load is generated.

mod ansi;
mod draw;
#[cfg(test)]
mod draw_tests;
mod keys;
mod model;
mod open;
mod screen;

pub(super) use open::is_open;

use super::ending::Ending;
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::record::RunRecord;
use crate::run::Progress;
use draw::Look;
use model::Model;
use screen::Screen;
use std::io;
use std::sync::Arc;

/// Shorter runs only show the report.
const OPENS_AFTER_NS: Nanos = SECOND_NS;
/// The least time between two frames: five per second.
const DRAWS_EVERY_NS: Nanos = SECOND_NS / 5;

/// The live view of one run.
pub(super) struct Tui {
    model: Model,
    look: Look,
    ending: Arc<Ending>,
    began: Nanos,
    drawn: Nanos,
    screen: Option<Screen>,
}

impl Tui {
    /// A view that is not on the screen yet, with or without colors, in Unicode or in ASCII.
    pub(super) fn new(color: bool, ascii: bool, ending: Arc<Ending>) -> Self {
        let (look, began) = (Look { color, ascii }, Clock::system().now());
        Self { model: Model::default(), look, ending, began, drawn: 0, screen: None }
    }

    /// Takes the record, with the plan of the run.
    pub(super) fn run_begins(&mut self, record: &RunRecord) {
        self.model = Model::new(record);
    }

    pub(super) fn stage_begins(&mut self, name: &str) {
        self.model.stage_begins(name);
    }

    /// Takes the latest progress, and draws it when it is time.
    ///
    /// # Errors
    /// Fails if the terminal cannot be used; it has been restored by then.
    pub(super) fn progress(&mut self, progress: &Progress) -> io::Result<()> {
        self.model.progress(progress, self.ending.reason().is_some());
        let now = Clock::system().now();
        if now < self.began + OPENS_AFTER_NS || now < self.drawn + DRAWS_EVERY_NS {
            return Ok(());
        }
        self.drawn = now;
        if self.screen.is_none() {
            self.screen = Some(Screen::open(self.ending.clone())?);
        }
        let Some(screen) = &mut self.screen else { return Ok(()) };
        let (model, look) = (&self.model, self.look);
        let result = screen.draw(|frame| draw::draw(frame, model, look));
        if result.is_err() {
            self.close();
        }
        result
    }

    /// Restores the terminal.
    pub(super) fn close(&mut self) {
        self.screen = None;
    }
}
