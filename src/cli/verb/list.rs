//! `springload list`: the saved runs, newest first.

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::Exit;
use crate::cli::pipeline::folder::RUNS;
use crate::cli::print::print;
use crate::cli::verb::saved::{Content, Outline, Saved, list};
use crate::plan::stage_title;
use crate::report::{bytes, grouped};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::PathBuf;

/// `springload list`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct List {
    /// The folder that contains the runs
    #[arg(value_name = "DIR", default_value = RUNS)]
    folder: PathBuf,
    /// Print the list as JSON
    #[arg(long)]
    json: bool,
}

/// One entry of the list, as JSON.
#[derive(Serialize)]
struct Listed<'a> {
    #[serde(flatten)]
    saved: &'a Saved,
    /// Documents that succeeded per second of the last stage.
    ok_per_s: Option<f64>,
    /// How the run ended, in words.
    verdict: Option<&'static str>,
}

impl<'a> Listed<'a> {
    fn new(saved: &'a Saved) -> Self {
        let outline = match &saved.state {
            Content::Readable(outline) => Some(outline),
            Content::Unreadable { .. } => None,
        };
        let (ok_per_s, verdict) =
            (outline.and_then(Outline::ok_per_s), outline.map(Outline::verdict));
        Self { saved, ok_per_s, verdict }
    }
}

impl Verb for List {
    const NAME: &'static str = "list";
    const ABOUT: &'static str = "List the saved runs, newest first";
    const FAMILY: Family = Family::Results;
    const EXAMPLES: [Example; 3] = [
        ("The runs in springload-runs", "list"),
        ("Those in another folder", "list results"),
        ("For scripts", "list --json"),
    ];

    fn carry_out(self, _call: &Call<'_>) -> Exit {
        let saved = match list(&self.folder) {
            Ok(saved) => saved,
            // The default folder may not exist yet.
            Err(error)
                if error.kind() == ErrorKind::NotFound && self.folder.as_os_str() == RUNS =>
            {
                Vec::new()
            }
            Err(error) => {
                let name = self.folder.display();
                eprintln!("error: DIR: cannot read {name}: {error}; name a folder with runs");
                return Exit::Usage;
            }
        };
        if self.json {
            let all: Vec<_> = saved.iter().map(Listed::new).collect();
            let text = serde_json::to_string_pretty(&all).expect("a list is plain data");
            print((text + "\n").as_bytes());
        } else if saved.is_empty() {
            eprintln!("no runs in {} yet", self.folder.display());
        } else {
            print(table(&saved).as_bytes());
        }
        Exit::Passed
    }
}

/// A line for each run, and one for each entry that is not a run.
fn table(saved: &[Saved]) -> String {
    let head = ["run", "began (UTC)", "what", "stages", "ok docs/s", "verdict", "size"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(saved.iter().filter_map(|it| match &it.state {
        Content::Readable(outline) => Some(row(it, outline)),
        Content::Unreadable { .. } => None,
    }));
    let widths: [usize; 7] = std::array::from_fn(|column| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
    });
    let mut out = String::new();
    for row in rows.iter().filter(|_| rows.len() > 1) {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
            let number = matches!(column, 4 | 6);
            if number { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        out.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        out.push('\n');
    }
    for it in saved {
        if let Content::Unreadable { unreadable } = &it.state {
            let _ = writeln!(out, "unreadable: {}: {unreadable}", it.file.display());
        }
    }
    out
}

fn row(saved: &Saved, outline: &Outline) -> [String; 7] {
    let verb = outline.plan.command.split(' ').nth(1).unwrap_or_default();
    let place = if outline.server.stand_in { "stand-in" } else { &outline.server.url };
    let began = outline.started_at.get(..19).unwrap_or(&outline.started_at).replace('T', " ");
    let stages: Vec<_> = outline.stages.iter().map(|stage| stage_title(&stage.name)).collect();
    [
        saved.id.clone(),
        began,
        format!("{verb} {place}"),
        stages.join(", "),
        outline.ok_per_s().map_or_else(|| "-".to_owned(), |rate| grouped(rate as u64)),
        outline.verdict().to_owned(),
        bytes(saved.size_bytes),
    ]
}
