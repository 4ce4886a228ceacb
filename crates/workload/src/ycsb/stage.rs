//! How a phase of a YCSB workload is planned and carried out. Knows nothing about where properties
//! come from.

use super::again;
use super::record::RecordOriginal;
use super::rest::Rest;
use super::series::{Series, SeriesLane};
use super::{Class, Core, CoreLane, YcsbPhase, YcsbStage};
use crate::budget::share;
use crate::either::Either;
use crate::mistake::Invalid;
use crate::op::{Feature, OpKind};
use crate::{Fill, LaneContext, Lanes, Original, Restored, Runner, StageWork, Stock, Traits};
use std::sync::Arc;

/// A lane of a class that works on documents.
type ClassLane = Either<CoreLane, SeriesLane>;

impl YcsbStage {
    /// How many records the load phase inserts; `None` in the run phase.
    fn records(&self) -> Option<u64> {
        (self.phase == YcsbPhase::Load).then_some(self.config.insert_count)
    }

    /// How many records connection `k` of `connections` inserts in the load phase, unless
    /// connections take turns.
    const fn records_of(&self, k: usize, connections: usize) -> u64 {
        share(self.config.insert_count, k, connections)
    }

    /// The lanes of the core workload: new ones, or those of the warm-up with a new number of
    /// operations, so that they insert other records.
    fn core_lanes(&self, cx: &LaneContext, stock: &mut Stock) -> Vec<CoreLane> {
        let warm = stock.kept::<CoreLane>();
        if !warm.is_empty() {
            let renew = |(k, lane): (_, CoreLane)| lane.with_operations(self.own_operations(k, cx));
            return warm.into_iter().enumerate().map(renew).collect();
        }
        let core = Arc::new(Core::new(&self.config, cx.seed, cx.agent));
        let make = |k| {
            let (connection, connections) = (k as u64, cx.connections as u64);
            match self.phase {
                YcsbPhase::Load => core.load(connection, connections, self.batch),
                YcsbPhase::Run => core.run(connection, connections, self.own_operations(k, cx)),
            }
        };
        (0..cx.connections).map(make).collect()
    }
}

impl StageWork for YcsbStage {
    fn check_again(&self, restored: &Restored<'_>, mistakes: &mut Vec<Invalid>) {
        again::check(self, restored.connections as u64, mistakes);
    }

    fn does(&self, kind: OpKind) -> bool {
        let p = &self.config.proportions;
        let load = self.phase == YcsbPhase::Load;
        match kind {
            OpKind::BulkInsert => load && self.batch > 1,
            OpKind::Create if load => self.batch == 1,
            _ if load => false,
            OpKind::Create => p.insert > 0.0,
            OpKind::Read => p.read + p.read_modify_write > 0.0,
            OpKind::Update => p.update + p.read_modify_write > 0.0,
            OpKind::Delete => p.delete > 0.0,
            OpKind::Scan => p.scan > 0.0,
            OpKind::ReadModifyWrite => p.read_modify_write > 0.0,
            _ => kind == OpKind::Verify && self.config.fields.integrity,
        }
    }

    fn fields(&self) -> Vec<String> {
        let fields = &self.config.fields;
        (0..fields.count).map(|i| format!("{}{i}", fields.prefix)).collect()
    }

    fn operations(&self, k: usize, connections: usize) -> Option<u64> {
        if self.phase == YcsbPhase::Load && !self.class.is_core() {
            return Some(self.records_of(k, connections).div_ceil(u64::from(self.batch)));
        }
        let all = match self.phase {
            // Each retry adds an operation.
            YcsbPhase::Load if self.config.retry.limit > 0 => return None,
            YcsbPhase::Load => self.config.insert_count.div_ceil(u64::from(self.batch)),
            YcsbPhase::Run => self.operations?,
        };
        Some(share(all, k, connections))
    }

    fn describe(&self, count: &dyn Fn(u64) -> String) -> Vec<String> {
        if let Some(records) = self.records() {
            let batch = count(self.batch.into());
            return vec![format!("{} records in batches of {batch}", count(records))];
        }
        let p = &self.config.proportions;
        let weights = [
            ("read", p.read),
            ("update", p.update),
            ("insert", p.insert),
            ("scan", p.scan),
            ("read-modify-write", p.read_modify_write),
            ("delete", p.delete),
        ];
        let there = weights.iter().filter(|(_, weight)| *weight > 0.0);
        let mut parts: Vec<_> = there.map(|(name, weight)| format!("{name} {weight}")).collect();
        parts.push(format!("{} records", count(self.config.records)));
        parts.extend(self.operations.map(|all| format!("{} operations", count(all))));
        parts
    }

    fn original(&self, _: &LaneContext) -> Box<dyn Original> {
        Box::new(RecordOriginal::new(&self.config))
    }

    fn traits(&self) -> Traits {
        let needs: &[_] = match self.class {
            Class::Series(_) => &[Feature::Ranges, Feature::Overwriting],
            _ => &[],
        };
        let traits = Traits { needs, is_auditable: self.class.is_core(), ..Traits::default() };
        let Some(documents) = self.records() else {
            return Traits { shares_documents: true, ..traits };
        };
        Traits {
            fill: Some(Fill { documents, batch: self.batch, within_ns: None }),
            must_store: Some(documents),
            why_too_few: Some("a failed insert ends its connection"),
            ..traits
        }
    }
}

impl Lanes for YcsbStage {
    fn carry_out<R: Runner>(
        &self,
        cx: &LaneContext,
        stock: &mut Stock,
        runner: R,
    ) -> Result<R::Output, R::Error> {
        let connections = cx.connections;
        let of = connections as u64;
        match &self.class {
            Class::Series(config) => {
                let series = Arc::new(Series::new(&self.config, config, cx.seed));
                let make = |k| match self.phase {
                    YcsbPhase::Load => {
                        series.load(k as u64, of, self.records_of(k, connections), self.batch)
                    }
                    YcsbPhase::Run => series.run(k as u64, of, self.own_operations(k, cx)),
                };
                Ok(runner.run((0..connections).map(make).map(ClassLane::Other).collect())?.0)
            }
            Class::Rest(config) => {
                let rest = Arc::new(Rest::new(&self.config, config, cx.seed));
                let make = |k| rest.run(k as u64, self.own_operations(k, cx));
                Ok(runner.run((0..connections).map(make).collect())?.0)
            }
            Class::Core => {
                let lanes = self.core_lanes(cx, stock).into_iter().map(ClassLane::One);
                let (output, lanes) = runner.run(lanes.collect())?;
                if self.phase == YcsbPhase::Run {
                    let ones = lanes.into_iter().filter_map(|lane| lane.one().map(Box::new));
                    stock.keep(ones.collect());
                }
                Ok(output)
            }
        }
    }
}
