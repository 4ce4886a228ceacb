//! Records made to do harm: their texts cannot control a terminal or forge lines or markup, and no
//! damaged record causes a panic.

use super::{STORED, closed, fleet, sweep, with_failures};
use serde_json::{Value, json};
use springload::op::{Failure, Finding, Reason, steers};
use springload::record::RunRecord;
use springload::report::{FORMATS, Look, Picture, cleaned, read_json, sweep_csv, sweep_page};
use springload::report::{sane, sweep_picture, sweep_text, terminal_json};
use springload::sweep::SweepRecord;
use std::time::{Duration, Instant};

/// Sets a title, clears the screen, forges lines, reverses the direction of writing, and is markup.
const EVIL: &str = "e\u{1b}]0;pwned\u{7}\u{9b}2J\u{7f}\r\nforged\u{2028}line\u{202e}\0\
    <script>\"'&]]>--><b/>,;";
/// Of the same length, but harmless.
const GOOD: &str = "e ]0;pwned  2J   forged line   script    ]]    b   ,;";

/// A record in which all free texts end in `text`; which ones are free is found by trial.
fn with_texts(record: &RunRecord, text: &str) -> RunRecord {
    let mut stored = serde_json::to_value(record).expect("plain data");
    let mut all = Vec::new();
    places(&stored, String::new(), &mut all);
    let (mut replaced, mut seen) = (0, std::collections::BTreeSet::new());
    for place in all {
        let own = stored.pointer(&place).and_then(Value::as_str).map(str::to_owned);
        let kind = place.replace(|c: char| c.is_ascii_digit(), "");
        let Some(own) = own.filter(|own| own.len() < 2_000 && !place.contains("/series/")) else {
            continue;
        };
        // If one place of a kind only accepts certain words, so do all of them.
        if seen.contains(&kind) {
            continue;
        }
        let put = |stored: &mut Value, value: Value| {
            *stored.pointer_mut(&place).expect("it is there") = value;
        };
        put(&mut stored, json!(format!("{own}{text}")));
        if read_json(&stored.to_string()).is_ok() {
            replaced += 1;
        } else {
            put(&mut stored, json!(own));
            seen.insert(kind);
        }
    }
    assert!(replaced >= 20, "only {replaced} texts");
    read_json(&stored.to_string()).expect("each of them could be read")
}

/// A record with failures, agents, findings and everything else that can have a text.
fn full() -> RunRecord {
    let mut record = with_failures();
    let lost = fleet::lost();
    (record.agents, record.plan.fleet) = (lost.agents, lost.plan.fleet);
    record.server.stand_in = false;
    (record.server.left, record.plan.label) = (Some("left".into()), Some("label".into()));
    record.journal_broken = Some("full".into());
    for stage in &mut record.stages {
        stage.agents = lost.stages.first().map(|it| it.agents.clone()).unwrap_or_default();
        for operation in &mut stage.operations {
            operation.failures.insert(Failure::Rejected, 3);
            let reason = Reason { status: Some(400), reason: "why".into() };
            operation.reasons.insert(Failure::Rejected, reason);
            let finding = Finding::new(Failure::Lost, b"id", "what", "nothing");
            operation.findings.push(finding);
        }
    }
    record.conclude();
    record
}

fn rendered(record: &RunRecord, name: &str, look: Look) -> Option<String> {
    let format = springload::report::format(name).expect("a format");
    let bytes = format.render_as(std::slice::from_ref(record), None, look).ok()?;
    (!format.binary()).then(|| String::from_utf8(bytes).expect("UTF-8"))
}

/// The page's own markup and quotation marks, without the data of its script.
fn markup(page: &str) -> (usize, usize) {
    let (before, rest) = page.split_once("id=\"data\">").unwrap_or((page, "</script>"));
    let (data, after) = rest.split_once("</script>").expect("its end");
    assert!(!data.contains('<'), "{data}");
    let count = |signs: &[char]| (before.matches(signs).count()) + after.matches(signs).count();
    (count(&['<']), count(&['"', '\'']))
}

