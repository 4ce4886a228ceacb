//! Documents in one bulk request: how many are usual, and which numbers are refused.

use crate::plan::Invalid;
use crate::workload::MOST_DOCUMENTS;

/// The default limit on documents of a fill in flight. A small CouchDB stores about 2,000 per
/// second, so this many take about 3 s, a tenth of the timeout.
const MOST_AT_ONCE: u64 = 5_000;
/// The default limit on documents in one request: larger requests gain little.
const MOST_IN_REQUEST: u64 = 1_000;

/// The default batch size: no more than a small server answers well within the timeout, and no more
/// than each connection has to insert.
pub(in crate::cli) fn default_batch(connections: u64, documents: u64) -> u64 {
    let connections = connections.max(1);
    let each = documents.div_ceil(connections);
    // Rounded up, it can leave connections without a request.
    let is_enough = each == 0 || documents.div_ceil(each) >= connections;
    let each = if is_enough { each } else { documents / connections };
    (MOST_AT_ONCE / connections).min(MOST_IN_REQUEST).min(each).max(1)
}

/// The same with several databases, so that each gets as many requests as the others.
pub(in crate::cli) fn batch_of_many(usual: u64, documents: u64, databases: u64) -> u64 {
    let each = (documents / databases.max(1)).max(1);
    each / each.div_ceil(usual)
}

/// A fill with a batch size of the user's.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct Batched {
    pub(in crate::cli) batch: u64,
    pub(in crate::cli) documents: u64,
    pub(in crate::cli) connections: u64,
    /// The number of threads, if it was given: each needs a connection.
    pub(in crate::cli) threads: Option<u64>,
}

impl Batched {
    /// Refuses a batch size that leaves connections without a request. Each cure works by itself,
    /// and is the nearest one.
    pub(in crate::cli) fn mistake(self) -> Option<Invalid> {
        let Self { batch, documents, connections, threads } = self;
        let requests = if batch > 1 { documents.div_ceil(batch) } else { return None };
        if requests == 0 || requests >= connections {
            return None;
        }
        let s = if requests == 1 { "" } else { "s" };
        let problem = format!(
            "{documents} documents are only {requests} request{s} of {batch}, too few for \
             {connections} connections"
        );
        // There is a request, and so there are two connections or more.
        let others = connections - 1;
        let more = others.saturating_mul(batch).saturating_add(1);
        let mut cures = Vec::new();
        if more <= MOST_DOCUMENTS {
            cures.push(format!("--docs {more} or more"));
        }
        cures.push(match (documents - 1) / others {
            0 | 1 => "--batch 1".to_owned(),
            most => format!("--batch {most} or less"),
        });
        if threads.is_none_or(|threads| threads <= requests) {
            cures.push(format!("--connections {requests}"));
        }
        let last = cures.pop().unwrap_or_default();
        let or = if cures.is_empty() { "" } else { ", or " };
        let cure = format!("give {}{or}{last}", cures.join(", "));
        Some(Invalid::new("--batch", problem, cure))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_batch_leaves_no_connection_without_a_request() {
        // In requests of 5, 200 documents would be on 40 of 45 connections.
        for (connections, documents, batch) in [
            (45, 200, 4),
            (45, 45, 1),
            (45, 44, 1),
            (3, 1_000, 334),
            (4, 10, 3),
            (50, 100_000, 100),
            (1, 100_000, 1_000),
            (1, 0, 1),
        ] {
            let found = default_batch(connections, documents);
            assert_eq!(found, batch, "{documents} documents, {connections} connections");
        }
        for connections in 1..100 {
            for documents in connections..400_u64 {
                let requests = documents.div_ceil(default_batch(connections, documents));
                assert!(
                    requests >= connections,
                    "{documents} documents, {connections} connections"
                );
            }
        }
    }

    /// The number that the message gives for a flag.
    fn cure(message: &str, flag: &str) -> Option<u64> {
        let (_, rest) = message.split_once("; give ")?.1.split_once(flag)?;
        rest.trim_start().split([' ', ',']).next()?.parse().ok()
    }

    #[test]
    fn a_batch_that_leaves_connections_idle_is_refused_with_cures_that_work() {
        let words = |batch, documents, connections, threads| {
            Batched { batch, documents, connections, threads }.mistake().map(|it| it.to_string())
        };
        let problem = "--batch: 10 documents are only 1 request of 20, too few for 4 connections";
        let cures = "give --docs 61 or more, --batch 3 or less, or --connections 1";
        assert_eq!(words(20, 10, 4, None), Some(format!("{problem}; {cures}")));
        // Two threads would have one connection.
        let cures = "give --docs 61 or more, or --batch 3 or less";
        assert_eq!(words(20, 10, 4, Some(2)), Some(format!("{problem}; {cures}")));
        // No run may have so many documents.
        let found = words(1_000_000, 10, 65_536, Some(2)).expect("one request");
        assert!(found.ends_with("; give --batch 1"), "{found}");
        assert_eq!(words(1_000, 0, 4, None), None, "nothing is inserted");
    }

    /// Each cure is accepted, and the next number in the direction of what was asked for is not.
    #[test]
    fn each_cure_is_the_nearest_that_is_accepted() {
        let mut refused = 0;
        for connections in 1..20 {
            for (documents, batch) in (1..60).flat_map(|it| (1..70).map(move |batch| (it, batch))) {
                let asked = Batched { batch, documents, connections, threads: None };
                let Some(mistake) = asked.mistake() else { continue };
                refused += 1;
                let message = mistake.to_string();
                let number = |flag| cure(&message, flag).unwrap_or_else(|| panic!("{message}"));
                let with: [fn(Batched, u64) -> Batched; 3] = [
                    |it, documents| Batched { documents, ..it },
                    |it, batch| Batched { batch, ..it },
                    |it, connections| Batched { connections, ..it },
                ];
                let cures = [number("--docs"), number("--batch"), number("--connections")];
                // Documents are added; the others are lowered.
                let nearer = [cures[0] - 1, cures[1] + 1, cures[2] + 1];
                for ((with, cure), nearer) in with.into_iter().zip(cures).zip(nearer) {
                    assert!(with(asked, cure).mistake().is_none(), "{message}");
                    assert!(with(asked, nearer).mistake().is_some(), "{message}");
                }
            }
        }
        assert!(refused > 1_000, "{refused}");
    }
}
