//! The speed of generating documents, in bytes of JSON per second on one core.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use springload::schema::{DEFAULT, Documents, Template};
use std::hint::black_box;

const DOCUMENTS: u64 = 1_000;

fn generate(c: &mut Criterion) {
    let schemas = [
        ("default", DEFAULT),
        ("example", include_str!("../examples/schemas/example.json")),
        ("blog-entry", include_str!("../examples/schemas/blog-entry.json")),
    ];
    let mut group = c.benchmark_group("documents");
    for (name, schema) in schemas {
        let template = Template::parse(schema).expect("the schema is valid");
        let documents = Documents::new(1, vec![(template, 1)]);
        for version in [0, 10] {
            let mut out = Vec::new();
            let mut write_all = || {
                let mut bytes = 0;
                for key in 0..DOCUMENTS {
                    out.clear();
                    documents.write(key, version, br#""_id":"0000000017""#, &mut out);
                    bytes += black_box(&out).len() as u64;
                }
                bytes
            };
            group.throughput(Throughput::Bytes(write_all()));
            group.bench_function(format!("{name}/version {version}"), |b| b.iter(&mut write_all));
        }
    }
    group.finish();
    c.bench_function("dictionary", |b| b.iter(|| Documents::new(black_box(1), Vec::new())));
}

criterion_group!(benches, generate);
criterion_main!(benches);
