//! Saved searches, as lists and reports see them.

use super::{SCHEMA_VERSION, parse, read};
use crate::cli::verb::kinds::{Kind, Several, began, broken, formats, host, rendered, text_of};
use crate::cli::verb::saved::Unreadable;
use crate::report::max_pill;
use crate::search::MaxRecord;
use serde_json::{Map, json};
use std::path::Path;

pub(in crate::cli::verb) const KIND: Kind = Kind {
    file: "max.json",
    name: "search",
    plural: "searches",
    outline,
    result: |file| Ok(max_pill(&read(file)?)),
    formats: formats::<MaxRecord>,
    render: |file, format| rendered(&read(file)?, format),
};

fn outline(file: &Path) -> Result<Several, Unreadable> {
    let max = parse(&text_of(file, SCHEMA_VERSION)?).map_err(|error| broken(file, error))?;
    let runs = max.steps.len();
    let first = max.steps.first().map(|step| began(&file.with_file_name(&step.run)));
    let place = max.target.as_deref().map_or("stand-in", host);
    let subject = format!("max {place}");
    let max = MaxRecord { steps: Vec::new(), ..max };
    Ok(Several {
        started_at: first.unwrap_or_default(),
        runs,
        measured: runs,
        subject,
        label: max.label.clone(),
        about: Map::from_iter([("max".to_owned(), json!(max))]),
        kind: &KIND,
    })
}
