//! Single-document operations in a mix, as planned.

use super::{
    Budget, Crud, CurrentDocument, KeySequence, LaneContext, Live, Mix, Runner, StageWork, Stock,
};
use crate::generate::mix;
use crate::op::OpKind;
use serde::{Deserialize, Serialize};

/// A mix of single-document operations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MixedPlan {
    /// The relative weights.
    pub mix: Mix,
    /// Operations in all; `None`: until the time is over.
    pub operations: Option<u64>,
    /// Which documents operations go to.
    pub order: CrudOrder,
}

/// Which documents single-document operations go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CrudOrder {
    /// Any of the connection's documents, each as likely.
    Uniform,
    /// Iron Cushion's: the document last created or read; counts are the same on every connection.
    Current,
}

impl MixedPlan {
    /// What connection `k` of `connections` has to do.
    pub fn budget(&self, k: usize, connections: usize) -> Budget {
        let Some(operations) = self.operations else { return Budget::Endless(self.mix) };
        Budget::Counted(match self.order {
            CrudOrder::Current => self.mix.split(operations / connections as u64),
            CrudOrder::Uniform => self.mix.parts(operations, (k, connections)),
        })
    }

    /// The operations of each connection in Iron Cushion's order.
    fn current(&self, cx: &LaneContext, stock: &mut Stock) -> Vec<CurrentDocument> {
        // This order is planned with counts only.
        let each = self.operations.unwrap_or(0) / cx.connections as u64;
        let left = self.mix.split(each);
        let inserted = stock.inserted();
        let make = |(k, live): (usize, Live)| {
            let keys = KeySequence { next: inserted + k as u64 * left[0], step: 1 };
            let of = (cx.seed, k as u64);
            CurrentDocument::new(cx.documents.clone(), of, left, &live, keys)
        };
        stock.take_live().into_iter().enumerate().map(make).collect()
    }

    /// The operations of each connection: those of the warm-up with a new budget, or fresh ones.
    fn uniform(&self, cx: &LaneContext, stock: &mut Stock) -> Vec<Crud> {
        let budgets = budgets(cx, |k| self.budget(k, cx.connections));
        let warm = stock.kept::<Crud>();
        if !warm.is_empty() {
            let warm = warm.into_iter().zip(budgets);
            return warm.map(|(lane, budget)| lane.with_budget(budget)).collect();
        }
        let inserted = stock.inserted();
        let make = |(k, (live, budget))| {
            let step = cx.connections as u64;
            let keys = KeySequence { next: inserted + k as u64, step };
            Crud::new(cx.documents.clone(), (cx.seed, k as u64), budget, live, keys)
        };
        stock.take_live().into_iter().zip(budgets).enumerate().map(make).collect()
    }
}

/// What each connection has to do, by itself or with the others of its thread: one that waits for
/// a slow answer leaves nothing behind for the end.
pub(super) fn budgets(cx: &LaneContext, own: impl Fn(usize) -> Budget) -> Vec<Budget> {
    let connections = cx.connections;
    let Some(shards) = cx.sharing else { return (0..connections).map(own).collect() };
    let share = |shard| {
        let parts = (shard..connections).step_by(shards).map(&own);
        Budget::shared(parts, mix(cx.seed, shard as u64, 0))
    };
    let shared: Vec<_> = (0..shards).map(share).collect();
    (0..connections).map(|k| shared[k % shards].clone()).collect()
}

impl StageWork for MixedPlan {
    fn does(&self, kind: OpKind) -> bool {
        self.mix.weight(kind) > 0
    }

    fn operations(&self, k: usize, connections: usize) -> Option<u64> {
        match self.budget(k, connections) {
            Budget::Counted(left) => Some(left.iter().sum()),
            Budget::Shared(_) | Budget::Endless(_) => None,
        }
    }

    fn describe(&self, count: &dyn Fn(u64) -> String) -> Vec<String> {
        let Mix { create, read, update, delete } = self.mix;
        let mut parts =
            vec![format!("create {create} · read {read} · update {update} · delete {delete}")];
        parts.extend(self.operations.map(|operations| format!("{} operations", count(operations))));
        parts
    }

    fn why_too_few(&self) -> &'static str {
        match self.order {
            CrudOrder::Uniform => {
                "on some connection there was no document left to work on, after failures or deletes"
            }
            CrudOrder::Current => {
                "on some connection there was no document left to work on, after failures"
            }
        }
    }

    fn carry_out<R: Runner>(
        &self,
        cx: &LaneContext,
        stock: &mut Stock,
        runner: R,
    ) -> Result<R::Output, R::Error> {
        match self.order {
            CrudOrder::Current => Ok(runner.run(self.current(cx, stock))?.0),
            CrudOrder::Uniform => {
                let (output, lanes) = runner.run(self.uniform(cx, stock))?;
                stock.keep(lanes);
                Ok(output)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn connections_share_out_operations(
            operations in 0u64..10_000, connections in 1usize..70,
            weights in proptest::array::uniform4(0u64..5),
        ) {
            prop_assume!(weights != [0; 4]);
            let [create, read, update, delete] = weights;
            let mix = Mix { create, read, update, delete };
            let (operations, order) = (Some(operations), CrudOrder::Uniform);
            let mixed = MixedPlan { mix, operations, order };
            let mut sums = [0; 4];
            for k in 0..connections {
                let Budget::Counted(part) = mixed.budget(k, connections) else { unreachable!() };
                sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
            }
            prop_assert_eq!(sums, mix.split(operations.unwrap_or(0)));
        }
    }
}
