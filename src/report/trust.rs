//! One line for each stage that says whether to believe it. Every format carries it.

use super::number::{decimal, grouped, millis};
use crate::record::{RunRecord, StageRecord, Verdict};

/// The trust line of each measured stage.
pub(super) fn trust_lines(record: &RunRecord) -> Vec<String> {
    record.measured().map(line).collect()
}

fn line(stage: &StageRecord) -> String {
    let unfinished: u64 = stage.requests().map(|operation| operation.unfinished).sum();
    let drained = if unfinished == 0 {
        "all in flight drained".to_owned()
    } else {
        format!("{} unfinished", grouped(unfinished))
    };
    let lag = stage.client.lag_p99_us.map_or("n/a".to_owned(), |us| millis(us) + " ms");
    format!(
        "{} · lag p99 {lag} · client CPU {:.0} % ({} µs per request) · {drained} · dropped {} · {}",
        stage.name,
        stage.client.busiest_thread * 100.0,
        decimal(stage.client.cpu_per_request_us, 2),
        grouped(stage.load.dropped),
        in_words(&stage.verdict),
    )
}

const fn in_words(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Empty => "nothing measured",
        Verdict::ClientBound { .. } => "client-bound, result not valid",
        Verdict::Degraded { .. } => "degraded, result not valid",
        Verdict::NotSustained { .. } => "not sustained",
        Verdict::Sustained => "sustained",
        Verdict::Closed => "valid (closed loop: the server set the pace)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fixture;

    #[test]
    fn every_format_says_whether_to_believe_the_numbers() {
        let record = fixture::record(&[]);
        let lines = trust_lines(&record);
        assert!(!lines.is_empty());
        for format in super::super::FORMATS {
            let rendered = (format.render)(&record);
            for (line, stage) in lines.iter().zip(record.measured()) {
                let said = rendered.contains(line) || rendered.contains(stage.verdict.name());
                assert!(said, "{}: {line}", format.name);
            }
        }
    }
}
