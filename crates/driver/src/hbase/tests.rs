//! Tests the driver against a small HBase: regions that move, servers that are silent, hang up or
//! lie.

use super::connection::ConnectionSettings;
use super::regions::{Region, all, locate_meta};
use super::servers::RegionServers;
use super::stand_in::{Fault, Handle, Held, TABLE, start};
use super::{HBase, HBasePen, HBasePlan, HBaseSession, HBaseShard, OpenedTable};
use crate::clock::Clock;
use crate::measure::Probe;
use crate::net::ShardContext;
use crate::op::{Failure, Fields, Op, OpKind, Pen};
use crate::words::OperationPlan;
use crate::{DriverPlan, Opening, Outcome, Session, Shard, Target, TargetAsked};
use prost::bytes::Bytes;
use std::rc::Rc;
use std::sync::Arc;
use tokio::task::LocalSet;

mod monitor;
mod own;

const MS: u64 = 1_000_000;
/// Long enough for anything that answers.
const PATIENT: u64 = 20_000 * MS;
/// Too short for any answer.
const HASTY: u64 = 200 * MS;

struct Json(&'static str);

impl Fields for Json {
    fn write(self, _: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(self.0.as_bytes());
    }
}

/// A thread's view of the table, with a session on it.
struct Bench {
    shard: HBaseShard,
    session: HBaseSession,
    pen: HBasePen,
}

impl Bench {
    async fn of(cluster: &Handle, timeout_ns: u64) -> Self {
        Self::with(cluster, timeout_ns, &[]).await
    }

    /// The same with plan-defined operations.
    async fn with(cluster: &Handle, timeout_ns: u64, own: &[OperationPlan]) -> Self {
        let settings = ConnectionSettings {
            user: "test".to_owned(),
            timeout_ns,
            max_answer: 1 << 20,
            tls: None,
            clock: Clock::system(),
        };
        let seeds = vec![cluster.borrow().servers[0].clone()];
        let table = Bytes::from_static(TABLE.as_bytes());
        let opened = OpenedTable {
            regions: regions(&seeds, &table, &settings).await,
            seeds,
            table,
            family: (*b"cf").into(),
            durability: None,
            connections: 1,
            settings,
            removed: false,
            own: super::words::Own::new(own, super::words::spell).unwrap(),
        };
        let target = HBase { opened: Arc::new(opened) };
        let context = ShardContext::new(Clock::system(), timeout_ns);
        tokio::task::spawn_local(context.clone().sweep());
        let shard = target.shard(context).await.unwrap();
        let session = shard.session();
        let pen = session.pen();
        Self { shard, session, pen }
    }

    async fn run(&mut self, op: Op, documents: &[(&str, &'static str)]) -> Outcome {
        self.pen.clear();
        self.pen.look();
        for (name, document) in documents {
            self.pen.name().extend_from_slice(name.as_bytes());
            if !document.is_empty() {
                Pen::document(&mut self.pen, None, Json(document));
            }
        }
        self.again(op).await
    }

    /// Executes once more what was written last.
    async fn again(&mut self, op: Op) -> Outcome {
        let clock = Clock::system();
        self.session.ready().await;
        let now = clock.now();
        let mut probe = Probe::new(clock, now, now);
        self.session.execute(&op, &mut self.pen, &mut probe).await
    }

    async fn put(&mut self, name: &str, document: &'static str) -> Outcome {
        self.run(Op::single(OpKind::Create, 1, None), &[(name, document)]).await
    }

    async fn get(&mut self, name: &str) -> Outcome {
        self.run(Op::single(OpKind::Read, 1, None), &[(name, "")]).await
    }

    fn document(&self) -> &str {
        std::str::from_utf8(self.session.answered().document.unwrap()).unwrap()
    }

    fn reason(&self, failure: Failure) -> String {
        self.session.reason(failure).unwrap().reason
    }
}

async fn regions(seeds: &[String], table: &Bytes, settings: &ConnectionSettings) -> Vec<Region> {
    let servers = RegionServers::new(settings.clone());
    let meta = locate_meta(seeds, &servers).await.unwrap();
    all(table, 100, &Rc::from(meta), &servers).await.unwrap()
}

/// Runs a test with its servers and connections on one thread.
fn local(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, test);
}

const TWO: [(&str, &str); 2] = [("", "m"), ("m", "")];

#[test]
fn a_table_that_cannot_be_used_is_not_left_behind() {
    local(async {
        for keep in [false, true] {
            let cluster = start(1, &TWO).await;
            let address = format!("hbase://{}/{TABLE}", cluster.borrow().servers[0]);
            let asked = TargetAsked { keep, ..TargetAsked::at(&address) };
            let plan = HBasePlan::check(&asked).unwrap();
            let opening = Opening { timeout_ns: HASTY, max_answer: 1 << 20, ..Opening::default() };
            let (target, facts) = plan.open(&opening).await.unwrap();
            assert_eq!(
                (facts.created, &cluster.borrow().tables[..]),
                (true, &[TABLE.to_owned()][..])
            );
            assert_eq!(target.tear_down().await, Ok(!keep));
            assert_eq!(cluster.borrow().tables.is_empty(), !keep);

            // Its regions never appear.
            cluster.borrow_mut().tables.clear();
            cluster.borrow_mut().held.clear();
            let message = plan.open(&opening).await.map(|_| ()).unwrap_err().to_string();
            assert_eq!(message, "cannot use table \"t\": no region answers in time");
            assert_eq!(cluster.borrow().tables.is_empty(), !keep);
        }
    });
}

#[test]
fn a_server_that_wants_kerberos_is_reported_with_what_to_do() {
    local(async {
        let cluster = start(1, &TWO).await;
        let address = format!("hbase://{}", cluster.borrow().servers[0]);
        let plan = HBasePlan::check(&TargetAsked::at(&address)).unwrap();
        let opening = Opening { timeout_ns: PATIENT, max_answer: 1 << 20, ..Opening::default() };
        for (class, words, wants) in [
            ("AccessDeniedException", "Authentication is required", true),
            ("AccessDeniedException", "Connection from nobody", false),
            ("FatalConnectionException", "Unknown service", false),
        ] {
            cluster.borrow_mut().refuses = Some([class, words]);
            let message = plan.open(&opening).await.map(|_| ()).unwrap_err().to_string();
            assert!(message.contains(&format!("{class}: {words}")), "{message}");
            assert_eq!(
                message.contains("; it wants Kerberos, which springload"),
                wants,
                "{message}"
            );
        }
    });
}

#[test]
fn rows_are_written_read_changed_and_removed() {
    local(async {
        let cluster = start(1, &TWO).await;
        let mut bench = Bench::of(&cluster, PATIENT).await;
        assert_eq!(bench.get("a").await.result, Err(Failure::NotFound));
        let put = bench.put("a", r#"{"f":"x","g":"y"}"#).await;
        assert!(put.result.is_ok() && put.bytes.sent > 60 && put.wire.requests == Some(1));
        let update = Op::single(OpKind::Update, 1, None);
        assert!(bench.run(update, &[("a", r#"{"g":"z"}"#)]).await.result.is_ok());
        assert!(bench.get("a").await.result.is_ok());
        assert_eq!(bench.document(), r#"{"f":"x","g":"z"}"#);
        bench.pen.want("g");
        assert!(bench.again(Op::single(OpKind::Read, 1, None)).await.result.is_ok());
        assert_eq!(bench.document(), r#"{"g":"z"}"#);
        let delete = Op::single(OpKind::Delete, 1, None);
        assert!(bench.run(delete, &[("a", "")]).await.result.is_ok());
        assert!(cluster.borrow().rows.is_empty());
        assert_eq!(bench.run(update, &[("", "{}")]).await.result, Err(Failure::TooLarge));
    });
}

#[test]
fn a_bulk_insert_is_one_call_to_each_server_and_a_scan_crosses_regions() {
    local(async {
        let cluster = start(2, &TWO).await;
        cluster.borrow_mut().held[1].server = 1;
        cluster.borrow_mut().listed[1].server = 1;
        let mut bench = Bench::of(&cluster, PATIENT).await;
        let bulk = Op { documents: 4, ..Op::single(OpKind::BulkInsert, 0, None) };
        let rows = [("z", r#"{"f":1}"#), ("a", r#"{"f":2}"#), ("n", r#"{"f":3}"#), ("b", "{}")];
        let inserted = bench.run(bulk, &rows).await;
        assert!(inserted.result.is_ok());
        assert!(bench.session.answered().rows.iter().all(Result::is_ok));
        assert_eq!(inserted.wire.requests, Some(2));
        assert_eq!(cluster.borrow().calls, ["Multi", "Multi"]);
        assert_eq!(cluster.borrow().rows.len(), 4);
        let scan = |limit| Op { limit, ..Op::single(OpKind::Scan, 0, None) };
        let found = bench.run(scan(3), &[("b", "")]).await;
        assert_eq!(found.result.unwrap().rows, 3);
        let json: Vec<_> = bench.session.scanned().unwrap();
        assert_eq!(json, [&b"{}"[..], br#"{"f":"3"}"#, br#"{"f":"1"}"#]);
        assert_eq!(bench.run(scan(9), &[("c", "")]).await.result.unwrap().rows, 2);
        assert_eq!(bench.run(scan(1), &[("a", "")]).await.result.unwrap().rows, 1);
        // A read of a range, which has a last row: returns as many as exist, perhaps none.
        let range = Op { limit: 9, ..Op::single(OpKind::Read, 0, None) };
        let found = bench.run(range, &[("b", ""), ("n", "")]).await;
        assert_eq!(found.result.unwrap().rows, 2);
        assert_eq!(bench.session.scanned().unwrap(), [&b"{}"[..], br#"{"f":"3"}"#]);
        assert!(!bench.session.is_one_request(&range));
        assert_eq!(bench.run(range, &[("c", ""), ("d", "")]).await.result.unwrap().rows, 0);
    });
}

/// There are more rows in one region than one answer holds.
#[test]
fn a_scan_of_many_rows_leaves_none_out() {
    local(async {
        let cluster = start(1, &TWO).await;
        let mut bench = Bench::of(&cluster, PATIENT).await;
        let names: Vec<String> = (0..2_100).map(|it| format!("a{it:04}")).collect();
        let rows: Vec<_> = names.iter().map(|it| (it.as_str(), r#"{"f":1}"#)).collect();
        let bulk = Op { documents: 2_100, ..Op::single(OpKind::BulkInsert, 0, None) };
        assert!(bench.run(bulk, &rows).await.result.is_ok());
        for (limit, found) in [(1_000, 1_000), (1_500, 1_500), (2_000, 2_000), (5_000, 2_100)] {
            let scan = Op { limit, ..Op::single(OpKind::Scan, 0, None) };
            assert_eq!(bench.run(scan, &[("a", "")]).await.result.unwrap().rows, found);
        }
    });
}

#[test]
fn rows_of_a_server_that_is_lost_are_in_doubt_and_those_of_the_others_are_not() {
    local(async {
        let cluster = start(2, &TWO).await;
        cluster.borrow_mut().held[1].server = 1;
        cluster.borrow_mut().listed[1].server = 1;
        let mut bench = Bench::of(&cluster, PATIENT).await;
        cluster.borrow_mut().faults.push_back(Fault::Close);
        let bulk = Op { documents: 2, ..Op::single(OpKind::BulkInsert, 0, None) };
        let inserted = bench.run(bulk, &[("a", r#"{"f":1}"#), ("z", r#"{"f":2}"#)]).await;
        assert!(inserted.result.is_ok());
        let failures: Vec<_> =
            bench.session.answered().rows.iter().filter_map(|row| row.err()).collect();
        assert_eq!(failures, [Failure::Unanswered]);
        assert_eq!(bench.reason(Failure::Unanswered), "the server closed the connection");
        assert_eq!(cluster.borrow().rows.len(), 1);
    });
}

#[test]
fn where_no_region_can_be_looked_up_nothing_was_sent() {
    local(async {
        let cluster = start(1, &TWO).await;
        let mut bench = Bench::of(&cluster, PATIENT).await;
        cluster.borrow_mut().secretive = true;
        cluster.borrow_mut().faults.push_back(Fault::Close);
        assert_eq!(bench.put("a", r#"{"f":1}"#).await.result, Err(Failure::Unanswered));
        let put = bench.put("a", r#"{"f":1}"#).await;
        assert_eq!((put.result, put.wire.requests), (Err(Failure::Connect), Some(0)));
        assert_eq!(bench.reason(Failure::Connect), "the server closed the connection");
    });
}

#[test]
fn a_region_that_moved_is_found_again_and_nothing_fails() {
    local(async {
        let cluster = start(2, &TWO).await;
        let mut bench = Bench::of(&cluster, PATIENT).await;
        cluster.borrow_mut().held[1].server = 1;
        // For a while, no server knows yet.
        let knows = cluster.clone();
        tokio::task::spawn_local(async move {
            while knows.borrow().calls.len() < 3 {
                tokio::task::yield_now().await;
            }
            let held = knows.borrow().held.clone();
            knows.borrow_mut().listed = held;
        });
        let put = bench.put("x", r#"{"f":"x"}"#).await;
        assert!(put.result.is_ok());
        assert!(put.wire.relocated >= 1, "{:?}", put.wire);
        assert_eq!(put.wire.requests, Some(put.wire.relocated + 1));
        assert_eq!(bench.put("y", r#"{"f":"y"}"#).await.wire.relocated, 0);
        assert_eq!(bench.put("a", r#"{"f":"a"}"#).await.wire.relocated, 0);

        // A split: the region is gone, and its halves appear.
        let halves = [("m", "t", 0), ("t", "", 1)];
        let halves = halves.map(|(start, end, server)| Held { start, end, server });
        cluster.borrow_mut().held.splice(1.., halves.clone());
        cluster.borrow_mut().listed.splice(1.., halves);
        let bulk = Op { documents: 3, ..Op::single(OpKind::BulkInsert, 0, None) };
        let rows = [("b", r#"{"f":1}"#), ("n", r#"{"f":2}"#), ("u", r#"{"f":3}"#)];
        let inserted = bench.run(bulk, &rows).await;
        assert!(inserted.result.is_ok() && inserted.wire.relocated > 0, "{inserted:?}");
        assert_eq!(cluster.borrow().rows.len(), 6);
    });
}

#[test]
fn a_region_that_nobody_has_is_the_servers_failure_with_its_words() {
    local(async {
        let cluster = start(1, &TWO).await;
        let mut bench = Bench::of(&cluster, HASTY).await;
        cluster.borrow_mut().held.clear();
        let put = bench.put("a", r#"{"f":1}"#).await;
        assert_eq!(put.result, Err(Failure::ServerError));
        assert!(!put.is_silence());
        let said = bench.reason(Failure::ServerError);
        assert_eq!(said, "NotServingRegionException: as the test asked");
        let bulk = Op { documents: 1, ..Op::single(OpKind::BulkInsert, 0, None) };
        let inserted = bench.run(bulk, &[("a", r#"{"f":1}"#)]).await;
        assert_eq!(inserted.result, Err(Failure::Unanswered));
    });
}

#[test]
fn exceptions_are_failures_by_their_class() {
    local(async {
        let cluster = start(1, &TWO).await;
        let mut bench = Bench::of(&cluster, PATIENT).await;
        for (class, failure) in [
            ("RegionTooBusyException", Failure::TooManyRequests),
            ("security.AccessDeniedException", Failure::Authentication),
            ("regionserver.NoSuchColumnFamilyException", Failure::Rejected),
            ("NobodyKnowsException", Failure::ServerError),
        ] {
            cluster.borrow_mut().faults.push_back(Fault::Exception(class));
            assert_eq!(bench.put("a", r#"{"f":1}"#).await.result, Err(failure), "{class}");
            let simple = class.rsplit('.').next().unwrap();
            assert_eq!(bench.reason(failure), format!("{simple}: as the test asked"));
        }
        assert_eq!(cluster.borrow().calls.len(), 4, "none is sent again");
        assert!(cluster.borrow().rows.is_empty());
    });
}

#[test]
fn silence_and_a_closed_connection_leave_writes_in_doubt() {
    local(async {
        let cluster = start(1, &TWO).await;
        let mut bench = Bench::of(&cluster, HASTY).await;
        let bulk = Op { documents: 1, ..Op::single(OpKind::BulkInsert, 0, None) };
        for (fault, of_read) in [(Fault::Silence, Failure::Timeout), (Fault::Close, Failure::Reset)]
        {
            let before = cluster.borrow().connections;
            for _ in 0..3 {
                cluster.borrow_mut().faults.push_back(fault);
            }
            let read = bench.get("a").await;
            assert_eq!(read.result, Err(of_read), "{fault:?}");
            let put = bench.put("a", r#"{"f":1}"#).await;
            assert_eq!(put.result, Err(Failure::Unanswered), "{fault:?}");
            let inserted = bench.run(bulk, &[("a", r#"{"f":1}"#)]).await;
            assert_eq!(inserted.result, Err(Failure::Unanswered), "{fault:?}");
            assert!(bench.put("b", r#"{"f":1}"#).await.result.is_ok(), "{fault:?}");
            // A new connection each time.
            assert!(cluster.borrow().connections >= before + 3, "{fault:?}");
        }
        assert!(bench.reason_is_kept());
    });
}

impl Bench {
    /// The last operation succeeded, so there is no reason.
    fn reason_is_kept(&self) -> bool {
        Failure::ALL.iter().all(|&failure| self.session.reason(failure).is_none())
    }
}

#[test]
fn lies_are_broken_protocol() {
    local(async {
        let cluster = start(1, &TWO).await;
        let mut bench = Bench::of(&cluster, PATIENT).await;
        for name in ["a", "b"] {
            assert!(bench.put(name, r#"{"f":1,"g":2}"#).await.result.is_ok());
        }
        for (fault, class) in [
            (Fault::Garbage, Failure::Protocol),
            (Fault::Endless, Failure::Protocol),
            (Fault::OtherRow, Failure::WrongDocument),
            (Fault::FewerCells, Failure::Protocol),
        ] {
            cluster.borrow_mut().faults.push_back(fault);
            assert_eq!(bench.get("a").await.result, Err(class), "{fault:?}");
            assert!(bench.get("a").await.result.is_ok(), "{fault:?}");
        }
        cluster.borrow_mut().faults.push_back(Fault::Disorder);
        let scan = Op { limit: 9, ..Op::single(OpKind::Scan, 0, None) };
        assert_eq!(bench.run(scan, &[("a", "")]).await.result, Err(Failure::Protocol));
    });
}

#[test]
fn nobody_there_is_no_connection_and_is_tried_again_after_a_pause() {
    local(async {
        let cluster = start(1, &TWO).await;
        let mut bench = Bench::of(&cluster, PATIENT).await;
        let gone = {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            listener.local_addr().unwrap().to_string()
        };
        let there = std::mem::replace(&mut cluster.borrow_mut().servers[0], gone);
        cluster.borrow_mut().faults.push_back(Fault::Close);
        assert_eq!(bench.get("a").await.result, Err(Failure::Reset));
        assert_eq!(bench.session.ready().await, None);
        for _ in 0..2 {
            // The regions in hbase:meta do not exist.
            let read = bench.get("a").await;
            assert_eq!(read.result, Err(Failure::Connect));
            assert_eq!(read.wire.requests, Some(0));
            assert!(bench.session.ready().await.is_some());
        }
        cluster.borrow_mut().servers[0] = there;
        assert_eq!(bench.get("a").await.result, Err(Failure::NotFound));
    });
}

#[test]
fn answers_in_any_order_reach_their_sessions_on_one_connection() {
    local(async {
        let cluster = start(1, &TWO).await;
        let mut bench = Bench::of(&cluster, PATIENT).await;
        let names = ["a", "b", "c", "x", "y", "z"];
        for name in names {
            assert!(bench.put(name, r#"{"f":"v"}"#).await.result.is_ok());
        }
        let before = cluster.borrow().connections;
        cluster.borrow_mut().together = names.len();
        let reads = names.map(|name| {
            let session = bench.shard.session();
            let pen = session.pen();
            let shard = HBaseShard {
                shared: bench.shard.shared.clone(),
                context: bench.shard.context.clone(),
                connections: 1,
                sessions: std::cell::Cell::default(),
            };
            let mut own = Bench { shard, session, pen };
            tokio::task::spawn_local(async move { own.get(name).await.result })
        });
        for read in reads {
            // Each found its own row: another row would be a protocol error.
            assert!(read.await.unwrap().is_ok());
        }
        assert_eq!(cluster.borrow().connections, before);
    });
}
