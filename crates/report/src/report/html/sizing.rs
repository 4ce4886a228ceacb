//! The page of a sizing.

use super::escape::Html;
use super::facts;
use super::parts::{command, grid, headline, list};
use super::{Page, PageData};
use crate::report::chart::{OfKind, Stage, of_sizing};
use crate::report::max::limits;
use crate::report::number::decimal;
use crate::report::sizing::{arithmetic, notes, rows, subject, verdict};
use crate::sizing::Sizing;

/// The page of a sizing.
pub fn sizing_page(it: &Sizing) -> String {
    let name = "sizes".to_owned();
    let views = vec![OfKind { name: "all", charts: of_sizing(it) }];
    let stage = Stage { name: name.clone(), title: name.clone(), measured: true, views };
    let data = PageData { runs: Vec::new(), stages: vec![stage], first: Some(name) };
    let heading = format!("How many {}", it.unit.word(2));
    let page = Page {
        title: Html::text(format!("{heading} · springload")),
        heading: Html::text(heading),
        head: Html::tag("p", subject(it)),
        result: result(it),
        summary_note: Html::text(format!("{} per second", it.counted.many)),
        summary: Html::element("div class=\"scroll\"", &grid(std::iter::repeat("").zip(rows(it)))),
        trust: Html::default(),
        more: Html::default(),
        settings: facts::rows(&settings(it)),
        reproduce: command(&it.command),
        source: "max.json",
        is_live: false,
    };
    page.filled(&data)
}

fn settings(it: &Sizing) -> Vec<(String, String)> {
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let rate = format!("{}/s", decimal(it.rate_per_s, 0));
    let spare = format!("{} {}", it.spare, it.unit.word(it.spare));
    vec![fact("rate", rate), fact("slo", limits(&it.slo)), fact("spare", spare)]
}

/// The answer, its arithmetic, and the reasons it may be less certain.
fn result(it: &Sizing) -> Html {
    let mut card = headline(verdict(it));
    for line in arithmetic(it) {
        card.push(&Html::tag("p class=\"story\"", line));
    }
    card.push(&list("warnings", notes(it).iter().map(|note| Html::tag("li", note)).collect()));
    Html::element("div class=\"card\"", &card)
}
