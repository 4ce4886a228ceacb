//! Saved searches, as lists and reports see them.

use crate::cli::verb::kept::{Kept, Several, began, host};
use crate::report::{Pill, max_pill};
use crate::search::MaxRecord;
use serde_json::{Map, json};
use std::path::Path;

impl Kept for MaxRecord {
    const FILE: &'static str = "max.json";
    const NAME: &'static str = "search";
    const PLURAL: &'static str = "searches";

    type Shown = Self;

    fn check(&self) -> Result<(), &'static str> {
        Self::check(self)
    }

    fn label(&mut self) -> &mut Option<String> {
        &mut self.label
    }

    fn outline(&self, file: &Path) -> Several {
        let runs = self.steps.len();
        let first = self.steps.first().map(|step| began(&file.with_file_name(&step.run)));
        let place = self.target.as_deref().map_or("stand-in", host);
        let about = Self { steps: Vec::new(), ..self.clone() };
        Several {
            started_at: first.unwrap_or_default(),
            runs,
            measured: runs,
            subject: format!("max {place}"),
            label: self.label.clone(),
            about: Map::from_iter([("max".to_owned(), json!(about))]),
            kind: Self::KIND,
        }
    }

    fn pill(self, _file: &Path) -> Result<Pill, String> {
        Ok(max_pill(&self))
    }

    fn shown(self, _file: &Path) -> Result<Self, String> {
        Ok(self)
    }
}
