//! Requests from a list: each user goes through it in order, or picks entries at random.
//!
//! The workload knows targets and bodies; the driver knows methods and hosts, by the number of the
//! entry.

use super::budget::share;
use super::{
    Check, Demand, Due, LaneContext, Lanes, Next, Offer, Purpose, Restored, RunAsked, Runner,
    StageWork, Step, Stock, Traits, Workload,
};
use crate::generate::{Stream, below, mix};
use crate::mistake::Invalid;
use crate::op::{Answered, Failure, Fields, Op, OpKind, Pen, Reply};
use crate::schema::{Documents, Ids};
use crate::schema::{Pattern, Values};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Keeps the stream of requests apart from other uses of the same seed.
const REQUESTS: u64 = u64::from_be_bytes(*b"requests");

/// The order in which a user makes the requests of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UrlOrder {
    /// In order, repeatedly; each user begins at a different entry.
    Sequential,
    /// At random, all equally likely.
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

/// Requests of the list, as planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UrlsPlan {
    /// Total number of requests; `None`: until time is up.
    pub operations: Option<u64>,
    /// Their order.
    pub order: UrlOrder,
    /// The kinds of requests, if some have a name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<OpKind>,
}

/// A request for a list of requests.
#[derive(Clone, Debug)]
pub struct UrlsDemand {
    /// Total number of requests; `None`: until time is up.
    pub operations: Option<u64>,
    /// Their order.
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

    /// Whoever goes through the list once does so alone, in an open loop, too.
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
            let first = cx.connections;
            // The users of a thread number their requests together, however many there will be.
            let shards = cx.sharing.filter(|_| cx.spare > 0).unwrap_or(0);
            let numbers: Vec<_> = (0..shards).map(|shard| Numbers::new((shard, shards))).collect();
            let make = |k: usize| {
                let user = (k as u64, first as u64);
                let one = Urls::new(cx.entries.clone(), self.order, user, cx.seed, None);
                Urls { numbers: numbers.get(k % shards.max(1)).cloned(), ..one }
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

/// One entry of the list.
#[derive(Debug)]
pub struct UrlEntry {
    /// Its row in reports.
    pub kind: OpKind,
    /// Path and query.
    pub target: Pattern,
    /// The body.
    pub body: UrlBody,
}

/// The body of an entry.
#[derive(Debug)]
pub enum UrlBody {
    /// Text.
    Pattern(Pattern),
    /// A new document for each request, drawn by its number.
    Documents(Arc<Documents>),
}

/// Numbers for the requests that the users of one thread make together.
#[derive(Clone, Debug)]
struct Numbers {
    next: Arc<AtomicU64>,
    step: u64,
}

impl Numbers {
    fn new((shard, shards): (usize, usize)) -> Self {
        Self { next: Arc::new(AtomicU64::new(1 + shard as u64)), step: shards as u64 }
    }

    fn take(&self) -> u64 {
        // Only one thread takes numbers from it.
        let number = self.next.load(Ordering::Relaxed);
        self.next.store(number + self.step, Ordering::Relaxed);
        number
    }
}

/// The requests of one user.
#[derive(Debug)]
pub struct Urls {
    entries: Arc<[UrlEntry]>,
    order: UrlOrder,
    /// The user's number, and the number of users.
    user: (u64, u64),
    seed: u64,
    start: u64,
    /// Requests made so far.
    made: u64,
    left: Option<u64>,
    /// The numbers of requests; `None` for its own numbers, which follow from the user's number.
    numbers: Option<Numbers>,
}

impl Urls {
    /// The requests of user `user.0` of `user.1`: `left` of them, or without limit. `entries` must
    /// not be empty.
    pub fn new(
        entries: Arc<[UrlEntry]>,
        order: UrlOrder,
        user: (u64, u64),
        seed: u64,
        left: Option<u64>,
    ) -> Self {
        // Users that come later begin where others did.
        let start = order.start(entries.len() as u64, user.0 % user.1.max(1), user.1);
        Self {
            entries,
            order,
            user,
            seed: mix(seed, REQUESTS, user.0),
            start,
            made: 0,
            left,
            numbers: None,
        }
    }

    /// The same user with other requests left to make.
    pub fn with_left(self, left: Option<u64>) -> Self {
        Self { left, ..self }
    }
}

/// A body as written in the list.
struct Text<'a>(&'a Pattern, &'a Values);

impl Fields for Text<'_> {
    fn write(self, _: &[u8], out: &mut Vec<u8>) {
        self.0.write(self.1, out);
    }
}

impl Workload for Urls {
    const LISTED: bool = true;

