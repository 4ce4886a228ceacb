//! How each connection spent its time, added up over a stage.

use super::probe::Timing;
use super::spread::Spread;
use crate::clock::{Nanos, SECOND_NS};
use crate::op::OpKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One connection's time in each phase, in nanoseconds, and the documents it moved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionTimes {
    /// Generating documents, encoding, decoding: everything else, but not the time without a
    /// server, `away_ns`.
    pub local_ns: Nanos,
    /// Writing requests.
    pub send_ns: Nanos,
    /// Reading answers.
    pub receive_ns: Nanos,
    /// Waiting for operations to become due, in an open loop.
    pub idle_ns: Nanos,
    /// Outages of the connection: from an operation that failed because of the server to the next
    /// one that did not, or to the end of the stage.
    pub down_ns: Nanos,
    /// The part of the outages that is in no other phase, such as pauses before another attempt.
    #[serde(default)]
    pub away_ns: Nanos,
    /// Answers timed by the kernel's timestamp of their arrival.
    pub noted_answers: u64,
    /// The figures per kind, in the order of their first use. A connection has few kinds, and there
    /// may be many connections.
    pub kinds: Vec<(OpKind, KindTimes)>,
    /// When the connection ended its last operation, from the stage's start.
    pub ended_ns: Nanos,
}

/// One connection's figures for one kind of operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindTimes {
    /// Waiting for the first byte of answers, in nanoseconds.
    pub remote_ns: Nanos,
    /// Waiting for the last byte of answers, in nanoseconds.
    pub answer_ns: Nanos,
    /// Documents that succeeded.
    pub ok: u64,
}

impl ConnectionTimes {
    /// Adds one operation with `ok` successful documents.
    #[inline]
    pub fn add(&mut self, kind: OpKind, timing: &Timing, ok: u64) {
        self.send_ns += timing.send_ns;
        self.receive_ns += timing.receive_ns;
        let kind = self.of(kind);
        kind.remote_ns += timing.remote_ns;
        kind.answer_ns += timing.remote_ns + timing.receive_ns;
        kind.ok += ok;
    }

    #[inline]
    fn of(&mut self, kind: OpKind) -> &mut KindTimes {
        let known = self.kinds.iter().position(|(it, _)| *it == kind);
        let place = known.unwrap_or_else(|| self.lengthen(kind));
        &mut self.kinds[place].1
    }

    /// Returns the place of the new kind.
    #[cold]
    fn lengthen(&mut self, kind: OpKind) -> usize {
        self.kinds.reserve_exact(1);
        self.kinds.push((kind, KindTimes::default()));
        self.kinds.len() - 1
    }

    /// The figures of a kind; all zero if there was none of it.
    pub fn kind(&self, kind: OpKind) -> KindTimes {
        let known = self.kinds.iter().find(|(it, _)| *it == kind);
        known.map_or_else(KindTimes::default, |(_, times)| *times)
    }

    fn remote_ns(&self) -> Nanos {
        self.kinds.iter().map(|(_, kind)| kind.remote_ns).sum()
    }

    /// The time that was counted up to now: requests, and waiting for them to become due.
    pub fn counted_ns(&self) -> Nanos {
        self.send_ns + self.remote_ns() + self.receive_ns + self.idle_ns
    }

    /// Counts the rest of `elapsed_ns`, the connection's total time, as local.
    pub fn close(&mut self, elapsed_ns: Nanos) {
        self.local_ns = elapsed_ns.saturating_sub(self.counted_ns() + self.away_ns);
        self.ended_ns = elapsed_ns;
    }
}

/// Where each connection's time went, by phase, in seconds. Arrays have one entry per connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseTable {
    /// For each phase, the spread over the connections, in seconds.
    #[cfg_attr(
        feature = "schema",
        schemars(extend("propertyNames" = { "enum": ["local", "send", "remote", "receive"] }))
    )]
    pub spread: BTreeMap<String, Spread>,
    /// Local time of each connection, without that of its outages.
    pub local_s: Vec<f64>,
    /// Send time of each connection.
    pub send_s: Vec<f64>,
    /// Receive time of each connection.
    pub receive_s: Vec<f64>,
    /// Remote time of each connection, per kind.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::op::keyed::<OpKind, Vec<f64>>"))]
    pub remote_s: BTreeMap<OpKind, Vec<f64>>,
    /// Time of each connection from the end of sending to the last byte of responses, per kind.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::op::keyed::<OpKind, Vec<f64>>"))]
    pub answer_s: BTreeMap<OpKind, Vec<f64>>,
    /// Outages of each connection; absent if nothing failed because of the server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub down_s: Vec<f64>,
    /// Documents that succeeded on each connection, per kind.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::op::keyed::<OpKind, Vec<u64>>"))]
    pub ok: BTreeMap<OpKind, Vec<u64>>,
    /// When each connection was done, in seconds from the stage's start.
    pub ended_s: Vec<f64>,
}

