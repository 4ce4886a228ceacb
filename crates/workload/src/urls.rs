//! Requests from a list: each user goes through it in order, or picks entries at random.
//!
//! The workload knows the values of each request; the driver knows everything else, by the number
//! of the entry.

use super::budget::share;
use super::{
    Check, Demand, Due, LaneContext, Lanes, Next, Offer, Purpose, Restored, RunAsked, Runner,
    StageWork, Step, Stock, Traits, UrlEntry, Workload,
};
use crate::generate::{Stream, below, mix};
use crate::mistake::Invalid;
use crate::op::{Answered, Failure, Op, OpKind, Part, Pen, Reply, Saved};
use crate::schema::{Documents, Ids};
use crate::values::Draw;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Separates the stream of requests from other uses of the same seed.
const REQUESTS: u64 = u64::from_be_bytes(*b"requests");

/// The order in which a user makes the requests of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UrlOrder {
    /// In order, repeatedly; each user begins at a different entry.
    Sequential,
    /// Random, all equally likely.
    Random,
    /// In order; each user begins with the first entry.
    Once,
}

impl UrlOrder {
    /// Where user `k` of `users` begins in a list of `length` entries.
    ///
    /// Sequential order works as in siege 4.0.7: user `k` begins at `k` times (length / users,
    /// rounded down).
    fn start(self, length: u64, k: u64, users: u64) -> u64 {
        match self {
            Self::Random | Self::Once => 0,
            Self::Sequential => k * (length / users) % length,
        }
    }
}

/// Requests from a URL list, as planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UrlsPlan {
    /// Total number of requests; `None` to run until time is up.
    pub operations: Option<u64>,
    /// The order of requests.
    pub order: UrlOrder,
    /// The kinds of requests, if some have a name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<OpKind>,
}

/// A request for a stage that sends a list of requests.
#[derive(Clone, Debug)]
pub struct UrlsDemand {
    /// Total number of requests; `None` to run until time is up.
    pub operations: Option<u64>,
    /// The order of requests.
    pub order: UrlOrder,
    /// The kinds of requests, if some have a name.
    pub kinds: Vec<OpKind>,
    /// The warm-up before they are measured, in nanoseconds.
    pub warmup_ns: u64,
}

impl Demand for UrlsDemand {
    fn check(&self, _: &Ids, _: &mut Vec<Invalid>) {}

    fn steps(&self) -> Vec<Step> {
        let step = |name: &str, purpose, operations, timing| {
            let kinds = self.kinds.clone();
            let work = UrlsPlan { operations, order: self.order, kinds }.into();
            Step { name: name.to_owned(), purpose, work, timing }
        };
        let warm_up = Due::AskedFor(self.warmup_ns);
        let warm_up = step("warm_up", Purpose::WarmUp, None, warm_up);
        let main = step("urls", Purpose::Main, self.operations, Due::Asked);
        if self.warmup_ns > 0 { vec![warm_up, main] } else { vec![main] }
    }
}

impl Offer for UrlsPlan {
    const NAMES: &'static [(&'static str, &'static str)] =
        &[("urls", "A list of requests: use springload http")];

    fn demand(_: &str, _: &RunAsked) -> Result<Arc<dyn Demand>, Invalid> {
        let problem = "it needs a list of requests, which run cannot read";
        Err(Invalid::new("--workload", problem, "use springload http"))
    }
}

impl StageWork for UrlsPlan {
    fn check_again(&self, restored: &Restored<'_>, mistakes: &mut Vec<Invalid>) {
        if restored.requests == 0 {
            let cure = "make the plan again, from its command line";
            mistakes.push(Invalid::new("workload", "the plan has no list of requests", cure));
        }
        if self.operations == Some(0) {
            let cure = "give at least 1, or leave it out";
            mistakes.push(Invalid::new("operations", "there is nothing to do", cure));
        }
    }

    fn does(&self, kind: OpKind) -> bool {
        if self.kinds.is_empty() { kind == OpKind::Request } else { self.kinds.contains(&kind) }
    }

    fn operations(&self, k: usize, connections: usize) -> Option<u64> {
        self.operations.map(|all| share(all, k, connections))
    }

    fn describe(&self, _: &dyn Fn(u64) -> String) -> Vec<String> {
        let mut parts: Vec<_> =
            self.operations.map(|all| format!("operations {all}")).into_iter().collect();
        let order = match self.order {
            UrlOrder::Sequential => "sequential",
            UrlOrder::Random => "random",
            UrlOrder::Once => "once",
        };
        parts.push(format!("order {order}"));
        parts.push("workload urls".to_owned());
        parts
    }

    fn traits(&self) -> Traits {
        Traits { grows: self.order != UrlOrder::Once, ..Traits::default() }
    }