    fn next<P: Pen>(&mut self, pen: &mut P) -> Next {
        match &mut self.left {
            Some(0) => return Next::End,
            Some(left) => *left -= 1,
            None => {}
        }
        let mut stream = Stream::new(mix(self.seed, self.made, 0), 0);
        let length = self.entries.len() as u64;
        let index = match self.order {
            UrlOrder::Random => below(stream.draw(), length),
            UrlOrder::Sequential | UrlOrder::Once => (self.start + self.made) % length,
        };
        // Unique among users, and independent of the number of threads.
        let own = 1 + self.user.0 + self.made * self.user.1;
        let seq = self.numbers.as_ref().map_or(own, Numbers::take);
        let mut random = [0; 16];
        random[..8].copy_from_slice(&stream.draw().to_le_bytes());
        random[8..].copy_from_slice(&stream.draw().to_le_bytes());
        let values = Values { seq, random, int: (stream.draw() >> 33) as u32 };
        self.made += 1;
        let entry = &self.entries[index as usize];
        pen.entry(index as usize);
        entry.target.write(&values, pen.name());
        match &entry.body {
            UrlBody::Pattern(body) => pen.document(None, Text(body, &values)),
            UrlBody::Documents(documents) => pen.document(None, documents.document(seq, 0)),
        }
        Next::Op(Op::single(entry.kind, index, None))
    }

    fn observe(&mut self, _: &Op, _: Result<Reply, Failure>, _: &Answered<'_>) -> Check {
        Check::Unchecked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Draft;

    fn entries(count: usize) -> Arc<[UrlEntry]> {
        let entry = |i| UrlEntry {
            kind: OpKind::Request,
            target: Pattern::parse(format!("/{i}/{{{{seq}}}}").as_bytes()).unwrap(),
            body: UrlBody::Pattern(Pattern::parse(b"{{uuid}} {{random.int}}").unwrap()),
        };
        (0..count).map(entry).collect()
    }

    fn all(mut urls: Urls) -> Vec<(u64, Vec<u8>, Vec<u8>)> {
        let mut made = Vec::new();
        loop {
            let mut draft = Draft::default();
            let Next::Op(op) = urls.next(&mut draft) else { return made };
            assert_eq!(op.key, draft.entry as u64);
            made.push((op.key, draft.name, draft.body));
        }
    }

    fn keys(order: UrlOrder, length: usize, user: (u64, u64), left: u64) -> Vec<u64> {
        let urls = Urls::new(entries(length), order, user, 1, Some(left));
        all(urls).into_iter().map(|(key, ..)| key).collect()
    }

    #[test]
    fn users_begin_where_siege_lets_them_and_walk_on() {
        assert_eq!(keys(UrlOrder::Sequential, 10, (1, 2), 7), [5, 6, 7, 8, 9, 0, 1]);
        assert_eq!(keys(UrlOrder::Sequential, 10, (0, 2), 3), [0, 1, 2]);
        assert_eq!([0, 1, 2].map(|k| UrlOrder::Sequential.start(10, k, 3)), [0, 3, 6]);
        assert_eq!(keys(UrlOrder::Sequential, 2, (4, 5), 3), [0, 1, 0]);
    }

    #[test]
    fn once_begins_with_the_first_for_every_user() {
        for k in 0..3 {
            assert_eq!(keys(UrlOrder::Once, 10, (k, 3), 10), (0..10).collect::<Vec<_>>());
        }
    }

    #[test]
    fn users_that_come_later_begin_where_others_did_and_number_their_requests_with_them() {
        let numbers = [0, 1].map(|shard| Numbers::new((shard, 2)));
        let user = |k: u64| {
            let one = Urls::new(entries(10), UrlOrder::Sequential, (k, 4), 1, Some(3));
            Urls { numbers: Some(numbers[k as usize % 2].clone()), ..one }
        };
        let requests: Vec<_> = [0, 1, 4, 7].into_iter().map(|k| all(user(k))).collect();
        let first = |of: usize| requests[of][0].0;
        assert_eq!([0, 1, 2, 3].map(first), [0, 2, 0, 6]);
        let bodies: std::collections::HashSet<_> =
            requests.iter().flatten().map(|(_, _, body)| body).collect();
        assert_eq!(bodies.len(), 12, "each has values of its own");
        let number =
            |name: &[u8]| String::from_utf8_lossy(name).rsplit_once('/').unwrap().1.parse();
        let mut seqs: Vec<u64> =
            requests.iter().flatten().map(|(_, name, _)| number(name).unwrap()).collect();
        seqs.sort_unstable();
        assert_eq!(seqs, (1..=12).collect::<Vec<_>>());
    }

    #[test]
    fn random_picks_are_even() {
        let mut counts = [0u32; 4];
        for key in keys(UrlOrder::Random, 4, (0, 1), 40_000) {
            counts[key as usize] += 1;
        }
        // Four standard deviations of a binomial with p = 1/4: 4 * sqrt(7,500) = 346.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 346), "{counts:?}");
    }

    #[test]
    fn numbers_and_identifiers_never_repeat_and_come_again_with_the_seed() {
        let run = |user| all(Urls::new(entries(1), UrlOrder::Sequential, user, 9, Some(500)));
        let both: Vec<_> = [run((0, 2)), run((1, 2))].concat();
        let distinct = |values: Vec<&Vec<u8>>| {
            values.into_iter().collect::<std::collections::HashSet<_>>().len()
        };
        assert_eq!(distinct(both.iter().map(|(_, name, _)| name).collect()), 1000);
        assert_eq!(distinct(both.iter().map(|(.., body)| body).collect()), 1000);
        assert_eq!(run((0, 2)), run((0, 2)));
        assert_ne!(run((0, 2)), run((1, 2)));
    }
}
