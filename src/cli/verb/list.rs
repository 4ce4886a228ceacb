//! `springload list`: the saved runs, sweeps, searches and comparisons, newest first.

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Trouble};
use crate::cli::look;
use crate::cli::pipeline::folder::with_its_run;
use crate::cli::print::print;
use crate::cli::verb::kept::{Several, host};
use crate::cli::verb::named;
use crate::cli::verb::reading::{Unreadable, record};
use crate::cli::verb::saved::{Content, Outline, Saved, everywhere, list};
use crate::clock::wall_ns;
use crate::plan::Invalid;
use crate::record::ResultKind;
use crate::report::{Headline, Mood, Pill, SavedRow, headline, saved_text, shown, terminal_json};
use serde::Serialize;
use std::path::PathBuf;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// `springload list`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct List {
    /// A folder with runs
    ///
    /// A folder containing runs [default: springload-runs, and the runs saved elsewhere that
    /// springload remembers]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Print the list as JSON, with everything in the folder
    #[arg(long)]
    json: bool,
    /// Print the names that show and report take, for completions
    #[arg(long, hide = true)]
    names: bool,
}

/// One entry of the list, as JSON.
#[derive(Serialize)]
struct Listed<'a> {
    #[serde(flatten)]
    saved: &'a Saved,
    /// Documents that succeeded per second in the last stage.
    ok_per_s: Option<f64>,
    verdict: Option<&'static str>,
    /// The result in a few words, as at the top of reports.
    headline: Option<String>,
}

impl<'a> Listed<'a> {
    fn new(saved: &'a Saved) -> Self {
        let outline = match &saved.state {
            Content::Readable(outline) => Some(outline),
            Content::Several(_) | Content::Unreadable { .. } => None,
        };
        let (ok_per_s, verdict) =
            (outline.and_then(Outline::ok_per_s), outline.map(Outline::verdict));
        let headline = row(saved, 0).map(|row| row.words);
        Self { saved, ok_per_s, verdict, headline }
    }
}

impl Verb for List {
    const NAME: &'static str = "list";
    const ABOUT: &'static str = "List saved runs, sweeps, searches and comparisons, newest first";
    const FAMILY: Family = Family::Results;
    const OFTEN: bool = true;
    const EXAMPLES: [Example; 3] = [
        ("The runs in springload-runs, and those saved elsewhere", "list"),
        ("Those in another folder", "list results"),
        ("For scripts", "list --json"),
    ];

    fn carry_out(self, _call: &Call<'_>) -> Result<Exit, Trouble> {
        if self.names {
            let line =
                |(name, word): (String, String)| format!("{name}\t{}\n", shown(&word, false));
            print(named::names().into_iter().map(line).collect::<String>().as_bytes());
            return Ok(Exit::Passed);
        }
        let saved = match &self.folder {
            None => everywhere(),
            Some(folder) => list(folder).map_err(|error| {
                let problem = format!("cannot read {}: {error}", folder.display());
                Invalid::new("DIR", problem, "give a folder with runs")
            })?,
        };
        if self.json {
            let all: Vec<_> = saved.iter().map(Listed::new).collect();
            let text = serde_json::to_string_pretty(&all).expect("a list is plain data");
            print(terminal_json(text + "\n").as_bytes());
            return Ok(Exit::Passed);
        }
        let text = tables(&saved);
        if text.is_empty() {
            let here = || named::none_in(&std::env::current_dir().unwrap_or_default());
            eprintln!("{}", self.folder.map_or_else(here, |it| named::none_yet(&it)));
        }
        print(text.as_bytes());
        Ok(Exit::Passed)
    }
}

/// A table of the runs in this folder, then one of those elsewhere, perhaps of other projects.
fn tables(saved: &[Saved]) -> String {
    let (here, elsewhere): (Vec<&Saved>, Vec<&Saved>) = saved.iter().partition(|it| it.here);
    let (here, elsewhere) = (table(&here), table(&elsewhere));
    let between = if here.is_empty() || elsewhere.is_empty() { "" } else { "\nelsewhere:\n" };
    format!("{here}{between}{elsewhere}")
}

