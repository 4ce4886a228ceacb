//! Bursts: each connection owns one document and writes or reads it repeatedly.

mod body;
mod worker;

pub use worker::Burst;

use super::{
    Demand, Due, Gathering, LaneContext, Lanes, Offer, Original, Purpose, Restored, RunAsked,
    Runner, StageWork, Step, Stock, Traits,
};
use crate::mistake::{Flagged, Invalid};
use crate::op::{Feature, OpKind};
use crate::schema::Ids;
use body::{Bodies, FIELD};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What the workers of a burst do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Creates the document if it does not exist yet, then stops.
    Prepare,
    /// Creates the document, then keeps updating it with the revision from its last write.
    Write,
    /// Reads the document.
    Read,
}

/// The content of a burst's documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Filling {
    /// Random letters from a set of 64, different in each write.
    Random,
    /// Zeros, the same in each write.
    Zeros,
}

/// How large the documents of a burst are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BodySize {
    /// The size in bytes.
    pub bytes: u64,
    /// Whether that is the size of the whole request body, rather than of the string in the
    /// document.
    pub wire: bool,
}

/// A request for bursts.
#[derive(Clone, Debug)]
pub struct BurstDemand {
    /// The roles, only [`Role::Write`] and [`Role::Read`], in order.
    pub roles: Vec<Role>,
    /// The length of each burst, in nanoseconds.
    pub length_ns: Flagged<u64>,
    /// The size of documents.
    pub size: Flagged<BodySize>,
    /// The content of documents.
    pub filling: Filling,
    /// Whether readers send the revision that they last read.
    pub conditional: bool,
    /// How long the start waits for workers.
    pub gather_ns: u64,
    /// The number of bursts of each role.
    pub rounds: u64,
    /// The time from the first burst of one round to that of the next.
    pub every_ns: u64,
}

/// The smallest wire size: room for names, a worker's number and the longest revision.
const LEAST_WIRE: u64 = 80;
/// Digits of the largest worker number.
const DIGITS: u64 = 5;
/// CouchDB limits documents to 8 MB by default; this leaves room to try larger ones.
const MOST_BYTES: u64 = 100_000_000;
const MOST_ROUNDS: u64 = 10_000;
/// The longest time before a burst: all rounds within a year, in nanoseconds.
const MOST_TIME_NS: u64 = 1 << 62;

impl Demand for BurstDemand {
    fn check(&self, ids: &Ids, mistakes: &mut Vec<Invalid>) {
        let id = match ids {
            Ids::Sequential => DIGITS,
            Ids::Random { .. } => 16,
            Ids::Uuid { .. } => 32,
            Ids::Prefix(text) => text.len() as u64 + DIGITS,
            Ids::Partitions(number) => "p:".len() as u64 + number.to_string().len() as u64 + DIGITS,
        };
        let least = if self.size.value.wire { LEAST_WIRE - DIGITS + id } else { 0 };
        mistakes.extend(self.size.map(|size| size.bytes).out_of_range(least, MOST_BYTES));
        mistakes.extend(Flagged::new("--repeat", self.rounds).out_of_range(1, MOST_ROUNDS));
        if self.conditional && !self.roles.contains(&Role::Read) {
            let cure = "give --read as well, or leave it out";
            mistakes.push(Invalid::new("--conditional", "there are no reads", cure));
        }
        for Flagged { flag, value } in [self.length_ns, Flagged::new("--gather", self.gather_ns)] {
            if value == 0 {
                mistakes.push(Invalid::new(flag, "must be above 0", "give for example 10s"));
            }
        }
    }

    /// Documents for readers if no writer creates them, then the bursts.
    fn steps(&self) -> Vec<Step> {
        let work = |role, not_before_ns| {
            let Self { filling, gather_ns, .. } = *self;
            let (size, conditional) = (self.size.value, self.conditional && role == Role::Read);
            BurstPlan { role, size, filling, conditional, gather_ns, not_before_ns }.into()
        };
        let mut steps = Vec::new();
        if self.roles.first() == Some(&Role::Read) {
            steps.push(Step {
                name: "burst_prepare".to_owned(),
                purpose: Purpose::Prepare,
                work: work(Role::Prepare, 0),
                timing: Due::Free,
            });
        }
        for round in 0..self.rounds.min(MOST_ROUNDS) {
            for (place, &role) in self.roles.iter().enumerate() {
                let name = if role == Role::Write { "burst_write" } else { "burst_read" };
                let number = if round == 0 { String::new() } else { format!("_{}", round + 1) };
                let not_before_ns =
                    if place == 0 { round.saturating_mul(self.every_ns) } else { 0 };
                steps.push(Step {
                    name: format!("{name}{number}"),
                    purpose: Purpose::Main,
                    work: work(role, not_before_ns),
                    timing: Due::Short(self.length_ns.value),
                });
            }
        }
        steps
    }
}

