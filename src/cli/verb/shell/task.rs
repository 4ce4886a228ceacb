//! Carries out one command of the shell in a session of any driver.

use super::command::ShellCommand;
use crate::cli::exit::Trouble;
use crate::clock::{Clock, Nanos};
use crate::driver::{Session, Shard as _, Target, TargetError, WithTarget};
use crate::measure::Probe;
use crate::net::ShardContext;
use crate::op::{Failure, Fields, Op, Pen};
use crate::report::ycsb::return_code;
use serde_json::{Map, Value};
use tokio::runtime::Runtime;
use tokio::task::{LocalSet, spawn_local};

/// The fields of a record and their values.
pub(super) type Record = Vec<(String, String)>;

/// The result of a command: a return code and records.
pub(super) struct Answer {
    pub(super) code: &'static str,
    pub(super) records: Vec<Record>,
}

impl Answer {
    pub(super) const OK: &str = "OK";

    const fn failed(failure: Failure) -> Self {
        Self { code: return_code(failure), records: Vec::new() }
    }
}

impl Default for Answer {
    fn default() -> Self {
        Self { code: Self::OK, records: Vec::new() }
    }
}

/// A command to carry out on an open table.
pub(super) struct Task<'a> {
    pub(super) runtime: &'a Runtime,
    /// The server's address, for messages.
    pub(super) address: String,
    pub(super) table: &'a str,
    pub(super) command: &'a ShellCommand,
    pub(super) timeout_ns: Nanos,
}

impl WithTarget for Task<'_> {
    type Output = Result<Answer, Trouble>;

    /// Each command opens a connection: an idle one might be closed before the next command.
    fn with<T: Target>(self, target: &T) -> Self::Output {
        LocalSet::new().block_on(self.runtime, async {
            let clock = Clock::system();
            let context = ShardContext::new(clock, self.timeout_ns);
            spawn_local(context.clone().sweep());
            let mut session = target.shard(context).await?.session();
            self.carry_out(&mut session, clock).await
        })
    }
}

impl Task<'_> {
    async fn carry_out(&self, session: &mut impl Session, clock: Clock) -> Result<Answer, Trouble> {
        let mut pen = session.pen();
        let Some(op) = self.write(&mut pen) else { return Ok(Answer::default()) };
        session.ready().await;
        session.prepare(&op, &mut pen);
        let now = clock.now();
        let mut probe = Probe::new(clock, now, now);
        let outcome = session.execute(&op, &mut pen, &mut probe).await;
        match outcome.result {
            Ok(_) => Ok(self.answer(session)),
            Err(Failure::Unanswered) if session.settled().is_some() => Ok(self.answer(session)),
            Err(failure) if outcome.is_silence() => {
                let reason = session.reason(failure).map(|said| format!(": {}", said.reason));
                let (address, reason) = (&self.address, reason.unwrap_or_default());
                Err(TargetError(format!("no answer from {address} ({failure}){reason}")).into())
            }
            Err(failure) => Ok(Answer::failed(failure)),
        }
    }

    /// Writes the operation of the command, if it has one.
    fn write(&self, pen: &mut impl Pen) -> Option<Op> {
        let kind = self.command.kind()?;
        let (key, fields, limit): (_, &[String], _) = match self.command {
            ShellCommand::Scan { key, count, fields } => (key, fields, *count),
            ShellCommand::Read { key, fields } => (key, fields, 0),
            ShellCommand::Insert { key, .. }
            | ShellCommand::Update { key, .. }
            | ShellCommand::Delete { key } => (key, &[], 0),
            ShellCommand::Table { .. }
            | ShellCommand::Do { .. }
            | ShellCommand::Help
            | ShellCommand::Quit => return None,
        };
        pen.name().extend_from_slice(key.as_bytes());
        for field in fields {
            pen.want(field);
        }
        pen.look();
        match self.command {
            ShellCommand::Insert { values, .. } => pen.document(None, Values(values)),
            ShellCommand::Update { values, .. } => pen.changes(Values(values)),
            _ => {}
        }
        pen.line(|line| line.extend_from_slice(self.command.shown(self.table).as_bytes()));
        Some(Op { limit, ..Op::single(kind, 0, None) })
    }

    /// The records that a successful operation returned.
    fn answer(&self, session: &impl Session) -> Answer {
        let (documents, fields): (Vec<&[u8]>, &[String]) = match self.command {
            ShellCommand::Read { fields, .. } => {
                (session.answered().document.into_iter().collect(), fields)
            }
            ShellCommand::Scan { fields, .. } => (session.scanned().unwrap_or_default(), fields),
            _ => return Answer::default(),
        };
        let records: Option<_> = documents.into_iter().map(|text| record(text, fields)).collect();
        match records {
            Some(records) => Answer { records, ..Answer::default() },
            None => Answer::failed(Failure::Protocol),
        }
    }
}

/// The fields of a stored document: those asked for, or all that do not begin with `_`. Strings are
/// shown without quotes. `None` if it is not a JSON object.
fn record(document: &[u8], fields: &[String]) -> Option<Record> {
    let stored: Map<String, Value> = serde_json::from_slice(document).ok()?;
    let wanted = |name: &String| {
        if fields.is_empty() { !name.starts_with('_') } else { fields.contains(name) }
    };
    let text = |value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    let members = stored.into_iter().filter(|(name, _)| wanted(name));
    Some(members.map(|(name, value)| (name, text(value))).collect())
}

/// Values as typed. If a name occurs twice, the last one counts.
struct Values<'a>(&'a Record);

impl Fields for Values<'_> {
    fn write(self, first: &[u8], out: &mut Vec<u8>) {
        let pairs = self.0.iter().map(|(name, value)| (name.clone(), value.as_str().into()));
        let members = Value::Object(pairs.collect()).to_string();
        out.push(b'{');
        out.extend_from_slice(first);
        if !first.is_empty() && !self.0.is_empty() {
            out.push(b',');
        }
        out.extend_from_slice(&members.as_bytes()[1..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_follow_the_members_that_come_first() {
        let typed = |pairs: &[(&str, &str)], first: &str| {
            let values: Record =
                pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
            let mut out = Vec::new();
            Values(&values).write(first.as_bytes(), &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(typed(&[("a", "1"), ("b", "\""), ("a", "2")], ""), r#"{"a":"2","b":"\""}"#);
        assert_eq!(typed(&[("a", "1")], "\"_id\":\"k\""), r#"{"_id":"k","a":"1"}"#);
        assert_eq!(typed(&[], "\"_id\":\"k\""), r#"{"_id":"k"}"#);
    }
}
