//! Thresholds as lines: ✓ or ✗, the expression, the measured value.

use super::number::{decimal, millis};
use crate::record::{Judgement, RunRecord, Unit};

/// One line per threshold of the plan.
pub fn threshold_lines(record: &RunRecord) -> Vec<String> {
    record.thresholds.iter().map(line).collect()
}

fn line(judgement: &Judgement) -> String {
    let sign = if judgement.broken { '✗' } else { '✓' };
    let expression = &judgement.expression;
    let found = match (judgement.value, &judgement.problem) {
        (Some(value), _) => format!("is {}", number(value, judgement.unit)),
        (None, Some(problem)) => format!("cannot be judged: {problem}"),
        (None, None) => "cannot be judged".to_owned(),
    };
    format!("{sign} {expression} · {found}")
}

fn number(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Us => millis(value) + " ms",
        Unit::Percent => decimal(value, 3) + " %",
        Unit::Count => decimal(value, 0),
        Unit::PerSecond => decimal(value, 1) + "/s",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fixture;

    #[test]
    fn each_line_has_the_value() {
        let record = fixture::record(&[
            "read.max > 1ms",
            "read.err > 5%",
            "throughput < 1k",
            "dropped > 0",
            "update.p99 > 1s",
        ]);
        let lines = [
            "✗ read.max > 1ms · is 1.97 ms",
            "✓ read.err > 5% · is 1.000 %",
            "✓ all.throughput < 1000 · is 1,013.0/s",
            "✗ all.dropped > 0 · is 100",
            "✗ update.p99 > 1s · cannot be judged: too few samples: 95 of at least 1000",
        ];
        assert_eq!(threshold_lines(&record), lines);
        for (name, says) in [
            ("text", "thresholds\n  ✗ read.max > 1ms · is 1.97 ms\n"),
            ("cushion", "THRESHOLDS:\n  ✗ read.max > 1ms"),
            ("html", "✗ read.max &gt; 1ms · is 1.97 ms"),
        ] {
            let format = super::super::format(name).expect("there is one");
            let bytes = format.render(std::slice::from_ref(&record), None).expect("of one run");
            assert!(String::from_utf8_lossy(&bytes).contains(says), "{name}");
        }
    }
}
