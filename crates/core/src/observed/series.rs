//! Selects which series of an exporter are kept, and converts them: counts become rates, everything
//! else stays as it is.

use super::exposition::{ExportedSample, Exposition, Kind};
use super::{Meter, Reading};
use crate::op::plain;
use std::collections::HashSet;

/// The most series of an exporter that are kept.
pub const MOST_SERIES: usize = 60;
/// The longest name of a series, with its labels, in bytes.
const LONGEST_NAME: usize = 500;
/// How much of a line that could not be read is shown, in characters.
const SHOWN: usize = 60;

/// A pattern for names of series: `*` stands for any text, `?` for one character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob(Vec<char>);

impl Glob {
    /// The pattern in this text.
    pub fn new(text: &str) -> Self {
        Self(text.chars().collect())
    }

    /// Whether all of `text` matches.
    pub fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let (mut at, mut place) = (0, 0);
        // The last star, and the end of the text that it matches.
        let mut star = None;
        while at < text.len() {
            match self.0.get(place) {
                Some('*') => {
                    star = Some((place, at));
                    place += 1;
                }
                Some(c) if *c == '?' || *c == text[at] => {
                    at += 1;
                    place += 1;
                }
                _ => {
                    let Some((of, end)) = &mut star else { return false };
                    *end += 1;
                    (place, at) = (*of + 1, *end);
                }
            }
        }
        self.0[place..].iter().all(|c| *c == '*')
    }
}

/// The series of one exporter that are kept: the first ones found, and from then on the same ones.
#[derive(Clone, Debug)]
pub struct Choice {
    source: String,
    /// The patterns that the user gave; empty for everything that changes.
    asked: Vec<Glob>,
    kept: HashSet<String>,
}

impl Choice {
    /// A choice that is made with the first answer.
    pub fn new(source: &str, asked: Vec<Glob>) -> Self {
        Self { source: source.to_owned(), asked, kept: HashSet::new() }
    }

    /// Reads an answer of the exporter.
    ///
    /// # Errors
    /// Returns an error if it contains no metrics.
    pub fn read(&mut self, answer: &[u8]) -> Result<Reading, String> {
        let text = String::from_utf8_lossy(answer);
        let Exposition { samples, unread } = Exposition::read(&text);
        match unread {
            Some((_, line)) if samples.is_empty() => {
                return Err(format!("the answer is not a list of metrics: {:?}", shown(line)));
            }
            None if text.trim().is_empty() => return Err("the answer is empty".to_owned()),
            _ => {}
        }
        let mut wanted: Vec<(String, ExportedSample<'_>)> = Vec::new();
        for sample in samples.iter().filter(|it| it.name.len() + it.labels.len() <= LONGEST_NAME) {
            let name = format!("{}{}", sample.name, sample.labels);
            if self.wants(sample, &name) {
                wanted.push((name, sample.clone()));
            }
        }
        let found = wanted.len();
        // If there is no room for all, those that are still zero come last.
        let crowded = found > MOST_SERIES;
        for (name, sample) in &wanted {
            if self.kept.len() < MOST_SERIES && !(crowded && sample.value == 0.0) {
                self.kept.insert(name.clone());
            }
        }
        wanted.retain(|(name, _)| self.kept.contains(name));
        let mut notes = Vec::new();
        if found == 0 && !samples.is_empty() {
            notes.push(format!("none of its {} series is asked for", samples.len()));
        }
        if crowded {
            notes.push(format!(
                "{MOST_SERIES} of {found} series are kept, the first that are not 0; choose with \
                 --observe-series"
            ));
        }
        if let Some((lines, first)) = unread {
            let lines = if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") };
            notes.push(format!("{lines} could not be read: {:?}", shown(first)));
        }
        let note = Some(notes.join("; ")).filter(|note| !note.is_empty());
        let meter = |(_, sample): (String, ExportedSample<'_>)| (self.meter(&sample), sample.value);
        let values = wanted.into_iter().map(meter).collect();
        Ok(Reading { values, note, lone_counts: true, ..Reading::default() })
    }

    fn wants(&self, sample: &ExportedSample<'_>, name: &str) -> bool {
        if self.asked.is_empty() {
            return matches!(sample.kind, Kind::Count | Kind::Gauge);
        }
        self.asked.iter().any(|glob| glob.matches(sample.name) || glob.matches(name))
    }

    fn meter(&self, sample: &ExportedSample<'_>) -> Meter {
        let ExportedSample { name, labels, kind, .. } = sample;
        let counted = matches!(kind, Kind::Count | Kind::Bucket);
        let family = ["_total", "_sum"].iter().find_map(|end| name.strip_suffix(end));
        let unit = match family.unwrap_or(name).rsplit('_').next() {
            Some("bytes") => "bytes",
            Some("seconds") => "seconds",
            _ => "",
        };
        let unit = match (unit, counted) {
            (unit, false) => unit,
            ("bytes", true) => "bytes per second",
            ("seconds", true) => "seconds per second",
            (_, true) => "per second",
        };
        let per_s = if counted { "_per_s" } else { "" };
        let title = |text: String| text.chars().map(plain).collect::<String>();
        let mut meter = Meter::gauge("", "", "", "");
        meter.name = title(format!("{name}{per_s}{labels}")).into();
        meter.title = title(format!("{name}{labels}")).into();
        meter.unit = unit.into();
        meter.about = self.source.clone().into();
        meter.counted = counted;
        meter
    }
}

/// The beginning of a line, for messages.
fn shown(line: &str) -> String {
    line.chars().take(SHOWN).map(plain).collect()
}

#[cfg(test)]
#[path = "series_tests.rs"]
mod tests;
