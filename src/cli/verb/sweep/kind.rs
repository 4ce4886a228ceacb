//! Saved sweeps, as lists and reports see them.

use crate::cli::verb::kept::{Kept, Several, began, host};
use crate::report::{Pill, sweep_pill};
use crate::sweep::SweepRecord;
use serde_json::{Map, json};
use std::path::Path;

impl Kept for SweepRecord {
    const FILE: &'static str = "sweep.json";
    const NAME: &'static str = "sweep";
    const PLURAL: &'static str = "sweeps";
    const ELSEWHERE: &'static str = "choose another folder, or continue that sweep with --resume";

    type Shown = Self;

    fn check(&self) -> Result<(), &'static str> {
        Self::check(self)
    }

    fn label(&mut self) -> &mut Option<String> {
        &mut self.definition.label
    }

    fn outline(&self, file: &Path) -> Several {
        let (it, cells) = (&self.definition, &self.cells);
        let names: Vec<_> = it.axes.iter().map(|axis| axis.name.as_str()).collect();
        let place = it.target.as_deref().map_or("stand-in", host);
        let mut about = json!({ "label": it.label, "target": it.target, "axes": it.axes });
        if let (None, Some(members)) = (&it.label, about.as_object_mut()) {
            members.remove("label");
        }
        // Cells are measured in this order.
        let first = cells.first().map(|it| began(&file.with_file_name(&it.run)));
        Several {
            started_at: first.unwrap_or_default(),
            runs: cells.len(),
            measured: cells.iter().filter(|cell| cell.result.is_some()).count(),
            subject: format!("sweep {} {place}", names.join(",")),
            label: it.label.clone(),
            about: Map::from_iter([("sweep".to_owned(), about)]),
            kind: Self::KIND,
        }
    }

    fn pill(self, _file: &Path) -> Result<Pill, String> {
        Ok(sweep_pill(&self))
    }

    fn shown(self, _file: &Path) -> Result<Self, String> {
        Ok(self)
    }
}
