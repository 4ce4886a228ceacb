//! Which server has which rows of the table: a cache of `hbase:meta`.

use super::cells::{Cell, Cells};
use super::connection::{Connection, Lost, Setback};
use super::exception::{Sense, describe, sense};
use super::frame::CallAnswer;
use super::messages::{
    Column, MetaLocations, Nothing, RegionInfo, RegionSpecifier, Scan, ScanRequest, ScanResponse,
    ServerName,
};
use super::seeds::first_of;
use super::servers::{REGISTRY, RegionServers};
use crate::op::Failure;
use prost::Message;
use prost::bytes::Bytes;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use tokio::sync::Mutex;

/// The family of `hbase:meta` that is read here.
const INFO: &[u8] = b"info";
/// Precedes a message that is stored in a cell.
const MAGIC: &[u8] = b"PBUF";

/// A range of rows of the table, which one server has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Region {
    /// The name used in requests.
    pub(super) name: Bytes,
    pub(super) start: Bytes,
    /// The first row after the region; empty if there is none.
    pub(super) end: Bytes,
    /// `host:port`.
    pub(super) server: String,
}

impl Region {
    fn holds(&self, row: &[u8]) -> bool {
        *self.start <= *row && (self.end.is_empty() || *row < *self.end)
    }

    fn overlaps(&self, other: &Self) -> bool {
        (self.end.is_empty() || other.start < self.end)
            && (other.end.is_empty() || self.start < other.end)
    }
}

/// A region, with the address of its server, which all regions there share.
#[derive(Debug)]
pub(super) struct LocatedRegion {
    pub(super) region: Region,
    pub(super) server: Rc<str>,
}

/// The regions of the table that this thread knows.
#[derive(Debug)]
pub(super) struct Regions {
    pub(super) table: Bytes,
    /// Servers that know where `hbase:meta` is.
    seeds: Vec<String>,
    /// By first row.
    known: RefCell<BTreeMap<Bytes, Rc<LocatedRegion>>>,
    /// The server of `hbase:meta`. The session that holds the lock asks; others wait for the
    /// result.
    asking: Mutex<Option<Rc<str>>>,
}

impl Regions {
    pub(super) fn new(table: Bytes, seeds: Vec<String>, known: &[Region]) -> Self {
        let mut servers = HashMap::<String, Rc<str>>::new();
        let mut place = |region: &Region| {
            let server = servers.entry(region.server.clone());
            let server = server.or_insert_with_key(|server| server.as_str().into()).clone();
            (region.start.clone(), Rc::new(LocatedRegion { region: region.clone(), server }))
        };
        let known = RefCell::new(known.iter().map(&mut place).collect());
        Self { table, seeds, known, asking: Mutex::new(None) }
    }

    /// The region of this row, if it is known.
    pub(super) fn known(&self, row: &[u8]) -> Option<Rc<LocatedRegion>> {
        use std::ops::Bound::{Included, Unbounded};
        let known = self.known.borrow();
        let (_, place) = known.range::<[u8], _>((Unbounded, Included(row))).next_back()?;
        place.region.holds(row).then(|| place.clone())
    }

    pub(super) fn servers(&self) -> Vec<Rc<str>> {
        let mut servers: Vec<_> =
            self.known.borrow().values().map(|place| place.server.clone()).collect();
        servers.sort();
        servers.dedup();
        servers
    }

    /// Forgets all regions of a server that does not answer.
    pub(super) fn forget_server(&self, server: &str) {
        self.known.borrow_mut().retain(|_, place| *place.server != *server);
    }

    /// Forgets a region that was not where it was supposed to be. A region found since then is
    /// kept.
    pub(super) fn forget(&self, stale: &Rc<LocatedRegion>) {
        let mut known = self.known.borrow_mut();
        if known.get(&stale.region.start).is_some_and(|place| Rc::ptr_eq(place, stale)) {
            known.remove(&stale.region.start);
        }
    }

    /// The region of this row, looked up if it is not known.
    pub(super) async fn find(
        &self,
        row: &[u8],
        servers: &RegionServers,
    ) -> Result<Rc<LocatedRegion>, Setback> {
        if let Some(place) = self.known(row) {
            return Ok(place);
        }
        let mut meta = self.asking.lock().await;
        if let Some(place) = self.known(row) {
            return Ok(place);
        }
        let at = match meta.take() {
            Some(at) => at,
            None => locate_meta(&self.seeds, servers).await?.into(),
        };
        let region = closest(&self.table, row, &at, servers).await?;
        *meta = Some(at);
        if !region.holds(row) {
            return Err(Setback::NotYet("the region of the row is not there".to_owned()));
        }
        Ok(self.learn(region))
    }

