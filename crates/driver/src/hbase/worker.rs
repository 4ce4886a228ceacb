//! How one session carries out an operation: finds the regions, sends calls there, reads answers.
//!
//! If a server refuses a call because the region is elsewhere or not ready yet, the call is sent
//! again until the operation's time is up. Anything else that goes wrong ends the operation.

use super::HBasePen;
use super::cells::Cells;
use super::connection::{Lost, SentCall, Setback};
use super::exception::{Sense, describe, sense};
use super::frame::CallAnswer;
use super::messages::{
    Column, Get, GetRequest, GetResponse, MutateRequest, MutateResponse, Mutation, RegionSpecifier,
};
use super::regions::{LocatedRegion, Regions};
use super::rows;
use super::servers::RegionServers;
use super::words::{Own, SpelledOperation};
use crate::measure::{BodyBytes, Probe, Wire};
use crate::net::rest_after;
use crate::op::{Failure, Op, OpKind, Reply, Token};
use prost::Message;
use prost::bytes::Bytes;
use std::cell::OnceCell;
use std::rc::Rc;

/// From this attempt on, the pauses no longer grow.
const MOST_DOUBLED: u32 = 5;
/// The kinds of mutations.
const PUT: i32 = 2;
const DELETE: i32 = 3;

/// The cluster as the sessions of one thread share it.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) regions: Regions,
    pub(super) servers: RegionServers,
    pub(super) family: Rc<[u8]>,
    /// The durability's number in the protocol; `None` leaves it to the table.
    pub(super) durability: Option<i32>,
    pub(super) own: Own,
}

/// How far an operation has got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Standing {
    /// No part of it has been sent.
    #[default]
    Unsent,
    /// Calls were sent, and it is unknown whether they were carried out.
    Sent,
    /// The calls were refused and will be sent again.
    Refused,
}

#[derive(Debug)]
pub(super) struct HBaseWorker {
    pub(super) shared: Rc<Cluster>,
    /// Which of the connections to a server it uses.
    pub(super) number: u32,
    pub(super) standing: Standing,
    pub(super) wire: Wire,
    pub(super) bytes: BodyBytes,
    pub(super) rows: Vec<Result<Token, Failure>>,
    /// The document that was read, in JSON.
    pub(super) document: Vec<u8>,
    /// The answers to the last scan with the number of cells in each row, and its rows in JSON once
    /// they are requested.
    pub(super) scanned: Vec<(CallAnswer, Vec<u32>)>,
    pub(super) scanned_json: OnceCell<Vec<Vec<u8>>>,
    pub(super) reasons: Vec<(Failure, String)>,
}

