//! Saved sweeps, as lists and reports see them.

use super::{SCHEMA_VERSION, read};
use crate::cli::verb::kinds::{Kind, Several, began, broken, formats, host, rendered, text_of};
use crate::cli::verb::saved::Unreadable;
use crate::report::sweep_pill;
use crate::sweep::{Axis, SweepRecord};
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};
use std::path::Path;

pub(in crate::cli::verb) const KIND: Kind = Kind {
    file: "sweep.json",
    name: "sweep",
    plural: "sweeps",
    outline,
    result: |file| Ok(sweep_pill(&read(file)?)),
    formats: formats::<SweepRecord>,
    render: |file, format| rendered(&read(file)?, format),
};

/// A `sweep.json`, as far as a list shows it.
#[derive(Deserialize)]
struct Outline {
    definition: Definition,
    cells: Vec<Cell>,
}

/// What a sweep varies, and where.
#[derive(Serialize, Deserialize)]
struct Definition {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// The server, without passwords.
    target: Option<String>,
    axes: Vec<Axis>,
}

#[derive(Deserialize)]
struct Cell {
    run: String,
    result: Option<serde::de::IgnoredAny>,
}

fn outline(file: &Path) -> Result<Several, Unreadable> {
    let text = text_of(file, SCHEMA_VERSION)?;
    let Outline { definition, cells } =
        serde_json::from_str(&text).map_err(|error| broken(file, error))?;
    let names: Vec<_> = definition.axes.iter().map(|axis| axis.name.as_str()).collect();
    let place = definition.target.as_deref().map_or("stand-in", host);
    Ok(Several {
        // Cells are measured in this order.
        started_at: cells
            .first()
            .map(|it| began(&file.with_file_name(&it.run)))
            .unwrap_or_default(),
        runs: cells.len(),
        measured: cells.iter().filter(|cell| cell.result.is_some()).count(),
        subject: format!("sweep {} {place}", names.join(",")),
        label: definition.label.clone(),
        about: Map::from_iter([("sweep".to_owned(), json!(definition))]),
        kind: &KIND,
    })
}
