//! What tests of several drivers need: documents, and operations that are carried out alone.

use crate::clock::Clock;
use crate::measure::Probe;
use crate::net::{Endpoint, ShardContext, Stream, TlsOptions};
use crate::op::{Fields, Op, OpKind, Pen as _};
use crate::pipe::{Pipe, Protocol};
use crate::{Outcome, Session};
use std::rc::Rc;
use tokio::net::{TcpListener, TcpStream};

/// A document, or some of its fields, as JSON.
pub(crate) struct Text(pub(crate) &'static str);

impl Fields for Text {
    fn write(self, _: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(self.0.as_bytes());
    }
}

pub(crate) fn op(kind: OpKind) -> Op {
    Op::single(kind, 0, None)
}

/// Executes an operation on documents with these names; a read wants only these of their fields.
pub(crate) async fn carry_out<S: Session>(
    session: &mut S,
    op: Op,
    documents: &[(&str, &'static str)],
    wanted: &[&str],
) -> Outcome {
    let mut pen = session.pen();
    for (name, text) in documents {
        pen.name().extend_from_slice(name.as_bytes());
        match op.kind {
            OpKind::Update if op.token.is_none() => pen.changes(Text(text)),
            OpKind::Update | OpKind::Create | OpKind::BulkInsert => pen.document(None, Text(text)),
            _ => {}
        }
    }
    for field in wanted {
        pen.want(field);
    }
    pen.look();
    session.ready().await;
    session.prepare(&op, &mut pen);
    let now = Clock::system().now();
    let mut probe = Probe::new(Clock::system(), now, now);
    session.execute(&op, &mut pen, &mut probe).await
}

/// A pipe for several sessions, and the peer at its other end.
pub(crate) async fn connected<P: Protocol>(max_answer: usize) -> (Rc<Pipe<P>>, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let endpoint = Endpoint::resolve(&url.parse().unwrap(), &TlsOptions::default()).unwrap();
    let stream = Stream::connect(&endpoint, 0, false).await.unwrap();
    let context = ShardContext::new(Clock::system(), 1_000_000_000);
    let (peer, _) = listener.accept().await.unwrap();
    (Rc::new(Pipe::new(stream, true, &context, max_answer)), peer)
}