impl PhaseTable {
    /// The table of `connections`, with a column for each of `kinds`. Without `phases`, which some
    /// drivers cannot distinguish, it has no times.
    pub fn new(connections: &[&ConnectionTimes], kinds: &[OpKind], phases: bool) -> Self {
        let column = |time: &dyn Fn(&ConnectionTimes) -> Nanos| -> Vec<f64> {
            connections.iter().map(|c| time(c) as f64 / SECOND_NS as f64).collect()
        };
        let mut table = Self { ended_s: column(&|c| c.ended_ns), ..Self::default() };
        if connections.iter().any(|c| c.down_ns > 0) {
            table.down_s = column(&|c| c.down_ns);
        }
        for &kind in kinds {
            table.ok.insert(kind, connections.iter().map(|c| c.kind(kind).ok).collect());
        }
        if !phases {
            return table;
        }
        table.local_s = column(&|c| c.local_ns);
        table.send_s = column(&|c| c.send_ns);
        table.receive_s = column(&|c| c.receive_ns);
        for &kind in kinds {
            table.remote_s.insert(kind, column(&|c| c.kind(kind).remote_ns));
            table.answer_s.insert(kind, column(&|c| c.kind(kind).answer_ns));
        }
        let remote = column(&ConnectionTimes::remote_ns);
        for (phase, values) in [
            ("local", &table.local_s),
            ("send", &table.send_s),
            ("remote", &remote),
            ("receive", &table.receive_s),
        ] {
            table.spread.insert(phase.to_owned(), Spread::of(values));
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_connection_is_divided_among_its_phases() {
        let s = SECOND_NS;
        let timing = |send_ns, remote_ns, receive_ns| Timing {
            send_ns,
            remote_ns,
            receive_ns,
            ..Timing::between(0, 0)
        };
        let mut one = ConnectionTimes { idle_ns: s, ..ConnectionTimes::default() };
        one.add(OpKind::Read, &timing(s, 2 * s, 3 * s), 1);
        one.add(OpKind::Read, &timing(s, 3 * s, s), 4);
        one.add(OpKind::Create, &timing(s, 5 * s, 2 * s), 10);
        let mut waited = ConnectionTimes { down_ns: 4 * s, away_ns: 3 * s, ..one.clone() };
        one.close(25 * s);
        // Waiting for a server that was away is no work of the client.
        waited.close(25 * s);
        assert_eq!((one.local_ns, waited.local_ns), (5 * s, 2 * s));
        assert_eq!(waited.local_ns + waited.counted_ns() + waited.away_ns, 25 * s);
        // The elapsed time is less than what was counted: no time is left for the client.
        let mut other = ConnectionTimes { down_ns: 2 * s, ..ConnectionTimes::default() };
        other.add(OpKind::Read, &timing(s, s, s), 1);
        other.close(2 * s);
        let connections = [&one, &other];
        let kinds = [OpKind::Read, OpKind::Create];
        let table = PhaseTable::new(&connections, &kinds, true);
        assert_eq!((table.send_s, table.receive_s), (vec![3.0, 1.0], vec![6.0, 1.0]));
        assert_eq!((table.local_s, table.ended_s), (vec![5.0, 0.0], vec![25.0, 2.0]));
        assert_eq!(table.remote_s[&OpKind::Read], [5.0, 1.0]);
        assert_eq!(table.remote_s[&OpKind::Create], [5.0, 0.0]);
        assert_eq!(table.answer_s[&OpKind::Read], [9.0, 2.0]);
        assert_eq!(table.answer_s[&OpKind::Create], [7.0, 0.0]);
        assert_eq!(table.ok[&OpKind::Read], [5, 1]);
        assert_eq!(table.ok[&OpKind::Create], [10, 0]);
        assert_eq!(table.down_s, [0.0, 2.0]);
        assert_eq!(table.spread["remote"], Spread::of(&[10.0, 1.0]));
        let bare = PhaseTable::new(&connections[..1], &kinds, false);
        assert_eq!((bare.ok[&OpKind::Read][0], bare.ended_s), (5, vec![25.0]));
        assert!(bare.down_s.is_empty() && bare.send_s.is_empty() && bare.remote_s.is_empty());
    }
}
