//! Scans: rows starting at a given one, region after region.

use super::HBasePen;
use super::cells::{Cell, Cells};
use super::frame::CallAnswer;
use super::messages::{ColumnPrefixFilter, Filter, Scan, ScanRequest, ScanResponse};
use super::regions::LocatedRegion;
use super::rows;
use super::words::Range;
use super::worker::{HBaseWorker, specifier};
use crate::measure::Probe;
use crate::op::{Failure, Op, Reply};
use prost::Message as _;
use prost::bytes::Bytes;

/// The most rows that are requested at once.
const AT_ONCE: u32 = 1_000;

impl HBaseWorker {
    /// Reads rows until there are as many as requested, or no more.
    pub(super) async fn scan(
        &mut self,
        op: &Op,
        pen: &HBasePen,
        probe: &mut Probe,
    ) -> Result<Reply, Failure> {
        let range = Range {
            from: Bytes::copy_from_slice(pen.row(0).unwrap_or_default()),
            stop: pen.row(1).map(Bytes::copy_from_slice),
            includes_stop: true,
            limit: op.limit,
            columns: pen.wanted.clone(),
            column_prefix: None,
        };
        let rows = self.rows_of(&range, probe).await?;
        Ok(Reply { rows, ..Reply::default() })
    }

    /// Reads a range of rows, and returns how many there are.
    pub(super) async fn rows_of(
        &mut self,
        range: &Range,
        probe: &mut Probe,
    ) -> Result<u32, Failure> {
        let Range { stop, includes_stop, limit, .. } = range;
        let (mut from, mut found) = (range.from.clone(), 0);
        let filter = range.column_prefix.as_ref().map(column_prefix);
        while found < *limit {
            let want = (*limit - found).min(AT_ONCE);
            let scan = Scan {
                column: vec![self.column(&range.columns)],
                filter: filter.clone(),
                start_row: Some(from.clone()),
                include_stop_row: stop.is_some().then_some(*includes_stop),
                stop_row: stop.clone(),
                caching: Some(want),
                ..Scan::default()
            };
            let mut end = Bytes::new();
            let first = |place: &LocatedRegion| {
                end = place.region.end.clone();
                let request = ScanRequest {
                    region: Some(specifier(&place.region.name)),
                    scan: Some(scan.clone()),
                    number_of_rows: Some(want),
                    // The scanner ends with this answer, so that none is left open.
                    close_scanner: Some(true),
                    limit_of_rows: Some(want),
                    ..ScanRequest::default()
                };
                ("Scan", request)
            };
            let answer = self.call(&from, first, &[], probe).await?;
            let Taken { count, last, more } = self.take_rows(answer, range, &from, want)?;
            found += count;
            if more && count == 0 {
                let reason = "no rows, though the region has more".to_owned();
                return Err(self.failed(Failure::Protocol, reason));
            }
            from = if count == want || more {
                // Either the answer has as many rows as allowed, or it ended early because it was
                // large: the rest begins after its last row.
                [&last[..], b"\0"].concat().into()
            } else if end.is_empty() {
                break;
            } else {
                end
            };
            if stop.as_ref().is_some_and(|stop| from > *stop || !*includes_stop && from == *stop) {
                break;
            }
        }
        Ok(found)
    }

    /// Checks the rows of an answer and keeps them.
    fn take_rows(
        &mut self,
        answer: CallAnswer,
        range: &Range,
        from: &[u8],
        most: u32,
    ) -> Result<Taken, Failure> {
        let read = answer.message::<ScanResponse>().and_then(|said| {
            let own = |cell: &Cell<'_>| {
                cell.family == &*self.shared.family && range.has_column(cell.qualifier)
            };
            let last = checked(&answer, &said.cells_per_result, from, own)?;
            let more = said.more_results_in_region.or(said.more_results).unwrap_or_default();
            let (counts, last) = (said.cells_per_result, Bytes::copy_from_slice(last));
            let count = u32::try_from(counts.len()).ok().filter(|count| *count <= most)?;
            Some((counts, Taken { count, last, more }))
        });
        let Some((counts, taken)) = read else {
            let reason = "not the rows that were asked for".to_owned();
            return Err(self.failed(Failure::Protocol, reason));
        };
        self.scanned.push((answer, counts));
        Ok(taken)
    }

    /// The rows of the last scan, in JSON.
    pub(super) fn scanned_rows(&self) -> Vec<&[u8]> {
        let documents = self.scanned_json.get_or_init(|| {
            self.scanned.iter().flat_map(|(answer, counts)| documents(answer, counts)).collect()
        });
        documents.iter().map(Vec::as_slice).collect()
    }
}

/// The rows of one answer.
struct Taken {
    count: u32,
    /// The last row; empty if there are none.
    last: Bytes,
    /// Whether the region has more.
    more: bool,
}

/// A filter for columns whose names begin with this.
fn column_prefix(prefix: &Bytes) -> Filter {
    let filter = ColumnPrefixFilter { prefix: prefix.clone() };
    Filter {
        name: "org.apache.hadoop.hbase.filter.ColumnPrefixFilter".to_owned(),
        serialized_filter: Some(filter.encode_to_vec().into()),
    }
}

/// The last row, or nothing if there are no rows. `None` if the rows are not in order from `from`
/// on, their number is not the one announced, or they have cells that are not the table's `own`.
fn checked<'a>(
    answer: &'a CallAnswer,
    counts: &[u32],
    from: &[u8],
    own: impl Fn(&Cell<'_>) -> bool,
) -> Option<&'a [u8]> {
    let mut cells = Cells::of(answer.cells());
    let mut last: &[u8] = b"";
    for &count in counts {
        let row = cells.by_ref().take(count as usize).collect::<Option<Vec<Cell<'_>>>>()?;
        let name = row.first()?.row;
        let whole =
            row.len() == count as usize && row.iter().all(|cell| cell.row == name && own(cell));
        let in_order = if last.is_empty() { name >= from } else { name > last };
        if !whole || !in_order {
            return None;
        }
        last = name;
    }
    cells.next().is_none().then_some(last)
}

fn documents(answer: &CallAnswer, counts: &[u32]) -> Vec<Vec<u8>> {
    let mut cells = Cells::of(answer.cells()).flatten();
    let document = |&count: &u32| {
        let mut out = vec![b'{'];
        cells.by_ref().take(count as usize).for_each(|cell| rows::member(&cell, &mut out));
        out.push(b'}');
        out
    };
    counts.iter().map(document).collect()
}