    /// Adds a region, which replaces all that it overlaps.
    fn learn(&self, region: Region) -> Rc<LocatedRegion> {
        let mut known = self.known.borrow_mut();
        known.retain(|_, place| !place.region.overlaps(&region));
        let shared = known.values().map(|place| &place.server).find(|it| ***it == *region.server);
        let server = shared.cloned().unwrap_or_else(|| region.server.as_str().into());
        let start = region.start.clone();
        let place = Rc::new(LocatedRegion { region, server });
        known.insert(start, place.clone());
        place
    }
}

/// `host:port` of a server.
pub(super) fn address(server: &ServerName) -> String {
    format!("{}:{}", server.host_name, server.port.unwrap_or_default())
}

/// The answer, unless it is an exception.
pub(super) fn accepted(answer: CallAnswer) -> Result<CallAnswer, Setback> {
    let Some(exception) = &answer.exception else { return Ok(answer) };
    let class = exception.exception_class_name.as_deref().unwrap_or_default();
    Err(match sense(class) {
        Sense::Moved | Sense::NotYet | Sense::Later => Setback::NotYet(describe(exception)),
        Sense::Failed(failure) => Lost::new(failure, describe(exception)).into(),
    })
}

/// Calls a method of a server and returns the message in its answer.
pub(super) async fn ask<M: Message + Default>(
    connection: &Connection,
    method: &str,
    message: &impl Message,
) -> Result<M, Setback> {
    let (call, _) = connection.send(method, message, &[]);
    let answer = accepted(call.await?)?;
    answer.message().ok_or_else(|| broken("it is not the message that was asked for"))
}

fn broken(reason: &str) -> Setback {
    Lost::new(Failure::Protocol, reason).into()
}

/// Asks the seeds where `hbase:meta` is.
pub(super) async fn locate_meta(
    seeds: &[String],
    servers: &RegionServers,
) -> Result<String, Setback> {
    let timeout_ns = servers.settings.timeout_ns;
    first_of(seeds, timeout_ns, async |seed| meta_by(seed, servers).await).await
}

async fn meta_by(seed: &str, servers: &RegionServers) -> Result<String, Setback> {
    let registry = Connection::open(seed, REGISTRY, &servers.settings).await?;
    let found: MetaLocations = ask(&registry, "GetMetaRegionLocations", &Nothing {}).await?;
    let first = found
        .meta_locations
        .iter()
        .filter(|location| location.region_info.replica_id.unwrap_or_default() == 0);
    first
        .filter_map(|location| location.server_name.as_ref())
        .map(address)
        .next()
        .ok_or_else(|| Setback::NotYet("hbase:meta has no server yet".to_owned()))
}

/// The last region of the table that begins at or before `row`.
async fn closest(
    table: &Bytes,
    row: &[u8],
    meta: &Rc<str>,
    servers: &RegionServers,
) -> Result<Region, Setback> {
    // Sorts after every region that begins at this row, whose names continue with a number.
    let from = [table, &b","[..], row, b",:"].concat();
    let scan = Scan { start_row: Some(from.into()), reversed: Some(true), ..of_meta(1) };
    let (rows, _) = read_meta(scan, 1, meta, servers).await?;
    let gone = || {
        let reason = format!("there is no table {:?}", String::from_utf8_lossy(table));
        Lost::new(Failure::NotFound, reason)
    };
    let (_, found) = rows.into_iter().find(|(name, _)| is_of(name, table)).ok_or_else(gone)?;
    found.ok_or_else(|| Setback::NotYet("the region is being moved or split".to_owned()))
}

/// All regions of the table that have a server, up to `most`.
pub(super) async fn all(
    table: &Bytes,
    most: usize,
    meta: &Rc<str>,
    servers: &RegionServers,
) -> Result<Vec<Region>, Setback> {
    /// Rows in one answer.
    const AT_ONCE: u32 = 1_000;
    let mut regions = Vec::new();
    let mut from = [table, &b",,"[..]].concat();
    loop {
        let scan = Scan {
            start_row: Some(from.into()),
            // The byte after a comma, which sorts after all regions of this table.
            stop_row: Some([table, &b"-"[..]].concat().into()),
            ..of_meta(AT_ONCE)
        };
        let (rows, more) = read_meta(scan, AT_ONCE, meta, servers).await?;
        let last = rows.last().map(|(name, _)| name.clone());
        regions.extend(rows.into_iter().filter_map(|(_, region)| region));
        match last {
            Some(last) if more && regions.len() < most => from = [&last[..], b"\0"].concat(),
            _ => return Ok(regions),
        }
    }
}

