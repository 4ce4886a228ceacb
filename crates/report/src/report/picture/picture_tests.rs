//! Pictures, read back by independent libraries.

use super::*;
use crate::measure::{EndToEnd, LagPoint, Markers, ReplicaPlace, Replication, ReplicationLink};
use crate::observed::{Column, Meter, Observed, Source, Table};
use crate::plan::REPLICATED;
use crate::record::fixture::{fleet, record};
use quick_xml::events::Event;

fn texts(svg: &[u8]) -> Vec<String> {
    let mut reader = quick_xml::Reader::from_reader(svg);
    let (mut texts, mut buffer) = (Vec::new(), Vec::new());
    loop {
        match reader.read_event_into(&mut buffer).expect("well-formed") {
            Event::Text(text) => texts.push(text.trim().to_owned()),
            Event::Eof => return texts,
            _ => {}
        }
    }
}

/// Width, height and the number of pixels that are not white.
fn ink(bytes: &[u8]) -> (u32, u32, usize) {
    let pixels = tiny_skia::Pixmap::decode_png(bytes).expect("a PNG");
    let white = tiny_skia::ColorU8::from_rgba(255, 255, 255, 255);
    let ink = pixels.pixels().iter().filter(|pixel| pixel.demultiply() != white).count();
    (pixels.width(), pixels.height(), ink)
}

#[test]
fn a_drawing_has_every_chart_and_what_must_be_read_first() {
    let mut run = record(&["read.max > 1ms"]);
    run.conclude();
    let texts = texts(&svg(std::slice::from_ref(&run), None));
    let has = |what: &str| texts.iter().any(|text| text.contains(what));
    for title in ["Throughput", "Latency over time", "Latency by percentile", "Errors"] {
        assert!(has(title), "{title}: {texts:?}");
    }
    assert!(has("! the server is springload") && has("✗ read max ≤ 1 ms"), "{texts:?}");
    let result = texts.iter().position(|text| text.starts_with("✗ FAILED"));
    let trust = texts.iter().position(|text| text.starts_with("mixed: "));
    assert!(result.is_some() && result < trust, "{texts:?}");
    for what in ["Charts of the mixed stage", "p50 response", "90"] {
        assert!(has(what), "{what}: {texts:?}");
    }
}

/// What a server reported about its queue from this time on.
fn queue_of(from_s: f64) -> Observed {
    let column = Column {
        meter: Meter::gauge("run_queue", "run queue", "", "queues"),
        values: vec![Some(1.0), Some(9.0), None, Some(4.0)],
    };
    let at_s = [0.5, 1.0, 1.5, 2.0].map(|at_s| from_s + at_s).to_vec();
    let table = Table { at_s, columns: vec![column] };
    let source = Source { tables: vec![table], ..Source::default() };
    Observed { sources: vec![source], ..Observed::default() }
}

/// A replication whose target lagged behind for a while.
fn replication() -> Replication {
    let point = |at_s, longest_us| LagPoint { at_s, seconds: 1, markers: 10, longest_us };
    let over_time = vec![point(0, 900.0), point(1, 90_000.0), point(2, 1_500.0)];
    let link = |source, target| {
        let markers = Markers { written: 30, over_time: over_time.clone(), ..Markers::default() };
        ReplicationLink { source, target, markers, ..ReplicationLink::default() }
    };
    let place =
        |server: &str| ReplicaPlace { server: server.to_owned(), ..ReplicaPlace::default() };
    let places = ["http://a/", "http://b/", "http://c/"].map(place).to_vec();
    let links = vec![link(0, 1), link(1, 2)];
    let end_to_end = Some(EndToEnd { source: 0, target: 2, markers: links[1].markers.clone() });
    Replication { places, links, end_to_end, ..Replication::default() }
}

