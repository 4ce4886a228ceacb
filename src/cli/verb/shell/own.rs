//! Operations that a plan defines, carried out one at a time, with requests and responses shown.

use crate::cli::exit::{Exit, Trouble};
use crate::cli::flags::schema_source::TIMEOUT_NS;
use crate::clock::{Clock, wall_ns};
use crate::driver::{
    Driver, OperationPlan, Outcome, SentAs, Session, Shard as _, Target, TargetPlan, WithTarget,
};
use crate::generate::Stream;
use crate::measure::Probe;
use crate::net::ShardContext;
use crate::op::{Failure, Op, OpKind, Pen, Saved};
use crate::plan::{Invalid, definitions};
use crate::report::shown;
use crate::schema::{DEFAULT, Documents, Template};
use crate::values::{Data, Draw, source};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use tokio::runtime::Runtime;
use tokio::task::{LocalSet, spawn_local};

/// The most of a response that is shown, in bytes.
const MOST_SHOWN: usize = 4_000;
/// Values that are identifiers: strings, even if they look like numbers.
const IDENTIFIERS: [&str; 5] = ["key", "new", "made ", "taken ", "partition"];

/// A value of a request, and whether it is a string.
type Given = (Vec<u8>, bool);

/// The definitions of a plan, and the values saved so far.
#[derive(Debug, Default)]
pub(super) struct Defined {
    pub(super) operations: Vec<OperationPlan>,
    data: Data,
    saved: BTreeMap<String, Saved>,
    /// The number of requests so far.
    done: u64,
}

impl Defined {
    /// Reads operations and lists, as written on a command line.
    ///
    /// # Errors
    /// Returns their mistakes.
    pub(super) fn read(operations: &[String], lists: &[String]) -> Result<Self, Vec<Invalid>> {
        let mut mistakes = Vec::new();
        let (operations, data) = definitions(operations, lists, &mut mistakes);
        if mistakes.is_empty() {
            return Ok(Self { operations, data, ..Self::default() });
        }
        Err(mistakes)
    }

    /// The operations that a name stands for: one, or the steps of a sequence.
    fn named(&self, name: &str) -> Result<Vec<OperationPlan>, Trouble> {
        let find = |name: &str| self.operations.iter().find(|it| it.name.name() == name);
        let operation = find(name).ok_or_else(|| {
            let names: Vec<_> = self.operations.iter().map(|it| it.name.name()).collect();
            let there = match names[..] {
                [] => "there are none: start the shell with --plan FILE, or --op".to_owned(),
                _ => format!("there are {}", names.join(", ")),
            };
            Trouble::new(Exit::Usage, format!("no operation is called {name:?}: {there}"))
        })?;
        let Some(steps) = operation.steps()? else { return Ok(vec![operation.clone()]) };
        let step = |kind: OpKind| {
            find(kind.name()).cloned().ok_or_else(|| {
                let problem = format!("{name} has the step {kind}, which is not defined");
                Trouble::new(Exit::Usage, problem)
            })
        };
        steps.into_iter().map(step).collect()
    }

    /// The values of a request, in the order of its placeholders: those that were given, and
    /// generated ones if they do not depend on stored data.
    fn values(
        &mut self,
        plan: &TargetPlan,
        operation: &OperationPlan,
        given: &[(String, String)],
    ) -> Result<Vec<Given>, Trouble> {
        let usage = |problem: String| Trouble::new(Exit::Usage, problem);
        let holes = plan.spell(operation)?;
        let documents = Documents::new(1, vec![(template()?, 1)]);
        let mut stream = Stream::new(wall_ns(), self.done);
        self.done += 1;
        let (turn, mut scratch) = (self.done, Vec::new());
        let mut values = Vec::new();
        for hole in &holes {
            if let Some((_, text)) = given.iter().find(|(name, _)| name == hole) {
                let is_identifier = IDENTIFIERS.iter().any(|name| hole.starts_with(name));
                let is_text = is_identifier || serde_json::from_str::<Value>(text).is_err();
                values.push((text.clone().into_bytes(), is_text));
                continue;
            }
            let source =
                source(hole, &self.data).map_err(|(it, cure)| usage(format!("{it}; {cure}")))?;
            let unsaved = source.saved().is_some_and(|name| !self.saved.contains_key(name));
            if source.documents() > 0 || source.after().is_some() || unsaved {
                let name = operation.name;
                let problem = format!(
                    "{{{{{hole}}}}} is not known here: give it, as in do {name} \"{hole}=...\""
                );
                return Err(usage(problem));
            }
            let mut draw = Draw {
                documents: &documents,
                stored: &[],
                stream: &mut stream,
                number: wall_ns() / 1_000,
                turn,
                earlier: 0,
                saved: &self.saved,
                scratch: &mut scratch,
            };
            let mut value = Vec::new();
            let is_text = source.write(&mut draw, &mut value);
            values.push((value, is_text));
        }
        Ok(values)
    }

