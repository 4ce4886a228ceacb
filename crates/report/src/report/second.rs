//! A second of a running stage as a line of JSON, for programs that read along. Its keys are those
//! of `series` in `run.json`, except that times are figures, as in the operations of a stage.

use super::clean::json_line;
use crate::measure::{FailedTimes, Kept, Second, SeriesKind, Statistic};
use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use time::macros::format_description;

/// The line, including its line feed: a second of `stage` in the run called `run`; the stage began
/// at `began_ns`, in nanoseconds since 1970.
pub fn second_line(run: &str, stage: &str, began_ns: u64, second: &Second) -> String {
    let row = &second.row;
    let kinds = row.kinds.iter().map(|(kind, part)| (kind.name().to_owned(), of_kind(part)));
    let line = json!({
        "run": run,
        "stage": stage,
        "second": row.second,
        "time": time(began_ns),
        "late": second.late,
        "waited_s": rounded(row.waited_s, 1e6),
        "kinds": kinds.collect::<Map<_, _>>(),
    });
    json_line(&line) + "\n"
}

fn of_kind(part: &SeriesKind) -> Value {
    let failures = part.failures.iter().map(|(class, &count)| (class.name().to_owned(), count));
    let counts = part.counts.iter().map(|(count, &value)| (count.name().to_owned(), value));
    let failed = |(class, times): (&crate::op::Failure, &FailedTimes<Kept>)| {
        let times =
            json!({ "service": figures(&times.service), "response": figures(&times.response) });
        (class.name().to_owned(), times)
    };
    json!({
        "requests": part.requests,
        "ok": part.ok,
        "accepted": part.accepted,
        "failed": part.failed(),
        "failures": failures.map(|(name, count)| (name, count.into())).collect::<Map<_, _>>(),
        "counts": counts.map(|(name, count)| (name, count.into())).collect::<Map<_, _>>(),
        "service": figures(&part.service),
        "response": figures(&part.response),
        "lag": figures(&part.lag),
        "failed_times": part.failed_times.iter().map(failed).collect::<Map<_, _>>(),
    })
}

/// The figures of these times in microseconds; `null` if there are too few of them.
fn figures(times: &Kept) -> Value {
    let times = times.get();
    let mut figures = Map::new();
    figures.insert("samples".to_owned(), times.len().into());
    for it in Statistic::ALL {
        let name = format!("{}_us", it.name().replace('.', "_"));
        figures.insert(name, it.of_histogram(&times).map(|us| rounded(us, 1e2)).into());
    }
    figures.into()
}

fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}

/// A time in the form of a record's `started_at`.
fn time(ns: u64) -> String {
    let form =
        format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
    let whole = ns - ns % 1_000_000;
    let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(whole));
    at.ok().and_then(|at| at.format(form).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Series;
    use crate::record::fixture;

    const BEGAN_NS: u64 = 1_767_323_045_250_999_000;

    /// The first second of the fixture's measured stage, and the stage's name.
    fn second() -> Second {
        let stage = fixture::record(&[]).stages.pop().expect("a stage");
        let Series { mut rows } = stage.series;
        Second { row: rows.remove(0), late: false }
    }

    #[test]
    fn a_line_has_what_the_record_has() {
        let second = second();
        let line = second_line("20260102T030405Z", "crud", BEGAN_NS, &second);
        assert_eq!(line.find('\n'), Some(line.len() - 1));
        let line: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(line["time"], "2026-01-02T03:04:05.250Z");
        let kinds = line["kinds"].as_object().unwrap();
        assert_eq!(kinds.len(), second.row.kinds.len());
        let update = &line["kinds"]["update"];
        assert_eq!((&update["requests"], &update["ok"]), (&50.into(), &47.into()));
        assert_eq!(update["failed"], 3);
        assert_eq!(update["failures"], json!({ "conflict": 3 }));
        assert_eq!(update["response"]["samples"], 47);
        assert_eq!(update["response"]["max_us"], 47.04);
        assert_eq!(update["response"]["p99_9_us"], Value::Null, "too few");
        assert!(update["failed_times"]["conflict"]["response"]["max_us"].is_number());
    }

    #[test]
    fn no_text_breaks_a_line_and_no_secret_is_in_it() {
        crate::redact::learn("lantern-4711");
        let run = "a\nb\u{85}\u{2028}\u{1b}[2J\"}{ lantern-4711";
        let line = second_line(run, "crud", BEGAN_NS, &second());
        assert_eq!(line.lines().count(), 1);
        let steers = |c: char| c != '\n' && (c.is_control() || c == '\u{2028}');
        assert!(!line.contains(steers), "{line:?}");
        let line: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(line["run"], "a\nb\u{85}\u{2028}\u{1b}[2J\"}{ ***");
    }
}