#[test]
fn no_format_has_what_steers_a_terminal_or_forges_a_line() {
    let (evil, good) = (with_texts(&full(), EVIL), with_texts(&full(), GOOD));
    assert!(serde_json::to_string(&evil).expect("JSON").matches("forged").count() >= 20);
    for format in FORMATS {
        for verbose in [false, true] {
            let look = Look { verbose, ..Look::default() };
            let name = format.name;
            let Some(text) = rendered(&evil, name, look) else { continue };
            let same = rendered(&good, name, look).expect("the same");
            for line in text.lines() {
                // Long text is wrapped anywhere.
                assert!(name == "text" || !line.starts_with("forged"), "{name}: {line:?}");
            }
            assert_eq!(steering(&text), steering(&same), "{name}: {text:?}");
            // Text is wrapped by its width.
            if name != "text" {
                assert_eq!(text.lines().count(), same.lines().count(), "{name}: {text}");
            }
            match name {
                "html" => assert_eq!(markup(&text), markup(&same)),
                "svg" | "junit" => assert_eq!(tags(&text), tags(&same), "{name}"),
                "json" => assert_eq!(read_json(&text).expect("it can be read"), evil),
                "siege-json" | "ycsb-json" | "ycsb-json-array" => {
                    serde_json::from_str::<Value>(&text).expect("JSON");
                }
                _ => {}
            }
        }
    }
    let colors = Look { color: true, ..Look::default() };
    let text = rendered(&evil, "text", colors).expect("text");
    assert!(!text.contains("\u{1b}]") && !text.contains('\u{7}'), "{text:?}");
}

/// The number of characters that could control a terminal; tabs and those of the page's script are
/// ours.
fn steering(text: &str) -> usize {
    text.chars().filter(|c| *c != '\n' && steers(*c)).count()
}

/// The names and texts of all elements and attributes, as a parser finds them; text may differ.
fn tags(xml: &str) -> Vec<String> {
    let mut reader = quick_xml::Reader::from_str(xml);
    let mut all = Vec::new();
    loop {
        match reader.read_event().expect("XML") {
            quick_xml::events::Event::Eof => return all,
            quick_xml::events::Event::Start(tag) | quick_xml::events::Event::Empty(tag) => {
                let names = tag.attributes().map(|it| it.expect("an attribute").key.0.to_owned());
                all.extend(names);
                all.push(tag.name().0.to_owned());
            }
            _ => {}
        }
    }
}

#[test]
fn two_runs_beside_each_other_are_as_harmless() {
    let (evil, good) = (with_texts(&full(), EVIL), with_texts(&full(), GOOD));
    let page = |record: &RunRecord| {
        let format = springload::report::format("html").expect("a format");
        let page = format.render(&[closed(), record.clone()], None).expect("a page");
        String::from_utf8(page).expect("UTF-8")
    };
    assert_eq!(markup(&page(&evil)), markup(&page(&good)));
    assert_eq!(steering(&page(&evil)), steering(&page(&good)));
}

#[test]
fn what_a_sweep_says_is_as_harmless() {
    let with = |text: &str| {
        let mut stored = serde_json::to_value(sweep()).expect("plain data");
        let mut all = Vec::new();
        places(&stored, String::new(), &mut all);
        for place in all {
            let value = stored.pointer_mut(&place).expect("it is there");
            if let Value::String(own) = value {
                own.push_str(text);
            }
        }
        serde_json::from_value::<SweepRecord>(stored).expect("a sweep")
    };
    let (evil, good) = (with(EVIL), with(GOOD));
    let evil: SweepRecord = cleaned(&evil).expect("JSON").expect("there is much to clean");
    assert_eq!(cleaned::<_, SweepRecord>(&good).expect("JSON"), None);
    for render in [sweep_text, sweep_csv, sweep_page] {
        let (text, same) = (render(&evil), render(&good));
        assert_eq!(steering(&text), steering(&same), "{text:?}");
        assert_eq!(text.lines().count(), same.lines().count(), "{text}");
    }
    assert_eq!(markup(&sweep_page(&evil)), markup(&sweep_page(&good)));
    let svg = |sweep| String::from_utf8(sweep_picture(sweep, Picture::Svg)).expect("UTF-8");
    assert_eq!(tags(&svg(&evil)), tags(&svg(&good)));
    let json = terminal_json(serde_json::to_string_pretty(&with(EVIL)).expect("JSON"));
    assert!(json.chars().all(|c| c == '\n' || !steers(c)), "{json:?}");
}