    /// Users that go through the list only once do so on their own, even in an open loop.
    fn own_operations(&self, k: usize, cx: &LaneContext) -> Option<u64> {
        let is_own = cx.sharing.is_none() || self.order == UrlOrder::Once;
        if is_own { self.operations(k, cx.connections) } else { None }
    }
}

impl Lanes for UrlsPlan {
    fn carry_out<R: Runner>(
        &self,
        cx: &LaneContext,
        stock: &mut Stock,
        runner: R,
    ) -> Result<R::Output, R::Error> {
        let mut users = stock.kept::<Urls>();
        if users.is_empty() {
            let (first, documents) = (cx.connections, cx.documents.clone());
            let list = Arc::new(UrlList::new(cx.entries.clone(), self.order, documents));
            // The users of a thread share a numbering of their requests, however many users there
            // will be.
            let shards = cx.sharing.filter(|_| cx.spare > 0).unwrap_or(0);
            let of_shard = |shard| Counters::new((shard as u64, shards as u64), &list);
            let numbers: Vec<_> = (0..shards).map(of_shard).map(Arc::new).collect();
            let make = |k: usize| {
                let user = (k as u64, first as u64);
                let numbers = match numbers.get(k % shards.max(1)) {
                    Some(shared) => Numbers::Shared(shared.clone()),
                    None => Numbers::Own(Counters::new(user, &list)),
                };
                Urls::new(list.clone(), user, numbers, cx.seed)
            };
            users = (0..first + cx.spare).map(make).collect();
        }
        let ready = |(k, user): (usize, Urls)| user.with_left(self.own_operations(k, cx));
        let lanes = users.into_iter().enumerate().map(ready).collect();
        let (output, lanes) = runner.run(lanes)?;
        stock.keep(lanes);
        Ok(output)
    }
}

/// The entries, and the start of each sequence or single request.
#[derive(Debug)]
struct UrlList {
    entries: Arc<[UrlEntry]>,
    order: UrlOrder,
    documents: Arc<Documents>,
    starts: Vec<usize>,
    /// How often there are values for each of these, if limited.
    rows: Vec<Option<u64>>,
    /// Whether it matters how often each was begun: some have values.
    counted: bool,
}

impl UrlList {
    fn new(entries: Arc<[UrlEntry]>, order: UrlOrder, documents: Arc<Documents>) -> Self {
        let (mut starts, mut rows) = (Vec::new(), Vec::new());
        for (place, entry) in entries.iter().enumerate() {
            if !entry.follows || starts.is_empty() {
                starts.push(place);
                rows.push(None);
            }
            let limits = entry.values.iter().filter_map(|value| value.rows());
            if let Some(last) = rows.last_mut() {
                *last = last.iter().copied().chain(limits).min();
            }
        }
        let counted = entries.iter().any(|entry| !entry.values.is_empty());
        Self { entries, order, documents, starts, rows, counted }
    }

    /// The part of a sequence that an entry is.
    fn part(&self, place: usize) -> Part {
        let follows = |place: usize| self.entries.get(place).is_some_and(|it| it.follows);
        match (follows(place), follows(place + 1)) {
            (false, false) => Part::Whole,
            (false, true) => Part::First,
            (true, true) => Part::Middle,
            (true, false) => Part::Last,
        }
    }
}

/// Numbers the requests of one user, or of all users of one thread together.
#[derive(Debug)]
enum Numbers {
    Own(Counters),
    Shared(Arc<Counters>),
}

#[derive(Debug)]
struct Counters {
    /// The number of this group of users, and the number of groups.
    group: (u64, u64),
    requests: AtomicU64,
    /// How often each sequence or single request was begun; empty if that does not matter, since
    /// for a long list these counters would take most of the memory.
    begun: Box<[AtomicU64]>,
}

impl Numbers {
    fn counters(&self) -> &Counters {
        match self {
            Self::Own(counters) => counters,
            Self::Shared(counters) => counters,
        }
    }
}

impl Counters {
    fn new(group: (u64, u64), list: &UrlList) -> Self {
        let counted = if list.counted { list.starts.len() } else { 0 };
        let begun = (0..counted).map(|_| AtomicU64::new(0)).collect();
        Self { group, requests: AtomicU64::new(0), begun }
    }

    /// The next number, which no other group takes. Only one thread counts.
    fn next(&self, counter: &AtomicU64) -> u64 {
        let count = counter.load(Ordering::Relaxed);
        counter.store(count + 1, Ordering::Relaxed);
        let (group, groups) = self.group;
        group + count * groups
    }

    /// The number of the next request, from 1.
    fn request(&self) -> u64 {
        1 + self.next(&self.requests)
    }

