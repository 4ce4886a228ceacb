//! How many nodes a rate takes, as text and as the words of a page: the answer first, then the
//! arithmetic.

use super::max::limits;
use super::number::{decimal, grouped};
use super::pill::{Mood, Pill};
use super::table::{align, wrapped};
use crate::sizing::{LawName, Measured, Sizing, SizingVerdict, Unit};
use std::cmp::Ordering;
use std::fmt::Write as _;

/// The answer: a mood, a mark, and words.
pub(super) fn verdict(it: &Sizing) -> Pill {
    let rate = decimal(it.rate_per_s, 0);
    let many = it.unit.word(2);
    match (it.verdict, it.needed) {
        (SizingVerdict::Enough, Some(needed)) => {
            let mut words = format!("{} {} for {rate}/s", grouped(needed), it.unit.word(needed));
            if it.spare > 0 {
                let left = needed - it.spare;
                let still = format!(": {} still carry it if {} are lost", grouped(left), it.spare);
                let one = format!(": {} still carry it if one is lost", grouped(left));
                words += if it.spare == 1 { &one } else { &still };
            }
            if it.extrapolated { Mood::Fair.pill(words) } else { Mood::Good.pill(words) }
        }
        (SizingVerdict::PoorFit, _) => {
            let words = format!("no answer: the rates of these {many} follow no law");
            Mood::Bad.pill(words)
        }
        _ => {
            let most = it.law.most_per_s.map(|most| format!(": {}/s at most", decimal(most, 0)));
            let spare =
                if it.spare > 0 { format!(" with {} to spare", it.spare) } else { String::new() };
            let words =
                format!("no number of {many} carries {rate}/s{spare}{}", most.unwrap_or_default());
            Mood::Bad.pill(words)
        }
    }
}

/// The question.
pub(super) fn subject(it: &Sizing) -> String {
    format!("springload size · {}/s · {}", decimal(it.rate_per_s, 0), limits(&it.slo))
}

/// The report for people.
pub fn sizing_text(it: &Sizing) -> String {
    let Pill { mark, words, .. } = verdict(it);
    let mut out = String::new();
    wrapped(&mut out, &format!("{mark} {words}"));
    let _ = writeln!(out, "\n{}\n", subject(it));
    out.push_str(&align(&rows(it)));
    out.push('\n');
    for line in arithmetic(it) {
        wrapped(&mut out, &line);
    }
    let notes = notes(it);
    if !notes.is_empty() {
        out.push('\n');
    }
    for note in notes {
        wrapped(&mut out, &format!("! {note}"));
    }
    out
}