/// A row for each entry that can be read, and a line for each that cannot.
fn table(saved: &[&Saved]) -> String {
    let look = look::of_stdout(false);
    let now = (wall_ns() / 1_000_000_000).cast_signed();
    let rows: Vec<SavedRow> = saved.iter().filter_map(|it| row(it, now)).collect();
    let broken = saved.iter().filter(|it| it.is_own()).filter_map(|it| match &it.state {
        Content::Unreadable { unreadable } => {
            Some((it.file.display().to_string(), words_on(unreadable)))
        }
        Content::Readable(_) | Content::Several(_) => None,
    });
    saved_text(&rows, &broken.collect::<Vec<_>>(), look)
}

/// What to do about a file that cannot be read, in a few words; `show` and `--json` have the
/// reason.
const fn words_on(unreadable: &Unreadable) -> &'static str {
    match unreadable {
        Unreadable::Newer => "from a newer version; update springload",
        Unreadable::Broken(_) => "broken; remove it, or restore a copy",
        Unreadable::Other(_) => "cannot be read; check its permissions",
    }
}

/// The row of a run, sweep, search or comparison; `now` is in seconds since 1970. `None` if it
/// cannot be read.
fn row(saved: &Saved, now: i64) -> Option<SavedRow> {
    let (what, kind, lead, words) = match &saved.state {
        Content::Readable(outline) => {
            let result = result(saved, outline);
            let lead = format!("{} {}", result.mark(), result.name());
            (subject(outline), result.kind, lead, result.words)
        }
        Content::Several(outline) => {
            let Several { label, subject, runs, measured, .. } = outline;
            let Pill { mood, mark, words } =
                (outline.kind.pill)(&saved.file).unwrap_or_else(|_| {
                    Mood::Unknown.pill(format!("{measured} of {runs} runs measured"))
                });
            let kind = match mood {
                Mood::Good => ResultKind::Passed,
                Mood::Bad => ResultKind::Failed,
                Mood::Fair | Mood::Unknown => ResultKind::Stopped,
            };
            (label.as_ref().unwrap_or(subject).clone(), kind, mark.to_string(), words)
        }
        Content::Unreadable { .. } => return None,
    };
    let ago = ago(saved.began(), now);
    Some(SavedRow { name: saved.id.clone(), ago, what, kind, lead, words })
}

/// The headline of the run's report. If none can be made, for example because this program was
/// built without the database, the stored result.
fn result(saved: &Saved, outline: &Outline) -> Headline {
    if let Ok(record) = record(&saved.file) {
        return headline(&with_its_run(record, &saved.file));
    }
    let stored = outline.result.as_ref();
    let stopped = if outline.partial { ResultKind::Stopped } else { ResultKind::Passed };
    let words = stored.and_then(|it| it.reason.clone());
    Headline {
        kind: stored.map_or(stopped, |it| it.kind),
        words: words.unwrap_or_else(|| outline.verdict().to_owned()),
    }
}

/// A run's label, or its verb and target.
fn subject(outline: &Outline) -> String {
    outline.plan.label.clone().unwrap_or_else(|| {
        let verb = outline.plan.command.split(' ').nth(1).unwrap_or_default();
        let place = if outline.server.stand_in { "stand-in" } else { host(&outline.server.url) };
        format!("{verb} {place}").trim_end().to_owned()
    })
}

/// How long ago that was, at `now` in seconds since 1970; after some months, the month.
fn ago(began: &str, now: i64) -> String {
    let Ok(then) = OffsetDateTime::parse(began, &Rfc3339) else { return "?".to_owned() };
    let seconds = (now - then.unix_timestamp()).max(0);
    match (seconds, seconds / 60, seconds / 3600, seconds / 86_400) {
        (it @ 0..60, ..) => format!("{it} s"),
        (_, it @ 0..60, ..) => format!("{it} min"),
        (_, _, it @ 0..48, _) => format!("{it} h"),
        (_, _, _, it @ 0..100) => format!("{it} d"),
        _ => began.get(..7).unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        let then = OffsetDateTime::parse("2026-03-02T09:15:01.123Z", &Rfc3339).unwrap();
        let after = |seconds: i64| ago("2026-03-02T09:15:01.123Z", then.unix_timestamp() + seconds);
        for (seconds, words) in [
            (-5, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3_599, "59 min"),
            (3_600, "1 h"),
            (47 * 3_600, "47 h"),
            (48 * 3_600, "2 d"),
            (100 * 86_400, "2026-03"),
        ] {
            assert_eq!(after(seconds), words, "{seconds}");
        }
        assert_eq!((ago("", 0), ago("é", 0)), ("?".to_owned(), "?".to_owned()));
    }
}
