//! Sequences of operations that the plan defines: checks that each step can always be performed.

use crate::op::OpKind;
use crate::values::Problem;
use crate::workload::OwnOperation;

/// Describes what is wrong with an operation, among `all` that are defined: as a sequence, or as a
/// single request that uses what only a sequence has.
pub(super) fn wrong(
    operation: &OwnOperation,
    all: &[OwnOperation],
    is_defined: impl Fn(OpKind) -> bool,
    is_asked: bool,
) -> Option<Problem> {
    if operation.steps().is_empty() {
        let taken = operation.values().find_map(|value| value.saved()).filter(|_| is_asked)?;
        let problem = format!("{{{{saved {taken}}}}} is what an earlier step has saved");
        let cure = format!(
            "make it a step of a sequence, such as --op 'both=steps first {}', and give that a \
             weight instead",
            operation.kind
        );
        return Some((problem, cure));
    }
    let mut saved: Vec<&String> = Vec::new();
    for &kind in operation.steps() {
        let Some(step) = all.iter().find(|it| it.kind == kind) else {
            // Faults in a defined operation are reported elsewhere.
            return (!is_defined(kind)).then(|| undefined(kind, all));
        };
        if !step.steps().is_empty() {
            let cure = "name its operations instead".to_owned();
            return Some((format!("{kind} is a sequence itself"), cure));
        }
        if step.may_end() {
            let problem = format!("{kind} may have nothing to ask for, and then it cannot go on");
            let cure = "leave {{made …}}, {{taken …}} and lists that are used once out of it";
            return Some((problem, cure.to_owned()));
        }
        let is_saved = |name: &str| saved.iter().any(|it| *it == name);
        let lacks = step.values().filter_map(|value| value.saved()).find(|name| !is_saved(name));
        if let Some(name) = lacks {
            let problem = format!("{kind} takes {{{{saved {name}}}}}, which no step before saves");
            let cure = format!("give one of them save = {{ {name} = \"id\" }}");
            return Some((problem, cure));
        }
        saved.extend(step.saves());
    }
    None
}

fn undefined(kind: OpKind, all: &[OwnOperation]) -> Problem {
    let single = all.iter().filter(|it| it.steps().is_empty());
    let names: Vec<_> = single.map(|it| it.kind.name()).collect();
    let problem = format!("{:?} is not an operation of this plan", kind.name());
    (problem, format!("give some of {}", names.join(", ")))
}
