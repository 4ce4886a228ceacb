//! What a stage says about itself: its outages, its trust, the start of a burst; and the kinds of a
//! run.

use super::{Account, Away, StageRecord, StartRecord, Sureness, Trust, fixture};
use crate::measure::Span;
use crate::op::OpKind;

fn span(from_s: f64, length_s: f64) -> Span {
    Span { from_s, length_s }
}

/// A stage with these outages and silences, whose answers usually take 30 ms.
fn interrupted(outages: &[Span], silences: &[Span]) -> StageRecord {
    let mut part = fixture::part(0, 0);
    (part.requests, part.ok) = (100, 100);
    part.service.record_many(30_000_000, 100);
    let mut stage = fixture::stage("crud", vec![(0, OpKind::Read, part)]);
    (stage.outage.spans, stage.silences) = (outages.to_vec(), silences.to_vec());
    stage.outage.total_s = outages.iter().map(|it| it.length_s).sum();
    stage.outage.answered = true;
    stage
}

/// Beginnings and ends, in milliseconds.
type Times = Vec<(u64, u64)>;

/// What is said of them: when the server was away, and when it was only silent.
fn told(stage: &StageRecord) -> (Times, Times) {
    let ms = |it: &Span| {
        let ms = |seconds: f64| (seconds * 1e3).round() as u64;
        (ms(it.from_s), ms(it.from_s + it.length_s))
    };
    let away = stage.away().iter().map(|it| ms(&it.span)).collect();
    (away, stage.silences_apart().map(ms).collect())
}

#[test]
fn an_outage_and_a_silence_that_touch_are_one() {
    let of = |outages: &[Span], silences: &[Span]| told(&interrupted(outages, silences));
    // Each began in the other: the server was stopped, and answered late when it went on.
    let stopped = of(&[span(6.0, 4.07)], &[span(7.1, 4.25)]);
    assert_eq!(stopped, (vec![(6_000, 11_350)], vec![]));
    // A silence with two outages in it.
    let killed = of(&[span(6.9, 3.1), span(10.524, 0.043)], &[span(8.1, 2.6)]);
    assert_eq!(killed, (vec![(6_900, 10_700)], vec![]));
    let several = of(&[span(5.0, 2.0)], &[span(4.5, 0.6), span(6.9, 0.4)]);
    assert_eq!(several, (vec![(4_500, 7_300)], vec![]));
    let within = of(&[span(5.0, 2.0)], &[span(5.5, 0.4)]);
    assert_eq!(within, (vec![(5_000, 7_000)], vec![]));
    // It overlaps, so it need not be unusual.
    let short = of(&[span(5.0, 2.0)], &[span(6.95, 0.1)]);
    assert_eq!(short, (vec![(5_000, 7_050)], vec![]));
    let next = of(&[span(5.0, 2.0)], &[span(7.0, 0.9)]);
    assert_eq!(next, (vec![(5_000, 7_900)], vec![]));
}

#[test]
fn what_does_not_touch_an_outage_is_told_by_itself() {
    let of = |outages: &[Span], silences: &[Span]| told(&interrupted(outages, silences));
    let two = of(&[span(2.0, 1.0), span(4.0, 1.0)], &[span(2.0, 1.0), span(4.0, 1.0)]);
    assert_eq!(two, (vec![(2_000, 3_000), (4_000, 5_000)], vec![]));
    let far = of(&[span(2.0, 1.0)], &[span(8.0, 0.5)]);
    assert_eq!(far, (vec![(2_000, 3_000)], vec![(8_000, 8_500)]));
    // Something was answered between the two silences.
    let after = of(&[span(2.0, 1.0)], &[span(2.5, 1.0), span(3.5, 0.5)]);
    assert_eq!(after, (vec![(2_000, 3_500)], vec![(3_500, 4_000)]));
    // Just before an outage, a server may take as long as it often does.
    assert_eq!(of(&[span(2.0, 1.0)], &[span(1.9, 0.1)]), (vec![(2_000, 3_000)], vec![]));
    assert_eq!(of(&[span(2.0, 0.18)], &[span(1.9, 0.1)]), (vec![(1_900, 2_180)], vec![]));
    assert_eq!(of(&[], &[span(1.0, 0.5)]), (vec![], vec![(1_000, 1_500)]));
}

#[test]
fn there_was_no_answer_if_the_server_was_silent_for_at_least_half_of_the_time() {
    let outage = span(10.0, 2.0);
    let told = |silences: &[Span]| interrupted(&[outage], silences).away()[0];
    assert_eq!(told(&[]), Away { span: outage, silent: false });
    assert_eq!(told(&[span(10.0, 0.9)]), Away { span: outage, silent: false });
    assert_eq!(told(&[span(10.0, 1.0)]), Away { span: outage, silent: true });
    assert_eq!(told(&[span(10.0, 0.5), span(11.0, 0.5)]), Away { span: outage, silent: true });
    let longer = span(9.5, 3.0);
    assert_eq!(told(&[span(1.0, 2.0), longer]), Away { span: longer, silent: true });
    let mut stage = interrupted(&[outage], &[]);
    stage.outage.answered = false;
    assert_eq!(stage.away()[0].what(), "no answer");
    stage.outage.answered = true;
    assert_eq!(stage.away()[0].what(), "nothing succeeded");
}

/// In all, the server was away for as long as is told, and longer if not all outages are listed.
#[test]
fn silences_lengthen_the_time_in_which_a_server_was_away() {
    let mut stage = interrupted(&[span(2.0, 1.0), span(5.0, 1.0)], &[span(5.5, 2.0)]);
    assert!((stage.away_in_all_s(2.0) - 3.5).abs() < 1e-9);
    assert!((stage.away_in_all_s(1.75) - 3.5).abs() < 1e-9, "the total leaves out some moments");
    assert!((stage.away_in_all_s(2.25) - 3.75).abs() < 1e-9, "there were more of them");
    stage.silences.clear();
    assert!((stage.away_in_all_s(2.0) - 2.0).abs() < 1e-9);
    stage.silences = vec![span(2.5, 3.0)];
    assert!((stage.away_in_all_s(2.0) - 4.0).abs() < 1e-9, "what lay between counts, too");
}

#[test]
fn a_stage_is_trusted_as_its_account_says() {
    let mut stage = fixture::stage("crud", Vec::new());
    assert_eq!(stage.trust(), Trust::default(), "as in older records");
    let trust = Trust { throughput: Sureness::Unknown, latency: Sureness::Disturbed };
    stage.account = Some(Account { trust, ..Account::default() });
    assert_eq!(stage.trust(), trust);
}

#[test]
fn a_burst_spreads_from_its_first_worker_to_its_last() {
    let start = StartRecord { first_us: 10.0, last_us: 35.0, ..StartRecord::default() };
    assert!((start.spread_us() - 25.0).abs() < 1e-9, "{}", start.spread_us());
}

#[test]
fn the_kinds_of_a_run_are_requests_that_were_issued() {
    let mut record = fixture::record(&[]);
    let all = [OpKind::BulkInsert, OpKind::Read, OpKind::Update];
    assert_eq!(record.kinds(), all);
    for (kind, issued) in [(OpKind::ReadModifyWrite, 9), (OpKind::Delete, 0), (OpKind::Read, 9)] {
        let mut operation = record.stages[2].operations[0].clone();
        (operation.kind, operation.issued) = (kind, issued);
        record.stages[2].operations.push(operation);
    }
    assert_eq!(record.kinds(), all);
}
