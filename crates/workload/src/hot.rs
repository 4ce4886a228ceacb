//! A mix in which a few documents get most of the reads, as with a cache in front of a disk.

use super::crud::{create, draw_kind, on_stored};
use super::live::{Live, LiveEntry};
use super::mixed::{asked_again, budgets, check_mix, too_few_documents};
use super::verify::{self, Verifier};
use super::{
    Budget, Check, Demand, DocumentsAsked, FromSchemas, KeySequence, LaneContext, Lanes, Mix, Next,
    Offer, Restored, RunAsked, Runner, StageWork, Step, Stock, Traits, Workload,
};
use crate::generate::{Stream, below, mix, unit};
use crate::mistake::Invalid;
use crate::op::{Answered, Class, Failure, Finding, Op, OpKind, Pen, Reply};
use crate::schema::{Documents, Ids};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Separates the stream of operations from other uses of the same seed.
const OPERATIONS: u64 = u64::from_be_bytes(*b"hot docs");
/// One in this many documents is hot.
const ONE_IN: usize = 100;
/// The share of reads that go to hot documents.
const READS: f64 = 0.9;

/// A mix of single-document operations with hot documents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HotPlan {
    /// The relative weights of operations.
    pub mix: Mix,
    /// Total number of operations; `None` to run until time is up.
    pub operations: Option<u64>,
}

impl HotPlan {
    fn budget(&self, k: usize, connections: usize) -> Budget {
        match self.operations {
            None => Budget::Endless(self.mix),
            Some(operations) => Budget::Counted(self.mix.parts(operations, k, connections)),
        }
    }

    /// The lanes: those of the warm-up with a new budget, or new ones.
    fn lanes(&self, cx: &LaneContext, stock: &mut Stock) -> Vec<HotLane> {
        let budgets = budgets(cx, |k| self.budget(k, cx.connections));
        let warm = stock.kept::<HotLane>();
        if !warm.is_empty() {
            let renew = |(lane, budget)| HotLane { budget, ..lane };
            return warm.into_iter().zip(budgets).map(renew).collect();
        }
        let inserted = stock.inserted();
        let make = |(k, (live, budget))| {
            let k = k as u64;
            let keys = KeySequence { next: inserted + k, step: cx.connections as u64 };
            let lane = HotLane::new(cx.documents.clone(), cx.seed, k, budget, live, keys);
            HotLane { verifier: verify::verifier(&cx.documents, cx.verify), ..lane }
        };
        stock.take_live().into_iter().zip(budgets).enumerate().map(make).collect()
    }
}

impl StageWork for HotPlan {
    fn check_again(&self, restored: &Restored<'_>, mistakes: &mut Vec<Invalid>) {
        check_mix(self.mix, self.operations, mistakes);
        if mistakes.is_empty() {
            let asked = asked_again(restored.stored, self.operations);
            HotDemand { asked, mix: self.mix }.check_shares(restored.connections, mistakes);
        }
    }

    fn does(&self, kind: OpKind) -> bool {
        self.mix[kind] > 0
    }

    fn operations(&self, k: usize, connections: usize) -> Option<u64> {
        self.budget(k, connections).counted()
    }

    fn describe(&self, count: &dyn Fn(u64) -> String) -> Vec<String> {
        let mut parts = vec![self.mix.to_string()];
        parts.push("90 % of reads to the hottest 1 %".to_owned());
        parts.extend(self.operations.map(|operations| format!("{} operations", count(operations))));
        parts
    }

    fn traits(&self) -> Traits {
        Traits {
            verifies: true,
            is_auditable: true,
            why_too_few: Some(
                "a connection had nothing left to work on, after failures or deletes",
            ),
            ..Traits::default()
        }
    }
}

impl Lanes for HotPlan {
    fn carry_out<R: Runner>(
        &self,
        cx: &LaneContext,
        stock: &mut Stock,
        runner: R,
    ) -> Result<R::Output, R::Error> {
        let (output, lanes) = runner.run(self.lanes(cx, stock))?;
        stock.keep(lanes);
        Ok(output)
    }
}

/// A request for a mix with hot documents.
#[derive(Clone, Copy, Debug)]
struct HotDemand {
    asked: DocumentsAsked,
    mix: Mix,
}

impl HotDemand {
    fn plan(&self, operations: Option<u64>) -> HotPlan {
        HotPlan { mix: self.mix, operations }
    }
}

