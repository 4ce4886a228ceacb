//! The same seed and plan: what each connection sends does not depend on threads or chance.

use springload::embedded::Options;

use crate::proxy::{Exchange, Proxy};
use crate::servers::Server;
use crate::springload::measure;

/// The requests of one connection, in order: method, path in the database, body.
type Sequence = Vec<(String, String, String)>;

/// The requests of each connection to the documents of a database, sorted, because connections are
/// accepted in random order.
fn sequences(exchanges: &[Exchange]) -> Vec<Sequence> {
    let connections = exchanges.iter().map(|e| e.connection).max().map_or(0, |last| last + 1);
    let mut sequences = vec![Sequence::new(); connections];
    for exchange in exchanges {
        let mut parts = exchange.path[1..].splitn(2, '/');
        let (database, rest) = (parts.next().unwrap_or_default(), parts.next());
        if let Some(rest) = rest.filter(|_| !database.starts_with('_')) {
            let body = String::from_utf8(exchange.body.clone()).expect("UTF-8");
            let sent = (exchange.method.clone(), rest.to_owned(), body);
            sequences[exchange.connection].push(sent);
        }
    }
    sequences.retain(|sequence| !sequence.is_empty());
    sequences.sort();
    sequences
}

/// The requests of a run's connections.
fn sent(flags: &[&str]) -> Vec<Sequence> {
    let server = Server::stand_in(Options::default());
    let proxy = Proxy::to(&server.url);
    measure(["run", &proxy.url].into_iter().chain(flags.iter().copied())).passed();
    sequences(&proxy.exchanges())
}

/// The bodies of bulk requests, sorted.
fn bulk(sequences: &[Sequence]) -> Vec<&str> {
    let all = sequences.iter().flatten().filter(|(_, path, _)| path == "_bulk_docs");
    let mut bodies: Vec<_> = all.map(|(_, _, body)| body.as_str()).collect();
    bodies.sort_unstable();
    bodies
}

const PLAN: [&str; 8] = ["-c", "4", "--docs", "203", "--batch", "20", "--ops", "402"];

#[test]
fn threads_do_not_change_what_is_sent() {
    let one = sent(&[&PLAN[..], &["--threads", "1"]].concat());
    let two = sent(&[&PLAN[..], &["--threads", "2"]].concat());
    let four = sent(&[&PLAN[..], &["--threads", "4"]].concat());
    let counts: Vec<_> = one.iter().map(Vec::len).collect();
    // Four connections in each of two stages; ten requests of 20 documents and one of 3.
    assert_eq!(counts.len(), 8, "{counts:?}");
    assert_eq!(counts.iter().sum::<usize>(), 11 + 402);
    assert_eq!(bulk(&one).len(), 11);
    assert_eq!(bulk(&one), bulk(&two));
    assert!(one == two, "two threads send something else than one");
    assert!(one == four, "four threads send something else than one");
}

#[test]
fn another_seed_sends_something_else() {
    let one = sent(&[&PLAN[..], &["--seed", "1"]].concat());
    let two = sent(&[&PLAN[..], &["--seed", "2"]].concat());
    assert!(bulk(&one) != bulk(&two));
    // Once more with the same seed, to check that only the seed makes a difference.
    assert!(one == sent(&[&PLAN[..], &["--seed", "1"]].concat()));
}

#[test]
fn cushion_sends_the_same_too() {
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/schemas/example.json");
    let schema = format!("--json_document_schema_filename={schema}");
    let run = |threads: &str| {
        let server = Server::stand_in(Options::default());
        ureq::put(format!("{}/db", server.url)).send_empty().expect("a database");
        let proxy = Proxy::to(&server.url);
        let address = format!("--database_address={}", proxy.url);
        measure([
            "cushion",
            &address,
            "--database_name=db",
            "--seed=-3",
            "--num_connections=4",
            &schema,
            "--num_documents_per_bulk_insert=10",
            "--num_bulk_insert_operations=3",
            "--num_crud_operations=50",
            "--create_weight=2",
            "--read_weight=2",
            "--update_weight=3",
            "--delete_weight=3",
            "--threads",
            threads,
        ])
        .passed();
        sequences(&proxy.exchanges())
    };
    let (one, two) = (run("1"), run("2"));
    assert_eq!(one.len(), 8);
    assert!(one == two, "two threads send something else than one");
}
