//! Checks the drill that is asked for, and adds to a specification what a drill needs.

use super::drill::{Breaks, DrillPlan, DrillSpec, DrillTimes};
use super::spec::{LoadSpec, PlanSpec};
use super::stage::StagePlan;
use super::target::target;
use crate::clock::{Nanos, SECOND_NS};
use crate::driver::{TargetPlan, strike_secrets};
use crate::engine::Segment;
use crate::mistake::Invalid;

/// The shortest time before something is broken, in nanoseconds: there must be seconds to compare.
const LEAST_BEFORE_NS: Nanos = 5 * SECOND_NS;
/// The shortest time after it was mended: the second of the mending, which counts as broken, and
/// the five that show that all is as before.
const LEAST_AFTER_NS: Nanos = 6 * SECOND_NS;
/// The shortest time for which something stays broken.
const LEAST_BROKEN_NS: Nanos = SECOND_NS;
/// The longest time for each phase, and for a command.
const MOST_NS: Nanos = 86_400 * SECOND_NS;

/// The request with what a drill adds: the length of its phases, and an audit if one is possible.
pub(super) fn complete(spec: &PlanSpec, drill: &DrillSpec) -> PlanSpec {
    let steps = spec.work.steps();
    let auditable = !steps.is_empty() && steps.iter().all(|it| it.work.traits().is_auditable);
    let documents = target(spec).is_ok_and(|target| target.card().documents);
    PlanSpec {
        duration_ns: Some(drill.times.length_ns()),
        audit: spec.audit || drill.audits && auditable && documents,
        ..spec.clone()
    }
}

/// The drill that is asked for, if there is one and it is valid.
pub(super) fn check(
    spec: &PlanSpec,
    target: Option<&TargetPlan>,
    stages: &[StagePlan],
    mistakes: &mut Vec<Invalid>,
) -> Option<DrillPlan> {
    let drill = spec.drill.as_ref()?;
    let before = mistakes.len();
    check_times(&drill.times, mistakes);
    check_load(spec, stages, drill.times.length_ns(), mistakes);
    let target = target?;
    if target.is_stand_in() {
        let problem = "the stand-in of this process would be broken together with springload";
        let cure = "start springload serve, and give its address";
        mistakes.push(Invalid::new("TARGET", problem, cure));
    } else if !target.card().server {
        let problem = format!("{} has nothing to break", target.card().summary);
        mistakes.push(Invalid::new("TARGET", problem, "give the address of a server"));
    }
    let breaks = breaks(drill, target).map_err(|mistake| mistakes.push(mistake)).ok()?;
    (mistakes.len() == before).then_some(DrillPlan { breaks, times: drill.times })
}

fn check_times(times: &DrillTimes, mistakes: &mut Vec<Invalid>) {
    let phases = [
        ("--before", times.before_ns, LEAST_BEFORE_NS),
        ("--broken", times.broken_ns, LEAST_BROKEN_NS),
        ("--after", times.after_ns, LEAST_AFTER_NS),
        ("--command-timeout", times.limit_ns, SECOND_NS),
        ("--settle", times.settle_ns, 0),
    ];
    for (flag, length_ns, least_ns) in phases {
        let seconds = |ns: Nanos| ns as f64 / SECOND_NS as f64;
        if length_ns < least_ns {
            let problem = format!("{} s is too short", seconds(length_ns));
            let cure = format!("give {}s or more", seconds(least_ns));
            mistakes.push(Invalid::new(flag, problem, cure));
        } else if length_ns > MOST_NS {
            mistakes.push(Invalid::new(flag, "is more than a day", "give a time such as 30s"));
        }
    }
}

/// Refuses loads whose phases could not be compared with each other.
fn check_load(
    spec: &PlanSpec,
    stages: &[StagePlan],
    length_ns: Nanos,
    mistakes: &mut Vec<Invalid>,
) {
    if let LoadSpec::Open { segments, .. } = &spec.load
        && segments.iter().any(|it: &Segment| it.length_ns > 0)
    {
        let problem = "phases with different loads cannot be compared";
        mistakes.push(Invalid::new("--stages", problem, "give one --rate, or none"));
    }
    let main = || stages.iter().filter(|it| it.purpose().is_main());
    if main().count() != 1 || main().any(|it| it.length_ns != Some(length_ns)) {
        let problem = "this workload has no part that goes on for a given time";
        mistakes.push(Invalid::new("--workload", problem, "give mixed or hot"));
    }
}

