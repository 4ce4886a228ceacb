//! Sequences of requests in a list: `NAME {`, its steps, and `}`; and the lines below a request
//! that state what it saves from its response, and its headers.

use super::{Wrong, wrong};
use crate::driver::{MOST_STEPS, RequestPlan, SavedFrom};
use crate::op::OpKind;
use crate::plan::http::wrong_header;
use crate::plan::quantity::Metric;
use crate::values::ValueSource;

/// A line that is not a request.
pub(super) enum Line {
    Begin(OpKind),
    End,
    /// Something that the request above saves.
    Save(String, SavedFrom),
    /// A header of the request above.
    Header(String),
}

/// A sequence that has begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) kind: OpKind,
    /// The number of the line that starts it.
    pub(super) number: usize,
    steps: usize,
}

/// Checks the name of a request or sequence with its own row in reports.
///
/// # Errors
/// Returns an error if it has another meaning.
pub(super) fn name_of(name: &str, is_sequence: bool, cure: &str) -> Result<OpKind, Wrong> {
    let kind = OpKind::of_name(name).map_err(|error| wrong(error.to_string(), cure))?;
    if !kind.is_own() || Metric::is_word(name) {
        return Err(wrong(format!("{name} means something else already"), "give another name"));
    }
    kind.define(is_sequence).map_err(|problem| wrong(problem, "give it another name"))?;
    Ok(kind)
}

/// Reads a line; `None`: it is a request.
pub(super) fn line(line: &str) -> Result<Option<Line>, Wrong> {
    if line == "}" {
        return Ok(Some(Line::End));
    }
    if let Some(name) = line.strip_suffix('{').map(str::trim_end)
        && name.len() + 1 < line.len()
        && !name.contains(|c: char| c.is_whitespace() || "/.:".contains(c))
    {
        let cure = "write NAME {, such as order {";
        return name_of(name, true, cure).map(|kind| Some(Line::Begin(kind)));
    }
    if let Some(saved) = line.strip_prefix("save ") {
        let wrong = || wrong("it saves nothing", "write it like save id = rows.0.id");
        let (name, place) = saved.split_once('=').ok_or_else(wrong)?;
        let (name, place) = (name.trim(), place.trim());
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        if name.is_empty() || !name.chars().all(is_name) || place.is_empty() {
            return Err(wrong());
        }
        return Ok(Some(Line::Save(name.to_owned(), place.into())));
    }
    Ok(line.strip_prefix("header ").map(|header| Line::Header(header.trim().to_owned())))
}

/// Starts or ends a sequence, and returns any other line.
pub(super) fn frame(
    line: Line,
    number: usize,
    open: &mut Option<Open>,
) -> Result<Option<Line>, Wrong> {
    match (line, *open) {
        (Line::Begin(kind), None) => *open = Some(Open { kind, number, steps: 0 }),
        (Line::Begin(_), Some(Open { kind, .. })) => {
            return Err(wrong(format!("the sequence {kind} has not ended"), "write } above it"));
        }
        (Line::End, None) => return Err(wrong("no sequence has begun", "leave the } out")),
        (Line::End, Some(Open { kind, steps, .. })) => {
            *open = None;
            if !(2..=MOST_STEPS).contains(&steps) {
                let problem = format!("{kind} has {steps} requests");
                return Err(wrong(problem, format!("a sequence has 2 to {MOST_STEPS}")));
            }
        }
        (line, _) => return Ok(Some(line)),
    }
    Ok(None)
}

/// Makes a request a step of the open sequence, if there is one.
pub(super) fn step(request: RequestPlan, open: Option<&mut Open>) -> RequestPlan {
    let Some(open) = open else { return request };
    open.steps += 1;
    RequestPlan { sequence: Some(open.kind), follows: open.steps > 1, ..request }
}

/// Adds a line to the request above it.
pub(super) fn add(line: Line, request: &mut RequestPlan) -> Result<(), Wrong> {
    match line {
        Line::Save(name, place) => {
            if request.sequence.is_none() {
                let cure = "make it a step of a sequence: NAME { above, and } below its steps";
                return Err(wrong("nothing takes what is saved here", cure));
            }
            if request.save.insert(name.clone(), place).is_some() {
                return Err(wrong(format!("{name} is saved twice"), "give another name"));
            }
        }
        Line::Header(header) => {
            wrong_header(&header).map_or(Ok(()), Err)?;
            request.headers.push(header);
        }
        Line::Begin(_) | Line::End => {}
    }
    Ok(())
}

/// Refuses values that no earlier step saves. `before` are the requests in front.
pub(super) fn check(
    request: &RequestPlan,
    values: &[Box<dyn ValueSource>],
    before: &[RequestPlan],
) -> Result<(), Wrong> {
    let names = values.iter().filter_map(|value| value.saved());
    let steps = before.iter().rev();
    for name in names {
        // The steps before it, from the last to the first.
        let mut follows = request.follows;
        let mut saved =
            steps.clone().take_while(|step| std::mem::replace(&mut follows, step.follows));
        if !saved.any(|step| step.save.contains_key(name)) {
            let problem = format!("no step before saves {{{{saved {name}}}}}");
            let cure = format!("write save {name} = PLACE below a request of the same sequence");
            return Err(wrong(problem, cure));
        }
    }
    Ok(())
}

/// Refuses a stored request that does not follow on from the one in front of it.
pub(super) fn restore(request: &RequestPlan, before: &[RequestPlan]) -> Result<(), Wrong> {
    let cure = "make the plan again, from its command line";
    for (kind, is_sequence) in [(request.name, false), (request.sequence, true)] {
        kind.map(|kind| name_of(kind.name(), is_sequence, cure)).transpose()?;
    }
    let goes_on = |last: &RequestPlan| last.sequence == request.sequence;
    if request.follows && !before.last().is_some_and(goes_on) {
        return Err(wrong("it goes on with a sequence that has not begun", cure));
    }
    for header in &request.headers {
        if header.ends_with(": ***") {
            return Err(wrong(format!("{header:?}: the value is not stored"), cure));
        }
        wrong_header(header).map_or(Ok(()), Err)?;
    }
    Ok(())
}
