//! Tests plan-defined operations: several rows at once, and scans of some columns.

use super::*;

/// Rows on both sides of the border between the regions.
const ROWS: [(&str, &str); 4] = [
    ("a", r#"{"tag:x":1,"name":2}"#),
    ("b", r#"{"name":1}"#),
    ("x", r#"{"tag:x":1,"tag:y":2}"#),
    ("y", r#"{"other":1}"#),
];

/// A bench with these rows, and one operation.
async fn bench(cluster: &Handle, timeout_ns: u64, spelled: &str) -> (Bench, Op) {
    let own = OperationPlan::parse(&format!("hbase-own={spelled}")).unwrap();
    let op = Op::single(own.name, 0, None);
    let mut bench = Bench::with(cluster, timeout_ns, &[own]).await;
    for (name, document) in ROWS {
        assert!(bench.put(name, document).await.result.is_ok());
    }
    cluster.borrow_mut().calls.clear();
    (bench, op)
}

/// A cluster of two servers, with a region on each.
async fn apart() -> Handle {
    let cluster = start(2, &TWO).await;
    cluster.borrow_mut().held[1].server = 1;
    cluster.borrow_mut().listed[1].server = 1;
    cluster
}

const FOUR: &str = r#"multi_get ["y","a","x","0"]"#;

#[test]
fn several_rows_are_read_in_one_call_to_each_server() {
    local(async {
        for (cluster, calls) in [(start(1, &TWO).await, 1), (apart().await, 2)] {
            let (mut bench, own) = bench(&cluster, PATIENT, FOUR).await;
            let read = bench.run(own, &[]).await;
            assert_eq!(read.result.map(|reply| reply.rows), Ok(3));
            assert_eq!(read.wire.requests, Some(calls));
            assert_eq!(cluster.borrow().calls, vec!["Multi"; calls as usize]);
            assert!(!bench.session.is_one_request(&own));
        }
        let cluster = start(1, &TWO).await;
        let (mut bench, own) = bench(&cluster, PATIENT, r#"multi_get ["n","o"]"#).await;
        assert_eq!(bench.run(own, &[]).await.result.map(|reply| reply.rows), Ok(0));
    });
}

#[test]
fn the_rows_of_a_region_that_moved_are_asked_for_again_and_no_others() {
    local(async {
        let cluster = apart().await;
        let (mut bench, own) = bench(&cluster, PATIENT, FOUR).await;
        // Both regions are on the first server now.
        cluster.borrow_mut().held[1].server = 0;
        cluster.borrow_mut().listed[1].server = 0;
        let read = bench.run(own, &[]).await;
        assert_eq!(read.result.map(|reply| reply.rows), Ok(3));
        assert_eq!((read.wire.requests, read.wire.relocated), (Some(3), 1));
        // From now on its place is known.
        let read = bench.run(own, &[]).await;
        assert_eq!((read.wire.requests, read.wire.relocated), (Some(1), 0));
    });
}

#[test]
fn rows_beyond_what_an_answer_may_have_are_asked_for_again() {
    local(async {
        let cluster = start(1, &TWO).await;
        let (mut bench, own) = bench(&cluster, PATIENT, FOUR).await;
        cluster.borrow_mut().faults.push_back(Fault::Region("MultiActionResultTooLarge"));
        let read = bench.run(own, &[]).await;
        assert_eq!(read.result.map(|reply| reply.rows), Ok(3));
        assert_eq!((read.wire.requests, read.wire.relocated), (Some(2), 0));

        // A server that makes no progress is not asked without pause.
        let (mut bench, own) = self::bench(&cluster, HASTY, FOUR).await;
        let never = Fault::Region("MultiActionResultTooLarge");
        cluster.borrow_mut().faults.extend(std::iter::repeat_n(never, 1_000));
        assert_eq!(bench.run(own, &[]).await.result, Err(Failure::ServerError));
        assert!(cluster.borrow().calls.len() < 20, "{:?}", cluster.borrow().calls);
    });
}

#[test]
fn one_region_that_fails_fails_the_operation() {
    local(async {
        let cluster = start(1, &TWO).await;
        let (mut bench, own) = bench(&cluster, PATIENT, FOUR).await;
        for (class, failure) in [
            ("RegionTooBusyException", Failure::TooManyRequests),
            ("security.AccessDeniedException", Failure::Authentication),
            ("NobodyKnowsException", Failure::ServerError),
        ] {
            cluster.borrow_mut().faults.push_back(Fault::Region(class));
            assert_eq!(bench.run(own, &[]).await.result, Err(failure), "{class}");
            assert_eq!(bench.reason(failure), class.rsplit('.').next().unwrap());
        }
        for (fault, failure, reason) in [
            (Fault::OtherRow, Failure::WrongDocument, "not the row that was asked for"),
            (Fault::FewerCells, Failure::Protocol, "not as many cells as announced"),
            (Fault::FewerRows, Failure::Protocol, "no answer to all rows"),
            (Fault::Garbage, Failure::Protocol, "the answer is not one of HBase's"),
            (Fault::Close, Failure::Reset, "the server closed the connection"),
        ] {
            cluster.borrow_mut().faults.push_back(fault);
            assert_eq!(bench.run(own, &[]).await.result, Err(failure), "{fault:?}");
            assert_eq!(bench.reason(failure), reason, "{fault:?}");
            assert!(bench.run(own, &[]).await.result.is_ok(), "{fault:?}");
        }
    });
}

#[test]
fn one_server_that_is_lost_or_silent_fails_the_operation() {
    local(async {
        let cluster = apart().await;
        let (mut bench, own) = bench(&cluster, HASTY, FOUR).await;
        for (fault, failure) in [(Fault::Close, Failure::Reset), (Fault::Silence, Failure::Timeout)]
        {
            cluster.borrow_mut().faults.push_back(fault);
            assert_eq!(bench.run(own, &[]).await.result, Err(failure), "{fault:?}");
            assert_eq!(bench.run(own, &[]).await.result.map(|it| it.rows), Ok(3), "{fault:?}");
        }
        cluster.borrow_mut().held.pop();
        assert_eq!(bench.run(own, &[]).await.result, Err(Failure::ServerError));
    });
}

#[test]
fn a_key_that_hbase_does_not_allow_is_not_sent() {
    local(async {
        let cluster = start(1, &TWO).await;
        let long = format!(r#"multi_get ["a","{}"]"#, "x".repeat(32_768));
        let (mut bench, own) = bench(&cluster, PATIENT, &long).await;
        assert_eq!(bench.run(own, &[]).await.result, Err(Failure::TooLarge));
        assert!(cluster.borrow().calls.is_empty());
    });
}

#[test]
fn rows_are_scanned_for_some_of_their_columns() {
    local(async {
        for (spelled, rows) in [
            ("scan columns=name", 2),
            ("scan columns=name,other", 3),
            ("scan column_prefix=tag:", 2),
            ("scan column_prefix=tag:y", 1),
            ("scan column_prefix=tag:&columns=tag:y", 1),
            ("scan column_prefix=none", 0),
            ("scan prefix=a&columns=name", 1),
            ("scan column_prefix=tag:&limit=1", 1),
        ] {
            let cluster = apart().await;
            let (mut bench, own) = bench(&cluster, PATIENT, spelled).await;
            let found = bench.run(own, &[]).await;
            assert_eq!(found.result.map(|reply| reply.rows), Ok(rows), "{spelled}");
        }
        let cluster = start(1, &TWO).await;
        for spelled in ["scan columns=name", "scan column_prefix=n"] {
            let (mut bench, own) = bench(&cluster, PATIENT, spelled).await;
            cluster.borrow_mut().faults.push_back(Fault::OtherColumn);
            assert_eq!(bench.run(own, &[]).await.result, Err(Failure::Protocol), "{spelled}");
        }
    });
}