    /// Carries out an operation, or a sequence up to the first step that fails, and prints requests
    /// and responses. Returns whether all of it succeeded.
    ///
    /// # Errors
    /// Fails if there is no such operation, or if it has no such value.
    pub(super) fn carry_out(
        &mut self,
        name: &str,
        given: &[(String, String)],
        plan: &TargetPlan,
        driver: &Driver,
        runtime: &Runtime,
        out: &mut String,
    ) -> Result<bool, Trouble> {
        let steps = self.named(name)?;
        let holes: Vec<Vec<String>> =
            steps.iter().map(|step| plan.spell(step)).collect::<Result<_, _>>()?;
        if let Some((unknown, _)) = given.iter().find(|(name, _)| !holes.concat().contains(name)) {
            let mut all = holes.concat();
            all.dedup();
            let problem = format!("{name} has no value {unknown:?}, but {}", all.join(", "));
            return Err(Trouble::new(Exit::Usage, problem));
        }
        for step in &steps {
            let values = self.values(plan, step, given)?;
            let answer = driver.apply(OwnRequest { runtime, kind: step.name, values })?;
            tell(step, &answer, out);
            if answer.failure.is_some() {
                return Ok(false);
            }
            for ((name, from), saved) in step.save.iter().zip(answer.saved) {
                let text = String::from_utf8_lossy(&saved.bytes).into_owned();
                let _ = writeln!(out, "saved {name}, from {from}: {}", shown(&text, false));
                self.saved.insert(name.clone(), saved);
            }
        }
        Ok(true)
    }
}

/// The template of documents that are created here.
fn template() -> Result<Template, Trouble> {
    Template::parse(DEFAULT).map_err(|error| Trouble::new(Exit::Failed, error.to_string()))
}

struct OwnRequest<'a> {
    runtime: &'a Runtime,
    kind: OpKind,
    values: Vec<Given>,
}

struct OwnAnswer {
    shown: Option<SentAs>,
    /// The class of a failure, and the reason.
    failure: Option<(Failure, Option<String>)>,
    rows: u32,
    warned: bool,
    bytes: u64,
    took_ns: u64,
    body: Vec<u8>,
    saved: Vec<Saved>,
}

impl WithTarget for OwnRequest<'_> {
    type Output = Result<OwnAnswer, Trouble>;

    fn with<T: Target>(self, target: &T) -> Self::Output {
        LocalSet::new().block_on(self.runtime, async {
            let clock = Clock::system();
            let context = ShardContext::new(clock, TIMEOUT_NS);
            spawn_local(context.clone().sweep());
            let mut session = target.shard(context).await?.session();
            Ok(self.send(&mut session, clock).await)
        })
    }
}

impl OwnRequest<'_> {
    async fn send(&self, session: &mut impl Session, clock: Clock) -> OwnAnswer {
        let mut pen = session.pen();
        for (bytes, is_text) in &self.values {
            pen.value(|out| {
                out.extend_from_slice(bytes);
                *is_text
            });
        }
        let op = Op::single(self.kind, 0, None);
        session.ready().await;
        session.prepare(&op, &mut pen);
        let now = clock.now();
        let mut probe = Probe::new(clock, now, now);
        let Outcome { result, bytes, .. } = session.execute(&op, &mut pen, &mut probe).await;
        let took_ns = probe.finish().service_ns;
        let reply = result.unwrap_or_default();
        let failure = result.err().map(|failure| {
            let why = session.reason(failure).map(|reason| reason.reason.clone());
            (failure, why)
        });
        let answered = session.answered();
        OwnAnswer {
            shown: session.shown(&pen),
            failure,
            rows: reply.rows,
            warned: reply.warned,
            bytes: bytes.received,
            took_ns,
            body: answered.document.unwrap_or_default().to_vec(),
            saved: answered.saved.to_vec(),
        }
    }
}

/// Prints the request and the response.
fn tell(operation: &OperationPlan, answer: &OwnAnswer, out: &mut String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match &answer.shown {
        Some(shown_as) => text(&shown_as.request).lines().for_each(|line| {
            let _ = writeln!(out, "{}", shown(line, false));
        }),
        None => {
            let _ = writeln!(out, "{} {}", operation.word, operation.name);
        }
    }
    let mut facts = vec![format!("{:.2} ms", answer.took_ns as f64 / 1e6)];
    if let Some(status) = answer.shown.as_ref().and_then(|it| it.status) {
        facts.insert(0, status.to_string());
    }
    match &answer.failure {
        None => {
            facts.push(counted(answer.rows.into(), "row"));
            facts.push(counted(answer.bytes, "byte"));
        }
        Some((failure, why)) => {
            let why =
                why.as_ref().map_or_else(String::new, |why| format!(": {}", shown(why, false)));
            facts.push(format!("{failure}{why}"));
        }
    }
    if answer.warned {
        facts.push("with a warning".to_owned());
    }
    let _ = writeln!(out, "{}", facts.join(" · "));
    let part = &answer.body[..answer.body.len().min(MOST_SHOWN)];
    for line in text(part).lines().filter(|line| !line.is_empty()) {
        let _ = writeln!(out, "{}", shown(line, false));
    }
    if part.len() < answer.body.len() {
        let _ = writeln!(out, "... {} bytes more", answer.body.len() - part.len());
    }
}

/// A number of things, with the plural if needed.
fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
