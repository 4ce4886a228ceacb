//! A TCP connection of a session on which each request has one answer; replaced when it is lost.

use super::Outcome;
use crate::clock::{Clock, Nanos};
use crate::measure::{BodyBytes, Probe, Wire};
use crate::net::{Deadline, ShardContext, rest_after};
use crate::op::{Failure, Op, Reply};
use std::io;
use std::pin::pin;
use std::rc::Rc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Why there is no connection: the failure, and the words of the system or the peer.
pub(super) type Refused = (Failure, String);

/// The connection, if there is one.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) stream: Option<TcpStream>,
    /// Consecutive failed attempts to connect.
    pub(super) failed: u32,
    /// Why the last attempt failed, if that is known.
    pub(super) refused: Option<Refused>,
    pub(super) deadline: Deadline,
    clock: Clock,
    unsolicited: u64,
}

impl Link {
    pub(super) fn new(context: &Rc<ShardContext>) -> Self {
        Self {
            stream: None,
            failed: 0,
            refused: None,
            deadline: context.register(),
            clock: context.clock(),
            unsolicited: 0,
        }
    }

    /// Drops a connection that the peer has closed, or on which it sent something unsolicited.
    fn look(&mut self) {
        let Some(stream) = &self.stream else { return };
        match stream.try_read(&mut [0; 16]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            read => {
                self.unsolicited += u64::from(matches!(read, Ok(1..)));
                self.stream = None;
            }
        }
    }

    /// If there is no connection, waits for the pause that earlier failures call for, and returns
    /// the time at which to connect.
    pub(super) async fn due(&mut self) -> Option<Nanos> {
        self.look();
        if self.stream.is_some() {
            return None;
        }
        if self.failed > 0 {
            tokio::time::sleep(rest_after(self.failed)).await;
        }
        Some(self.clock.now())
    }

    /// Takes the connection that was made, or the reason why there is none.
    pub(super) fn take(&mut self, connected: Result<TcpStream, Option<Refused>>) {
        (self.stream, self.refused) = match connected {
            Ok(stream) => (Some(stream), None),
            Err(refused) => (None, refused),
        };
        self.failed = if self.stream.is_some() { 0 } else { self.failed + 1 };
    }

    /// Sends `request`, and reads into `answer` until it is `whole`.
    pub(super) async fn exchange(
        &mut self,
        request: &[u8],
        answer: &mut Vec<u8>,
        probe: &mut Probe,
        mut whole: impl FnMut(&[u8]) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let (began, stream) = (probe.began(), &mut self.stream);
        let exchanging = async {
            let stream = stream.as_mut().ok_or(Failure::Connect)?;
            probe.mark_send();
            stream.write_all(request).await.map_err(|_| Failure::Reset)?;
            probe.mark_sent();
            loop {
                match stream.read_buf(answer).await {
                    Ok(1..) => probe.mark_received(),
                    Ok(0) | Err(_) => return Err(Failure::Reset),
                }
                if whole(answer)? {
                    return Ok(());
                }
            }
        };
        self.deadline.within(began, pin!(exchanging)).await.unwrap_or(Err(Failure::Timeout))
    }

    /// How an operation ended, given the result of its exchange. Closes a connection that failed.
    pub(super) fn ended(
        &mut self,
        op: &Op,
        result: Result<Reply, Failure>,
        bytes: BodyBytes,
        probe: &mut Probe,
    ) -> Outcome {
        let result = result.map_err(|failure| match failure {
            // It is unknown whether it was carried out.
            Failure::Timeout | Failure::Reset if !op.kind.only_reads() => Failure::Unanswered,
            Failure::Connect => self.refused.as_ref().map_or(failure, |it| it.0),
            other => other,
        });
        if result.is_err_and(|failure| !failure.answered()) {
            probe.mark_failed();
            self.stream = None;
        }
        // Without a connection nothing was sent.
        let sent = !result.is_err_and(Failure::unconnected);
        let unsolicited = std::mem::take(&mut self.unsolicited);
        let wire = Wire { requests: Some(u64::from(sent)), unsolicited, ..Wire::default() };
        let bytes = BodyBytes { sent: if sent { bytes.sent } else { 0 }, ..bytes };
        Outcome { result, bytes, wire }
    }
}
