//! The databases that springload can load: the traits, and one file or folder per driver.
//!
//! A driver translates operations for its database. It knows nothing about pace or stages.

mod address;
mod asked;
mod beside;
mod binding;
mod call;
mod card;
mod compaction;
mod database;
mod follower;
mod groups;
mod heeded;
mod json;
mod kept;
pub mod library;
mod link;
mod list;
mod login;
mod monitor;
mod nouns;
mod opening;
mod options;
mod pipe;
mod plan;
mod prober;
#[cfg(test)]
mod rehearsal;
mod replicator;
mod scrape;
mod scrape_query;
mod scratch;
mod secrets;
mod setting;
mod spread;
mod unsettled;
mod words;

list::drivers! {
    couchdb: CouchDb(CouchPlan) = "couch_db",
    basic: Basic(BasicPlan) = "basic",
    http: Http(HttpTarget) = "http",
    line: Line(LinePlan) = "line",
    hbase: HBase(HBasePlan) = "hbase",
    redis: Redis(RedisPlan) = "redis",
    infinispan: Infinispan(InfinispanPlan) = "infinispan",
    cassandra: Cassandra(CassandraPlan) = "cassandra",
    mongodb: MongoDb(MongoPlan) = "mongodb" if "mongodb",
    ycsb_java: YcsbJava(YcsbJavaPlan) = "ycsb_java" if "ycsb-java",
}

pub use address::with_scheme;
pub use asked::{Auth, Existing, TargetAsked};
pub use beside::SentBeside;
pub use binding::{Binding, Bound, Buffer, Shown, SiteFile};
pub use card::{Card, ONLY_TABLE};
pub use compaction::CompactionPlan;
/// The pen of the default driver, for tests of what is written with it.
pub use couchdb::CouchPen as DefaultPen;
pub use couchdb::fetch_document;
pub use database::DatabasePlan;
pub use follower::{FeedKind, FollowPlan, Follower};
pub use hbase::{NewTable, SplitsAsked};
pub use http::{
    BodyPlan, Http2Plan, HttpPlan, Listed, LongList, RequestPlan, RequestText, Requests, Retry,
    mask, strike_secret,
};
pub use list::{Opened, WithTarget};
pub use login::{GIVE_PASSWORD, LOG_IN, LogIn};
pub use monitor::{Monitor, NoReading, Question};
pub use nouns::Nouns;
pub use opening::{Acknowledged, Detour, Echo, OWN_SERVERS, Opening, ServerFacts, TargetError};
pub use plan::{DriverPlan, Local, Planned, Size};
pub use prober::{Prober, Stored};
pub use replicator::{
    DocumentCount, ReplicaEnd, Replicated, ReplicatedPage, ReplicationPhase, ReplicationState,
    Replicator,
};
pub use scrape::{Scrape, ScrapePlan, Scraper};
pub use scrape_query::strike_observed;
pub use scratch::{Leftover, Scratch, scratch_name};
pub use secrets::{LeftOut, Secret, is_secret, strike_secrets, with_left_out};
pub use setting::Setting;
pub use spread::{Databases, OpenShards, Spread};
#[cfg(feature = "http2")]
use springload_core::http2;
use springload_core::{
    clock, files, generate, http1, measure, mistake, net, observed, op, properties, redact, values,
};
pub use unsettled::{Inquiry, Unsettled, UnsettledWrites};
pub use words::{
    Expect, Expectation, JudgedAnswer, MOST_STEPS, OperationPlan, SavedFrom, Word, Wrong, flag_of,
};

use crate::clock::Nanos;
use crate::measure::{BodyBytes, NodeLog, Probe, Wire};
use crate::mistake::Invalid;
use crate::net::ShardContext;
use crate::op::{Answered, Failure, Key, Op, Pen, Reason, Reply};
use std::io;
use std::rc::Rc;

/// Whether this springload can speak HTTP/2.
pub const SPEAKS_HTTP2: bool = cfg!(feature = "http2");

/// A target without a server, which answers at once, to measure springload itself.
pub fn at_once() -> impl Target {
    basic::Basic::default()
}

/// How one operation ended, and what it cost.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// The answer, or why there was no valid one.
    pub result: Result<Reply, Failure>,
    /// Bytes of the bodies.
    pub bytes: BodyBytes,
    /// What happened on the wire.
    pub wire: Wire,
}

impl Outcome {
    /// An operation that ended like this and has cost nothing so far.
    #[must_use]
    pub fn of(result: Result<Reply, Failure>) -> Self {
        Self { result, bytes: BodyBytes::default(), wire: Wire::default() }
    }

