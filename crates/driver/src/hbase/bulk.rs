//! Bulk inserts: the rows of each server in one call.

use super::HBasePen;
use super::connection::{Call, Setback};
use super::exception::{Sense, first_line, sense};
use super::messages::{Action, MultiRequest, MultiResponse, NameBytesPair, RegionAction};
use super::regions::Located;
use super::worker::{Worker, specifier};
use crate::measure::Probe;
use crate::op::{Failure, Op, Reply, Token};
use prost::bytes::Bytes;
use std::rc::Rc;

/// The rows of a call: each region with the numbers of its rows.
type Parts = Vec<(Rc<Located>, Vec<u32>)>;

/// What became of a row: `None` if it is to be sent again.
type Fate = Option<Result<Token, Failure>>;

impl Worker {
    /// Inserts all rows. Those of one server go into one call; the calls to all servers are in
    /// flight at the same time.
    pub(super) async fn insert(
        &mut self,
        op: &Op,
        pen: &HBasePen,
        probe: &mut Probe,
    ) -> Result<Reply, Failure> {
        self.rows.resize(op.documents as usize, Ok(Token::default()));
        let mut open: Vec<u32> = (0..op.documents).collect();
        let mut tries = 0;
        while !open.is_empty() {
            let (mut again, mut said) = (Vec::new(), String::new());
            let mut calls = Vec::new();
            for (server, parts) in self.grouped(&open, pen, &mut again, &mut said).await {
                let (request, cells) = self.request(&parts, pen);
                match self.send(&server, "Multi", &request, &cells, probe).await {
                    Ok(call) => calls.push((call, parts)),
                    Err(failure) => self.all(&parts, failure),
                }
            }
            for (call, parts) in calls {
                self.receive(call, &parts, &mut again, &mut said, probe).await;
            }
            again.sort_unstable();
            open = again;
            if !open.is_empty() {
                self.again(&mut tries, said).await;
            }
        }
        match self.rows.first().copied() {
            Some(Err(first)) if self.rows.iter().all(|row| *row == Err(first)) => Err(first),
            _ => Ok(Reply::default()),
        }
    }

    /// The rows by server and region. Rows whose region is not available yet are left in `again`.
    async fn grouped(
        &mut self,
        open: &[u32],
        pen: &HBasePen,
        again: &mut Vec<u32>,
        said: &mut String,
    ) -> Vec<(Rc<str>, Parts)> {
        let mut groups: Vec<(Rc<str>, Parts)> = Vec::new();
        for &number in open {
            let row = pen.row(number as usize).unwrap_or_default();
            let found = match self.shared.regions.known(row) {
                Some(place) => Ok(place),
                None => self.find(row).await,
            };
            let place = match found {
                Ok(place) => place,
                Err(Setback::NotYet(why)) => {
                    again.push(number);
                    *said = why;
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
            match parts.iter_mut().find(|(known, _)| Rc::ptr_eq(known, &place)) {
                Some((_, numbers)) => numbers.push(number),
                None => parts.push((place, vec![number])),
            }
        }
        groups
    }

    fn request(&self, parts: &Parts, pen: &HBasePen) -> (MultiRequest, Vec<u8>) {
        let mut cells = Vec::new();
        let region_action = parts.iter().map(|(place, numbers)| {
            let action = numbers.iter().zip(0..).map(|(&number, index)| {
                let (block, count) = pen.document(number as usize);
                cells.extend_from_slice(block);
                let row = Bytes::copy_from_slice(pen.row(number as usize).unwrap_or_default());
                Action { index: Some(index), mutation: Some(self.mutation(row, count)) }
            });
            RegionAction { region: specifier(&place.region.name), action: action.collect() }
        });
        let request = MultiRequest { region_action: region_action.collect() };
        (request, cells)
    }

    /// Notes the same failure for all rows of a call.
    fn all(&mut self, parts: &Parts, failure: Failure) {
        for &number in parts.iter().flat_map(|(_, numbers)| numbers) {
            self.rows[number as usize] = Err(failure);
        }
    }

    /// Notes what became of the rows of a call.
    async fn receive(
        &mut self,
        call: Call,
        parts: &Parts,
        again: &mut Vec<u32>,
        said: &mut String,
        probe: &mut Probe,
    ) {
        let Some((first, _)) = parts.first() else { return };
        let answer = match self.answer(call, first, probe).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(why)) => {
                again.extend(parts.iter().flat_map(|(_, numbers)| numbers));
                *said = why;
                return;
            }
            Err(failure) => {
                // It is unknown which of them were carried out.
                let lost = matches!(failure, Failure::Reset | Failure::Timeout);
                return self.all(parts, if lost { Failure::Unanswered } else { failure });
            }
        };
        let results = answer.message::<MultiResponse>().map(|said| said.region_action_result);
        let Some(results) = results.filter(|results| results.len() == parts.len()) else {
            let failure = self.failed(Failure::Protocol, "no answer to all regions".to_owned());
            return self.all(parts, failure);
        };
        for ((place, numbers), result) in parts.iter().zip(results) {
            let mut fates = vec![Some(Err(Failure::Protocol)); numbers.len()];
            if let Some(exception) = &result.exception {
                fates.fill(self.fate(exception, place, said));
            }
            for row in &result.result_or_exception {
                let Some(fate) = fates.get_mut(row.index.unwrap_or(u32::MAX) as usize) else {
                    continue;
                };
                *fate = match &row.exception {
                    Some(exception) => self.fate(exception, place, said),
                    None => Some(Ok(Token::default())),
                };
            }
            for (&number, fate) in numbers.iter().zip(fates) {
                match fate {
                    Some(row) => self.rows[number as usize] = row,
                    None => again.push(number),
                }
            }
        }
    }

    /// What follows from the exception for a row, or for a whole region.
    fn fate(&mut self, exception: &NameBytesPair, place: &Rc<Located>, said: &mut String) -> Fate {
        let text = exception.value.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
        let told = first_line(&exception.name, &text);
        match sense(&exception.name) {
            Sense::Moved => self.shared.regions.forget(place),
            Sense::NotYet => {}
            Sense::Failed(failure) => return Some(Err(self.failed(failure, told))),
        }
        *said = told;
        None
    }
}