impl Demand for HotDemand {
    fn check(&self, _: &Ids, mistakes: &mut Vec<Invalid>) {
        self.asked.check(mistakes);
    }

    fn check_shares(&self, connections: usize, mistakes: &mut Vec<Invalid>) {
        let (operations, documents) = (self.asked.operations.value, self.asked.documents);
        let (plan, fill) = (self.plan(operations), self.asked.fill());
        let budget = |k| plan.budget(k, connections);
        let flag = documents.flag;
        mistakes.extend(too_few_documents(&self.asked, connections, "--mix", flag, budget));
        let each = |k| fill.keys(k, connections);
        let least = (0..connections).map(|k| each(k).end - each(k).start).min().unwrap_or(0);
        if mistakes.is_empty() && operations != Some(0) && least < ONE_IN as u64 {
            let problem = format!("1 % of the {least} documents of a connection is less than one");
            let cure = format!(
                "give {} or more, or fewer --connections",
                ONE_IN as u64 * connections as u64
            );
            mistakes.push(Invalid::new(documents.flag, problem, cure));
        }
    }

    fn steps(&self) -> Vec<Step> {
        self.asked.steps("hot", |operations| self.plan(operations).into())
    }
}

impl Offer for HotPlan {
    const NAMES: &'static [(&'static str, &'static str)] =
        &[("hot", "The same, but 1 % of the documents get 90 % of the reads")];

    fn demand(_: &str, asked: &RunAsked) -> Result<Arc<dyn Demand>, Invalid> {
        if let Some(kind) = asked.own.keys().next() {
            let problem = format!("the workload hot has no operations such as {kind}");
            return Err(Invalid::new("--mix", problem, "leave it out, or --workload"));
        }
        Ok(Arc::new(HotDemand {
            asked: asked.documents,
            mix: asked.mix.unwrap_or_else(Mix::usual),
        }))
    }
}

/// The operations of one connection on its own documents.
#[derive(Debug)]
pub struct HotLane {
    documents: Arc<Documents>,
    stream: Stream,
    budget: Budget,
    /// At least one document in a hundred.
    hot: Live,
    cold: Live,
    keys: KeySequence,
    /// Whether the current operation's document is hot, and its index.
    place: (bool, usize),
    /// Compares what is read with what was written, if requested.
    verifier: Option<Box<Verifier<FromSchemas>>>,
}

impl HotLane {
    /// The operations of connection number `connection` in a run with `seed`.
    fn new(
        documents: Arc<Documents>,
        seed: u64,
        connection: u64,
        budget: Budget,
        cold: Live,
        keys: KeySequence,
    ) -> Self {
        let stream = Stream::new(mix(seed, connection, OPERATIONS), 0);
        let hot = Live::default();
        let (place, verifier) = ((false, 0), None);
        let mut lane = Self { documents, stream, budget, hot, cold, keys, place, verifier };
        lane.warm_up();
        lane
    }

    /// Makes documents hot until there are enough: at the start, and after creates and deletes.
    fn warm_up(&mut self) {
        let all = self.hot.readable() + self.cold.readable();
        while self.hot.readable() * ONE_IN < all && self.cold.known() > 0 {
            let last = self.cold.known() - 1;
            let entry = *self.cold.at(last);
            self.cold.remove(last);
            self.hot.add(entry);
        }
    }

    /// Draws the document for an operation.
    fn choose(&mut self, kind: OpKind) -> (bool, usize) {
        if kind.only_reads() {
            let (hot, cold) = (self.hot.readable(), self.cold.readable());
            let drawn = unit(self.stream.draw()) < READS;
            let is_hot = if hot == 0 || cold == 0 { hot > 0 } else { drawn };
            let choices = if is_hot { hot } else { cold };
            return (is_hot, below(self.stream.draw(), choices as u64) as usize);
        }
        let hot = self.hot.known();
        let place = below(self.stream.draw(), (hot + self.cold.known()) as u64) as usize;
        if place < hot { (true, place) } else { (false, place - hot) }
    }
}

impl Workload for HotLane {
    fn next<P: Pen>(&mut self, pen: &mut P) -> Next {
        let known = self.hot.known() + self.cold.known();
        let readable = self.hot.readable() + self.cold.readable();
        let Some(kind) = draw_kind(&self.budget, &mut self.stream, known, readable) else {
            return Next::End;
        };
        self.budget.spend(kind);
        if kind.class() == Class::Create {
            return Next::Op(create(&self.documents, self.keys.take(), pen));
        }
        self.place = self.choose(kind);
        let (is_hot, place) = self.place;
        let entry = *if is_hot { self.hot.at(place) } else { self.cold.at(place) };
        Next::Op(on_stored(&self.documents, kind, &entry, self.verifier.is_some(), pen))
    }