    /// The combined outcome of two steps, `before` being the first: the result is that of the
    /// second, everything else is the sum of both.
    #[must_use]
    pub fn after(mut self, before: &Self) -> Self {
        self.bytes += before.bytes;
        self.wire += before.wire;
        // It counts as one operation, however many of its requests were resent.
        self.wire.resent = self.wire.resent.min(1);
        self
    }

    /// Whether the server was silent throughout, even when asked whether a write was carried out.
    pub const fn is_silence(&self) -> bool {
        use Failure::{Connect, NotReady, Reset, Timeout, Unanswered, Unreachable};
        matches!(self.result, Err(Connect | NotReady | Unreachable | Reset | Timeout | Unanswered))
            && self.wire.carried_out + self.wire.not_carried_out == 0
    }
}

/// An operation as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentAs {
    /// The request without its headers, which may have a password.
    pub request: Vec<u8>,
    /// The status of its answer, if there is one.
    pub status: Option<u16>,
}

/// A configured database: everything needed to open sessions on it. Shared by all shards.
pub trait Target: Clone + Send + 'static {
    /// Whether it has operations on documents.
    const DOCUMENTS: bool = true;
    /// Whether it has a list of requests.
    const LISTED: bool = false;

    /// The database as seen by the sessions of one shard.
    type Shard: Shard;

    /// Opens it for the sessions of one shard, inside that shard's runtime, where a client library
    /// can spawn tasks of its own.
    ///
    /// # Errors
    /// Fails if the shard cannot be served.
    fn shard(&self, context: Rc<ShardContext>) -> impl Future<Output = io::Result<Self::Shard>>;

    /// Asks for the size of the database, on a separate connection.
    fn size(&self) -> impl Future<Output = Option<Size>> {
        async { None }
    }

    /// Asks on new connections whether the server is there: any answer will do. `None` if the
    /// driver cannot ask.
    ///
    /// # Errors
    /// Fails if there was no answer within `timeout_ns`.
    fn answers(&self, _timeout_ns: Nanos) -> impl Future<Output = Option<Result<(), Failure>>> {
        async { self.size().await.map(|_| Ok(())) }
    }

    /// The exact number of documents in the database, requested on a separate connection; `None` if
    /// it is unknown, or includes documents outside this database.
    fn documents(&self) -> impl Future<Output = Option<u64>> {
        async { None }
    }

    /// The writes without an answer that its sessions ask the server about now; none if they do not
    /// ask.
    fn unsettled(&self) -> UnsettledWrites {
        UnsettledWrites::default()
    }

    /// Connections for probes, one per node; none if the driver has no probes. The names of
    /// everything they store begin with `mark`.
    fn probers(&self, _mark: &str) -> Vec<impl Prober> {
        Vec::<std::convert::Infallible>::new()
    }

    /// Connections that follow changes, as many as the plan wants; none if the driver has no feed
    /// of changes.
    fn followers(&self, _plan: &FollowPlan) -> Vec<impl Follower> {
        Vec::<std::convert::Infallible>::new()
    }

    /// Connections that ask the servers about themselves, one for each node; none if they say
    /// nothing about themselves.
    fn monitors(&self) -> Vec<Box<dyn Monitor>> {
        Vec::new()
    }

    /// A connection with which the database is replicated from or to; `None` if the driver's
    /// servers do not replicate single databases, or not when asked.
    fn replicator(&self) -> Option<Box<dyn Replicator>> {
        None
    }

    /// Keeps the server from compacting the database by itself, until [`Target::tear_down`].
    ///
    /// # Errors
    /// Fails if the server refuses.
    fn hold_compaction(&self) -> impl Future<Output = Result<(), TargetError>> {
        async { Ok(()) }
    }

    /// Asks the server to compact the database.
    ///
    /// # Errors
    /// Fails if the server refuses.
    fn begin_compaction(&self) -> impl Future<Output = Result<(), TargetError>> {
        async { Ok(()) }
    }

    /// Whether the server is compacting the database; `None` if it does not answer.
    fn is_compacting(&self) -> impl Future<Output = Option<bool>> {
        async { Some(false) }
    }

    /// Removes what was created on opening, unless the plan keeps it. Returns whether it did.
    ///
    /// # Errors
    /// Fails if it could not be removed.
    fn tear_down(&self) -> impl Future<Output = Result<bool, TargetError>> {
        async { Ok(false) }
    }
}

/// A database as used by one shard.
pub trait Shard {
    /// One connection to it.
    type Session: Session + 'static;

    /// A session that is not yet connected.
    fn session(&self) -> Self::Session;

    /// The session for this connection of the run. If there are several nodes, the number
    /// determines the node it belongs to.
    fn session_of(&self, _connection: usize) -> Self::Session {
        self.session()
    }

