//! The thresholds and the run as test cases, in the XML of `JUnit` that CI systems show: the names
//! of elements and attributes are those of the task `junit` of Ant. A case fails exactly if
//! springload's exit status is not 0.

use super::threshold::{Requirement, requirements};
use super::words::{place, trust_lines, warning_lines};
use super::{Format, Render};
use crate::record::{ResultKind, RunRecord};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use std::io::{self, Write};

pub(super) const FORMAT: Format = Format {
    name: "junit",
    summary: "thresholds and result as test cases, for CI systems",
    endings: &["xml"],
    render: Render::One(render),
};

pub(super) struct Case {
    pub(super) name: String,
    pub(super) ended: End,
}

/// How a case ended, with the reason if it did not pass.
pub(super) enum End {
    Passed,
    /// The server did not meet a requirement.
    Failure(String),
    /// There is no judgment: too little was measured, or it cannot be trusted.
    Error(String),
}

fn render(record: &RunRecord) -> String {
    let cases: Vec<Case> = requirements(record).map(threshold).chain([run(record)]).collect();
    let seconds: f64 = record.stages.iter().map(|stage| stage.elapsed_s).sum();
    let name = format!("springload: {}", place(&record.server));
    let said: Vec<String> = trust_lines(record).chain(warning_lines(record)).collect();
    suite(&name, &record.started_at, seconds, &cases, &said)
}

/// A suite of cases with its name, start and duration, and further information.
pub(super) fn suite(
    name: &str,
    began: &str,
    seconds: f64,
    cases: &[Case],
    said: &[String],
) -> String {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    document(name, began, seconds, cases, said, &mut writer).expect("memory can be written to");
    let mut out = String::from_utf8(writer.into_inner()).expect("XML is text");
    out.push('\n');
    out
}

fn document<W: Write>(
    name: &str,
    began: &str,
    seconds: f64,
    cases: &[Case],
    said: &[String],
    writer: &mut Writer<W>,
) -> io::Result<()> {
    let count = |wanted: fn(&End) -> bool| cases.iter().filter(|it| wanted(&it.ended)).count();
    let failures = count(|end| matches!(end, End::Failure(_))).to_string();
    let errors = count(|end| matches!(end, End::Error(_))).to_string();
    let (tests, time) = (cases.len().to_string(), format!("{seconds:.3}"));
    let totals = [
        ("name", "springload"),
        ("tests", &tests),
        ("failures", &failures),
        ("errors", &errors),
        ("time", &time),
    ];
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    writer.create_element("testsuites").with_attributes(totals).write_inner_content(|writer| {
        let name = legal(name);
        // Ant's timestamps have no fraction and no zone.
        let began = began.get(..19).unwrap_or(began);
        let suite = writer.create_element("testsuite").with_attributes([
            ("name", name.as_str()),
            ("timestamp", began),
            ("skipped", "0"),
        ]);
        suite.with_attributes(totals.into_iter().skip(1)).write_inner_content(|writer| {
            for case in cases {
                write_case(case, writer)?;
            }
            let said: Vec<String> = said.iter().map(|it| legal(it)).collect();
            let text = said.join("\n");
            writer.create_element("system-out").write_text_content(BytesText::new(&text))?;
            Ok(())
        })?;
        Ok(())
    })?;
    Ok(())
}

fn write_case<W: Write>(case: &Case, writer: &mut Writer<W>) -> io::Result<()> {
    let name = legal(&case.name);
    let element = writer.create_element("testcase").with_attributes([
        ("classname", "springload"),
        ("name", name.as_str()),
        ("time", "0"),
    ]);
    let (tag, why) = match &case.ended {
        End::Passed => return element.write_empty().map(drop),
        End::Failure(why) => ("failure", legal(why)),
        End::Error(why) => ("error", legal(why)),
    };
    element.write_inner_content(|writer| {
        let message = [("message", why.as_str())];
        writer.create_element(tag).with_attributes(message).write_empty().map(drop)
    })?;
    Ok(())
}

fn threshold(asked: Requirement) -> Case {
    let why = asked.missed_words();
    let ended = match (asked.met, asked.found) {
        (true, _) => End::Passed,
        (false, Ok(_)) => End::Failure(why),
        (false, Err(_)) => End::Error(why),
    };
    Case { name: asked.name, ended }
}

/// Everything that can be wrong with a run other than its thresholds, which have their own cases.
fn run(record: &RunRecord) -> Case {
    let result = record.result();
    let by_threshold = match result.exit_status {
        4 => record.thresholds.iter().any(|it| it.broken),
        7 => true,
        _ => false,
    };
    let ended = match result.kind {
        ResultKind::Passed => End::Passed,
        _ if by_threshold => End::Passed,
        ResultKind::Failed if matches!(result.exit_status, 4 | 6) => End::Failure(result.words()),
        _ => End::Error(result.words()),
    };
    Case { name: "the run passed".to_owned(), ended }
}

/// `text` without the characters that XML 1.0 (section 2.2) does not allow even if they are
/// escaped.
fn legal(text: &str) -> String {
    let known = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..);
    text.chars().map(|c| if known(c) { c } else { '\u{fffd}' }).collect()
}
