//! A load on many databases: refuses settings that only work with one database. Also refuses a
//! compaction during which no operations would run.

use super::spec::PlanSpec;
use super::{PlanRecord, StagePlan};
use crate::driver::{CompactionPlan, Databases, Spread, TargetPlan};
use crate::mistake::Invalid;
use crate::op::OpKind;
use crate::schema::Ids;
use crate::workload::{Fill, Purpose};

/// The most databases whose sizes are requested during a fill.
const MOST_SIZES: u32 = 1_000;

/// The other settings of a run that matter here.
#[derive(Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
struct Besides {
    follow: bool,
    probe: bool,
    operations: bool,
    designs: bool,
    views: bool,
    growth: bool,
    replication: bool,
}

/// Refuses what a specification asks for that is only possible with one database.
pub(super) fn check(
    spec: &PlanSpec,
    target: &TargetPlan,
    stages: &[StagePlan],
    mistakes: &mut Vec<Invalid>,
) {
    mistakes.extend(nothing_meanwhile(target, stages));
    mistakes.extend(no_partitions(target, &spec.ids));
    let Some(databases) = target.databases() else { return };
    let besides = Besides {
        follow: spec.follow.is_some(),
        probe: spec.probe.is_some(),
        operations: !spec.operations.is_empty(),
        designs: spec.options.contains_key("ddocs"),
        views: spec.options.contains_key("audit_view"),
        growth: spec.fill.growth,
        replication: spec.replicate.is_some(),
    };
    refuse(databases, besides, stages, mistakes);
}

/// As [`check`], for a stored plan.
pub(super) fn check_again(plan: &PlanRecord, mistakes: &mut Vec<Invalid>) {
    mistakes.extend(nothing_meanwhile(&plan.target, &plan.stages));
    let Some(databases) = plan.target.databases() else { return };
    let besides = Besides {
        follow: plan.follow.is_some(),
        probe: plan.probe.is_some(),
        operations: !plan.operations.is_empty(),
        growth: plan.fill.growth,
        replication: plan.replication.is_some(),
        ..Besides::default()
    };
    refuse(databases, besides, &plan.stages, mistakes);
}

/// Refuses to name partitions in a database that will have none.
fn no_partitions(target: &TargetPlan, ids: &Ids) -> Option<Invalid> {
    let named = matches!(ids, Ids::Partitions(_)) && target.partitioned() == Some(false);
    let cure = "add ?partitioned=true to the target, or give other ids";
    named.then(|| Invalid::new("--id", "the database will not be partitioned", cure))
}

/// Refuses a compaction that is to start along with operations if there are none.
fn nothing_meanwhile(target: &TargetPlan, stages: &[StagePlan]) -> Option<Invalid> {
    let forced = target.compaction() == CompactionPlan::Force;
    let any = stages.iter().any(|stage| stage.purpose() == Purpose::Main);
    let cure = "leave it out, or do operations after the fill";
    let problem = "force begins with the measured operations, and there are none";
    (forced && !any).then(|| Invalid::new("--compaction", problem, cure))
}

fn refuse(
    Databases { spread, .. }: Databases,
    besides: Besides,
    stages: &[StagePlan],
    mistakes: &mut Vec<Invalid>,
) {
    if let Some(problem) = spread.problem() {
        let cure = format!("give a number from 1 to {}", Spread::MOST);
        mistakes.push(Invalid::new("--databases", problem, cure));
        return;
    }
    let ranges = stages.iter().any(|stage| stage.work.does(OpKind::Scan));
    let many = spread.count > MOST_SIZES;
    for (asked, flag, problem) in [
        (besides.follow, "--follow", "a follower reads the changes of one database"),
        (besides.probe, "--probe", "probes are stored in one database"),
        (besides.operations, "--op", "operations of your own are sent to one database"),
        (besides.designs, "--ddocs", "design documents are stored in one database"),
        (besides.views, "--audit-view", "a view is in one database"),
        (besides.growth && many, "--growth", "sizes are asked for of at most 1,000 databases"),
        (ranges, "--workload", "ranges of documents are in one database"),
    ] {
        if asked {
            let problem = format!("{problem}, but there is --databases {}", spread.count);
            mistakes.push(Invalid::new(flag, problem, "leave one of the two out"));
        }
    }
    if besides.replication {
        let problem = "a replication is of one database";
        mistakes.push(Invalid::new("--databases", problem, "leave it out, or use run"));
    }
    let fill = stages.iter().find_map(|stage| stage.work.traits().fill);
    mistakes.extend(fill.and_then(|fill| too_few(fill, spread)));
}

/// Refuses a fill that leaves databases empty, or does not match the number of databases planned.
fn too_few(Fill { documents, batch, .. }: Fill, spread: Spread) -> Option<Invalid> {
    let count = u64::from(spread.count);
    if (spread.documents, spread.batch) != (documents, batch) {
        let problem = "they are planned for another number of documents or another batch";
        let cure = "make the plan again, from its command line";
        return Some(Invalid::new("--databases", problem, cure));
    }
    let requests = documents.div_ceil(u64::from(batch.max(1)));
    if requests >= count {
        return None;
    }
    let problem = format!(
        "{documents} documents in requests of {batch} are {requests} requests, too few for {count} \
         databases"
    );
    let least = (count - 1).saturating_mul(batch.into()).saturating_add(1);
    // With a larger batch, all documents are in the requests of the other databases.
    let smaller = match documents.saturating_sub(1).checked_div(count - 1) {
        None | Some(0) => String::new(),
        Some(batch) => format!("--batch {batch} or less, "),
    };
    let cure = format!("give --docs {least} or more, {smaller}or --databases {requests}");
    Some(Invalid::new("--databases", problem, cure))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_batch_that_fills_all_databases_is_named() {
        let wrong = |documents: u64, batch: u32, count: u32| {
            let spread = Spread { count, documents, batch };
            let fill = Fill { documents, batch, within_ns: None };
            too_few(fill, spread).map(|it| it.to_string())
        };
        for (documents, count, most) in [(90, 9, 11), (90, 90, 1), (10, 4, 3), (7, 2, 6)] {
            assert_eq!(wrong(documents, most, count), None, "{documents} in {count}");
            let message = wrong(documents, most + 1, count).expect("databases are left empty");
            assert!(message.contains(&format!(", --batch {most} or less, or ")), "{message}");
        }
        let message = wrong(8, 1, 9).expect("one is left empty");
        assert!(message.ends_with("; give --docs 9 or more, or --databases 8"), "{message}");
    }
}