impl HBaseWorker {
    pub(super) fn new(shared: Rc<Cluster>, number: u32) -> Self {
        Self {
            shared,
            number,
            standing: Standing::Unsent,
            wire: Wire::default(),
            bytes: BodyBytes::default(),
            rows: Vec::new(),
            document: Vec::new(),
            scanned: Vec::new(),
            scanned_json: OnceCell::new(),
            reasons: Vec::new(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.standing = Standing::Unsent;
        self.wire = Wire { requests: Some(0), ..Wire::default() };
        self.bytes = BodyBytes::default();
        self.rows.clear();
        self.document.clear();
        self.scanned.clear();
        self.scanned_json.take();
        self.reasons.clear();
    }

    pub(super) async fn work(
        &mut self,
        op: &Op,
        pen: &HBasePen,
        probe: &mut Probe,
    ) -> Result<Reply, Failure> {
        if op.kind.is_own() {
            return Box::pin(self.own(op, pen, probe)).await;
        }
        if !pen.is_valid() {
            return Err(self.invalid_row());
        }
        match op.kind {
            OpKind::BulkInsert => Box::pin(self.insert(op, pen, probe)).await,
            OpKind::Scan => Box::pin(self.scan(op, pen, probe)).await,
            OpKind::Read if op.limit > 0 => Box::pin(self.scan(op, pen, probe)).await,
            OpKind::Read => self.get(pen, probe).await,
            _ => self.mutate(op, pen, probe).await,
        }
    }

    /// Notes that HBase does not allow a row.
    #[cold]
    pub(super) fn invalid_row(&mut self) -> Failure {
        let reason = format!("HBase has rows of 1 to {} bytes", super::cells::MOST_ROW);
        self.failed(Failure::TooLarge, reason)
    }

    /// Carries out an operation that the plan defines.
    async fn own(&mut self, op: &Op, pen: &HBasePen, probe: &mut Probe) -> Result<Reply, Failure> {
        let shared = self.shared.clone();
        let rows = match shared.own.get(op.kind).ok_or(Failure::Rejected)? {
            SpelledOperation::Scan(scan) => self.rows_of(&scan.range(pen), probe).await?,
            SpelledOperation::MultiGet(get) => self.read_rows(&get.rows(pen), probe).await?,
        };
        let reply = shared.own.reply(op.kind, rows.into());
        reply.map_err(|words| self.failed(Failure::Unexpected, words))
    }

    async fn get(&mut self, pen: &HBasePen, probe: &mut Probe) -> Result<Reply, Failure> {
        let row = Bytes::copy_from_slice(pen.row(0).unwrap_or_default());
        let get = Get { row: row.clone(), column: vec![self.column(&pen.wanted)] };
        let send = |place: &LocatedRegion| {
            ("Get", GetRequest { region: specifier(&place.region.name), get: get.clone() })
        };
        let answer = self.call(&row, send, &[], probe).await?;
        let said: Option<GetResponse> = answer.message();
        let count = said.map(|said| said.result.unwrap_or_default().associated_cell_count);
        let count = count.map(|count| count.unwrap_or_default().unsigned_abs());
        let read = rows::count(answer.cells(), &row, &self.shared.family);
        if pen.looks && read.is_some_and(|count| count > 0) {
            rows::document(answer.cells(), &mut self.document);
        }
        match (count, read) {
            (Some(0), Some(0)) => Err(Failure::NotFound),
            (Some(said), Some(read)) if said == read => Ok(Reply::default()),
            _ => {
                let other = Cells::of(answer.cells()).flatten().any(|cell| cell.row != row);
                let class = if other { Failure::WrongDocument } else { Failure::Protocol };
                Err(self.failed(class, "not the row that was asked for".to_owned()))
            }
        }
    }

    async fn mutate(
        &mut self,
        op: &Op,
        pen: &HBasePen,
        probe: &mut Probe,
    ) -> Result<Reply, Failure> {
        let row = Bytes::copy_from_slice(pen.row(0).unwrap_or_default());
        let (cells, count) = match op.kind {
            OpKind::Delete => (&[][..], 0),
            _ => pen.document(0),
        };
        let mutation = self.mutation(row.clone(), count);
        let send = |place: &LocatedRegion| {
            let region = specifier(&place.region.name);
            ("Mutate", MutateRequest { region, mutation: mutation.clone() })
        };
        let answer = self.call(&row, send, cells, probe).await?;
        match answer.message::<MutateResponse>() {
            Some(said) if said.processed != Some(false) => Ok(Reply::default()),
            Some(_) => Err(self.failed(Failure::Rejected, "not processed".to_owned())),
            None => Err(self.failed(Failure::Protocol, "no answer to a mutation".to_owned())),
        }
    }

    /// A put of this many cells, or the removal of the row.
    pub(super) fn mutation(&self, row: Bytes, cells: u32) -> Mutation {
        Mutation {
            row: Some(row),
            mutate_type: Some(if cells > 0 { PUT } else { DELETE }),
            durability: self.shared.durability,
            associated_cell_count: (cells > 0).then_some(cells.cast_signed()),
        }
    }

    /// The columns that are requested; none of them means all.
    pub(super) fn column(&self, wanted: &[Bytes]) -> Column {
        let family = Bytes::copy_from_slice(&self.shared.family);
        Column { family, qualifier: wanted.to_vec() }
    }

    /// Sends a call to the server of `row` until it is accepted; returns the answer, which is not
    /// an exception.
    pub(super) async fn call<M: Message>(
        &mut self,
        row: &[u8],
        mut request: impl FnMut(&LocatedRegion) -> (&'static str, M),
        cells: &[u8],
        probe: &mut Probe,
    ) -> Result<CallAnswer, Failure> {
        let mut tries = 0;
        loop {
            let found = match self.shared.regions.known(row) {
                Some(place) => Ok(place),
                None => self.find(row).await,
            };
            let place = match found {
                Ok(place) => place,
                Err(Setback::NotYet(said)) => {
                    self.again(&mut tries, said).await;
                    continue;
                }
                Err(Setback::Lost(lost)) => return Err(self.not_sent(lost)),
            };
            let (method, message) = request(&place);
            let call = self.send(&place.server, method, &message, cells, probe).await?;
            match self.answer(call, &place, probe).await? {
                Ok(answer) => return Ok(answer),
                Err(said) => self.again(&mut tries, said).await,
            }
        }
    }

    pub(super) async fn find(&self, row: &[u8]) -> Result<Rc<LocatedRegion>, Setback> {
        Box::pin(self.shared.regions.find(row, &self.shared.servers)).await
    }

    pub(super) async fn send(
        &mut self,
        server: &Rc<str>,
        method: &str,
        message: &impl Message,
        cells: &[u8],
        probe: &mut Probe,
    ) -> Result<SentCall, Failure> {
        let servers = &self.shared.servers;
        let connection = match servers.open_connection(server, self.number) {
            Some(connection) => {
                if self.standing == Standing::Unsent {
                    probe.mark_send_at_once();
                }
                connection
            }
            None => match Box::pin(servers.connection(server, self.number)).await {
                Ok(connection) => connection,
                Err(lost) => {
                    self.shared.regions.forget_server(server);
                    return Err(self.not_sent(lost));
                }
            },
        };
        probe.mark_send();
        let (call, length) = connection.send(method, message, cells);
        self.standing = Standing::Sent;
        self.wire.requests = self.wire.requests.map(|sent| sent + 1);
        self.bytes.sent += length as u64;
        Ok(call)
    }

    /// The answer to a call; the inner error is the message of a server that could not accept it.
    pub(super) async fn answer(
        &mut self,
        mut call: SentCall,
        place: &Rc<LocatedRegion>,
        probe: &mut Probe,
    ) -> Result<Result<CallAnswer, String>, Failure> {
        let ended = (&mut call).await;
        let times = call.times();
        let answer = match ended {
            Ok(answer) => answer,
            Err(lost) => {
                self.shared.regions.forget_server(&place.server);
                return Err(self.failed(lost.failure, lost.reason));
            }
        };
        probe.mark_sent_at(times.sent);
        probe.mark_read_at(times.first_byte);
        probe.mark_read_at(times.last_byte);
        self.bytes.received += answer.length() as u64;
        let Some(exception) = &answer.exception else { return Ok(Ok(answer)) };
        let class = exception.exception_class_name.as_deref().unwrap_or_default();
        let said = describe(exception);
        match sense(class) {
            Sense::Moved => self.shared.regions.forget(place),
            Sense::NotYet | Sense::Later => {}
            Sense::Failed(failure) => return Err(self.failed(failure, said)),
        }
        Ok(Err(said))
    }

    /// Pauses before something is sent again.
    #[cold]
    pub(super) async fn again(&mut self, tries: &mut u32, said: String) {
        if self.standing == Standing::Sent {
            self.standing = Standing::Refused;
        }
        self.wire.relocated += 1;
        self.failed(Failure::ServerError, said);
        // Regions are back soon, so it is not worth waiting long for them.
        *tries = (*tries + 1).min(MOST_DOUBLED);
        tokio::time::sleep(rest_after(*tries)).await;
    }

    /// Notes that nothing was sent, because no server could be reached or asked.
    #[cold]
    pub(super) fn not_sent(&mut self, lost: Lost) -> Failure {
        let failure = match lost.failure {
            Failure::Reset | Failure::Protocol | Failure::Timeout => Failure::Connect,
            other => other,
        };
        self.failed(failure, lost.reason)
    }

    #[cold]
    pub(super) fn failed(&mut self, failure: Failure, reason: String) -> Failure {
        if !self.reasons.iter().any(|(known, _)| *known == failure) {
            self.reasons.push((failure, reason));
        }
        failure
    }
}

/// A region, in the form that requests use.
pub(super) fn specifier(name: &Bytes) -> RegionSpecifier {
    RegionSpecifier { kind: 1, value: name.clone() }
}