impl Offer for BurstPlan {
    const NAMES: &'static [(&'static str, &'static str)] =
        &[("burst", "Many workers at once: use springload burst")];

    fn demand(_: &str, _: &RunAsked) -> Result<Arc<dyn Demand>, Invalid> {
        let problem = "a burst has workers and a size, not documents and a mix";
        Err(Invalid::new("--workload", problem, "use springload burst"))
    }
}

/// One burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BurstPlan {
    /// What the workers do.
    pub role: Role,
    /// The size of documents.
    pub size: BodySize,
    /// The content of documents.
    pub filling: Filling,
    /// Whether readers send the revision that they read last, so that the server may respond that
    /// nothing has changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub conditional: bool,
    /// How long the start waits for workers to connect, in nanoseconds.
    pub gather_ns: u64,
    /// The earliest start, in nanoseconds after the start of the first burst.
    pub not_before_ns: u64,
}

impl StageWork for BurstPlan {
    fn check_again(&self, restored: &Restored<'_>, mistakes: &mut Vec<Invalid>) {
        let asked = BurstDemand {
            roles: vec![self.role],
            length_ns: Flagged::new("length_ns", 1),
            size: Flagged::new("size", self.size),
            filling: self.filling,
            conditional: self.conditional,
            gather_ns: self.gather_ns,
            rounds: 1,
            every_ns: 0,
        };
        asked.check(restored.ids, mistakes);
        for (name, time_ns) in
            [("gather_ns", self.gather_ns), ("not_before_ns", self.not_before_ns)]
        {
            mistakes.extend(Flagged::new(name, time_ns).out_of_range(0, MOST_TIME_NS));
        }
    }

    fn does(&self, kind: OpKind) -> bool {
        match self.role {
            Role::Prepare => matches!(kind, OpKind::Create),
            Role::Write => matches!(kind, OpKind::Create | OpKind::Update),
            Role::Read => matches!(kind, OpKind::Read),
        }
    }

    fn fields(&self) -> Vec<String> {
        vec![FIELD.to_owned()]
    }

    fn operations(&self, _: usize, _: usize) -> Option<u64> {
        (self.role == Role::Prepare).then_some(1)
    }

    fn describe(&self, _: &dyn Fn(u64) -> String) -> Vec<String> {
        vec![format!("{:?}, {} bytes, {:?}", self.role, self.size.bytes, self.filling)]
    }

    fn original(&self, cx: &LaneContext) -> Box<dyn Original> {
        Box::new(self.bodies(cx).original())
    }

    fn traits(&self) -> Traits {
        let (patience_ns, not_before_ns) = (self.gather_ns, self.not_before_ns);
        Traits {
            needs: if self.conditional { &[Feature::Conditions] } else { &[] },
            gathering: Some(Gathering { patience_ns, not_before_ns }),
            verifies: self.role == Role::Read,
            is_auditable: true,
            ..Traits::default()
        }
    }
}

impl Lanes for BurstPlan {
    fn carry_out<R: Runner>(
        &self,
        cx: &LaneContext,
        stock: &mut Stock,
        runner: R,
    ) -> Result<R::Output, R::Error> {
        let mut workers = stock.kept::<Burst>();
        let make = |k| Burst::new(k as u64, self.bodies(cx)).verifying(cx.verify);
        workers.extend((workers.len()..cx.connections).map(make));
        let ready = |it: Burst| it.with_role(self.role).conditional(self.conditional);
        let (output, lanes) = runner.run(workers.into_iter().map(ready).collect())?;
        stock.keep(lanes);
        Ok(output)
    }
}

impl BurstPlan {
    fn bodies(&self, cx: &LaneContext) -> Bodies {
        Bodies::new(cx.seed, self.size, self.filling).named(cx.naming.clone())
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
