//! A comparison as a page: the verdict, the forest plot, the table, and one run of each side drawn
//! on top of each other.

use super::escape::Html;
use super::forest::forest;
use super::parts::{headline, list, reproduce};
use super::{Page, PageData, facts};
use crate::compare::{Compared, Comparison};
use crate::record::{RunRecord, Standing};
use crate::report::comparison::{
    called, change, doubt, how_far, interval, interval_head, machine, notes, settings, value,
    verdict, verdict_words, which,
};
use crate::report::pill::{Mood, Pill};

/// The page of a comparison, with a run of each side to draw.
pub fn comparison_page(it: &Comparison, drawn: &[RunRecord]) -> String {
    let far = it.progress.as_ref();
    let far = far.map(|it| format!(", after {} of {} pairs", it.pairs, it.of)).unwrap_or_default();
    let heading = format!("{} against {}{far}", called('B', &it.b), called('A', &it.a));
    let page = Page {
        title: Html::text(format!("{heading} · springload")),
        heading: Html::text(heading),
        head: head(it),
        result: result(it),
        summary_note: Html::text(
            "changes are those of B against A; the verdict rests on the rows in bold",
        ),
        summary: table(it),
        trust: Html::default(),
        more: Html::default(),
        settings: facts::rows(&settings(it)),
        reproduce: reproduce(drawn),
        source: "run.json",
        is_live: it.progress.as_ref().is_some_and(|progress| !progress.ended),
    };
    page.filled(&PageData::of(drawn))
}

/// The verdict, what to know before relying on it, and the plot.
fn result(it: &Comparison) -> Html {
    let (mood, mark) = match it.verdict {
        _ if it.data_wrong().contains(&true) => (Mood::Bad, '✗'),
        _ if it.progress.is_some() => (Mood::Unknown, '…'),
        _ if !it.trustworthy() => (Mood::Fair, '?'),
        Standing::Better => (Mood::Good, '✓'),
        Standing::Worse => (Mood::Bad, '✗'),
        Standing::Same => (Mood::Good, '='),
        Standing::CannotTell => (Mood::Fair, '?'),
    };
    let early = it.progress.as_ref().map(|far| format!("{}{}", doubt(it), how_far(far)));
    let words = early.unwrap_or_else(|| verdict_words(it));
    let mut inside = headline(Pill { mood, mark, words });
    inside.push(&list("warnings", notes(it).iter().map(|note| Html::tag("li", note)).collect()));
    if let Some(plot) = forest(&it.comparisons, it.delta_percent) {
        inside.push(&plot);
    }
    Html::element("div class=\"card\"", &inside)
}

fn head(it: &Comparison) -> Html {
    let side = |letter, side| format!("{}, {}", called(letter, side), which(side));
    let mut head = Html::tag("p", format!("{} · {}", side('A', &it.a), side('B', &it.b)));
    if let Some(machine) = machine(it) {
        head.push(&Html::tag("p", machine));
    }
    head
}

fn table(it: &Comparison) -> Html {
    let heads = ["A", "B", "change", &interval_head(it), "verdict"];
    // An interim reading has no verdicts.
    let columns = if it.progress.is_some() { heads.len() - 1 } else { heads.len() };
    let mut head = Html::raw("<td></td>");
    head.push(
        &heads.into_iter().take(columns).map(|text| Html::tag("th scope=\"col\"", text)).collect(),
    );
    let row = |of: &Compared| {
        let cells = [value(of.a, of), value(of.b, of), change(of), interval(of), verdict(of)];
        let name = Html::text(format!("{} {}", of.kind, of.metric));
        let name = if of.gated { Html::element("strong", &name) } else { name };
        let mut row = Html::element("th scope=\"row\"", &name);
        row.push(&cells.into_iter().take(columns).map(|cell| Html::tag("td", cell)).collect());
        Html::element("tr", &row)
    };
    let mut table = Html::element("thead", &Html::element("tr", &head));
    table.push(&Html::element(
        "tbody",
        &it.comparisons.iter().filter(|of| of.is_known()).map(row).collect(),
    ));
    Html::element("table id=\"figures-table\" class=\"compare\"", &table)
}
