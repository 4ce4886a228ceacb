//! Requests for many rows: one call per server for all of its rows, and all calls in flight
//! together.

use super::HBasePen;
use super::cells::{Cell, Cells, MOST_ROW};
use super::connection::{SentCall, Setback};
use super::exception::{Sense, first_line, sense};
use super::frame::CallAnswer;
use super::messages::{
    Action, Get, MultiRequest, MultiResponse, NameBytesPair, RegionAction, RegionActionResult,
    ResultOrException,
};
use super::regions::LocatedRegion;
use super::worker::{HBaseWorker, specifier};
use crate::measure::Probe;
use crate::op::{Failure, Op, Reply, Token};
use prost::bytes::Bytes;
use std::rc::Rc;

/// A part of a call: a region with the numbers of its rows.
struct Part {
    place: Rc<LocatedRegion>,
    rows: Vec<u32>,
}

/// The request for each row.
#[derive(Clone, Copy)]
enum RowRequests<'a> {
    /// To store it, as it is in the pen.
    Puts(&'a HBasePen),
    /// To read it.
    Gets(&'a [Bytes]),
}

impl RowRequests<'_> {
    fn row(&self, number: u32) -> &[u8] {
        match self {
            Self::Puts(pen) => pen.row(number as usize).unwrap_or_default(),
            Self::Gets(rows) => &rows[number as usize],
        }
    }
}

/// The fate of a row.
#[derive(Clone, Copy)]
enum RowFate {
    /// It is sent again.
    Again,
    /// It was carried out, with this many cells.
    Done(u32),
    Failed(Failure),
}

/// The rows that will be sent again, and why.
#[derive(Default)]
struct Again {
    rows: Vec<u32>,
    said: String,
    /// Whether one of their regions is not ready, so that there is a pause first.
    waits: bool,
}

impl Again {
    fn wait(&mut self, said: String) {
        (self.said, self.waits) = (said, true);
    }
}

impl HBaseWorker {
    pub(super) async fn insert(
        &mut self,
        op: &Op,
        pen: &HBasePen,
        probe: &mut Probe,
    ) -> Result<Reply, Failure> {
        self.each(RowRequests::Puts(pen), op.documents, probe).await;
        match self.rows.first().copied() {
            Some(Err(first)) if self.rows.iter().all(|row| *row == Err(first)) => Err(first),
            _ => Ok(Reply::default()),
        }
    }

    /// Reads these rows, and returns how many exist. Fails unless all requests are answered.
    pub(super) async fn read_rows(
        &mut self,
        rows: &[Bytes],
        probe: &mut Probe,
    ) -> Result<u32, Failure> {
        if !rows.iter().all(|row| (1..=MOST_ROW).contains(&row.len())) {
            return Err(self.invalid_row());
        }
        let found = self.each(RowRequests::Gets(rows), rows.len() as u32, probe).await;
        let answered = std::mem::take(&mut self.rows);
        answered.into_iter().find_map(Result::err).map_or(Ok(found), Err)
    }

    /// Sends the requests for rows until each is answered or has failed, and puts the results into
    /// `rows`. Returns how many of the answers have cells.
    async fn each(&mut self, asked: RowRequests<'_>, count: u32, probe: &mut Probe) -> u32 {
        self.rows.resize(count as usize, Ok(Token::default()));
        let mut open: Vec<u32> = (0..count).collect();
        let (mut found, mut tries) = (0, 0);
        while !open.is_empty() {
            let mut again = Again::default();
            let mut calls = Vec::new();
            for (server, parts) in self.grouped(&open, asked, &mut again).await {
                let (request, cells) = self.request(&parts, asked);
                match self.send(&server, "Multi", &request, &cells, probe).await {
                    Ok(call) => calls.push((call, parts)),
                    Err(failure) => self.all(&parts, failure),
                }
            }
            for (call, parts) in calls {
                found += self.receive(call, &parts, asked, &mut again, probe).await;
            }
            again.rows.sort_unstable();
            let is_less = again.rows.len() < open.len();
            open = again.rows;
            if !open.is_empty() && (again.waits || !is_less) {
                self.again(&mut tries, again.said).await;
            }
        }
        found
    }

