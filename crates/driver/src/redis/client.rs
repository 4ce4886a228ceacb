//! Executes the operations of one session, on its own connection.

use super::hash::java_hash;
use super::{Connection, Keys, trouble, words};
use crate::json::write_member;
use crate::library::{Call, CallError, Client, Found, LibraryPen, Local};
use crate::op::{Failure, Op, OpKind, Reply};
use ::redis::{Pipeline, Value};
use std::rc::Rc;

/// The commands of one session.
pub(super) struct RedisClient {
    keys: Rc<Keys>,
    connection: Option<Connection>,
    /// Consecutive failed attempts to connect.
    failed: u32,
    /// What is sent for the operation.
    commands: Pipeline,
}

impl RedisClient {
    pub(super) fn new(keys: Rc<Keys>) -> Self {
        Self { keys, connection: None, failed: 0, commands: Pipeline::new() }
    }

    /// The commands that store documents: a hash for each, and an entry for each in the index.
    fn store(&mut self, pen: &LibraryPen, new: bool) {
        let Self { keys, commands, .. } = self;
        for (place, name) in pen.names().enumerate() {
            commands.cmd("HSET").arg(keys.key(name));
            for (field, value) in pen.fields(place) {
                commands.arg(field).arg(value);
            }
        }
        if new && keys.indexed {
            commands.cmd("ZADD").arg(keys.index());
            for name in pen.names() {
                commands.arg(java_hash(name)).arg(name);
            }
        }
    }

    fn spell(&mut self, op: &Op, pen: &LibraryPen) {
        self.commands.clear();
        match op.kind {
            OpKind::BulkInsert | OpKind::Create => self.store(pen, true),
            OpKind::Update => self.store(pen, false),
            OpKind::Delete => {
                let Self { keys, commands, .. } = self;
                commands.cmd("DEL").arg(keys.key(pen.first_name()));
                if keys.indexed {
                    commands.cmd("ZREM").arg(keys.index()).arg(pen.first_name());
                }
            }
            OpKind::Scan => {
                let Self { keys, commands, .. } = self;
                commands.cmd("ZRANGEBYSCORE").arg(keys.index());
                commands.arg(java_hash(pen.first_name())).arg("+inf");
                commands.arg("LIMIT").arg(0).arg(op.limit);
            }
            kind if kind.is_own() => {
                if let Some(command) = self.keys.own.get(kind) {
                    self.commands.add_command(command.of(pen));
                }
            }
            _ => fetch(&mut self.commands, &self.keys.key(pen.first_name()), pen.wanted()),
        }
    }

    async fn carry_out(&mut self, call: Call<'_>) -> Result<Reply, CallError> {
        let Call { op, pen, found, probe } = call;
        if op.kind == OpKind::Read && op.limit > 0 {
            let reason = "keys are hashed, so there are no ranges of them to read";
            return Err(CallError::new(Failure::Rejected, reason));
        }
        let connection = self.connection.as_mut().ok_or(Failure::Connect)?;
        probe.mark_send();
        let mut answers = connection.send(&self.commands).await?;
        if op.kind == OpKind::Scan {
            let listed = answers.pop().unwrap_or_default();
            let listed = listed.extract_error().map_err(|error| trouble::of(&error))?;
            self.commands.clear();
            for key in list(listed) {
                let Value::BulkString(name) = key else { continue };
                fetch(&mut self.commands, &self.keys.key(&name), pen.wanted());
            }
            if self.commands.is_empty() {
                probe.mark_received();
                return Ok(Reply::default());
            }
            found.requests += 1;
            answers = connection.send(&self.commands).await?;
        }
        probe.mark_received();
        if op.kind == OpKind::BulkInsert {
            return stored(answers, op, found);
        }
        let answers: Result<Vec<_>, _> = answers.into_iter().map(Value::extract_error).collect();
        let answers = answers.map_err(|error| trouble::of(&error))?;
        match op.kind {
            kind if kind.is_own() => {
                let rows = answers.first().map_or(0, words::rows);
                self.keys.own.reply(kind, rows).map_err(CallError::unexpected)
            }
            OpKind::Scan => Ok(scanned(answers, pen.wanted(), found)),
            OpKind::Read => {
                let members = members(answers.into_iter().next(), pen.wanted());
                // A hash is never empty.
                if members.is_empty() {
                    return Err(Failure::NotFound.into());
                }
                found.received = weight(&members);
                if pen.looks() {
                    found.document = spelled(&members);
                }
                Ok(Reply::default())
            }
            OpKind::Delete if matches!(answers.first(), Some(Value::Int(0))) => {
                Err(Failure::NotFound.into())
            }
            _ => Ok(Reply::default()),
        }
    }
}

impl Client for RedisClient {
    fn is_connected(&self) -> bool {
        // The task ends when the server closes the connection.
        self.connection.as_ref().is_some_and(|it| !it.task.is_finished())
    }

    fn connect(&mut self) -> Local<'_, Result<(), CallError>> {
        Box::pin(async {
            self.connection = None;
            let connected = self.keys.connect(self.failed).await;
            self.failed = if connected.is_ok() { 0 } else { self.failed.wrapping_add(1) };
            self.connection = Some(connected?);
            Ok(())
        })
    }

    fn disconnect(&mut self) {
        self.connection = None;
    }

    fn prepare(&mut self, op: &Op, pen: &LibraryPen) {
        self.spell(op, pen);
    }

    fn execute<'a>(&'a mut self, call: Call<'a>) -> Local<'a, Result<Reply, CallError>> {
        Box::pin(self.carry_out(call))
    }
}

