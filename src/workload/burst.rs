//! Bursts: each connection owns one document, and writes or reads it repeatedly.

use super::{
    Check, Demand, Gathering, LaneContext, Offer, Purpose, Restored, RunAsked, Runner, StageWork,
    Step, Stock, Timing, Workload,
};
use crate::generate::{Stream, mix};
use crate::mistake::{Flagged, Invalid};
use crate::op::{Answered, Failure, Fields, Key, Op, OpKind, Pen, Reply, Token};
use crate::schema::{Ids, Naming};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Separates the stream of bodies from other uses of the same seed.
const BODIES: u64 = u64::from_be_bytes(*b"bursts..");
/// The letters of a random body: six bits each, none of them escaped in JSON.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// Letters from one draw.
const LETTERS_PER_DRAW: usize = 10;

/// What the workers of a burst do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Creates the document if it does not exist yet, and ends.
    Prepare,
    /// Creates the document, then updates it with the revision from the last write.
    Write,
    /// Reads the document.
    Read,
}

/// What the body of a burst's document consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Filling {
    /// Random letters from a set of 64, new in each write.
    Random,
    /// Zeros, the same in each write.
    Zeros,
}

/// How large the documents of a burst are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodySize {
    /// Bytes.
    pub bytes: u64,
    /// The size is that of the whole request body, not of the string in the document.
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
    /// Their content.
    pub filling: Filling,
    /// Readers send the revision that they last read.
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
/// The longest time before a burst: all rounds of a year, in nanoseconds.
const MOST_TIME_NS: u64 = 1 << 62;

impl Demand for BurstDemand {
    fn check(&self, ids: &Ids, mistakes: &mut Vec<Invalid>) {
        let id = match ids {
            Ids::Sequential => DIGITS,
            Ids::Random { .. } => 16,
            Ids::Uuid { .. } => 32,
            Ids::Prefix(text) => text.len() as u64 + DIGITS,
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
                timing: Timing::Free,
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
                    timing: Timing::Short(self.length_ns.value),
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
pub struct BurstPlan {
    /// What the workers do.
    pub role: Role,
    /// The size of documents.
    pub size: BodySize,
    /// Their content.
    pub filling: Filling,
    /// Readers send the revision that they last read, and may be told that it is still current.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub conditional: bool,
    /// How long the start waits for workers, in nanoseconds.
    pub gather_ns: u64,
    /// The earliest start, in nanoseconds after the first burst began.
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

    fn gathering(&self) -> Option<Gathering> {
        let (patience_ns, not_before_ns) = (self.gather_ns, self.not_before_ns);
        Some(Gathering { patience_ns, not_before_ns })
    }

    fn carry_out<R: Runner>(
        &self,
        cx: &LaneContext,
        stock: &mut Stock,
        runner: R,
    ) -> Result<R::Output, R::Error> {
        let mut workers = stock.kept::<Burst>();
        let make = |k| {
            let worker = Burst::new(cx.seed, k as u64, (self.size, self.filling));
            worker.named(cx.naming.clone())
        };
        workers.extend((workers.len()..cx.connections).map(make));
        let ready = |it: Burst| it.with_role(self.role).conditional(self.conditional);
        let (output, lanes) = runner.run(workers.into_iter().map(ready).collect())?;
        stock.keep(lanes);
        Ok(output)
    }
}

/// One worker of a burst.
#[derive(Debug)]
pub struct Burst {
    role: Role,
    key: Key,
    naming: Naming,
    size: BodySize,
    filling: Filling,
    stream: Stream,
    /// The document's token, if it is stored and the token is known.
    token: Option<Token>,
    /// The last write had no answer or was refused: it is not known what is stored.
    lost: bool,
    prepared: bool,
    /// Reads send the token of the last one.
    conditional: bool,
    /// That token.
    read: Option<Token>,
}

impl Burst {
    /// Worker number `key` of a run with `seed`.
    pub fn new(seed: u64, key: Key, (size, filling): (BodySize, Filling)) -> Self {
        let stream = Stream::new(mix(seed, key, BODIES), 0);
        let (role, token, naming) = (Role::Prepare, None, Naming::default());
        let (lost, prepared, conditional, read) = (false, false, false, None);
        Self { role, key, naming, size, filling, stream, token, lost, prepared, conditional, read }
    }

    /// The same worker, with a document identifier other than its number.
    pub fn named(self, naming: Naming) -> Self {
        Self { naming, ..self }
    }

    /// Takes a role and keeps the document as it is.
    pub fn with_role(mut self, role: Role) -> Self {
        (self.role, self.prepared) = (role, self.token.is_some());
        self
    }

    /// Sets whether reads send the token of the last one, if there was one, as a client with a
    /// cache does.
    pub fn conditional(self, conditional: bool) -> Self {
        Self { conditional, read: None, ..self }
    }

    /// The create or the next update of the document.
    fn write<P: Pen>(&mut self, pen: &mut P) -> Op {
        self.naming.write(self.key, pen.name());
        let body = Body { size: self.size, filling: self.filling, stream: &mut self.stream };
        pen.document(self.token, body);
        let kind = if self.token.is_some() { OpKind::Update } else { OpKind::Create };
        Op::single(kind, self.key, self.token)
    }
}

/// The name of the one field of a burst's document.
const FIELD: &str = "body";

/// That field.
struct Body<'a> {
    size: BodySize,
    filling: Filling,
    stream: &'a mut Stream,
}

impl Fields for Body<'_> {
    fn write(self, first: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.push(b'{');
        out.extend_from_slice(first);
        out.extend_from_slice(if first.is_empty() { b"\"" } else { b",\"" });
        out.extend_from_slice(FIELD.as_bytes());
        out.extend_from_slice(b"\":\"");
        let around = if self.size.wire { out.len() - start + 2 } else { 0 };
        let end = out.len() + (self.size.bytes as usize).saturating_sub(around);
        match self.filling {
            Filling::Zeros => out.resize(end, b'0'),
            Filling::Random => {
                while out.len() < end {
                    let mut draw = self.stream.draw();
                    for _ in 0..LETTERS_PER_DRAW.min(end - out.len()) {
                        out.push(LETTERS[(draw % 64) as usize]);
                        draw /= 64;
                    }
                }
            }
        }
        out.extend_from_slice(b"\"}");
    }
}

impl Workload for Burst {
    fn next<P: Pen>(&mut self, pen: &mut P) -> Option<Op> {
        if self.role == Role::Prepare && std::mem::replace(&mut self.prepared, true) {
            return None;
        }
        if self.role == Role::Read || self.lost {
            self.naming.write(self.key, pen.name());
            let read = Op::single(OpKind::Read, self.key, self.read);
            return Some(Op { conditional: self.conditional && !self.lost, ..read });
        }
        Some(self.write(pen))
    }

