//! The operations that a plan defines, and the lists that they take values from.

use super::quantity::Metric;
use super::schemas::SchemaPlan;
use super::sequence;
use super::spec::PlanSpec;
use super::stage::StagePlan;
use crate::driver::{OperationPlan, TargetPlan, flag_of};
use crate::mistake::Invalid;
use crate::op::{Feature, OpKind};
use crate::redact::{is_secret_parameter, learn};
use crate::schema::Ids;
use crate::values::{Data, DataPlan, Problem, ValueSource, problem, source};
use crate::workload::OwnOperation;
use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer};
use serde_json::Value;

/// The operations and lists that a plan defines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Defined<'a> {
    pub(super) operations: &'a [OperationPlan],
    pub(super) data: &'a Data,
    pub(super) ids: &'a Ids,
    /// Whether the requests are a list's, which defines the operations that it names.
    pub(super) listed: bool,
}

/// Reads the requested operations and lists.
pub(super) fn read(spec: &PlanSpec, mistakes: &mut Vec<Invalid>) -> (Vec<OperationPlan>, Data) {
    definitions(&spec.operations, &spec.data, mistakes)
}

/// Reads operations and lists as written on a command line, and adds what is wrong with them to
/// `mistakes`.
pub fn definitions(
    operations: &[String],
    lists: &[String],
    mistakes: &mut Vec<Invalid>,
) -> (Vec<OperationPlan>, Data) {
    let (texts, mut operations, mut data) = (operations, Vec::<OperationPlan>::new(), Data::new());
    for text in texts {
        match OperationPlan::parse(text).and_then(define) {
            Ok(operation) => operations.push(operation),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    for text in lists {
        learn_list(text);
        match list(text) {
            Ok((name, list)) => {
                data.insert(name, list);
            }
            Err((problem, cure)) => mistakes.push(Invalid::new("--data", problem, cure)),
        }
    }
    (operations, data)
}

/// Records whether an operation is a sequence; its kind depends on that.
fn define(operation: OperationPlan) -> Result<OperationPlan, Invalid> {
    let defined = operation.name.define(operation.is_sequence());
    let flag = flag_of(operation.name.name());
    defined.map_err(|problem| Invalid::new(flag, problem, "give one of them another name"))?;
    Ok(operation)
}

pub(super) fn stored<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<OperationPlan>, D::Error> {
    let operations = Vec::<OperationPlan>::deserialize(deserializer)?;
    operations.into_iter().map(|it| define(it).map_err(D::Error::custom)).collect()
}

/// Learns the values of a list whose name is secret, as in `token=abc,def`.
pub fn learn_list(text: &str) {
    let list = text.split_once('=').filter(|(name, _)| is_secret_parameter(name.trim()));
    let list = list.and_then(|(_, values)| DataPlan::parse(values.trim()).ok());
    for value in list.iter().flat_map(|it| &it.one_of).filter_map(Value::as_str) {
        learn(value);
    }
}

fn list(text: &str) -> Result<(String, DataPlan), (String, &'static str)> {
    const CURE: &str = "write it like --data city=Berlin,Paris";
    // As other tools send a body, in JSON or from a file.
    if text.starts_with(['{', '[', '@', '"']) {
        let cure = "--data has lists for {{NAME}}: give documents with --schema FILE, and bodies \
                    of springload http with --body";
        return Err((format!("{text:?} is no list of values"), cure));
    }
    let (name, values) =
        text.split_once('=').ok_or_else(|| (format!("{text:?} has no ="), CURE))?;
    let name = name.trim();
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    if name.is_empty() || !name.chars().all(is_name) {
        return Err((format!("{name:?} is not a name: letters, digits, _ and -"), CURE));
    }
    if source(name, &Data::new()).is_ok() {
        return Err((format!("{{{{{name}}}}} is a value already"), "give another name"));
    }
    let list =
        DataPlan::parse(values.trim()).map_err(|error| (format!("{name}: {error}"), CURE))?;
    if let Some(problem) = list.problem() {
        return Err((format!("the list {name} is of no use: {problem}"), CURE));
    }
    Ok((name.to_owned(), list))
}

/// True if a stage performs an operation, by itself or as a step of a sequence.
pub(super) fn is_done(kind: OpKind, stages: &[StagePlan], operations: &[OperationPlan]) -> bool {
    let asked = |kind: OpKind| stages.iter().any(|stage| stage.work.does(kind));
    let is_step = |it: &OperationPlan| {
        it.is_sequence()
            && asked(it.name)
            && it.steps().is_ok_and(|steps| steps.is_some_and(|steps| steps.contains(&kind)))
    };
    asked(kind) || operations.iter().any(is_step)
}

/// Adds the mistakes in what a plan defines.
pub(super) fn check(
    defined: Defined<'_>,
    target: &TargetPlan,
    stages: &[StagePlan],
    schemas: &[SchemaPlan],
    mistakes: &mut Vec<Invalid>,
) {
    let asked = |kind: OpKind| stages.iter().any(|stage| stage.work.does(kind));
    let does = |kind: OpKind| is_done(kind, stages, defined.operations);
    let made: Vec<_> = defined.operations.iter().map(|it| of(it, defined.data, target)).collect();
    let all: Vec<_> = made.into_iter().flatten().collect();
    let is_defined = |kind| defined.operations.iter().any(|it| it.name == kind);
    // A plan file may define operations that a command line does not choose.
    let any = defined.operations.iter().any(|it| does(it.name));
    let stored = stages.iter().any(|stage| stage.work.traits().fill.is_some());
    for (place, operation) in defined.operations.iter().enumerate() {
        let (kind, flag) = (operation.name, flag_of(operation.name.name()));
        let mut wrong = |problem: String, cure: &str| {
            mistakes.push(Invalid::new(&flag, problem, cure));
        };
        if !kind.is_own() || Metric::is_word(kind.name()) {
            wrong(format!("{kind} means something else already"), "give another name");
        } else if defined.operations[..place].iter().any(|it| it.name == kind) {
            wrong("it is defined twice".to_owned(), "leave one of them out");
        } else if !any {
            let cure = format!("give it a weight, as in --mix read=5,{kind}=3");
            wrong("it is not in the mix, and would never be done".to_owned(), &cure);
        }
        match of(operation, defined.data, target) {
            Err(mistake) => mistakes.push(mistake),
            Ok(operation) => {
                let wrong = operation
                    .values()
                    .find_map(|value| lacking(value, stored.then_some(defined.ids), schemas));
                let wrong = wrong
                    .or_else(|| sequence::wrong(&operation, &all, is_defined, asked(kind)))
                    .or_else(|| does(kind).then(|| unmade(&operation, &all, does)).flatten());
                mistakes.extend(wrong.map(|(problem, cure)| Invalid::new(&flag, problem, cure)));
            }
        }
    }
    let is_missing = |kind: &OpKind| {
        !defined.listed
            && kind.is_own()
            && asked(*kind)
            && !defined.operations.iter().any(|it| it.name == *kind)
    };
    for kind in OpKind::known().into_iter().filter(is_missing) {
        let kinds = crate::workload::Mix::KINDS.map(OpKind::name).into_iter();
        let kinds = kinds.chain(defined.operations.iter().map(|it| it.name.name()));
        let kinds = kinds.collect::<Vec<_>>().join(", ");
        let problem = format!("{:?} is not an operation", kind.name());
        let cure = format!("the mix is made of {kinds}; others are defined with --op");
        mistakes.push(Invalid::new("--mix", problem, cure));
    }
}

/// The reason a value cannot be had. `stored`: how documents are named, if any are stored.
fn lacking(
    value: &dyn ValueSource,
    stored: Option<&Ids>,
    schemas: &[SchemaPlan],
) -> Option<Problem> {
    if value.documents() > 0 && stored.is_none() {
        let problem = "it takes a value of stored documents, but none are inserted";
        return Some((problem.to_owned(), "give --docs 1 or more".to_owned()));
    }
    schemas.iter().find_map(|schema| {
        // Faults in a schema are reported elsewhere.
        let documents = SchemaPlan::documents(1, std::slice::from_ref(schema)).ok()?;
        let documents = documents.named(stored.unwrap_or(&Ids::default()).seeded(1));
        let (problem, cure) = problem(value, &documents)?;
        Some((format!("with --schema {}, {problem}", schema.source), cure))
    })
}

/// The reason something that an operation needs from another does not exist.
fn unmade(
    operation: &OwnOperation,
    all: &[OwnOperation],
    does: impl Fn(OpKind) -> bool,
) -> Option<Problem> {
    let kind = operation.after()?;
    let makes = |it: &OwnOperation| it.kind == kind && it.makes() && it.after().is_none();
    (!does(kind) || !all.iter().any(makes)).then(|| {
        let problem = format!("it takes what {kind} makes, but {kind} makes nothing in this mix");
        let cure = "name an operation of the mix that has {{new}}, but neither {{made …}} nor \
                    {{taken …}}";
        (problem, cure.to_owned())
    })
}

/// An operation as workloads see it.
///
/// # Errors
/// Returns an error if it is spelled incorrectly.
fn of(
    operation: &OperationPlan,
    data: &Data,
    target: &TargetPlan,
) -> Result<OwnOperation, Invalid> {
    let flag = flag_of(operation.name.name());
    let wrong = |(problem, cure)| Invalid::new(&flag, problem, cure);
    if let Some(steps) = operation.steps()? {
        return Ok(OwnOperation::sequence(operation.name, steps));
    }
    if let Some(lack) = target.card().lack(&flag, Feature::Saving)
        && !operation.save.is_empty()
    {
        return Err(lack);
    }
    let holes = target.spell(operation)?;
    let values = holes.iter().map(|hole| source(hole, data).map_err(wrong));
    let own = OwnOperation::new(operation.name, values.collect::<Result<_, _>>()?);
    let (holds, saves) = (operation.expect.wants_document(), operation.save.keys().cloned());
    own.map(|own| own.holding(holds).saving(saves.collect())).map_err(wrong)
}

/// The operations as workloads see them, in the order of their names.
///
/// # Errors
/// Returns an error if one is invalid, which cannot happen in a checked plan.
pub fn operations(
    operations: &[OperationPlan],
    data: &Data,
    target: &TargetPlan,
) -> Result<Vec<OwnOperation>, Invalid> {
    let all = operations.iter().map(|operation| of(operation, data, target));
    let mut all = all.collect::<Result<Vec<_>, Invalid>>()?;
    all.sort_by_key(|operation| operation.kind);
    Ok(all)
}