fn of_meta(caching: u32) -> Scan {
    let column = Column { family: Bytes::from_static(INFO), qualifier: Vec::new() };
    Scan { column: vec![column], caching: Some(caching), ..Scan::default() }
}

fn is_of(name: &[u8], table: &[u8]) -> bool {
    name.strip_prefix(table).is_some_and(|rest| rest.starts_with(b","))
}

/// Rows of `hbase:meta`: names of regions and, unless they are offline, the information about them.
/// Also returns whether the answer was full.
async fn read_meta(
    scan: Scan,
    rows: u32,
    meta: &Rc<str>,
    servers: &RegionServers,
) -> Result<(Vec<(Bytes, Option<Region>)>, bool), Setback> {
    let request = ScanRequest {
        region: Some(RegionSpecifier { kind: 1, value: Bytes::from_static(b"hbase:meta,,1") }),
        scan: Some(scan),
        number_of_rows: Some(rows),
        close_scanner: Some(true),
        ..ScanRequest::default()
    };
    let connection = servers.connection(meta, 0).await?;
    let (call, _) = connection.send("Scan", &request, &[]);
    let answer = accepted(call.await?)?;
    let wrong = || broken("hbase:meta cannot be read");
    let said: ScanResponse = answer.message().ok_or_else(wrong)?;
    let mut cells = Cells::of(answer.cells());
    let mut found = Vec::new();
    for &count in &said.cells_per_result {
        let row: Option<Vec<_>> = cells.by_ref().take(count as usize).collect();
        let row = row.filter(|row| !row.is_empty()).ok_or_else(wrong)?;
        found.push((Bytes::copy_from_slice(row[0].row), region(&row)));
    }
    let full = found.len() >= rows as usize || said.more_results_in_region == Some(true);
    Ok((found, full))
}

/// The region that a row of `hbase:meta` describes, unless it is offline or has no server.
fn region(row: &[Cell<'_>]) -> Option<Region> {
    let value = |qualifier: &[u8]| row.iter().find(|cell| cell.qualifier == qualifier);
    let info = value(b"regioninfo")?.value.strip_prefix(MAGIC)?;
    let info = RegionInfo::decode(info).ok()?;
    if info.offline == Some(true) || info.split == Some(true) {
        return None;
    }
    let server = String::from_utf8(value(b"server")?.value.to_vec()).ok()?;
    let (start, end) = (info.start_key.unwrap_or_default(), info.end_key.unwrap_or_default());
    let name = Bytes::copy_from_slice(row[0].row);
    (!server.is_empty()).then_some(Region { name, start, end, server })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(start: &str, end: &str, server: &str) -> Region {
        let bytes = |text: &str| Bytes::copy_from_slice(text.as_bytes());
        let name = format!("t,{start},1.x.");
        Region { name: bytes(&name), start: bytes(start), end: bytes(end), server: server.into() }
    }

    #[test]
    fn a_row_belongs_to_the_region_that_begins_before_it() {
        let known = [region("", "b", "h:1"), region("b", "d", "h:2"), region("f", "", "h:1")];
        let regions = Regions::new(Bytes::from_static(b"t"), Vec::new(), &known);
        let server = |row: &[u8]| regions.known(row).map(|place| place.server.to_string());
        assert_eq!(server(b"").as_deref(), Some("h:1"));
        assert_eq!(server(b"azz").as_deref(), Some("h:1"));
        assert_eq!(server(b"b").as_deref(), Some("h:2"));
        assert_eq!(server(b"d"), None);
        assert_eq!(server(b"zzz").as_deref(), Some("h:1"));
        assert_eq!(regions.servers().len(), 2);
    }

    #[test]
    fn halves_replace_a_region_that_was_split_and_the_whole_its_halves() {
        let known = [region("a", "c", "h:1"), region("c", "", "h:1")];
        let regions = Regions::new(Bytes::from_static(b"t"), Vec::new(), &known);
        regions.learn(region("b", "c", "h:2"));
        let start = |row: &[u8]| regions.known(row).map(|place| place.region.start.clone());
        assert_eq!(start(b"a"), None, "the other half is not known yet");
        assert_eq!(start(b"b").as_deref(), Some(&b"b"[..]));
        assert_eq!(start(b"c").as_deref(), Some(&b"c"[..]));
        regions.learn(region("a", "", "h:3"));
        assert_eq!(regions.known.borrow().len(), 1);
        assert_eq!(start(b"x").as_deref(), Some(&b"a"[..]));
        regions.forget_server("h:3");
        assert_eq!(start(b"x"), None);
    }

    #[test]
    fn tables_whose_names_begin_alike_are_told_apart() {
        assert!(is_of(b"user,a,1.x.", b"user"));
        assert!(!is_of(b"usertable,a,1.x.", b"user"));
    }
}