    fn observe(&mut self, op: &Op, result: Result<Reply, Failure>, _: &Answered<'_>) -> Check {
        if op.conditional {
            self.read = result.ok().and_then(|reply| reply.token);
        }
        match (op.kind, result) {
            (_, Ok(Reply { token, .. })) => {
                (self.token, self.lost) = (Some(token.unwrap_or_default()), false);
            }
            (_, Err(Failure::NotFound)) => (self.token, self.lost) = (None, false),
            // A read will show whether the write was carried out.
            (OpKind::Create | OpKind::Update, _) => self.lost = true,
            _ => {}
        }
        Check::Unchecked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Draft;

    fn token(number: u32) -> Token {
        Token { number, ..Token::default() }
    }

    fn burst(bytes: u64, wire: bool, filling: Filling) -> Burst {
        Burst::new(1, 12, (BodySize { bytes, wire }, filling)).with_role(Role::Write)
    }

    fn step(burst: &mut Burst, result: Result<u32, Failure>) -> (OpKind, Vec<u8>) {
        let mut draft = Draft::default();
        let op = burst.next(&mut draft).unwrap();
        let reply = result.map(|it| Reply { token: Some(token(it)), ..Reply::default() });
        burst.observe(&op, reply, &Answered::default());
        (op.kind, draft.body)
    }

    #[test]
    fn a_writer_creates_and_then_updates_and_finds_back_after_a_loss() {
        let mut writer = burst(10, false, Filling::Zeros);
        let (kind, body) = step(&mut writer, Ok(1));
        assert_eq!(
            (kind, &body[..]),
            (OpKind::Create, &br#"{"_id":"12","body":"0000000000"}"#[..])
        );
        let (kind, body) = step(&mut writer, Err(Failure::Timeout));
        assert_eq!(kind, OpKind::Update);
        assert!(String::from_utf8(body).unwrap().contains("\"token\":1"));
        assert_eq!(step(&mut writer, Ok(2)).0, OpKind::Read);
        assert_eq!(step(&mut writer, Err(Failure::Reset)).0, OpKind::Update);
        assert_eq!(step(&mut writer, Err(Failure::NotFound)).0, OpKind::Read);
        assert_eq!(step(&mut writer, Ok(1)).0, OpKind::Create);
    }

    #[test]
    fn a_conditional_reader_names_what_it_has_read() {
        let mut reader = burst(10, false, Filling::Zeros).with_role(Role::Read).conditional(true);
        let mut read = |result: Result<u32, Failure>| {
            let op = reader.next(&mut Draft::default()).unwrap();
            let reply = result.map(|it| Reply { token: Some(token(it)), ..Reply::default() });
            reader.observe(&op, reply, &Answered::default());
            (op.conditional, op.token.map(|it| it.number))
        };
        assert_eq!(read(Ok(3)), (true, None));
        assert_eq!(read(Ok(3)), (true, Some(3)));
        assert_eq!(read(Err(Failure::NotFound)), (true, Some(3)));
        assert_eq!(read(Ok(4)), (true, None));
        assert_eq!(read(Ok(4)), (true, Some(4)));
    }

    #[test]
    fn a_wire_size_is_that_of_the_whole_body_and_a_random_one_never_repeats() {
        let mut writer = burst(250, true, Filling::Random);
        let (_, first) = step(&mut writer, Ok(1));
        let (_, second) = step(&mut writer, Ok(1_000_000));
        let (_, third) = step(&mut writer, Ok(3));
        assert_eq!([first.len(), second.len(), third.len()], [250; 3]);
        let text = |body: &[u8]| -> String {
            let document: serde_json::Value = serde_json::from_slice(body).unwrap();
            document["body"].as_str().unwrap().to_owned()
        };
        assert_ne!(text(&first)[..100], text(&second)[..100]);
    }

    #[test]
    fn preparing_writes_once_and_reading_never() {
        let mut worker = burst(10, false, Filling::Random).with_role(Role::Prepare);
        assert_eq!(step(&mut worker, Ok(1)).0, OpKind::Create);
        assert_eq!(worker.next(&mut Draft::default()), None);
        let mut worker = worker.with_role(Role::Read);
        for _ in 0..3 {
            assert_eq!(step(&mut worker, Ok(1)), (OpKind::Read, Vec::new()));
        }
        assert_eq!(worker.with_role(Role::Prepare).next(&mut Draft::default()), None);
    }
}
