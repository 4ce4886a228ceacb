//! One measured step of a run.

use super::burst::BurstPlan;
use super::ycsb::{YcsbPhase, YcsbStage};
use crate::clock::Nanos;
use crate::engine::Pace;
use crate::op::OpKind;
use crate::workload::{Budget, KeySequence, Mix, Purpose, Role, UrlOrder};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// One measured step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StagePlan {
    /// What reports call it.
    pub name: String,
    /// What it is there for; `None` in older records, where the name tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<Purpose>,
    /// What is done.
    #[serde(flatten)]
    pub kind: StageKind,
    /// When operations are due.
    pub pace: Pace,
    /// How long operations are begun, in nanoseconds; `None`: until all are done.
    pub length_ns: Option<Nanos>,
}

impl StagePlan {
    /// What it is there for.
    pub fn purpose(&self) -> Purpose {
        self.purpose.unwrap_or_else(|| Purpose::of_name(&self.name))
    }

    /// The mean pause of a connection between two operations, in nanoseconds; `None` in an open
    /// loop, which has none.
    pub const fn mean_pause_ns(&self) -> Option<Nanos> {
        self.pace.mean_pause_ns()
    }

    /// How many operations connection `k` of `connections` is to do, where it has a number of its
    /// own. In an open loop whoever is free takes what falls due next, and what falls due is
    /// counted; but a list of which each connection has a part of its own is not shared.
    pub fn own_operations(&self, k: usize, connections: usize) -> Option<u64> {
        let parted = matches!(self.kind, StageKind::Urls { order: UrlOrder::Once, .. });
        match self.pace {
            Pace::Open { .. } if !parted => None,
            _ => self.kind.operations(k, connections),
        }
    }

    /// How many of `threads` have a part in it. The limit on operations in flight is dealt out to
    /// threads, and one that may have none in flight has nothing to do.
    pub fn shards(&self, threads: usize) -> usize {
        match self.pace {
            Pace::Open { max_in_flight, .. } => {
                threads.min(usize::try_from(max_in_flight).unwrap_or(usize::MAX)).max(1)
            }
            Pace::Closed { .. } | Pace::Thinking { .. } => threads,
        }
    }
}

/// What a stage does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "workload", rename_all = "snake_case")]
pub enum StageKind {
    /// Fills the database through `_bulk_docs`.
    BulkInsert {
        /// Documents in all.
        documents: u64,
        /// Documents in one request.
        batch: u32,
    },
    /// Single-document operations.
    Crud {
        /// The relative weights.
        mix: Mix,
        /// Operations in all; `None`: until the time is over.
        operations: Option<u64>,
        /// Which documents operations go to.
        order: CrudOrder,
    },
    /// Every connection writes or reads one document of its own.
    Burst(BurstPlan),
    /// The requests of the plan's list.
    Urls {
        /// Requests in all; `None`: until the time is over.
        operations: Option<u64>,
        /// Their order.
        order: UrlOrder,
    },
    /// A phase of a YCSB workload.
    Ycsb(Box<YcsbStage>),
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

impl StageKind {
    /// The documents that connection `k` of `connections` inserts: its run of keys. Whole requests
    /// are shared out, so that only the last one of all may have fewer documents; the first
    /// connections take one more where they do not share out evenly.
    pub fn bulk_keys(&self, k: usize, connections: usize) -> Range<u64> {
        let Self::BulkInsert { documents, batch } = self else { return 0..0 };
        let (k, connections, batch) = (k as u64, connections as u64, u64::from(*batch));
        let requests = documents.div_ceil(batch);
        let (each, more) = (requests / connections, requests % connections);
        let first = k * each + k.min(more);
        let after = first + each + u64::from(k < more);
        (first * batch).min(*documents)..(after * batch).min(*documents)
    }

    /// Whether operations of this kind are done.
    pub fn does(&self, kind: OpKind) -> bool {
        match (self, kind) {
            (Self::BulkInsert { .. }, kind) => matches!(kind, OpKind::BulkInsert),
            (Self::Crud { mix, .. }, OpKind::Create) => mix.create > 0,
            (Self::Crud { mix, .. }, OpKind::Read) => mix.read > 0,
            (Self::Crud { mix, .. }, OpKind::Update) => mix.update > 0,
            (Self::Crud { mix, .. }, OpKind::Delete) => mix.delete > 0,
            (Self::Crud { .. }, _) => false,
            (Self::Burst(burst), kind) => burst.does(kind),
            (Self::Urls { .. }, kind) => matches!(kind, OpKind::Request),
            (Self::Ycsb(stage), kind) => stage.does(kind),
        }
    }

    /// Whether connections write the same documents, so that some writes must meet a conflict.
    pub fn provokes_conflicts(&self) -> bool {
        matches!(self, Self::Ycsb(stage) if stage.phase == YcsbPhase::Run)
    }