    fn observe(
        &mut self,
        op: &Op,
        result: Result<Reply, Failure>,
        answered: &Answered<'_>,
    ) -> Check {
        if op.kind.class() == Class::Create {
            if let Ok(Reply { token, .. }) = result {
                self.cold.add(LiveEntry::new(op.key, 0, token));
                self.warm_up();
            }
            return Check::Unchecked;
        }
        let (is_hot, place) = self.place;
        let live = if is_hot { &mut self.hot } else { &mut self.cold };
        let observed = verify::observe(&mut self.verifier, live, place, op.kind, result, answered);
        if observed.gone {
            self.warm_up();
        }
        observed.check
    }

    fn finding(&mut self) -> Option<Finding> {
        self.verifier.as_mut()?.finding()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mistake::Flagged;
    use crate::op::{Draft, Token};
    use std::collections::BTreeMap;

    fn lane(documents: u64, weights: Mix) -> HotLane {
        let mut live = Live::default();
        (0..documents).for_each(|key| live.add(LiveEntry::new(key, 0, Some(Token::default()))));
        let keys = KeySequence { next: documents, step: 1 };
        let template = crate::schema::Template::parse(crate::schema::DEFAULT).unwrap();
        let built_in = Arc::new(Documents::new(1, vec![(template, 1)]));
        HotLane::new(built_in, 1, 0, Budget::Endless(weights), live, keys)
    }

    fn step(lane: &mut HotLane) -> Op {
        let op = lane.next(&mut Draft::default()).op().expect("there is always something to do");
        let reply = Reply { token: Some(Token::default()), ..Reply::default() };
        lane.observe(&op, Ok(reply), &Answered::default());
        op
    }

    #[test]
    fn one_in_a_hundred_documents_gets_nine_in_ten_reads() {
        let mut lane = lane(1_000, Mix::crud([0, 1, 0, 0]));
        let mut reads = BTreeMap::<u64, u64>::new();
        let draws = 100_000;
        for _ in 0..draws {
            *reads.entry(step(&mut lane).key).or_default() += 1;
        }
        let mut counts: Vec<u64> = reads.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let hottest: u64 = counts[..10].iter().sum();
        // Four standard deviations of a binomial with p = 0.9: 4 * sqrt(9,000) = 379.
        assert!(hottest.abs_diff(90_000) < 379, "{hottest} of {draws} reads");
        // Among the hot ones, p = 0.09: 4 * sqrt(8,190) = 362.
        assert!(counts[..10].iter().all(|it| it.abs_diff(9_000) < 362), "{:?}", &counts[..10]);
        assert_eq!(counts.len(), 1_000, "the others are read, too");
    }

    #[test]
    fn one_in_a_hundred_stays_hot_while_documents_come_and_go() {
        let mut lane = lane(300, Mix::crud([3, 1, 2, 2]));
        for _ in 0..20_000 {
            step(&mut lane);
        }
        let (hot, cold) = (lane.hot.readable(), lane.cold.readable());
        assert!(hot * ONE_IN >= hot + cold && cold > 1_000, "{hot} of {}", hot + cold);
        let mut lane = self::lane(200, Mix::crud([0, 0, 0, 1]));
        for _ in 0..200 {
            step(&mut lane);
        }
        assert_eq!((lane.hot.readable(), lane.cold.readable()), (0, 0));
    }

    #[test]
    fn a_connection_needs_a_hundred_documents() {
        let mistakes = |documents: u64, operations: Option<u64>| {
            let asked = DocumentsAsked {
                documents: Flagged::new("--docs", documents),
                batch: Flagged::new("--batch", 1),
                within_ns: None,
                operations: Flagged::new("--ops", operations),
                warmup_ns: 0,
            };
            let mut mistakes = Vec::new();
            HotDemand { asked, mix: Mix::usual() }.check_shares(4, &mut mistakes);
            mistakes.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(mistakes(400, None), Vec::<String>::new());
        assert_eq!(mistakes(4, Some(0)), Vec::<String>::new());
        let found = mistakes(399, None);
        assert!(found[0].starts_with("--docs: ") && found[0].contains("give 400"), "{found:?}");
    }
}