/// What is broken, according to the flags.
fn breaks(drill: &DrillSpec, target: &TargetPlan) -> Result<Breaks, Invalid> {
    let wrong = |flag: &str, problem: &str, cure: &str| Err(Invalid::new(flag, problem, cure));
    for (flag, command) in [("--stop", &drill.stop), ("--start", &drill.start)] {
        if command.as_ref().is_some_and(|it| it.trim().is_empty()) {
            return wrong(flag, "is empty", "give a shell command");
        }
    }
    let nodes = [("--maintenance", &drill.maintenance), ("--partition", &drill.partition)];
    let mut nodes = nodes.into_iter().filter_map(|(flag, named)| Some((flag, named.as_deref()?)));
    let (node, other) = (nodes.next(), nodes.next());
    if let Some((flag, _)) = other {
        return wrong(flag, "there is --maintenance as well", "break one thing at a time");
    }
    match (&drill.stop, &drill.start, node) {
        (Some(_), _, Some((flag, _))) | (_, Some(_), Some((flag, _))) => {
            wrong(flag, "there is a command as well", "break one thing at a time")
        }
        (Some(_), None, None) => {
            let problem = "nothing would mend what it has broken";
            wrong("--stop", problem, "give --start, too, the command that mends it")
        }
        (None, Some(_), None) => wrong("--start", "there is nothing to mend", "give --stop, too"),
        (None, None, None) => {
            let cure = "give --stop COMMAND and --start COMMAND, --maintenance NODE or --partition \
                        NODE";
            wrong("--stop", "it is not said what to break", cure)
        }
        (Some(stop), Some(start), None) => {
            Ok(Breaks::Commands { stop: stop.clone(), start: start.clone() })
        }
        (None, None, Some(("--partition", named))) => partition(named, target),
        (None, None, Some((_, named))) => maintenance(named, target),
    }
}

fn maintenance(named: &str, target: &TargetPlan) -> Result<Breaks, Invalid> {
    const FLAG: &str = "--maintenance";
    if !target.has_maintenance() {
        let problem = format!("{} has no maintenance mode", target.card().summary);
        return Err(Invalid::new(FLAG, problem, "give --stop and --start"));
    }
    let (node, url) = node(FLAG, named, target)?;
    Ok(Breaks::Maintenance { node, url })
}

fn partition(named: &str, target: &TargetPlan) -> Result<Breaks, Invalid> {
    const FLAG: &str = "--partition";
    if !target.has_detours() {
        let problem = format!("springload has no relay for {}", target.card().summary);
        let cure = "give --stop and --start, such as commands for a firewall";
        return Err(Invalid::new(FLAG, problem, cure));
    }
    let (node, url) = node(FLAG, named, target)?;
    Ok(Breaks::Partition { node, url })
}

/// Finds the node named by its address or its position from 1; returns its position from 0, and its
/// address.
fn node(flag: &str, named: &str, target: &TargetPlan) -> Result<(usize, String), Invalid> {
    let mut nodes = target.nodes();
    if nodes.is_empty() {
        nodes.extend(target.address());
    }
    let host = |url: &str| {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let rest = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
        rest.split(['/', '?']).next().unwrap_or_default().to_ascii_lowercase()
    };
    let by_number = named.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let by_name = nodes.iter().position(|url| host(url) == host(named));
    let found = by_number.filter(|node| *node < nodes.len()).or(by_name);
    let Some(node) = found else {
        let all: Vec<_> = nodes.iter().map(|url| host(url)).collect();
        let problem = format!("{:?} is none of the targets", strike_secrets(named));
        let cure = format!("give 1 to {}, or one of {}", nodes.len(), all.join(", "));
        return Err(Invalid::new(flag, problem, cure));
    };
    Ok((node, nodes.swap_remove(node)))
}
