//! A search for the highest load that a server sustains: as text, as the words of a page, and step
//! by step.

use super::number::{decimal, millis};
use super::pill::{Mood, Pill};
use super::table::{Columns, align, in_ms, wrapped};
use crate::plan::Threshold;
use crate::search::{Ended, MaxRecord, Searched, StepOutcome, StepRecord};

/// The outcome of the search.
pub fn verdict(max: &MaxRecord) -> Pill {
    let of_rates = verdict_on_rates(max);
    match max.data_wrong() {
        0 => of_rates,
        1 => Mood::Bad.pill(format!("data was wrong in a step; {}", of_rates.words)),
        steps => Mood::Bad.pill(format!("data was wrong in {steps} steps; {}", of_rates.words)),
    }
}

fn verdict_on_rates(max: &MaxRecord) -> Pill {
    let what = match max.searched {
        Searched::Rate => "rate",
        Searched::Connections => "number of connections",
    };
    match (max.ended, max.sustained_per_s) {
        (Ended::Found, Some(_)) => {
            let words = format!("sustained: {}", found(max));
            if max.client_bound() {
                let why = "; the client, not the server, is the limit: the server may handle more";
                Mood::Fair.pill(words + why)
            } else if max.scattered() {
                let why = "; they disagree: try longer steps (-d), or more of them (--repeat)";
                Mood::Fair.pill(words + why)
            } else if max.open_ended() {
                let why = "; nothing above was tried (--to): the server may handle more";
                Mood::Good.pill(words + why)
            } else {
                Mood::Good.pill(words)
            }
        }
        (Ended::Found | Ended::NothingHolds, _) => {
            let least = max.steps.iter().map(|it| it.level).fold(f64::INFINITY, f64::min);
            let lowest = max.steps.iter().find(|it| it.level <= least);
            let why = lowest.map_or(String::new(), |it| format!(": {}", it.reason));
            let least = if least.is_finite() { decimal(least, 0) } else { "0".to_owned() };
            Mood::Bad.pill(format!("not even a {what} of {least} holds{why}"))
        }
        (Ended::Stopped, Some(_)) => Mood::Fair.pill(format!("stopped early: {}", found(max))),
        (Ended::Stopped, None) => Mood::Fair.pill(format!("stopped early{}", best(max))),
        (Ended::Failed, _) => {
            Mood::Bad.pill(format!("a run could not be carried out{}", best(max)))
        }
    }
}

/// The load found, such as `1,950/s for 9 s (1,930 to 1,980 in 3 searches)`.
fn found(max: &MaxRecord) -> String {
    let winners = max.steps.iter().filter(|it| it.confirms && it.outcome == StepOutcome::Held);
    let length_s = winners.map(|it| it.length_s).min_by(f64::total_cmp);
    let long = length_s.map_or_else(String::new, |it| format!(" for {} s", decimal(it, 0)));
    let rate = |it: Option<f64>| decimal(it.unwrap_or(0.0), 0);
    let range = match max.found_per_s.len() {
        0 | 1 => String::new(),
        count => format!(" ({} to {} in {count} searches)", rate(max.low), rate(max.high)),
    };
    let with = max.connections.map(|it| format!("{} connections, ", decimal(it, 0)));
    format!("{}{}/s{long}{range}", with.unwrap_or_default(), rate(max.sustained_per_s))
}

/// The highest level that held so far.
fn best(max: &MaxRecord) -> String {
    let held = max.steps.iter().filter(|it| it.outcome == StepOutcome::Held);
    let best = held.map(|it| it.level).fold(0.0, f64::max);
    let what = match max.searched {
        Searched::Rate => "/s",
        Searched::Connections => " connections",
    };
    if best > 0.0 { format!("; until then {}{what} held", decimal(best, 0)) } else { String::new() }
}

/// The requirements on the server, and its address.
pub(super) fn subject(max: &MaxRecord) -> String {
    let place = match max.step_verb() {
        // Verbs other than `run` name the server themselves.
        Some(verb) if verb != "run" => {
            max.step_command.strip_prefix("springload ").unwrap_or(&max.step_command)
        }
        _ => max.target.as_deref().unwrap_or("embedded stand-ins, one per step"),
    };
    format!("{place} · {}", limits(&max.slo))
}

