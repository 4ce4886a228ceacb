//! Fills a database: each connection inserts its own range of keys, batch by batch.

use super::demand::{MOST_BATCH, MOST_DOCUMENTS};
use super::live::{Live, LiveEntry};
use super::{
    Check, Demand, DocumentsAsked, Due, Fill, LaneContext, Lanes, Next, Offer, Purpose, Restored,
    RunAsked, Runner, StageWork, Step, Stock, Traits, Workload, WorkloadPlan,
};
use crate::mistake::{Flagged, Invalid};
use crate::op::{Answered, Failure, Key, Op, OpKind, Pen, Reply};
use crate::schema::{Documents, Ids};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// No fill takes longer than a year.
const MOST_WITHIN_NS: u64 = 366 * 86_400 * 1_000_000_000;
/// The most documents for which memory is reserved in advance.
const MOST_AHEAD: u64 = 10_000_000;

/// A fill, as planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BulkInsertPlan {
    /// Total number of documents; the maximum, if the time is limited.
    pub documents: u64,
    /// Documents per request.
    pub batch: u32,
    /// The time limit, in nanoseconds: no request is started that would end later, judging by those
    /// before it. `None` for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub within_ns: Option<u64>,
}

impl BulkInsertPlan {
    /// The range of keys that connection `k` of `connections` inserts. Whole requests are
    /// distributed, so that only the very last one may have fewer documents; if the number of
    /// requests is not divisible, the first connections get one more.
    pub fn keys(&self, k: usize, connections: usize) -> Range<u64> {
        let (k, connections, batch) = (k as u64, connections as u64, u64::from(self.batch.max(1)));
        let requests = self.documents.div_ceil(batch);
        let (each, more) = (requests / connections, requests % connections);
        let first = k * each + k.min(more);
        let after = first + each + u64::from(k < more);
        (first * batch).min(self.documents)..(after * batch).min(self.documents)
    }
}

impl DocumentsAsked {
    pub(super) fn fill(&self) -> BulkInsertPlan {
        let batch = self.batch.value.clamp(1, MOST_BATCH) as u32;
        // A fill that is the whole measurement has a fixed number of documents.
        let within_ns = self.within_ns.filter(|_| self.operations.value != Some(0));
        BulkInsertPlan { documents: self.documents.value, batch, within_ns }
    }

    /// The fill, the warm-up and the main stage, if requested. `work` plans a given number of
    /// operations; `name` is the name of the main stage.
    pub(super) fn steps(
        &self,
        name: &str,
        work: impl Fn(Option<u64>) -> WorkloadPlan,
    ) -> Vec<Step> {
        let step = |name: &str, purpose, work, timing| {
            let name = name.to_owned();
            Step { name, purpose, work, timing }
        };
        let mut steps = Vec::new();
        if self.documents.value > 0 {
            steps.push(step("bulk_insert", Purpose::Fill, self.fill().into(), Due::Free));
        }
        if self.operations.value == Some(0) {
            return steps;
        }
        if self.warmup_ns > 0 {
            let timing = Due::AskedFor(self.warmup_ns);
            steps.push(step("warm_up", Purpose::WarmUp, work(None), timing));
        }
        steps.push(step(name, Purpose::Main, work(self.operations.value), Due::Asked));
        steps
    }
}

/// A request for a fill only.
#[derive(Clone, Copy, Debug)]
pub struct FillDemand(pub DocumentsAsked);

impl Demand for FillDemand {
    fn check(&self, _: &Ids, mistakes: &mut Vec<Invalid>) {
        self.0.check(mistakes);
    }

    fn steps(&self) -> Vec<Step> {
        let operations = self.0.operations.map(|_| Some(0));
        DocumentsAsked { operations, ..self.0 }.steps("", |_| self.0.fill().into())
    }
}

/// A placeholder for an invalid workload whose mistake has been reported.
pub fn nothing(asked: &RunAsked) -> Arc<dyn Demand> {
    Arc::new(FillDemand(asked.documents))
}

impl Offer for BulkInsertPlan {
    const NAMES: &'static [(&'static str, &'static str)] = &[("bulk-insert", "Only the fill")];

    fn demand(_: &str, asked: &RunAsked) -> Result<Arc<dyn Demand>, Invalid> {
        let others = [
            "--ops",
            "--duration",
            "--warmup",
            "--mix",
            "--rate",
            "--stages",
            "--think",
            "--verify",
        ];
        asked.refuse(&others, "it applies only to operations after a fill")?;
        let operations = asked.documents.operations.map(|_| Some(0));
        Ok(Arc::new(FillDemand(DocumentsAsked { operations, ..asked.documents })))
    }
}

impl StageWork for BulkInsertPlan {
    fn does(&self, kind: OpKind) -> bool {
        matches!(kind, OpKind::BulkInsert)
    }

