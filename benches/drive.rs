//! The cost of the loop per operation: drawing it, making its document, four readings of the clock,
//! three histograms; everything but the request itself, which the target answers at once.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use springload::driver::basic::Basic;
use springload::engine::{Lane, ShardPlan, run_shard};
use springload::plan::SchemaPlan;
use springload::schema::Documents;
use springload::workload::{Budget, Crud, KeySequence, Live, Mix};
use std::sync::Arc;
use std::sync::mpsc::channel;

const OPERATIONS: u64 = 100_000;
const CONNECTIONS: usize = 50;

fn run(documents: &Arc<Documents>, mix: Mix) {
    let lane = |connection: usize| {
        let budget = Budget::Counted(mix.split(OPERATIONS / CONNECTIONS as u64));
        let keys = KeySequence { next: connection as u64, step: CONNECTIONS as u64 };
        let number = connection as u64;
        let workload = Crud::new(documents.clone(), 1, number, budget, Live::default(), keys);
        Lane { connection, workload }
    };
    let (sink, source) = channel();
    let plan =
        ShardPlan { operations: Some(OPERATIONS), ..ShardPlan::alone((0, 1), CONNECTIONS, sink) };
    let lanes = (0..CONNECTIONS).map(lane).collect();
    let result = run_shard(&plan, &Basic::default(), lanes).expect("a runtime");
    assert_eq!(result.load.begun, OPERATIONS);
    drop((plan, source));
}

fn drive(c: &mut Criterion) {
    let documents = SchemaPlan::documents(1, &[SchemaPlan::built_in()]).expect("a schema");
    let documents = Arc::new(documents);
    let mut group = c.benchmark_group("loop");
    group.throughput(Throughput::Elements(OPERATIONS));
    group.sample_size(20);
    for (name, mix) in [("creates", Mix::crud([1, 0, 0, 0])), ("mixed", Mix::crud([2, 3, 2, 1]))] {
        group.bench_function(name, |b| b.iter(|| run(&documents, mix)));
    }
    group.finish();
}

criterion_group!(benches, drive);
criterion_main!(benches);
