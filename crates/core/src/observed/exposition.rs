//! Parses metrics as written by exporters: Prometheus' text format 0.0.4 and OpenMetrics 1.0. Knows
//! nothing about which metrics are wanted.
//!
//! This is our own parser because it has to continue after a line that it cannot read: CouchDB
//! separates HELP and TYPE of a family by a single carriage return, which neither format allows.

use std::collections::HashMap;

/// The meaning of a number from an exporter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A count since the start of the server.
    Count,
    /// A value that rises and falls.
    Gauge,
    /// A bucket of a histogram: a count.
    Bucket,
    /// A quantile of a summary, over a period that only the exporter knows.
    Quantile,
    /// Information that does not change, such as a version or a start time.
    Constant,
}

/// One number of an exporter, at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportedSample<'a> {
    /// The name of the metric.
    pub name: &'a str,
    /// Its labels, `{a="b",c="d"}`, with escapes as written; empty if it has none.
    pub labels: String,
    /// Its value: a finite number.
    pub value: f64,
    /// Its meaning.
    pub kind: Kind,
}

/// Everything that an exporter has reported.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exposition<'a> {
    /// Its numbers, in the order of the text.
    pub samples: Vec<ExportedSample<'a>>,
    /// How many lines could not be read, and the first of them.
    pub unread: Option<(usize, &'a str)>,
}

/// The declared type of a family.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Declared {
    Counter,
    Gauge,
    Histogram,
    GaugeHistogram,
    Summary,
    Constant,
    Unknown,
}

type Families<'a> = HashMap<&'a str, Declared>;

impl<'a> Exposition<'a> {
    /// Parses this text. Values that are not finite numbers are left out.
    pub fn read(text: &'a str) -> Self {
        let mut read = Self::default();
        let mut families = Families::new();
        for line in text.split('\n').map(str::trim).filter(|line| !line.is_empty()) {
            if line.starts_with('#') {
                // Only in comments: a label may contain a carriage return.
                line.split('\r').for_each(|comment| declare(comment, &mut families));
            } else if let Some((series, value)) = sample(line) {
                let SeriesName { name, labels, quantile } = series;
                if value.is_finite() {
                    let kind = kind(name, quantile, &families);
                    read.samples.push(ExportedSample { name, labels, value, kind });
                }
            } else {
                read.unread.get_or_insert((0, line)).0 += 1;
            }
        }
        read
    }
}

/// Parses `# TYPE name type`; other comments are for people.
fn declare<'a>(comment: &'a str, families: &mut Families<'a>) {
    let mut words = comment.trim().strip_prefix('#').unwrap_or_default().split_whitespace();
    let (Some("TYPE"), Some(name), Some(declared)) = (words.next(), words.next(), words.next())
    else {
        return;
    };
    let declared = match declared {
        "counter" => Declared::Counter,
        "gauge" => Declared::Gauge,
        "histogram" => Declared::Histogram,
        "gaugehistogram" => Declared::GaugeHistogram,
        "summary" => Declared::Summary,
        "info" | "stateset" => Declared::Constant,
        _ => Declared::Unknown,
    };
    families.insert(name, declared);
}

/// The kind of a sample, by the type of its family and the suffix of its name.
fn kind(name: &str, quantile: bool, families: &Families<'_>) -> Kind {
    if let Some(declared) = families.get(name) {
        match declared {
            Declared::Counter => return Kind::Count,
            Declared::Summary | Declared::Unknown if quantile => return Kind::Quantile,
            Declared::Constant => return Kind::Constant,
            Declared::Gauge if name.ends_with("_info") || name.ends_with("_created") => {
                return Kind::Constant;
            }
            Declared::Gauge => return Kind::Gauge,
            _ => {}
        }
    }
    let (family, end) = name.rsplit_once('_').unwrap_or((name, ""));
    match (families.get(family), end) {
        (_, "created" | "info") => Kind::Constant,
        (Some(Declared::Histogram | Declared::GaugeHistogram), "bucket") => Kind::Bucket,
        (Some(Declared::Histogram | Declared::Summary), "sum" | "count") | (_, "total") => {
            Kind::Count
        }
        _ => Kind::Gauge,
    }
}

/// The identity of a series.
struct SeriesName<'a> {
    name: &'a str,
    labels: String,
    quantile: bool,
}

/// Parses `name{labels} value`, perhaps followed by the time and an exemplar.
fn sample(line: &str) -> Option<(SeriesName<'_>, f64)> {
    let is_named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
    let (name, rest) = split(line, is_named)?;
    let mut series = SeriesName { name, labels: String::new(), quantile: false };
    let rest = match rest.trim_start().strip_prefix('{') {
        Some(inside) => labels(inside, &mut series)?,
        None => rest.strip_prefix([' ', '\t'])?,
    };
    // An exemplar begins like a comment.
    let rest = rest.split(" #").next().unwrap_or_default();
    let mut words = rest.split_whitespace();
    let value = words.next()?.parse().ok()?;
    let is_time = words.next().is_none_or(|time| time.parse::<f64>().is_ok());
    (is_time && words.next().is_none()).then_some((series, value))
}

/// Splits off the name at the beginning of a text, which is not empty and does not begin with a
/// digit.
fn split(text: &str, is_named: impl Fn(char) -> bool) -> Option<(&str, &str)> {
    let end = text.find(|c| !is_named(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let begins = name.chars().next().is_some_and(|c| !c.is_ascii_digit());
    begins.then_some((name, rest))
}

/// Parses labels up to the closing brace, and returns the text after it.
fn labels<'a>(inside: &'a str, series: &mut SeriesName<'a>) -> Option<&'a str> {
    let mut rest = inside.trim_start();
    loop {
        if let Some(after) = rest.strip_prefix('}') {
            if !series.labels.is_empty() {
                series.labels.push('}');
            }
            return Some(after);
        }
        let (name, after) = split(rest, |c| c.is_ascii_alphanumeric() || c == '_')?;
        let after = after.trim_start().strip_prefix('=')?.trim_start().strip_prefix('"')?;
        let (value, after) = quoted(after)?;
        series.labels.push(if series.labels.is_empty() { '{' } else { ',' });
        series.labels.extend([name, "=\"", value, "\""]);
        series.quantile |= name == "quantile";
        rest = after.trim_start();
        match rest.strip_prefix(',') {
            Some(after) => rest = after.trim_start(),
            None if rest.starts_with('}') => {}
            None => return None,
        }
    }
}

/// The text up to the closing quotation mark, as written, and the text after it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let mut escaped = false;
    let end = text.bytes().position(|byte| {
        let is_end = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        is_end
    })?;
    Some((&text[..end], &text[end + 1..]))
}

#[cfg(test)]
#[path = "exposition_tests.rs"]
mod tests;
