//! The cost of reading a response: its HTTP frame, and CouchDB's body in it.

use criterion::{Criterion, criterion_group, criterion_main};
use springload::driver::couchdb::answer;
use springload::http1::{Decoder, Step};
use springload::schema::{DEFAULT, Documents, Template};
use std::fmt::Write as _;
use std::hint::black_box;

const REV: &str = "1-967a00dff5e02add41819138abb3284d";
const ROWS: u32 = 100;

/// CouchDB 3.5's response to a write, with this body.
fn framed(body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 201 Created\r\nCache-Control: must-revalidate\r\nContent-Length: {length}\r\n\
         Content-Type: application/json\r\nDate: Sat, 21 Nov 2026 05:00:00 GMT\r\n\
         ETag: \"{REV}\"\r\nServer: CouchDB/3.5.0 (Erlang OTP/25)\r\n\
         X-Couch-Request-ID: 3a5f0b1c2d\r\nX-CouchDB-Body-Time: 0\r\n\r\n{body}"
    )
    .into_bytes()
}

/// Documents as CouchDB stores them; enough that branch predictors cannot memorize them.
fn stored(schema: &str) -> Vec<Vec<u8>> {
    let template = Template::parse(schema).expect("the schema is valid");
    let documents = Documents::new(1, vec![(template, 1)]);
    let head = format!("\"_id\":\"1234567\",\"_rev\":\"{REV}\"");
    let document = |key| {
        let mut out = Vec::new();
        documents.write(key, 0, head.as_bytes(), &mut out);
        out
    };
    (0..1_000).map(document).collect()
}

fn parser(c: &mut Criterion) {
    let written = format!("{{\"ok\":true,\"id\":\"1234567\",\"rev\":\"{REV}\"}}\n");
    let (mut names, mut rows) = (Vec::new(), String::from("["));
    for id in 0..ROWS {
        names.extend_from_slice(format!("{id}\0").as_bytes());
        let comma = if id > 0 { "," } else { "" };
        let _ = write!(rows, "{comma}{{\"ok\":true,\"id\":\"{id}\",\"rev\":\"{REV}\"}}");
    }
    rows.push_str("]\n");
    let document =
        format!("{{\"_id\":\"1234567\",\"_rev\":\"{REV}\",\"name\":\"Ada Lovelace\"}}\n");

    let mut group = c.benchmark_group("parser");
    let mut frame = framed(&written);
    group.bench_function("frame", |b| {
        b.iter(|| {
            let mut decoder = Decoder::new(false);
            assert_eq!(decoder.step(black_box(&mut frame)), Ok(Step::Done));
            decoder.body()
        });
    });
    group.bench_function("write", |b| {
        b.iter(|| answer::written(black_box(written.as_bytes()), b"1234567"));
    });
    group.bench_function("read", |b| {
        b.iter(|| answer::document(black_box(document.as_bytes()), b"1234567"));
    });
    for (name, schema) in [
        ("default", DEFAULT),
        ("example", include_str!("../examples/schemas/example.json")),
        ("blog-entry", include_str!("../examples/schemas/blog-entry.json")),
    ] {
        let documents = stored(schema);
        let bytes: usize = documents.iter().map(Vec::len).sum();
        let mut next = documents.iter().cycle();
        group.bench_function(format!("read, {name}, {} bytes", bytes / documents.len()), |b| {
            b.iter(|| answer::document(black_box(next.next().expect("some")), b"1234567"));
        });
    }
    let mut out = Vec::new();
    group.bench_function(format!("{ROWS} rows"), |b| {
        b.iter(|| answer::rows(black_box(rows.as_bytes()), &names, &mut out));
    });
    group.finish();
}

criterion_group!(benches, parser);
criterion_main!(benches);
