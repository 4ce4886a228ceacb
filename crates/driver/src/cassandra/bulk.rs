//! Bulk inserts: a statement for each row, or all rows as one batch.

use super::answer::checked;
use super::consistency::BatchKind;
use super::frame::{Frames, MOST_IN_BATCH, Manner};
use super::hub::{Hub, Way};
use super::servers::is_unprepared;
use super::spelled::SpelledStatement;
use super::trouble::too_many;
use super::{MOST_UNDER_WAY, Pipe, Sent};
use crate::call::CallError;
use crate::library::Found;
use crate::measure::Probe;
use crate::op::{Failure, Reply};
use crate::pipe::{Answers, Waiting, all_ended};
use std::rc::Rc;

/// How many rows are in flight at once, at most.
const AT_ONCE: usize = 256;

/// How the rows of a session are inserted.
pub(super) struct Insert<'a> {
    pub(super) hub: &'a Rc<Hub>,
    /// Which of the connections to a node the session uses.
    pub(super) number: usize,
    pub(super) manner: Manner<'static>,
}

/// The rows that go to one node.
struct RowsLeg {
    pipe: Rc<Pipe>,
    node: usize,
    places: Vec<usize>,
    frames: Frames,
}

/// The fate of a row.
type InsertFate = Result<(), CallError>;

