//! What a stage says about itself: its outages, its trust, the start of a burst; and the kinds of a
//! run.

use super::{Account, StartRecord, Sureness, Trust, fixture};
use crate::measure::Span;
use crate::op::OpKind;

#[test]
fn an_outage_is_part_of_a_silence_that_lasted_at_least_half_of_it() {
    let span = |from_s, length_s| Span { from_s, length_s };
    let away = span(10.0, 2.0);
    let mut stage = fixture::stage("crud", Vec::new());
    stage.outage.answered = true;
    let mut words = |silences: &[Span]| {
        stage.silences = silences.to_vec();
        stage.away_words(away)
    };
    assert_eq!(words(&[]), ("nothing succeeded", away));
    assert_eq!(words(&[span(10.0, 0.9)]), ("nothing succeeded", away));
    assert_eq!(words(&[span(10.0, 1.0)]), ("no answer", away));
    let longer = span(9.5, 3.0);
    assert_eq!(words(&[span(1.0, 2.0), longer]), ("no answer", longer));
    assert_eq!(words(&[span(7.0, 3.5)]), ("nothing succeeded", away), "it ended too soon");
    stage.outage.answered = false;
    stage.silences.clear();
    assert_eq!(stage.away_words(away), ("no answer", away));
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