/// Renders a record in the formats with the most computation; errors do not matter.
fn all_formats(record: &RunRecord) {
    for name in ["text", "html", "siege", "ycsb"] {
        let _ = rendered(record, name, Look { verbose: true, width: 40, ..Look::default() });
    }
}

/// Every place of a JSON value, as pointers.
fn places(value: &Value, at: String, all: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                places(value, format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), all);
            }
        }
        // The first few are like the others.
        Value::Array(items) => {
            for (n, value) in items.iter().enumerate().take(2) {
                places(value, format!("{at}/{n}"), all);
            }
        }
        _ => {}
    }
    all.push(at);
}

/// Puts impossible values in one place at a time; returns how many records were read, and how many
/// not.
fn put_everywhere(stored: &Value, read: impl Fn(&str) -> bool + Sync) -> (usize, usize) {
    let mut all = Vec::new();
    places(stored, String::new(), &mut all);
    // Of numbers with the same name, only one.
    let mut seen = std::collections::BTreeSet::new();
    all.retain(|place| seen.insert(place.rsplit('/').next().unwrap_or_default().to_owned()));
    let others = ["18446744073709551615", "999999999999999", "0"];
    let (mut taken, mut refused, mut harmed) = (0, 0, Vec::new());
    for place in all {
        for other in others {
            let mut changed = stored.clone();
            *changed.pointer_mut(&place).expect("it is there") =
                serde_json::from_str(other).expect("JSON");
            #[allow(clippy::disallowed_methods, reason = "the bound of a wait, not a measurement")]
            let begun = Instant::now();
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                read(&changed.to_string())
            }));
            if outcome.is_err() || begun.elapsed() > Duration::from_secs(60) {
                harmed.push(format!("{place} = {other}"));
            }
            *(if outcome.is_ok_and(|it| it) { &mut taken } else { &mut refused }) += 1;
        }
    }
    assert!(harmed.is_empty(), "a panic, or too long: {harmed:#?}");
    (taken, refused)
}

/// The record with only a few seconds: all others are similar.
fn short() -> RunRecord {
    let mut record = full();
    record.stages.drain(1..record.stages.len() - 1);
    record.stages.iter_mut().for_each(|stage| stage.series.rows.truncate(2));
    record
}

#[test]
fn a_number_that_cannot_be_is_no_panic_and_no_endless_loop() {
    let stored = serde_json::to_value(short()).expect("plain data");
    let (taken, refused) =
        put_everywhere(&stored, |text| read_json(text).map(|record| all_formats(&record)).is_ok());
    assert!(taken > 60 && refused > 60, "{taken} {refused}");
}

#[test]
fn nor_is_one_in_a_sweep() {
    let stored = serde_json::to_value(sweep()).expect("plain data");
    let (taken, refused) = put_everywhere(&stored, |text| {
        let Ok(sweep) = serde_json::from_str::<SweepRecord>(text) else { return false };
        if sane(text).is_err() || sweep.check().is_err() {
            return false;
        }
        let _ = (sweep_text(&sweep), sweep_csv(&sweep), sweep_page(&sweep));
        let _ = sweep_picture(&sweep, Picture::Svg);
        true
    });
    assert!(taken > 10 && refused > 10, "{taken} {refused}");
}