#[test]
fn one_chart_is_drawn_where_one_is_asked_for() {
    let mut run = fleet(3);
    run.observed = Some(queue_of(run.stages.last().unwrap().began_s));
    run.stages.last_mut().unwrap().name = REPLICATED.to_owned();
    run.replication = Some(replication());
    let runs = [run];
    for kind in ChartKind::ALL {
        let (drawing, one) = (svg(&runs, Some(kind)), ink(&png(&runs, Some(kind))));
        let titles = [
            "Throughput",
            "Latency over time",
            "Latency by",
            "Heat map",
            "Errors",
            "Agents",
            "Server: queues",
            "Longest lag over time",
        ];
        let texts = texts(&drawing);
        let found = titles.map(|it| texts[1..].iter().any(|text| text.starts_with(it)));
        let of_kind = ChartKind::ALL.map(|it| it == kind);
        assert_eq!(found, of_kind, "{kind}: {texts:?}");
        assert!(one.2 > 8_000, "{kind} shows {} pixels", one.2);
    }
}

#[test]
fn a_chart_of_nothing_is_left_out_unless_it_is_asked_for() {
    let mut run = record(&[]);
    run.stages.pop();
    let charts = |wanted| PictureSheet::new(std::slice::from_ref(&run), wanted).charts.len();
    let errors = |wanted| {
        PictureSheet::new(std::slice::from_ref(&run), wanted)
            .charts
            .iter()
            .any(|it| it.title == "Errors")
    };
    assert!(charts(None) > 0 && !errors(None) && errors(Some(ChartKind::Errors)));
}

/// The two formats show the same picture: the same size, and ink wherever the SVG has its shapes.
#[test]
fn both_pictures_are_made_of_the_same_shapes() {
    let runs = [record(&["read.max > 1ms"])];
    let drawing = draw::sheet(&PictureSheet::new(&runs, None));
    let (svg, png) = (svg::write(&drawing), png::write(&drawing));
    let pixels = tiny_skia::Pixmap::decode_png(&png).expect("a PNG");
    let size = format!("width=\"{}\" height=\"{}\"", pixels.width(), pixels.height());
    assert!(svg.contains(&size), "{size}");
    let dark = |x: f64, y: f64| {
        pixels.pixel(x as u32, y as u32).is_some_and(|it| it.red() < 200 || it.blue() < 200)
    };
    let (mut letters, mut dots) = (0, 0);
    for shape in &drawing.shapes {
        match shape {
            shapes::Shape::Text(text) => {
                let width = font::width(&text.words, text.size);
                let box_of =
                    |x: usize, y: usize| dark(text.left() + x as f64, text.at.1 - y as f64);
                let found = (0..width as usize).any(|x| (0..12).any(|y| box_of(x, y)));
                assert!(found || text.words.trim().is_empty(), "{text:?} is not to be seen");
                assert!(text.left() >= 0.0 && text.left() + width <= drawing.width, "{text:?}");
                letters += 1;
            }
            shapes::Shape::Dots(_, _, points) => {
                assert!(points.iter().all(|(x, y)| dark(*x, *y)), "{points:?}");
                dots += points.len();
            }
            _ => {}
        }
    }
    assert!(letters > 40 && dots > 10, "{letters} texts, {dots} dots");
}

/// Everything that springload itself writes on pictures.
#[test]
fn there_is_a_letter_for_every_sign() {
    for sign in "…✓✗!■≤≥<>µ·×÷±−–—%0123456789äöüßéñłЖя’“”".chars()
    {
        assert!(font::has(sign), "{sign:?}");
    }
    let outlines = |text| font::outlines(text, 16.0, (0.0, 0.0));
    assert!(!font::has('中') && !outlines("中").is_empty(), "a box for what is missing");
    assert!(font::has(' ') && outlines(" ").is_empty());
    let texts = draw::sheet(&PictureSheet::new(&[fleet(3), record(&["read.max > 1ms"])], None));
    for shape in texts.shapes {
        if let shapes::Shape::Text(text) = shape {
            assert!(text.words.chars().all(font::has), "{}", text.words);
        }
    }
}

#[test]
fn signs_of_markup_do_not_break_a_drawing() {
    let mut run = record(&[]);
    run.plan.label = Some("'</text><script>&' \"x\"".to_owned());
    run.server.stand_in = false;
    run.server.url = "http://h/\u{1b}]0;</title><script>".to_owned();
    let drawing = svg(&[run], None);
    assert!(drawing.windows(8).all(|window| window != b"<script>") && !drawing.contains(&0x1b));
    assert!(texts(&drawing).len() > 20, "it is still well-formed");
}