    /// Groups the rows by server and region. Rows whose region is not available yet stay in
    /// `again`.
    async fn grouped(
        &mut self,
        open: &[u32],
        asked: RowRequests<'_>,
        again: &mut Again,
    ) -> Vec<(Rc<str>, Vec<Part>)> {
        let mut groups: Vec<(Rc<str>, Vec<Part>)> = Vec::new();
        for &number in open {
            let row = asked.row(number);
            let found = match self.shared.regions.known(row) {
                Some(place) => Ok(place),
                None => self.find(row).await,
            };
            let place = match found {
                Ok(place) => place,
                Err(Setback::NotYet(why)) => {
                    again.rows.push(number);
                    again.wait(why);
                    continue;
                }
                Err(Setback::Lost(lost)) => {
                    self.rows[number as usize] = Err(self.not_sent(lost));
                    continue;
                }
            };
            let at = groups.iter().position(|(server, _)| *server == place.server);
            let at = at.unwrap_or_else(|| {
                groups.push((place.server.clone(), Vec::new()));
                groups.len() - 1
            });
            let parts = &mut groups[at].1;
            match parts.iter_mut().find(|part| Rc::ptr_eq(&part.place, &place)) {
                Some(part) => part.rows.push(number),
                None => parts.push(Part { place, rows: vec![number] }),
            }
        }
        groups
    }

    fn request(&self, parts: &[Part], asked: RowRequests<'_>) -> (MultiRequest, Vec<u8>) {
        let mut cells = Vec::new();
        let mut action = |number: u32, index: u32| {
            let mut action = Action { index: Some(index), ..Action::default() };
            match asked {
                RowRequests::Puts(pen) => {
                    let (block, count) = pen.document(number as usize);
                    cells.extend_from_slice(block);
                    let row = Bytes::copy_from_slice(asked.row(number));
                    action.mutation = Some(self.mutation(row, count));
                }
                RowRequests::Gets(rows) => {
                    let row = rows[number as usize].clone();
                    action.get = Some(Get { row, column: vec![self.column(&[])] });
                }
            }
            action
        };
        let region_action = parts.iter().map(|Part { place, rows }| RegionAction {
            region: specifier(&place.region.name),
            action: rows.iter().zip(0..).map(|(&number, index)| action(number, index)).collect(),
        });
        let request = MultiRequest { region_action: region_action.collect() };
        (request, cells)
    }

    /// Notes the same failure for all rows of a call.
    fn all(&mut self, parts: &[Part], failure: Failure) {
        for &number in parts.iter().flat_map(|part| &part.rows) {
            self.rows[number as usize] = Err(failure);
        }
    }

