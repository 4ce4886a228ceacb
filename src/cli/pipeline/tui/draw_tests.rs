//! Snapshots of the live view as text, at several sizes, with and without colors.

use super::draw::{Look, draw};
use super::model::Model;
use crate::op::{Failure, OpKind};
use crate::record::fixture;
use crate::run::{KindProgress, Progress};
use ratatui_core::backend::TestBackend;
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::style::Color;
use ratatui_core::terminal::Terminal;

fn kind(kind: OpKind, ok: u64, failed: u64, requests_per_s: u64) -> KindProgress {
    let timed_per_s = requests_per_s;
    KindProgress {
        kind,
        ok,
        failed,
        requests_per_s,
        timed_per_s,
        p50_ns: 512_000,
        p99_ns: 1_050_000,
    }
}

/// The 37th second of a CRUD stage of a minute, with a second without answers.
fn model(failures: &[(Failure, u64)]) -> Model {
    let mut record = fixture::record(&[]);
    record.server.stand_in = false;
    record.server.url = "http://127.0.0.1:5984".to_owned();
    record.server.database = "orders".to_owned();
    record.plan.connections = 50;
    let mut model = Model::new(&record);
    model.stage_begins("crud");
    let failed: u64 = failures.iter().map(|&(_, count)| count).sum();
    for second in (0..37).filter(|&second| second != 20) {
        let mut progress = Progress {
            unit: "docs",
            elapsed_s: f64::from(second) + 1.3,
            ok: 270_000,
            failed,
            second: Some(second),
            timed_per_s: 7_712,
            rate_per_s: 7_712 - u64::from(second * 37 % 11) * 300,
            p50_ns: 512_000,
            p99_ns: 1_050_000 + u64::from(second) * 40_000,
            length_s: Some(60.0),
            ..Progress::default()
        };
        progress.kinds = vec![
            kind(OpKind::Create, 68_000, 0, 1_900),
            kind(OpKind::Read, 101_000, 0, 2_900),
            kind(OpKind::Update, 68_000, failed, 1_950),
            kind(OpKind::Delete, 33_000, 0, 962),
        ];
        for &(class, count) in failures {
            progress.failures[class.index()] = count;
        }
        model.progress(&progress, false);
    }
    model
}

fn picture(model: &Model, (width, height): (u16, u16), color: bool) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
    terminal.draw(|frame| draw(frame, model, Look { color, ascii: false })).expect("a picture");
    terminal.backend().buffer().clone()
}

/// The characters of the snapshot, without trailing blanks.
fn text(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width);
    let line = |cells: &[Cell]| {
        let line: String = cells.iter().map(Cell::symbol).collect();
        line.trim_end().to_owned() + "\n"
    };
    buffer.content.chunks(width).map(line).collect()
}

#[test]
fn wide() {
    insta::assert_snapshot!(text(&picture(&model(&[]), (120, 24), true)));
}

#[test]
fn narrow_with_errors() {
    let model = model(&[(Failure::Timeout, 12), (Failure::Conflict, 1_204)]);
    insta::assert_snapshot!(text(&picture(&model, (40, 24), true)));
}

#[test]
fn wide_with_errors_while_it_stops() {
    let mut model = model(&[(Failure::Timeout, 12), (Failure::Conflict, 1_204)]);
    let progress = Progress { elapsed_s: 42.0, ..model.progress.clone() };
    model.progress(&progress, true);
    insta::assert_snapshot!(text(&picture(&model, (120, 30), true)));
}

#[test]
fn what_a_stage_waits_for_is_said_while_it_waits() {
    for (elapsed_s, planned, words) in [
        (60.5, None, " · waiting for answers"),
        (60.5, Some(270_000), "1:00 of 1:00"),
        (50.0, None, " · 10 s left"),
    ] {
        let mut model = model(&[]);
        let progress = Progress { elapsed_s, planned, ..model.progress.clone() };
        model.progress(&progress, false);
        let text = text(&picture(&model, (120, 24), true));
        let place = text.lines().nth(1).expect("a stage");
        assert!(place.ends_with(words), "{place}");
    }
}

#[test]
fn before_the_first_second_is_over() {
    let mut model = model(&[]);
    model.stage_begins("bulk_insert");
    let progress = Progress { planned: Some(100_000), unit: "docs", ..Progress::default() };
    model.progress(&progress, false);
    insta::assert_snapshot!(text(&picture(&model, (80, 12), true)));
}

#[test]
fn without_colors_the_same_is_shown() {
    let model = model(&[(Failure::Conflict, 7)]);
    let (plain, bright) = (picture(&model, (120, 24), false), picture(&model, (120, 24), true));
    assert_eq!(text(&plain), text(&bright));
    let colored = |it: &Buffer| {
        it.content.iter().any(|cell| (cell.fg, cell.bg) != (Color::Reset, Color::Reset))
    };
    assert!(colored(&bright) && !colored(&plain));
}

#[test]
fn without_unicode_the_same_is_shown_in_ascii() {
    let model = model(&[(Failure::Conflict, 7)]);
    let mut terminal = Terminal::new(TestBackend::new(120, 24)).expect("a terminal");
    let look = Look { color: false, ascii: true };
    terminal.draw(|frame| draw(frame, &model, look)).expect("a picture");
    let ascii = text(terminal.backend().buffer());
    assert!(ascii.is_ascii() && !ascii.contains('?'), "{ascii}");
    let unicode = text(&picture(&model, (120, 24), false));
    let letters = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
    assert_eq!(letters(&ascii), letters(&unicode));
}

#[test]
fn no_size_is_too_small() {
    let model = model(&[(Failure::Conflict, 7)]);
    for size in [(1, 1), (5, 3), (40, 1), (1, 40), (17, 7), (71, 9), (300, 100)] {
        let text = text(&picture(&model, size, true));
        assert_eq!(text.lines().count(), usize::from(size.1));
    }
}