impl Insert<'_> {
    /// Inserts each row with its own statement: rows of different partitions do not belong in one
    /// batch.
    pub(super) async fn each(
        &self,
        rows: &[SpelledStatement],
        found: &mut Found,
        probe: &mut Probe,
    ) -> Result<Reply, CallError> {
        // All sessions together share a limited set of numbers on a connection.
        let at_once = (MOST_UNDER_WAY / self.hub.sessions.get().max(1)).clamp(1, AT_ONCE);
        let mut fates = Vec::with_capacity(rows.len());
        for part in rows.chunks(at_once) {
            if self.hub.has_several() {
                found.nodes.resize(fates.len() + part.len(), None);
            }
            let mut part_fates = vec![Err(Failure::Connect.into()); part.len()];
            let open = (0..part.len()).collect();
            let again = self.round(part, open, &mut part_fates, found, probe).await;
            // The node has prepared these statements by now, so it will not refuse them again.
            self.round(part, again, &mut part_fates, found, probe).await;
            fates.append(&mut part_fates);
        }
        if let Some(Err(first)) = fates.first()
            && found.requests == 0
        {
            return Err(first.clone());
        }
        for fate in fates {
            match fate {
                Ok(()) => found.stored(),
                Err(trouble) => found.failed(trouble),
            }
        }
        Ok(Reply::default())
    }

    /// Inserts the rows at these places, each at its node. Returns those whose statement the node
    /// did not know, but has prepared since.
    async fn round(
        &self,
        rows: &[SpelledStatement],
        open: Vec<usize>,
        fates: &mut [InsertFate],
        found: &mut Found,
        probe: &mut Probe,
    ) -> Vec<usize> {
        let mut legs: Vec<RowsLeg> = Vec::new();
        for place in open {
            let row = &rows[place];
            let Some(way) = self.hub.pipe(row.token(), self.number) else { continue };
            let known = legs.iter().position(|leg| Rc::ptr_eq(&leg.pipe, &way.pipe));
            let at = known.unwrap_or_else(|| {
                let Way { pipe, node } = way;
                legs.push(RowsLeg { pipe, node, places: Vec::new(), frames: Frames::default() });
                legs.len() - 1
            });
            // It may have been prepared again since it was spelled.
            let statement = self.hub.known(&row.cql).unwrap_or_else(|| row.statement.clone());
            legs[at].frames.execute(&statement, &row.bound, &self.manner);
            legs[at].places.push(place);
        }
        let (mut sent, mut again) = (Vec::new(), Vec::new());
        let before = found.nodes.len().saturating_sub(rows.len());
        for leg in &legs {
            probe.mark_send_at_once();
            let waiting = Rc::<Waiting>::default();
            sent.push(match leg.pipe.send_numbered(leg.frames.iter(), &waiting) {
                Ok(wait) => {
                    found.requests += leg.frames.len() as u64;
                    for place in &leg.places {
                        // With a single node, there is no place for it.
                        if let Some(node) = found.nodes.get_mut(before + place) {
                            *node = Some(leg.node);
                        }
                    }
                    Sent::Waits(wait, waiting, None)
                }
                Err(refused) => Sent::Not(too_many(refused)),
            });
        }
        all_ended(sent.iter_mut()).await;
        for (leg, sent) in legs.iter().zip(sent) {
            let mut answers = Answers::default();
            if let Sent::Waits(_, waiting, _) = &sent {
                waiting.times().mark(probe);
                waiting.swap(&mut answers);
            }
            if let Err(lost) = sent.ended() {
                answers.lose(unknown(lost));
            }
            let mut unknown = Vec::new();
            for (number, &place) in leg.places.iter().enumerate() {
                let answer = answers.get(number);
                fates[place] = answer.and_then(|it| checked(it).map(|_| ()));
                if answers.get(number).is_ok_and(is_unprepared) {
                    unknown.push(place);
                }
            }
            let mut known = true;
            for cql in distinct(unknown.iter().map(|place| &rows[*place])) {
                known &= Box::pin(self.hub.prepare(&leg.pipe, cql)).await.is_ok();
            }
            if known {
                again.append(&mut unknown);
            }
        }
        again
    }

    /// Inserts all rows with one request. If it fails, any of them may be stored.
    pub(super) async fn together(
        &self,
        kind: BatchKind,
        rows: &[SpelledStatement],
        found: &mut Found,
        probe: &mut Probe,
    ) -> Result<Reply, CallError> {
        if rows.len() > MOST_IN_BATCH {
            let reason = format!("a batch of Cassandra has at most {MOST_IN_BATCH} rows");
            return Err(CallError::new(Failure::TooLarge, reason));
        }
        let token = rows.first().and_then(SpelledStatement::token);
        let mut frames = Frames::default();
        frames.batch(kind, rows, &self.manner);
        for _ in 0..2 {
            let way = self.hub.pipe(token, self.number).ok_or(Failure::Connect)?;
            let Way { pipe, node } = way;
            found.node = self.hub.has_several().then_some(node);
            let (waiting, mut answers) = (Rc::<Waiting>::default(), Answers::default());
            let wait = pipe.send_numbered(frames.iter(), &waiting).map_err(too_many)?;
            probe.mark_send_at_once();
            found.requests += 1;
            let ended = wait.await;
            waiting.times().mark(probe);
            ended?;
            waiting.swap(&mut answers);
            let answer = answers.get(0)?;
            if !is_unprepared(answer) {
                checked(answer).map_err(in_batch)?;
                for _ in rows {
                    found.stored();
                }
                return Ok(Reply::default());
            }
            for cql in distinct(rows.iter()) {
                Box::pin(self.hub.prepare(&pipe, cql)).await?;
            }
        }
        Err(CallError::new(Failure::ServerError, "the server forgets what it has prepared"))
    }
}

fn distinct<'a>(rows: impl Iterator<Item = &'a SpelledStatement>) -> Vec<&'a str> {
    let mut all: Vec<_> = rows.map(|row| row.cql.as_str()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// A server that is overloaded may have refused only after storing the first rows of a batch.
fn in_batch(trouble: CallError) -> CallError {
    match trouble.failure {
        Failure::TooManyRequests => CallError { failure: Failure::ServerError, ..trouble },
        _ => trouble,
    }
}

/// The loss of the answer to a write: it is unknown whether it was carried out.
fn unknown(lost: CallError) -> CallError {
    match lost.failure {
        Failure::Timeout | Failure::Reset => CallError { failure: Failure::Unanswered, ..lost },
        _ => lost,
    }
}