/// A row per search, beginning with the header.
pub(super) fn rows(it: &Sizing) -> Vec<Vec<String>> {
    let head = [it.unit.word(2), "sustained/s", "of each", "by the law", "off", "search"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for of in &it.measured {
        rows.push(vec![
            grouped(of.size),
            decimal(of.sustained_per_s, 0),
            decimal(of.sustained_per_s / of.size as f64, 0),
            decimal(of.law_per_s, 0),
            off(of),
            of.from.clone(),
        ]);
    }
    rows
}

/// By how much the law misses a measured size.
fn off(of: &Measured) -> String {
    let percent = of.off() * 100.0;
    let sign = if percent <= -0.05 { "−" } else { "+" };
    format!("{sign}{} %", decimal(percent.abs(), 1))
}

/// How the answer is derived, line by line.
pub(super) fn arithmetic(it: &Sizing) -> Vec<String> {
    let (many, law) = (it.unit.word(2), &it.law);
    let (single, share) = (decimal(law.single_per_s, 0), |it: f64| decimal(it * 100.0, 2));
    let mut lines = vec![match law.name {
        LawName::Linear => format!("in proportion: N {many} carry {single} N per second"),
        LawName::Amdahl => format!(
            "Amdahl's law: N {many} carry {single} N / (1 + σ (N − 1)) per second, contention σ = {} %",
            share(law.contention)
        ),
        LawName::Universal => format!(
            "Universal Scalability Law: N {many} carry {single} N / (1 + σ (N − 1) + κ N (N − 1)) \
            per second, contention σ = {} %, coherency κ = {} %",
            share(law.contention),
            decimal(law.coherency * 100.0, 4)
        ),
    }];
    if let Some((peak, most)) = law.peak.zip(law.most_per_s) {
        let (peak, most) = (decimal(peak, 0), decimal(most, 0));
        lines.push(format!("beyond {peak} {many}, which carry {most}/s, more of them carry less"));
    }
    let carries = |count: u64, per_s: f64| {
        let verb = if count == 1 { "carries" } else { "carry" };
        format!("{} {} {verb} {}/s", grouped(count), it.unit.word(count), decimal(per_s, 0))
    };
    let least = it.needed.map(|needed| needed - it.spare);
    for step in &it.steps {
        let more = match Some(step.size).cmp(&least) {
            Ordering::Less => ": too few",
            Ordering::Equal => ": enough",
            Ordering::Greater => ": with what may be lost",
        };
        lines.push(carries(step.size, step.per_s) + more);
    }
    if let Some(low) = it.low {
        let from = grouped(low);
        lines.push(match it.high {
            Some(high) if high == low => "the searches vary too little to matter".to_owned(),
            Some(high) => format!("allowing for variation: {from} to {} {many}", grouped(high)),
            None => format!("allowing for variation: {from} {many} or more, or no number of them"),
        });
    }
    lines
}

/// The reasons the answer may be less certain.
pub fn notes(it: &Sizing) -> Vec<String> {
    let (one, many) = (it.unit.word(1), it.unit.word(2));
    let mut notes = Vec::new();
    if it.verdict == SizingVerdict::PoorFit {
        let worst = it.measured.iter().max_by(|a, b| a.off().abs().total_cmp(&b.off().abs()));
        notes.extend(worst.map(|of| {
            format!(
                "the law misses {} {} by {}, and 10 % is the limit: search again where the figures \
                are odd, and make sure that only the number of {many} differs",
                grouped(of.size),
                it.unit.word(of.size),
                off(of).trim_start_matches('+')
            )
        }));
    }
    match it.law.name {
        LawName::Linear => notes.push(format!(
            "one size only: the best case is that twice as many {many} carry twice as much; a \
            search with another number of {many} shows how close that is"
        )),
        LawName::Amdahl => notes.push(format!(
            "two sizes only: they cannot show how much {many} slow each other down; search with a \
             third"
        )),
        LawName::Universal if !it.law.checked && it.verdict != SizingVerdict::PoorFit => notes
            .push(
            "three sizes always follow the law, or nearly so; a fourth would show whether it holds"
                .to_owned(),
        ),
        LawName::Universal => {}
    }
    if it.extrapolated {
        let note = "the answer lies beyond twice the largest size measured: measure nearer to it before you \
            rely on it";
        notes.push(note.to_owned());
    }
    if it.spare > 0 && it.unit == Unit::Nodes && it.needed.is_some() {
        notes.push(format!(
            "a cluster that has lost a {one} is treated like one with one {one} fewer, but it may \
            have more to do: measure it with one stopped"
        ));
    }
    for of in &it.measured {
        let why = match (of.client_bound, of.open_ended) {
            (true, _) => "the client was the limit",
            (false, true) => "nothing above was tried",
            (false, false) => continue,
        };
        let (size, word) = (grouped(of.size), it.unit.word(of.size));
        notes.push(format!("{size} {word}: {why}; they may carry more"));
    }
    notes.extend(it.notes.iter().cloned());
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sizing::{SizingAsked, size};

    fn sizing(rate_per_s: f64, spare: u64, rates: &[(u64, f64)]) -> String {
        let asked = SizingAsked {
            rate_per_s,
            spare,
            unit: Unit::Nodes,
            slo: vec!["p99 < 20ms".parse().unwrap()],
        };
        let of = |(count, rate): &(u64, f64)| {
            let found = vec![rate * 0.99, *rate, rate * 1.01];
            Measured::new(*count, found, format!("max-{count}"))
        };
        let it = size(&asked, rates.iter().map(of).collect()).unwrap();
        let text = sizing_text(&it);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        text
    }

    #[test]
    fn the_answer_comes_first_and_its_arithmetic_follows() {
        let text =
            sizing(20_000.0, 1, &[(1, 3_900.0), (3, 10_800.0), (5, 16_500.0), (9, 25_500.0)]);
        assert!(
            text.starts_with("✓ 8 nodes for 20,000/s: 7 still carry it if one is lost\n"),
            "{text}"
        );
        assert!(
            text.contains("Universal Scalability Law") && text.contains("7 nodes carry"),
            "{text}"
        );
        assert!(text.contains("the searches vary too little"), "{text}");
        assert!(!text.contains("! one size") && !text.contains("! three sizes"), "{text}");
        let one = sizing(20_000.0, 0, &[(3, 10_800.0)]);
        assert!(one.starts_with("✓ 6 nodes for 20,000/s\n"), "{one}");
        assert!(one.contains("! one size only") && !one.contains("lost"), "{one}");
        let far = sizing(200_000.0, 2, &[(3, 10_800.0)]);
        assert!(
            far.starts_with("! 58 nodes for 200,000/s: 56 still carry it if 2 are lost"),
            "{far}"
        );
        assert!(far.contains("beyond twice the largest"), "{far}");
        // By Amdahl's law through these two, no more than 1,000/s.
        let near = sizing(980.0, 0, &[(1, 284.0), (3, 542.0)]);
        assert!(near.contains(" nodes or more, or no number of them\n"), "{near}");
    }

    #[test]
    fn where_there_is_no_answer_the_reason_is_given() {
        let poor = sizing(2_000.0, 1, &[(1, 1_000.0), (2, 1_100.0), (3, 3_000.0), (6, 3_100.0)]);
        assert!(poor.starts_with("✗ no answer: "), "{poor}");
        assert!(poor.contains("and 10 % is the limit"), "{poor}");
        let law = |n: f64| 1_000.0 * n / (1.0 + 0.05 * (n - 1.0) + 0.02 * n * (n - 1.0));
        let rates: Vec<(u64, f64)> =
            [1u32, 2, 4, 6].map(|n| (u64::from(n), law(n.into()))).to_vec();
        let over = sizing(10_000.0, 1, &rates);
        assert!(
            over.starts_with("✗ no number of nodes carries 10,000/s with 1 to spare: "),
            "{over}"
        );
        assert!(over.contains("more of them carry less"), "{over}");
    }
}
