//! The cost of recording one finished request.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use springload::generate::Stream;
use springload::measure::{Recorder, Sample, Timing};
use springload::op::{OpKind, Reply};
use std::hint::black_box;
use std::sync::mpsc::channel;

const SAMPLES: u64 = 10_000;

fn recorder(c: &mut Criterion) {
    let mut stream = Stream::new(1, 0);
    // From 16 µs to 16 ms, each power of two equally likely: the typical range of a busy server.
    let times: Vec<u64> = (0..SAMPLES)
        .map(|_| (1u64 << (14 + stream.draw() % 10)) + stream.draw() % 10_000)
        .collect();
    let (sink, _source) = channel();
    let mut recorder = Recorder::new(0, u64::MAX, false, sink);
    let mut group = c.benchmark_group("recorder");
    group.throughput(Throughput::Elements(SAMPLES));
    group.bench_function("record", |b| {
        b.iter(|| {
            for &time in &times {
                // All in the first second, because rotation happens only once a second.
                let timing = Timing { done: 1, ..Timing::between(0, time) };
                let sample = Sample::single(OpKind::Read, &timing, Ok(Reply::default()));
                recorder.record(black_box(&sample));
            }
        });
    });
    group.finish();
}

criterion_group!(benches, recorder);
criterion_main!(benches);