/// The command that reads these fields of a hash, or all of them.
fn fetch(commands: &mut Pipeline, key: &[u8], wanted: &[String]) {
    if wanted.is_empty() {
        commands.cmd("HGETALL").arg(key);
    } else {
        commands.cmd("HMGET").arg(key).arg(wanted);
    }
}

/// The outcome of each document of `op`; the remaining answers are about the index.
fn stored(answers: Vec<Value>, op: &Op, found: &mut Found) -> Result<Reply, CallError> {
    let count = op.documents as usize;
    let answers = answers.into_iter().map(Value::extract_error);
    let answers: Vec<_> = answers.map(|it| it.map_err(|error| trouble::of(&error))).collect();
    let unready =
        |it: &Result<Value, CallError>| it.as_ref().err().filter(|it| is_unready(it)).cloned();
    if let Some(trouble) = answers.iter().find_map(unready) {
        if answers.iter().all(|it| unready(it).is_some()) {
            return Err(trouble);
        }
        // Some are stored: those that are sent again are settled then.
        if op.settle {
            return Err(CallError { failure: Failure::Unanswered, ..trouble });
        }
    }
    for (place, answer) in answers.into_iter().enumerate() {
        match answer {
            Ok(_) if place < count => found.stored(),
            Ok(_) => {}
            Err(trouble) if place < count => found.failed(trouble),
            Err(trouble) => return Err(trouble),
        }
    }
    Ok(Reply::default())
}

fn is_unready(trouble: &CallError) -> bool {
    trouble.failure == Failure::NotReady
}

/// Names and values of a hash.
type Members = Vec<(Vec<u8>, Vec<u8>)>;

/// The members in an answer about a hash, without the fields that it does not have.
fn members(answer: Option<Value>, wanted: &[String]) -> Members {
    let bytes = |value| match value {
        Value::BulkString(bytes) => Some(bytes),
        Value::SimpleString(text) => Some(text.into_bytes()),
        _ => None,
    };
    match answer {
        Some(Value::Map(pairs)) => {
            let both = |(name, value)| Some((bytes(name)?, bytes(value)?));
            pairs.into_iter().filter_map(both).collect()
        }
        Some(Value::Array(values)) if wanted.is_empty() => {
            let (mut values, mut out) = (values.into_iter().map(bytes), Vec::new());
            while let (Some(name), Some(value)) = (values.next(), values.next()) {
                out.extend(name.zip(value));
            }
            out
        }
        Some(Value::Array(values)) => {
            let named = wanted.iter().map(|name| name.clone().into_bytes());
            let both = |(name, value)| Some((name, bytes(value)?));
            named.zip(values).filter_map(both).collect()
        }
        _ => Vec::new(),
    }
}

/// The bytes of names and values.
fn weight(members: &Members) -> u64 {
    members.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() as u64
}

/// A hash as a JSON object.
fn spelled(members: &Members) -> Vec<u8> {
    let mut out = vec![b'{'];
    for (name, value) in members {
        if out.len() > 1 {
            out.push(b',');
        }
        write_member(&String::from_utf8_lossy(name), value, &mut out);
    }
    out.push(b'}');
    out
}

/// Keeps the hashes of a scan. Keys of the index without a hash are not counted.
fn scanned(answers: Vec<Value>, wanted: &[String], found: &mut Found) -> Reply {
    let hashes = answers.into_iter().map(|answer| members(Some(answer), wanted));
    let hashes: Vec<_> = hashes.filter(|members| !members.is_empty()).collect();
    found.received = hashes.iter().map(weight).sum();
    let rows = hashes.len() as u32;
    found.scanned = Some(Box::new(move || hashes.iter().map(spelled).collect()));
    Reply { rows, ..Reply::default() }
}

/// The elements of a list.
fn list(value: Value) -> Vec<Value> {
    match value {
        Value::Array(values) | Value::Set(values) => values,
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of a bulk insert of two documents after these answers.
    fn inserted(answers: [&str; 3], settle: bool) -> (Result<Reply, Failure>, Vec<bool>) {
        let answers = answers.map(|it| ::redis::parse_redis_value(it.as_bytes()).unwrap());
        let op = Op { documents: 2, settle, ..Op::single(OpKind::BulkInsert, 0, None) };
        let mut found = Found::default();
        let result = stored(answers.to_vec(), &op, &mut found).map_err(|it| it.failure);
        (result, found.rows.iter().map(Result::is_ok).collect())
    }

    #[test]
    fn a_batch_that_no_server_was_ready_for_has_failed_as_a_whole() {
        let (fine, loading, full) = (":1\r\n", "-LOADING wait\r\n", "-OOM full\r\n");
        for settle in [false, true] {
            let none = inserted([loading; 3], settle);
            assert_eq!(none, (Err(Failure::NotReady), vec![]));
            assert_eq!(inserted([full, fine, fine], settle).1, [false, true]);
        }
        // Some may be stored: they are sent again only if they are settled then.
        let some = [fine, loading, fine];
        assert_eq!(inserted(some, true), (Err(Failure::Unanswered), vec![]));
        assert_eq!(inserted(some, false), (Ok(Reply::default()), vec![true, false]));
    }
}
