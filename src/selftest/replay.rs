//! The same seed gives the same operations with any number of threads.

use super::Length;
use super::Measured;
use super::harness::Broken;
use crate::driver::{self, DefaultPen};
use crate::engine::{Lane, ShardPlan, Start, run_shard};
use crate::op::{Answered, Failure, Op, OpKind, Pen, Reply};
use crate::plan::SchemaPlan;
use crate::run::RunError;
use crate::schema::Documents;
use crate::workload::{Budget, Check, Crud, KeySequence, Live, Mix, Next, Workload};
use ring::digest::{Context, SHA256};
use std::sync::Arc;
use std::sync::mpsc::channel;

const CONNECTIONS: usize = 16;

/// Digests every operation and document, as encoded for CouchDB.
struct Digesting {
    inner: Crud,
    pen: DefaultPen,
    digest: Context,
}

impl Workload for Digesting {
    fn next<P: Pen>(&mut self, _: &mut P) -> Next {
        self.pen.clear();
        let Next::Op(op) = self.inner.next(&mut self.pen) else { return Next::End };
        self.digest.update(&[op.kind.index() as u8]);
        self.digest.update(self.pen.names());
        self.digest.update(self.pen.body());
        Next::Op(op)
    }

    fn observe(
        &mut self,
        op: &Op,
        result: Result<Reply, Failure>,
        answered: &Answered<'_>,
    ) -> Check {
        self.inner.observe(op, result, answered)
    }
}

pub(super) fn replay(length: Length) -> Result<Measured, Broken> {
    let operations = length.pick(1_000_000, 100_000);
    let schemas = [SchemaPlan::built_in()];
    let documents = SchemaPlan::documents(42, &schemas).map_err(RunError::Schema)?;
    let documents = Arc::new(documents);
    let digests = [1, 2, 5].map(|threads| digest(&documents, operations, threads));
    let [one, two, five] = digests;
    let (one, two, five) = (one?, two?, five?);
    let same = one == two && one == five;
    let measured = format!("{operations} operations on 1, 2, 5 threads: {}", &one[..16]);
    Ok(Measured::new(same, measured))
}

/// The digest of all operations: a digest of the connections' digests, in order.
fn digest(documents: &Arc<Documents>, operations: u64, threads: usize) -> Result<String, Broken> {
    let mix = Mix::crud([2, 3, 2, 1]);
    let mut shards: Vec<Vec<Lane<Digesting>>> = (0..threads).map(|_| Vec::new()).collect();
    for connection in 0..CONNECTIONS {
        let budget = Budget::Counted(mix.split(operations / CONNECTIONS as u64));
        let keys = KeySequence { next: connection as u64, step: CONNECTIONS as u64 };
        let number = connection as u64;
        let inner = Crud::new(documents.clone(), 42, number, budget, Live::default(), keys);
        let workload =
            Digesting { inner, pen: DefaultPen::default(), digest: Context::new(&SHA256) };
        shards[connection % threads].push(Lane { connection, workload });
    }
    let (sink, _source) = channel();
    let start = Arc::new(Start::new(threads));
    let handles: Vec<_> = shards
        .into_iter()
        .enumerate()
        .map(|(shard, lanes)| {
            let alone = ShardPlan::alone((shard, threads), CONNECTIONS, sink.clone());
            let plan = ShardPlan { start: start.clone(), ..alone };
            std::thread::spawn(move || run_shard(&plan, &driver::at_once(), lanes))
        })
        .collect();
    let mut lanes = Vec::new();
    for handle in handles {
        let shard = handle.join().map_err(|_| Broken::Operations("a thread panicked"))??;
        lanes.extend(shard.lanes);
    }
    lanes.sort_by_key(|lane| lane.connection);
    let mut whole = Context::new(&SHA256);
    for lane in lanes {
        if lane.times.kind(OpKind::Read).ok == 0 {
            return Err(Broken::Operations("a connection has read nothing"));
        }
        whole.update(lane.workload.digest.finish().as_ref());
    }
    let digest = whole.finish();
    Ok(digest.as_ref().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_operations_are_no_proof_and_other_operations_are_other_digests() {
        let documents = SchemaPlan::documents(42, &[SchemaPlan::built_in()]).unwrap();
        let documents = Arc::new(documents);
        let nothing = digest(&documents, 0, 2).unwrap_err();
        assert_eq!(nothing.to_string(), "a connection has read nothing");
        let digests = [3_200, 4_800].map(|operations| digest(&documents, operations, 2).unwrap());
        assert_ne!(digests[0], digests[1]);
    }
}
