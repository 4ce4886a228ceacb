//! The cost of an agent's snapshot: writing it, reading it, and adding it to those of the others.

#[path = "../tests/fleet/simulated.rs"]
mod simulated;

use criterion::{Criterion, criterion_group, criterion_main};
use simulated::second;
use springload::measure::{Interval, SeriesLog};
use std::hint::black_box;

fn snapshots(c: &mut Criterion) {
    for requests in [10, 100, 1_000] {
        let one = second(1, requests);
        let written = serde_json::to_vec(&one).expect("an interval is plain data");
        let bytes = written.len();
        let mut group = c.benchmark_group(format!("4 x {requests} requests, {bytes} bytes"));
        group.bench_function("write", |b| {
            b.iter(|| serde_json::to_vec(black_box(&one)).expect("an interval is plain data"));
        });
        group.bench_function("read", |b| {
            b.iter(|| {
                let read: Interval =
                    serde_json::from_slice(black_box(&written)).expect("as it was written");
                read
            });
        });
        // The cost of adding depends on what is there already.
        let mut series = SeriesLog::default();
        (0..100).for_each(|agent| series.add(&second(agent, requests)));
        group.bench_function("add", |b| b.iter(|| series.add(black_box(&one))));
        group.finish();
    }
}

criterion_group!(benches, snapshots);
criterion_main!(benches);