#[test]
fn a_sweep_of_more_cells_than_fit_anywhere_is_refused() {
    let mut sweep = sweep();
    let axis = sweep.definition.axes[0].clone();
    sweep.definition.axes = vec![axis; 64];
    assert!(sweep.check().expect_err("2^64 cells").contains("more than 10,000 cells"));
    let mut sweep = self::sweep();
    assert_eq!(sweep.check(), Ok(()));
    for outside in ["../../run.json", "/etc/passwd"] {
        sweep.cells[0].run = outside.to_owned();
        assert_eq!(sweep.check(), Err("one of its runs is not in its folder"));
    }
}

#[test]
fn a_record_of_more_than_a_run_can_have_is_refused() {
    let stored = serde_json::to_value(closed()).expect("plain data");
    let changed = |change: fn(&mut Value)| {
        let mut stored = stored.clone();
        change(&mut stored);
        read_json(&stored.to_string()).expect_err("it is refused").to_string()
    };
    let message = changed(|it| it["plan"]["connections"] = json!(1_000_000));
    assert!(message.contains("too many connections"), "{message}");
    let message = changed(|it| it["plan"]["threads"] = json!(1_000_000));
    assert!(message.contains("too many threads"), "{message}");
    let message = changed(|it| {
        let stages = it["plan"]["stages"].as_array_mut().expect("stages");
        stages.resize(100_001, stages[0].clone());
    });
    assert!(message.contains("too many stages"), "{message}");
}

#[test]
fn a_record_with_a_wrong_byte_is_no_panic() {
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    let mut draw = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let bytes = STORED.as_bytes();
    let alphabet = b"0123456789eE-+.,:\"{}[]tfn x\\";
    for _ in 0..60 {
        let mut bytes = bytes.to_vec();
        let at = draw(bytes.len());
        bytes[at] = alphabet[draw(alphabet.len())];
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Ok(record) = read_json(&text) {
            let outcome = std::panic::catch_unwind(|| all_formats(&record));
            assert!(outcome.is_ok(), "byte {at} is {:?}", bytes[at] as char);
        }
    }
}

/// An encoded histogram whose header claims these digits and this many bytes of counts.
fn bomb(digits: u32, claimed: u32, zeros: usize) -> String {
    use base64::Engine as _;
    use std::io::Write as _;
    let mut plain = Vec::new();
    for word in [0x1c84_9313, claimed, 0, digits, 0, 1, u32::MAX, u32::MAX, 0x3ff0_0000, 0] {
        plain.extend_from_slice(&u32::to_be_bytes(word));
    }
    plain.resize(plain.len() + zeros, 0);
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&plain).expect("memory");
    let deflated = encoder.finish().expect("memory");
    let mut whole = 0x1c84_9314_u32.to_be_bytes().to_vec();
    whole.extend_from_slice(&(deflated.len() as u32).to_be_bytes());
    whole.extend(deflated);
    base64::engine::general_purpose::STANDARD.encode(whole)
}

#[test]
fn a_histogram_that_claims_to_be_huge_is_refused() {
    let record = serde_json::to_value(closed()).expect("plain data");
    let mut all = Vec::new();
    places(&record, String::new(), &mut all);
    let is_histogram = |place: &&String| place.ends_with("/histogram");
    let place = all.iter().find(is_histogram).expect("a histogram");
    #[allow(clippy::disallowed_methods, reason = "the bound of a wait, not a measurement")]
    let begun = Instant::now();
    for text in [bomb(3, u32::MAX - 100, 8), bomb(5, 8, 8), bomb(3, 1 << 19, 40 << 20)] {
        let mut record = record.clone();
        *record.pointer_mut(place).expect("it is there") = text.into();
        let message = read_json(&record.to_string()).expect_err("a bomb").to_string();
        assert!(message.contains("HdrHistogram"), "{message}");
    }
    assert!(begun.elapsed() < Duration::from_secs(60));
}
