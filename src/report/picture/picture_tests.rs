//! Pictures, read back by what others have written.

use super::*;
use crate::record::fixture::{fleet, record};
use quick_xml::events::Event;

/// The texts of an SVG.
fn texts(svg: &[u8]) -> Vec<String> {
    let mut reader = quick_xml::Reader::from_reader(svg);
    let (mut texts, mut buffer) = (Vec::new(), Vec::new());
    loop {
        match reader.read_event_into(&mut buffer).expect("well-formed") {
            Event::Text(text) => texts.push(text.decode().unwrap().trim().to_owned()),
            Event::Eof => return texts,
            _ => {}
        }
    }
}

/// Width, height and the pixels that are not white.
fn ink(bytes: &[u8]) -> (u32, u32, usize) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut pixels).unwrap();
    let ink = pixels.chunks(3).filter(|pixel| *pixel != [255, 255, 255]).count();
    (frame.width, frame.height, ink)
}

#[test]
fn a_drawing_has_every_chart_and_what_must_be_read_first() {
    let run = record(&["read.max > 1ms"]);
    let texts = texts(&svg(std::slice::from_ref(&run), None));
    let has = |what: &str| texts.iter().any(|text| text.contains(what));
    for title in ["Throughput", "Latency over time", "Latency by percentile", "Errors"] {
        assert!(has(title), "{title}: {texts:?}");
    }
    assert!(has("! the server is springload") && has("trust: mixed") && has("✗ read max ≤ 1 ms"));
    assert!(has("Charts of the mixed stage") && has("p50 response") && has("90") && has("served"));
}

#[test]
fn one_chart_is_drawn_where_one_is_asked_for() {
    let runs = [fleet(3)];
    let whole = ink(&png(&runs, None));
    for kind in ChartKind::ALL {
        let one = ink(&png(&runs, Some(kind)));
        assert_eq!(whole.1 - one.1, (ChartKind::ALL.len() as u32 - 1) * CHART_HEIGHT, "{kind}");
        assert!(one.2 > 10_000, "{kind} shows {} pixels", one.2);
    }
}

#[test]
fn signs_of_markup_do_not_break_a_drawing() {
    let mut run = record(&[]);
    run.plan.command = "springload run '</text><script>&' \"x\"".to_owned();
    assert!(svg(&[run], None).windows(8).all(|window| window != b"<script>"));
}

#[test]
fn long_lines_are_cut_between_words() {
    let line = format!("{} {}", "word ".repeat(60), "x".repeat(400));
    let pieces = wrap(&line);
    assert!(pieces.iter().all(|piece| piece.chars().count() <= LINE_LENGTH + 4));
    let again: String = pieces.concat().split_whitespace().collect();
    assert_eq!(again, line.split_whitespace().collect::<String>());
}