pub(super) fn limits(slo: &[Threshold]) -> String {
    let slo: Vec<String> = slo.iter().map(ToString::to_string).collect();
    if slo.is_empty() { "no limit except keeping up".to_owned() } else { slo.join(", ") }
}

/// The report for people.
pub fn max_text(max: &MaxRecord) -> String {
    let Pill { mark, words, .. } = verdict(max);
    let mut out = String::new();
    wrapped(&mut out, &format!("{mark} {words}"));
    out.push('\n');
    let name = max.label.as_deref().unwrap_or("springload max");
    wrapped(&mut out, &format!("{name} · {}", subject(max)));
    out.push('\n');
    if !max.steps.is_empty() {
        out.push_str(&align(&columns(max).table(&max.steps)));
    }
    out
}

pub(super) fn columns(max: &MaxRecord) -> Columns<'static, StepRecord> {
    let level = match max.searched {
        Searched::Rate => "rate",
        Searched::Connections => "conns",
    };
    Columns::<'_, StepRecord>::new()
        .and("search", |step| step.search.to_string())
        .and(level, |step| decimal(step.level, 0))
        .and("s", |step| decimal(step.length_s, 0))
        .and("ok/s", |step| decimal(step.per_s, 0))
        .each(
            StepRecord::TIMES,
            |(it, _)| in_ms(it),
            |step, (_, us)| us(step).map_or_else(|| "-".to_owned(), millis),
        )
        .and("failed", |step| {
            let percent = step.failed_percent;
            format!("{} %", decimal(percent, usize::from(percent > 0.0)))
        })
        .and("outcome", outcome)
}

fn outcome(step: &StepRecord) -> String {
    let word = match step.outcome {
        StepOutcome::Held if step.confirms => "confirmed",
        StepOutcome::Held => "held",
        StepOutcome::Missed => "missed",
        StepOutcome::Undecided => "unclear",
    };
    word.to_owned()
}

