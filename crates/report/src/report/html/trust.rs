//! Whether the numbers can be trusted, in plain words, folded up below the numbers.

use super::escape::Html;
use super::parts::letter;
use crate::record::{RunRecord, StageRecord};
use crate::report::number::{decimal, grouped, millis};
use crate::report::words::{Standing, result_line, standing, verdict_words};

/// A collapsible part: the verdict on each measured stage and its basis, then the result of the run
/// with the full reason.
pub(super) fn details(runs: &[RunRecord]) -> Html {
    let mut inside = Html::tag("summary", "Can these numbers be trusted?");
    for (run, record) in runs.iter().enumerate() {
        for stage in record.measured() {
            let mut head = letter(runs, run);
            head.push(&badge(record, stage));
            inside.push(&Html::element("p class=\"trust\"", &head));
            let facts = facts(stage).into_iter().map(|fact| Html::tag("li", fact));
            inside.push(&Html::element("ul class=\"facts-list\"", &facts.collect()));
        }
        let mut result = letter(runs, run);
        result.push(&Html::text(result_line(record)));
        inside.push(&Html::element("p class=\"trust\"", &result));
    }
    Html::element("details id=\"trust\" class=\"card\"", &inside)
}

fn badge(record: &RunRecord, stage: &StageRecord) -> Html {
    let (color, mark) = match standing(record, stage) {
        Standing::Good => ("good", '✓'),
        Standing::Fair => ("fair", '!'),
        Standing::Bad => ("bad", '✗'),
        Standing::Unknown => ("none", '?'),
    };
    let text = format!("{mark} {}: {}", stage.title(), verdict_words(record, stage));
    Html::tag(&format!("span class=\"badge {color}\""), text)
}

/// What springload itself did, and whether it managed to do everything.
fn facts(stage: &StageRecord) -> Vec<String> {
    let client = &stage.client;
    let mut facts = vec![format!(
        "springload's busiest thread was busy {} % of the time, {} µs per request, and idle \
         otherwise.",
        decimal(client.busiest_thread * 100.0, 0),
        decimal(client.cpu_per_request_us, 2),
    )];
    facts.push(client.lag_p99_us.map_or_else(
        || "It is not known how late operations began: there were too few.".to_owned(),
        |us| format!("99 % of the operations began at most {} ms after they were due.", millis(us)),
    ));
    let unfinished: u64 = stage.requests().map(|operation| operation.unfinished).sum();
    facts.push(match unfinished {
        0 => "Every operation that began had ended before the stage was over.".to_owned(),
        count => format!("{} operations had no answer at the end.", grouped(count)),
    });
    if stage.load.open {
        facts.push(match stage.load.dropped {
            0 => "No operation that was due was left out.".to_owned(),
            count => format!(
                "{} operations were left out, because too many were waiting or in flight.",
                grouped(count)
            ),
        });
    }
    facts
}