    /// Notes the results for the rows of a call. Returns how many have cells in the answer.
    async fn receive(
        &mut self,
        call: SentCall,
        parts: &[Part],
        asked: RowRequests<'_>,
        again: &mut Again,
        probe: &mut Probe,
    ) -> u32 {
        let Some(first) = parts.first() else { return 0 };
        let answer = match self.answer(call, &first.place, probe).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(why)) => {
                again.rows.extend(parts.iter().flat_map(|part| &part.rows));
                again.wait(why);
                return 0;
            }
            Err(failure) => {
                // It is unknown which of them were carried out.
                let lost = matches!(failure, Failure::Reset | Failure::Timeout);
                let stored = matches!(asked, RowRequests::Puts(_));
                self.all(parts, if lost && stored { Failure::Unanswered } else { failure });
                return 0;
            }
        };
        let results = answer.message::<MultiResponse>().map(|said| said.region_action_result);
        let results = results.filter(|results| results.len() == parts.len());
        // With a cell too many or too few, it is unknown which rows the others belong to.
        let results = results
            .ok_or("no answer to all regions")
            .and_then(|results| has_all(&answer, &results).then_some(results).ok_or(CELLS));
        let results = match results {
            Ok(results) => results,
            Err(reason) => {
                let failure = self.failed(Failure::Protocol, reason.to_owned());
                self.all(parts, failure);
                return 0;
            }
        };
        let (mut cells, mut found) = (Cells::of(answer.cells()), 0);
        for (part, result) in parts.iter().zip(results) {
            let fates = self.fates(&result, part, asked, &mut cells, again);
            for (&number, fate) in part.rows.iter().zip(fates) {
                match fate {
                    RowFate::Again => again.rows.push(number),
                    RowFate::Done(cells) => found += u32::from(cells > 0),
                    RowFate::Failed(failure) => self.rows[number as usize] = Err(failure),
                }
            }
        }
        found
    }

    /// The fates of the rows of a region. Takes the cells in their answers.
    fn fates(
        &mut self,
        result: &RegionActionResult,
        Part { place, rows }: &Part,
        asked: RowRequests<'_>,
        cells: &mut Cells<'_>,
        again: &mut Again,
    ) -> Vec<RowFate> {
        let mut fates = vec![None; rows.len()];
        if let Some(exception) = &result.exception {
            fates.fill(Some(self.fate(exception, place, again)));
        }
        for row in &result.result_or_exception {
            let index = row.index.unwrap_or(u32::MAX) as usize;
            let wanted = rows.get(index).map(|&number| asked.row(number)).unwrap_or_default();
            let fate = match &row.exception {
                Some(exception) => self.fate(exception, place, again),
                None => self.taken(row, wanted, cells),
            };
            if let Some(place) = fates.get_mut(index) {
                *place = Some(fate);
            }
        }
        let missing = || "no answer to all rows".to_owned();
        let known = |fate: Option<RowFate>| {
            fate.unwrap_or_else(|| RowFate::Failed(self.failed(Failure::Protocol, missing())))
        };
        fates.into_iter().map(known).collect()
    }

    /// Takes the cells of an answer, which must be those of `wanted`.
    fn taken(&mut self, row: &ResultOrException, wanted: &[u8], cells: &mut Cells<'_>) -> RowFate {
        let family = &*self.shared.family;
        let other = |cell: Cell<'_>| cell.row != wanted || cell.family != family;
        let own: Vec<_> = cells.by_ref().take(announced(row) as usize).flatten().collect();
        if own.iter().copied().any(other) {
            let reason = "not the row that was asked for".to_owned();
            return RowFate::Failed(self.failed(Failure::WrongDocument, reason));
        }
        RowFate::Done(announced(row))
    }

    /// The consequence of an exception for a row, or for a whole region.
    fn fate(
        &mut self,
        exception: &NameBytesPair,
        place: &Rc<LocatedRegion>,
        again: &mut Again,
    ) -> RowFate {
        let text = exception.value.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
        let said = first_line(&exception.name, &text);
        match sense(&exception.name) {
            Sense::Moved => self.shared.regions.forget(place),
            Sense::NotYet => {}
            Sense::Later => {
                again.said = said;
                return RowFate::Again;
            }
            Sense::Failed(failure) => return RowFate::Failed(self.failed(failure, said)),
        }
        again.wait(said);
        RowFate::Again
    }
}

const CELLS: &str = "not as many cells as announced";

/// The number of cells that an answer announces for a row.
fn announced(row: &ResultOrException) -> u32 {
    let count = row.result.and_then(|result| result.associated_cell_count);
    count.unwrap_or_default().unsigned_abs()
}

/// Whether an answer has exactly the cells that its rows announce.
fn has_all(answer: &CallAnswer, results: &[RegionActionResult]) -> bool {
    let rows = results.iter().flat_map(|result| &result.result_or_exception);
    let said: u64 = rows.map(|row| u64::from(announced(row))).sum();
    let count = |count, cell: Option<_>| cell.map(|_| count + 1);
    Cells::of(answer.cells()).try_fold(0, count) == Some(said)
}