    /// The history of each node while the shard was at work, if there are several.
    fn nodes(&self) -> Vec<NodeLog> {
        Vec::new()
    }
}

/// The basis for sessions when a driver needs no shard type of its own.
#[derive(Clone, Debug)]
pub struct ShardOf<T> {
    /// The database.
    pub target: T,
    /// State shared by the sessions of the shard.
    pub context: Rc<ShardContext>,
}

/// One connection to a database, with at most one operation in flight.
pub trait Session {
    /// The pen with which operations are written.
    type Pen: Pen;

    /// A pen for this connection.
    fn pen(&self) -> Self::Pen;

    /// The number of the node that the last operation was sent to, if there are several.
    fn node(&self) -> Option<usize> {
        None
    }

    /// The numbers of the nodes that the documents of the last operation were sent to, if each went
    /// to one of several; `None` for one that was not sent.
    fn row_nodes(&self) -> &[Option<usize>] {
        &[]
    }

    /// Connects if there is no connection, after the pause that earlier failures call for, and
    /// returns when it began to connect. A failure shows in the next operation.
    fn ready(&mut self) -> impl Future<Output = Option<Nanos>>;

    /// Whether it is connected, as far as that is known before an operation.
    fn is_open(&self) -> bool {
        true
    }

    /// Encodes as much as possible of what was written with `pen`, before `op` is due.
    fn prepare(&mut self, _op: &Op, _pen: &mut Self::Pen) {}

    /// Whether `op` is always a single request, whatever the answer. If another request depends on
    /// an answer, that answer must be read as soon as it arrives.
    fn is_one_request(&self, _op: &Op) -> bool {
        true
    }

    /// Executes `op`, which was prepared with `pen`, and sets the marks of `probe`.
    fn execute(
        &mut self,
        op: &Op,
        pen: &mut Self::Pen,
        probe: &mut Probe,
    ) -> impl Future<Output = Outcome>;

    /// After an operation that failed with [`Failure::Unanswered`]: the reply it would have had, if
    /// the driver has found out that it was carried out.
    fn settled(&self) -> Option<Reply> {
        None
    }

    /// The name of the database that has the document with this key, if the load is on many. Called
    /// rarely, so it may be slow.
    fn place_of(&self, _key: Key) -> Option<String> {
        None
    }

    /// What the last answer contained in addition to the [`Reply`].
    fn answered(&self) -> Answered<'_> {
        Answered::default()
    }

    /// The documents of the last scan, in JSON; `None` if the driver does not keep them. Called
    /// rarely, so it may be slow.
    fn scanned(&self) -> Option<Vec<&[u8]>> {
        None
    }

    /// What the server said about the last operation, or one of its documents, that failed this
    /// way. Called rarely, so it may be slow.
    fn reason(&self, _failure: Failure) -> Option<Reason> {
        None
    }

    /// The last plan-defined operation as it was sent, for display; `None` if the driver cannot
    /// tell.
    fn shown(&self, _pen: &Self::Pen) -> Option<SentAs> {
        None
    }

    /// The HTTP status of each answer to the last operation, if the driver provides them.
    fn statuses(&self) -> &[u16] {
        &[]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_steps_of_an_operation_add_up_and_are_sent_again_once() {
        let wire = Wire { resent: 1, carried_out: 2, requests: Some(3), ..Wire::default() };
        let bytes = BodyBytes { sent: 4, received: 5 };
        let first = Outcome { bytes, wire, ..Outcome::of(Err(Failure::Conflict)) };
        let both = Outcome { result: Ok(Reply::default()), ..first }.after(&first);
        assert_eq!(both.result, Ok(Reply::default()));
        assert_eq!(both.bytes, BodyBytes { sent: 8, received: 10 });
        assert_eq!(both.wire, Wire { carried_out: 4, requests: Some(6), ..wire });
    }

    #[test]
    fn a_server_that_tells_what_became_of_a_write_is_there() {
        let silence = |result, carried_out, not_carried_out| {
            let wire = Wire { carried_out, not_carried_out, ..Wire::default() };
            Outcome { wire, ..Outcome::of(result) }.is_silence()
        };
        for class in Failure::ALL {
            use Failure::{Connect, NotReady, Reset, Timeout, Unanswered, Unreachable};
            let silent =
                matches!(class, Connect | NotReady | Unreachable | Reset | Timeout | Unanswered);
            assert_eq!(silence(Err(class), 0, 0), silent, "{class}");
        }
        assert!(!silence(Ok(Reply::default()), 0, 0));
        assert!(!silence(Err(Failure::Unanswered), 1, 0));
        assert!(!silence(Err(Failure::Unanswered), 0, 1));
    }
}