/// A step in one line, once it has ended.
pub fn step_words(step: &StepRecord, searched: Searched) -> String {
    let unit = match searched {
        Searched::Rate => "/s",
        Searched::Connections => " connections",
    };
    let why = if step.reason.is_empty() { String::new() } else { format!(": {}", step.reason) };
    format!(
        "search {}: {}{unit} for {} s: {}{why}",
        step.search,
        decimal(step.level, 0),
        decimal(step.length_s, 0),
        outcome(step),
    )
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::report) fn step(level: f64, outcome: StepOutcome, confirms: bool) -> StepRecord {
        StepRecord {
            search: 1,
            level,
            length_s: 5.0,
            confirms,
            outcome,
            reason: if outcome == StepOutcome::Held {
                String::new()
            } else {
                "not sustained".into()
            },
            takes: 0.0,
            client_bound: false,
            data_wrong: false,
            per_s: level.min(2_000.0),
            failed_percent: 0.0,
            p50_us: Some(800.0),
            p99_us: None,
            run: "steps/000/run.json".to_owned(),
        }
    }

    pub(in crate::report) fn max(ended: Ended, steps: Vec<StepRecord>) -> MaxRecord {
        let found = (ended == Ended::Found).then_some(1_950.0);
        MaxRecord {
            schema_version: 1,
            label: None,
            target: Some("http://localhost:5984".to_owned()),
            nodes: 1,
            counted: crate::plan::Nouns::default(),
            command: "springload max localhost:5984".to_owned(),
            step_command: "springload run localhost:5984".to_owned(),
            step_verb: Some("run".to_owned()),
            slo: vec!["read.p99 < 20ms".parse().unwrap()],
            searched: Searched::Rate,
            seed: 42,
            from: 100.0,
            to: 1e6,
            repeat: 3,
            length_s: 3.0,
            ended,
            sustained_per_s: found,
            low: found.map(|it| it - 20.0),
            high: found.map(|it| it + 30.0),
            found_per_s: found.map_or_else(Vec::new, |it| vec![it - 20.0, it + 30.0]),
            connections: None,
            steps,
        }
    }

    #[test]
    fn the_result_comes_first_and_a_row_per_step_follows() {
        let steps = vec![
            step(1_600.0, StepOutcome::Held, false),
            step(3_200.0, StepOutcome::Missed, false),
            StepRecord { length_s: 9.0, ..step(1_950.0, StepOutcome::Held, true) },
            step(1_950.0, StepOutcome::Held, true),
        ];
        let text = max_text(&max(Ended::Found, steps.clone()));
        let first = "✓ sustained: 1,950/s for 5 s (1,930 to 1,980 in 2 searches)";
        assert_eq!(text.lines().next(), Some(first));
        assert!(text.contains("http://localhost:5984 · read.p99 < 20ms\n"), "{text}");
        assert_eq!(text.lines().count(), 4 + 5, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let line = "search 1: 3,200/s for 5 s: missed: not sustained";
        assert_eq!(step_words(&steps[1], Searched::Rate), line);
        let to_the_end = max(Ended::Found, vec![step(1_950.0, StepOutcome::Held, true)]);
        let Pill { mark, words, .. } = verdict(&to_the_end);
        assert!(mark == '✓' && words.ends_with("(--to): the server may handle more"), "{words}");
        let apart = MaxRecord { high: Some(2_500.0), ..max(Ended::Found, steps.clone()) };
        let Pill { mark, words, .. } = verdict(&apart);
        assert!(mark == '!' && words.contains("; they disagree: try longer steps"), "{words}");
        let bound = StepRecord { client_bound: true, ..steps[1].clone() };
        let words = verdict(&max(Ended::Found, vec![steps[0].clone(), bound])).words;
        assert!(words.contains("the client, not the server"), "{words}");
    }

    #[test]
    fn wrong_data_comes_before_all_else() {
        let wrong = StepRecord { data_wrong: true, ..step(3_200.0, StepOutcome::Missed, false) };
        let found = step(1_950.0, StepOutcome::Held, true);
        let Pill { mood, words, .. } = verdict(&max(Ended::Found, vec![wrong.clone(), found]));
        assert_eq!(mood, Mood::Bad);
        assert!(words.starts_with("data was wrong in a step; sustained: 1,950/s"), "{words}");
        let Pill { words, .. } = verdict(&max(Ended::NothingHolds, vec![wrong.clone(), wrong]));
        assert!(words.starts_with("data was wrong in 2 steps; not even a rate of"), "{words}");
    }

    #[test]
    fn what_was_not_found_is_said_plainly() {
        let none = max(
            Ended::NothingHolds,
            vec![step(100.0, StepOutcome::Missed, false), step(1.0, StepOutcome::Missed, false)],
        );
        assert_eq!(verdict(&none).words, "not even a rate of 1 holds: not sustained");
        let stopped = max(Ended::Stopped, vec![step(800.0, StepOutcome::Held, false)]);
        assert_eq!(verdict(&stopped).words, "stopped early; until then 800/s held");
        let failed = max(Ended::Failed, Vec::new());
        assert_eq!(verdict(&failed).words, "a run could not be carried out");
        assert!(max_text(&failed).starts_with("✗ a run"));
    }
    #[test]
    fn the_server_is_in_the_words_of_verbs_other_than_run() {
        let of = |verb: Option<&str>, words: &str| {
            let (step_verb, step_command) = (verb.map(str::to_owned), words.to_owned());
            let max = MaxRecord { step_command, step_verb, ..max(Ended::Stopped, Vec::new()) };
            subject(&max).split(" · ").next().unwrap().to_owned()
        };
        let target = "http://localhost:5984";
        for verb in [Some("http"), None] {
            assert_eq!(of(verb, "springload http http://a http://b"), "http http://a http://b");
        }
        for verb in [Some("run"), None] {
            assert_eq!(of(verb, "springload run a"), target);
        }
        // What the command line looks like does not matter where the verb is stored.
        assert_eq!(of(Some("run"), "springload '*** a"), target);
        assert_eq!(of(Some("burst"), "elsewhere a"), "elsewhere a");
        assert_eq!((of(None, ""), of(None, "elsewhere a")), (target.to_owned(), target.to_owned()));
    }
}