    /// How often the sequence or request at this index was begun before, over all users.
    fn turn(&self, place: usize) -> u64 {
        self.begun.get(place).map_or(0, |counter| self.next(counter))
    }
}

/// The requests of one user.
#[derive(Debug)]
pub struct Urls {
    list: Arc<UrlList>,
    seed: u64,
    start: u64,
    /// Sequences and single requests begun so far.
    begun: u64,
    /// Requests made so far.
    made: u64,
    left: Option<u64>,
    numbers: Numbers,
    /// The entry that continues the sequence in progress.
    under_way: Option<usize>,
    /// How often this sequence or request was begun before, over all users.
    turn: u64,
    /// The values saved by the steps of the sequence.
    saved: BTreeMap<String, Saved>,
    scratch: Vec<u8>,
}

impl Urls {
    /// The requests of user `user.0` of `user.1`, without limit. The list must not be empty.
    fn new(list: Arc<UrlList>, user: (u64, u64), numbers: Numbers, seed: u64) -> Self {
        // Users that are added later begin where others did.
        let start = list.order.start(list.starts.len() as u64, user.0 % user.1.max(1), user.1);
        Self {
            list,
            seed: mix(seed, REQUESTS, user.0),
            start,
            begun: 0,
            made: 0,
            left: None,
            numbers,
            under_way: None,
            turn: 0,
            saved: BTreeMap::new(),
            scratch: Vec::new(),
        }
    }

    /// A user that has the list to itself.
    pub fn alone(entries: Arc<[UrlEntry]>, seed: u64, documents: Arc<Documents>) -> Self {
        let list = Arc::new(UrlList::new(entries, UrlOrder::Sequential, documents));
        let user = (0, 1);
        let numbers = Numbers::Own(Counters::new(user, &list));
        Self::new(list, user, numbers, seed)
    }

    /// The same user, with another number of requests left to make.
    fn with_left(self, left: Option<u64>) -> Self {
        // The first step of a sequence may have been prepared, but was not sent.
        Self { left, under_way: None, ..self }
    }

    /// The index of the next entry: a further step of the sequence in progress, or one that begins
    /// something; `None` if there is nothing left to do.
    fn choose(&mut self, stream: &mut Stream) -> Option<usize> {
        if let Some(place) = self.under_way {
            return Some(place);
        }
        if self.left == Some(0) {
            return None;
        }
        let length = self.list.starts.len() as u64;
        let first = match self.list.order {
            UrlOrder::Random => below(stream.draw(), length),
            UrlOrder::Sequential | UrlOrder::Once => self.start + self.begun,
        };
        // Entries that have no values left are skipped.
        for (place, passed) in (first..first + length).zip(0..) {
            let place = (place % length) as usize;
            self.turn = self.numbers.counters().turn(place);
            if self.list.rows[place].is_none_or(|rows| self.turn < rows) {
                self.begun += 1 + passed;
                self.left = self.left.map(|left| left - 1);
                self.saved.clear();
                return Some(self.list.starts[place]);
            }
        }
        None
    }
}

impl Workload for Urls {
    const LISTED: bool = true;

    fn next<P: Pen>(&mut self, pen: &mut P) -> Next {
        let mut stream = Stream::new(mix(self.seed, self.made, 0), 0);
        let Some(place) = self.choose(&mut stream) else { return Next::End };
        self.made += 1;
        // Unique among users, and independent of the number of threads.
        let number = self.numbers.counters().request();
        let entry = &self.list.entries[place];
        pen.entry(place);
        for value in &entry.values {
            let mut draw = Draw {
                documents: &self.list.documents,
                stored: &[],
                stream: &mut stream,
                number,
                turn: self.turn,
                earlier: 0,
                saved: &self.saved,
                scratch: &mut self.scratch,
            };
            pen.value(|out| value.write(&mut draw, out));
        }
        if let Some(documents) = &entry.documents {
            pen.document(None, documents.document(number, 0));
        }
        let (part, single) = (self.list.part(place), Op::single(entry.kind, place as u64, None));
        self.under_way = (part != Part::Whole).then_some(place);
        Next::Op(Op { part, whole: entry.sequence.unwrap_or(single.whole), ..single })
    }

    fn observe(
        &mut self,
        op: &Op,
        result: Result<Reply, Failure>,
        answered: &Answered<'_>,
    ) -> Check {
        if let Some(place) = self.under_way {
            let saves = self.list.entries[place].saves.iter().cloned();
            self.saved.extend(saves.zip(answered.saved.iter().cloned()));
            self.under_way = (!op.ends_whole(result.is_err())).then_some(place + 1);
        }
        Check::Unchecked
    }
}

#[cfg(test)]
#[path = "urls_tests.rs"]
mod tests;