    /// How many operations connection `k` of `connections` is to do, where they are counted.
    pub fn operations(&self, k: usize, connections: usize) -> Option<u64> {
        if let Self::Burst(burst) = self {
            return (burst.role == Role::Prepare).then_some(1);
        }
        if let Self::BulkInsert { batch, .. } = self {
            let keys = self.bulk_keys(k, connections);
            return Some((keys.end - keys.start).div_ceil(u64::from(*batch)));
        }
        if let Self::Urls { operations, .. } = self {
            let (k, connections) = (k as u64, connections as u64);
            return operations.map(|all| all / connections + u64::from(k < all % connections));
        }
        if let Self::Ycsb(stage) = self {
            return stage.operations(k, connections);
        }
        match self.budget(k, connections) {
            Budget::Counted(left) => Some(left.iter().sum()),
            Budget::Shared(_) | Budget::Endless(_) => None,
        }
    }

    /// Operations and documents that `connections` are to do together, where they are counted.
    pub fn planned(&self, connections: usize) -> Option<(u64, u64)> {
        let operations =
            (0..connections).map(|k| self.operations(k, connections)).sum::<Option<_>>()?;
        match self {
            Self::BulkInsert { documents, .. } => Some((operations, *documents)),
            Self::Crud { .. } | Self::Burst(_) | Self::Urls { .. } => {
                Some((operations, operations))
            }
            Self::Ycsb(ycsb) => Some((operations, ycsb.records().unwrap_or(operations))),
        }
    }

    /// What connection `k` of `connections` has to do.
    pub fn budget(&self, k: usize, connections: usize) -> Budget {
        match self {
            Self::BulkInsert { .. } | Self::Burst(_) | Self::Urls { .. } | Self::Ycsb(_) => {
                Budget::Counted([0; 4])
            }
            Self::Crud { mix, operations: None, .. } => Budget::Endless(*mix),
            Self::Crud { mix, operations: Some(operations), order } => {
                let (k, connections) = (k as u64, connections as u64);
                Budget::Counted(match order {
                    CrudOrder::Current => mix.split(operations / connections),
                    CrudOrder::Uniform => mix
                        .split(*operations)
                        .map(|count| count / connections + u64::from(k < count % connections)),
                })
            }
        }
    }

    /// The keys that connection `k` of `connections` creates documents under, after `bulk`
    /// documents were inserted.
    pub fn create_keys(&self, bulk: u64, k: usize, connections: usize) -> KeySequence {
        let (connection, connections) = (k as u64, connections as u64);
        match self {
            Self::Crud { mix, operations: Some(operations), order: CrudOrder::Current } => {
                let creates = mix.split(operations / connections)[0];
                KeySequence { next: bulk + connection * creates, step: 1 }
            }
            _ => KeySequence { next: bulk + connection, step: connections },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn a_stage_stored_without_its_purpose_has_the_one_that_its_name_tells() {
        let read = |name: &str, purpose: Option<&str>| {
            let mut stored = json!({
                "name": name, "workload": "bulk_insert", "documents": 1, "batch": 1,
                "pace": { "loop": "closed", "think_ns": 0 }, "length_ns": null,
            });
            if let Some(purpose) = purpose {
                stored["purpose"] = json!(purpose);
            }
            serde_json::from_value::<StagePlan>(stored).expect("a stage").purpose()
        };
        assert_eq!(read("bulk_insert", None), Purpose::Fill);
        assert_eq!(read("load", None), Purpose::Fill);
        assert_eq!(read("burst_prepare", None), Purpose::Prepare);
        assert_eq!(read("warm_up", None), Purpose::WarmUp);
        assert_eq!(read("crud", None), Purpose::Main);
        assert_eq!(read("warm_up", Some("main")), Purpose::Main);
    }

    proptest! {
        #[test]
        fn connections_share_out_documents_and_operations(
            documents in 0u64..10_000, operations in 0u64..10_000, connections in 1usize..70,
            weights in proptest::array::uniform4(0u64..5),
        ) {
            prop_assume!(weights != [0; 4]);
            let bulk = StageKind::BulkInsert { documents, batch: 10 };
            let mut next = 0;
            for k in 0..connections {
                let keys = bulk.bulk_keys(k, connections);
                prop_assert_eq!(keys.start, next);
                prop_assert!(keys.end == documents || (keys.end - keys.start).is_multiple_of(10));
                next = keys.end;
            }
            prop_assert_eq!(next, documents);
            let [create, read, update, delete] = weights;
            let mix = Mix { create, read, update, delete };
            let crud =
                StageKind::Crud { mix, operations: Some(operations), order: CrudOrder::Uniform };
            let mut sums = [0; 4];
            for k in 0..connections {
                let Budget::Counted(part) = crud.budget(k, connections) else { unreachable!() };
                sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
            }
            prop_assert_eq!(sums, mix.split(operations));
        }
    }
}