    fn check_again(&self, _: &Restored<'_>, mistakes: &mut Vec<Invalid>) {
        let documents = Flagged::new("documents", self.documents);
        mistakes.extend(documents.out_of_range(1, MOST_DOCUMENTS));
        mistakes.extend(Flagged::new("batch", u64::from(self.batch)).out_of_range(1, MOST_BATCH));
        let within = Flagged::new("within_ns", self.within_ns.unwrap_or(1));
        mistakes.extend(within.out_of_range(1, MOST_WITHIN_NS));
    }

    fn operations(&self, k: usize, connections: usize) -> Option<u64> {
        if self.within_ns.is_some() {
            return None;
        }
        let keys = self.keys(k, connections);
        Some((keys.end - keys.start).div_ceil(u64::from(self.batch.max(1))))
    }

    fn describe(&self, count: &dyn Fn(u64) -> String) -> Vec<String> {
        let (documents, batch) = (count(self.documents), count(self.batch.into()));
        vec![match self.within_ns {
            Some(ns) => {
                let seconds = ns as f64 / 1e9;
                format!("up to {documents} in {seconds} s, in batches of up to {batch}")
            }
            None => format!("{documents} in batches of {batch}"),
        }]
    }

    fn traits(&self) -> Traits {
        let Self { documents, batch, within_ns } = *self;
        let fill = Fill { documents, batch, within_ns };
        Traits { fill: Some(fill), is_auditable: true, ..Traits::default() }
    }
}

impl Lanes for BulkInsertPlan {
    fn carry_out<R: Runner>(
        &self,
        cx: &LaneContext,
        stock: &mut Stock,
        runner: R,
    ) -> Result<R::Output, R::Error> {
        let answered = Arc::<AtomicU64>::default();
        let make = |k| {
            let keys = self.keys(k, cx.connections);
            let fill = BulkInsert::new(cx.documents.clone(), keys, self.batch);
            let fill = if self.within_ns.is_some() { fill.growing() } else { fill };
            if cx.persists { fill.persisting(answered.clone()) } else { fill }
        };
        let (output, lanes) = runner.run((0..cx.connections).map(make).collect())?;
        let live = lanes.into_iter().map(|lane| lane.into_live());
        stock.filled(self.documents, live.collect());
        Ok(output)
    }
}

/// The bulk inserts of one connection.
#[derive(Debug)]
pub struct BulkInsert {
    documents: Arc<Documents>,
    keys: Range<Key>,
    batch: u32,
    /// The most documents in the next request, while requests grow.
    size: u32,
    persistence: Option<Persistence>,
    live: Live,
}

/// Tracks how often a batch was sent in vain.
#[derive(Debug)]
struct Persistence {
    /// The number of batches, over all connections, that were answered.
    answered: Arc<AtomicU64>,
    /// That number when this connection's batch last got no answer.
    before: u64,
    /// How often it got no answer while others were answered.
    vain: u32,
}

/// How often a batch may get no answer while others are answered. After that, the reason is not
/// that the server is away.
const MOST_VAIN: u32 = 10;

impl Persistence {
    /// Notes that the batch got no answer; `sent` if there was a connection. Returns whether to
    /// send it again.
    fn goes_on(&mut self, sent: bool) -> bool {
        let now = self.answered.load(Ordering::Relaxed);
        self.vain += u32::from(sent && now > self.before);
        self.before = now;
        if self.vain < MOST_VAIN {
            return true;
        }
        self.vain = 0;
        false
    }

    fn answered(&mut self) {
        self.vain = 0;
        self.before = self.answered.fetch_add(1, Ordering::Relaxed) + 1;
    }
}

impl BulkInsert {
    /// Inserts the documents `keys`, `batch` (at least 1) in a request.
    pub fn new(documents: Arc<Documents>, keys: Range<Key>, batch: u32) -> Self {
        let live = Live::with_capacity((keys.end - keys.start).min(MOST_AHEAD) as usize);
        Self { documents, keys, batch, size: batch, persistence: None, live }
    }

    /// Makes the first request have one document. Each request that is answered lets the next have
    /// twice as many, up to a batch: this way, the duration of requests is known before much
    /// depends on it.
    pub fn growing(mut self) -> Self {
        self.size = 1;
        self
    }

    /// Resends a batch until it is answered, the stage ends, or only this batch remains without an
    /// answer. `answered` counts the answered batches of all connections.
    pub fn persisting(mut self, answered: Arc<AtomicU64>) -> Self {
        self.persistence = Some(Persistence { answered, before: 0, vain: 0 });
        self
    }

    /// The documents that are now in the database.
    pub fn into_live(self) -> Live {
        self.live
    }
}

impl Workload for BulkInsert {
    fn next<P: Pen>(&mut self, pen: &mut P) -> Next {
        let first = self.keys.start;
        let mut count = (self.keys.end - first).min(Key::from(self.batch));
        if self.size < self.batch {
            // Never from two batches: these may belong to different databases.
            let batch = Key::from(self.batch);
            count = count.min(Key::from(self.size)).min(batch - first % batch);
        }
        if count == 0 {
            return Next::End;
        }
        self.keys.start += count;
        for key in first..first + count {
            self.documents.write_id(key, pen.name());
            pen.document(None, self.documents.document(key, 0));
        }
        let documents = count as u32;
        let op = Op::single(OpKind::BulkInsert, first, None);
        Next::Op(Op { documents, settle: self.persistence.is_some(), ..op })
    }

