//! Creates or removes the databases of a run with many: the stages before and after all others.

use super::budget::share;
use super::{
    Check, Demand, Due, LaneContext, Lanes, Next, Offer, Purpose, Restored, RunAsked, Runner,
    StageWork, Step, Stock, Traits, Workload,
};
use crate::mistake::{Flagged, Invalid};
use crate::op::{Answered, Failure, Op, OpKind, Pen, Reply};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The most databases of a plan: their numbers have five digits.
const MOST: u64 = 99_999;
/// How often a request without an answer is sent again, if the run waits for its server.
const MOST_TRIES: u32 = 10;

/// The creation or deletion of many databases, as planned. The driver knows their names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DatabasesPlan {
    /// The number of databases.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = MOST)))]
    pub databases: u64,
    /// Whether the databases are deleted; otherwise they are created.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removes: bool,
}

/// The stage that creates this many databases.
pub fn create_databases(databases: u64) -> Step {
    step("database_create", DatabasesPlan { databases, removes: false })
}

/// The stage that removes this many databases.
pub fn delete_databases(databases: u64) -> Step {
    step("database_delete", DatabasesPlan { databases, removes: true })
}

fn step(name: &str, plan: DatabasesPlan) -> Step {
    let (name, work) = (name.to_owned(), plan.into());
    Step { name, purpose: Purpose::Databases, work, timing: Due::Free }
}

impl DatabasesPlan {
    const fn kind(&self) -> OpKind {
        if self.removes { OpKind::DatabaseDelete } else { OpKind::DatabaseCreate }
    }
}

impl StageWork for DatabasesPlan {
    fn does(&self, kind: OpKind) -> bool {
        kind == self.kind()
    }

    fn check_again(&self, _: &Restored<'_>, mistakes: &mut Vec<Invalid>) {
        mistakes.extend(Flagged::new("databases", self.databases).out_of_range(1, MOST));
    }

    fn operations(&self, k: usize, connections: usize) -> Option<u64> {
        Some(share(self.databases, k, connections))
    }

    fn describe(&self, count: &dyn Fn(u64) -> String) -> Vec<String> {
        let s = if self.databases == 1 { "" } else { "s" };
        vec![format!("{} database{s}", count(self.databases))]
    }

    fn traits(&self) -> Traits {
        let makes = (!self.removes).then_some("databases");
        Traits { is_auditable: true, makes, ..Traits::default() }
    }
}

/// Creates or removes the databases of one connection: every `step`th from `next` on.
struct Keeper {
    kind: OpKind,
    next: u64,
    step: u64,
    end: u64,
    /// How often a request without an answer may be sent again, and how often the current one was.
    tries: (u32, u32),
}

impl Workload for Keeper {
    fn next<P: Pen>(&mut self, _: &mut P) -> Next {
        if self.next >= self.end {
            return Next::End;
        }
        let op = Op::single(self.kind, self.next, None);
        self.next += self.step;
        Next::Op(op)
    }

    fn observe(&mut self, op: &Op, result: Result<Reply, Failure>, _: &Answered<'_>) -> Check {
        let (most, tries) = &mut self.tries;
        if result.is_err_and(|failure| !failure.answered()) && *tries < *most {
            *tries += 1;
            self.next = op.key;
        } else {
            *tries = 0;
        }
        Check::Unchecked
    }
}

impl Lanes for DatabasesPlan {
    fn carry_out<R: Runner>(
        &self,
        cx: &LaneContext,
        _: &mut Stock,
        runner: R,
    ) -> Result<R::Output, R::Error> {
        let (kind, step, end) = (self.kind(), cx.connections as u64, self.databases);
        let tries = (if cx.persists { MOST_TRIES } else { 0 }, 0);
        let keeper = |k: usize| Keeper { kind, next: k as u64, step, end, tries };
        Ok(runner.run((0..cx.connections).map(keeper).collect())?.0)
    }
}

impl Offer for DatabasesPlan {
    const NAMES: &'static [(&'static str, &'static str)] = &[];

    fn demand(_: &str, _: &RunAsked) -> Result<Arc<dyn Demand>, Invalid> {
        Err(Invalid::new("--workload", "it has no name", "give --databases"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Draft;

    fn keeper(tries: u32) -> Keeper {
        Keeper { kind: OpKind::DatabaseCreate, next: 1, step: 3, end: 8, tries: (tries, 0) }
    }

    /// Does all of them, each with this result. Returns the databases in their order.
    fn all(mut keeper: Keeper, result: Result<Reply, Failure>) -> Vec<u64> {
        let mut done = Vec::new();
        while let Next::Op(op) = keeper.next(&mut Draft::default()) {
            done.push(op.key);
            keeper.observe(&op, result, &Answered::default());
        }
        done
    }

    #[test]
    fn a_connection_has_every_so_many_of_them_and_none_twice() {
        assert_eq!(all(keeper(9), Ok(Reply::default())), [1, 4, 7]);
        assert_eq!(all(keeper(9), Err(Failure::ServerError)), [1, 4, 7], "that is an answer");
        assert_eq!(all(keeper(0), Err(Failure::Connect)), [1, 4, 7], "nobody waits for it");
    }

    #[test]
    fn what_has_no_answer_is_asked_again_a_few_times_if_the_run_waits() {
        assert_eq!(all(keeper(2), Err(Failure::Connect)), [1, 1, 1, 4, 4, 4, 7, 7, 7]);
    }

    #[test]
    fn connections_share_them_out() {
        let plan = DatabasesPlan { databases: 10, removes: false };
        let shares: Vec<_> = (0..4).map(|k| plan.operations(k, 4)).collect();
        assert_eq!(shares, [Some(3), Some(3), Some(2), Some(2)]);
        assert!(plan.does(OpKind::DatabaseCreate) && !plan.does(OpKind::DatabaseDelete));
        let removes = DatabasesPlan { removes: true, ..plan };
        assert!(removes.does(OpKind::DatabaseDelete) && removes.traits().makes.is_none());
    }
}