    fn observe(
        &mut self,
        op: &Op,
        result: Result<Reply, Failure>,
        answered: &Answered<'_>,
    ) -> Check {
        if let Err(failure) = result {
            let lost = matches!(failure, Failure::Timeout | Failure::Reset | Failure::Unanswered);
            let unanswered = lost || failure.unconnected();
            let persistence = self.persistence.as_mut().filter(|_| unanswered);
            if persistence.is_some_and(|it| it.goes_on(lost)) {
                self.keys.start = op.key;
            }
            return Check::Unchecked;
        }
        self.size = self.size.saturating_mul(2).min(self.batch);
        if let Some(persistence) = &mut self.persistence {
            persistence.answered();
        }
        for (key, row) in (op.key..).zip(answered.rows) {
            if let Ok(token) = row {
                self.live.add(LiveEntry::new(key, 0, Some(*token)));
            }
        }
        Check::Unchecked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Draft;
    use crate::schema::{DEFAULT, Template};
    use proptest::prelude::*;

    /// Sends the next batch, which has this outcome; returns its first document.
    fn send(fill: &mut BulkInsert, failure: Option<Failure>) -> Key {
        let Next::Op(op) = fill.next(&mut Draft::default()) else { panic!("there are more") };
        let result = failure.map_or(Ok(Reply::default()), Err);
        fill.observe(&op, result, &Answered::default());
        op.key
    }

    #[test]
    fn a_batch_that_alone_gets_no_answer_is_left_after_a_few_tries() {
        let answered = Arc::<AtomicU64>::default();
        let fill = |keys| {
            let template = Template::parse(DEFAULT).unwrap();
            let documents = Arc::new(Documents::new(1, vec![(template, 1)]));
            BulkInsert::new(documents, keys, 1).persisting(answered.clone())
        };
        let (mut poisoned, mut fine) = (fill(0..9), fill(100..1_000));
        // The server is away for all connections, so the batch waits for it.
        for _ in 0..200 {
            assert_eq!(send(&mut poisoned, Some(Failure::Timeout)), 0);
        }
        // It is back, but not yet on this connection.
        for failure in [Failure::Connect, Failure::NotReady].repeat(50) {
            send(&mut fine, None);
            assert_eq!(send(&mut poisoned, Some(failure)), 0);
        }
        for failure in [Failure::Unanswered, Failure::Reset].repeat(MOST_VAIN as usize / 2) {
            send(&mut fine, None);
            assert_eq!(send(&mut poisoned, Some(failure)), 0);
        }
        // The next batch gets as many tries.
        for _ in 1..MOST_VAIN {
            send(&mut fine, None);
            assert_eq!(send(&mut poisoned, Some(Failure::Unanswered)), 1);
        }
        send(&mut poisoned, None);
        for _ in 0..MOST_VAIN {
            send(&mut fine, None);
            assert_eq!(send(&mut poisoned, Some(Failure::Unanswered)), 2);
        }
        assert_eq!(send(&mut poisoned, None), 3);
    }

    #[test]
    fn requests_grow_to_a_batch_and_each_is_of_one_batch() {
        let template = Template::parse(DEFAULT).unwrap();
        let documents = Arc::new(Documents::new(1, vec![(template, 1)]));
        let mut fill = BulkInsert::new(documents, 200..600, 100).growing();
        let mut sizes = Vec::new();
        let mut next = 200;
        while let Next::Op(op) = fill.next(&mut Draft::default()) {
            let last = op.key + u64::from(op.documents) - 1;
            assert_eq!((op.key, op.key / 100), (next, last / 100), "{sizes:?}");
            // A failed request does not let the next one grow.
            let result =
                if sizes.len() == 2 { Err(Failure::Timeout) } else { Ok(Reply::default()) };
            fill.observe(&op, result, &Answered::default());
            sizes.push(op.documents);
            next = last + 1;
        }
        assert_eq!(next, 600);
        assert_eq!(sizes, [1, 2, 4, 4, 8, 16, 32, 33, 100, 100, 100]);
    }

    proptest! {
        #[test]
        fn connections_share_out_documents(documents in 0u64..10_000, connections in 1usize..70) {
            let bulk = BulkInsertPlan { documents, batch: 10, within_ns: None };
            let mut next = 0;
            for k in 0..connections {
                let keys = bulk.keys(k, connections);
                prop_assert_eq!(keys.start, next);
                prop_assert!(keys.end == documents || (keys.end - keys.start).is_multiple_of(10));
                next = keys.end;
            }
            prop_assert_eq!(next, documents);
        }
    }
}
