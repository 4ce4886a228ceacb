//! A small HBase for tests: one table, one or two servers, and faults on demand. Each server is a
//! task of the test.

use super::cells::{Cells, write_put};
use super::messages::{
    ActiveMaster, CellBlockMeta, ColumnFamilySchema, ColumnPrefixFilter, ConnectionHeader,
    CreateTableRequest, ExceptionResponse, Get, GetRequest, GetResponse, MetaLocations,
    MultiRequest, MultiResponse, MutateRequest, MutateResponse, Mutation, NameBytesPair,
    ProcedureStarted, RegionActionResult, RegionInfo, RegionLoads, RegionLocation, RequestHeader,
    ResponseHeader, ResultOrException, RowResult, ScanRequest, ScanResponse, ServerName,
    TableDescriptors, TableName, TableRequest, TableSchema,
};
use prost::Message;
use prost::bytes::Bytes;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub(super) const TABLE: &str = "t";
const FAMILY: &[u8] = b"cf";

/// What a server does instead of answering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Carries out the call but does not answer.
    Silence,
    Close,
    /// Sends bytes that are not a frame.
    Garbage,
    /// Announces more than any client reads.
    Endless,
    OtherRow,
    FewerCells,
    Disorder,
    /// Refuses with an exception of this class.
    Exception(&'static str),
    /// Refuses one region, the last of a call for many rows, with an exception of this class.
    Region(&'static str),
    /// Leaves out the last answer to a call for many rows.
    FewerRows,
    /// Answers with a column that was not requested.
    OtherColumn,
}

/// A region of the table: its first row, the row after it, and its server.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) start: &'static str,
    pub(super) end: &'static str,
    pub(super) server: usize,
}

impl Held {
    fn name(&self) -> String {
        format!("{TABLE},{},1.encoded.", self.start)
    }
}

/// What the servers share.
#[derive(Debug, Default)]
pub(super) struct StandInCluster {
    /// `host:port` of each server.
    pub(super) servers: Vec<String>,
    /// Where the regions are.
    pub(super) held: Vec<Held>,
    /// Where `hbase:meta` says they are.
    pub(super) listed: Vec<Held>,
    pub(super) rows: BTreeMap<Vec<u8>, BTreeMap<Vec<u8>, Vec<u8>>>,
    pub(super) faults: VecDeque<Fault>,
    /// Calls by method, except those about `hbase:meta`.
    pub(super) calls: Vec<String>,
    pub(super) connections: usize,
    /// Tables that were created and not removed.
    pub(super) tables: Vec<String>,
    /// Does not say where regions are: closes the connection instead.
    pub(super) secretive: bool,
    /// What a server reports about its regions.
    pub(super) loads: RegionLoads,
    /// Refuses connections, with this exception and message.
    pub(super) refuses: Option<[&'static str; 2]>,
    /// Holds answers back until there are this many, then sends them in reverse.
    pub(super) together: usize,
    waiting: Vec<Vec<u8>>,
}

/// The cluster, as shared by the test and its servers.
pub(super) type Handle = Rc<RefCell<StandInCluster>>;

/// Starts `count` servers; all regions are on the first.
pub(super) async fn start(count: usize, regions: &[(&'static str, &'static str)]) -> Handle {
    let held: Vec<_> = regions.iter().map(|&(start, end)| Held { start, end, server: 0 }).collect();
    let cluster = Handle::default();
    cluster.borrow_mut().listed.clone_from(&held);
    cluster.borrow_mut().held = held;
    for number in 0..count {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        cluster.borrow_mut().servers.push(listener.local_addr().unwrap().to_string());
        let cluster = cluster.clone();
        tokio::task::spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                cluster.borrow_mut().connections += 1;
                tokio::task::spawn_local(serve(stream, number, cluster.clone()));
            }
        });
    }
    cluster
}

async fn serve(mut stream: TcpStream, number: usize, cluster: Handle) -> Option<()> {
    let mut preamble = [0; 6];
    stream.read_exact(&mut preamble).await.ok()?;
    assert_eq!(&preamble, super::frame::PREAMBLE);
    let header = ConnectionHeader::decode(&*frame(&mut stream).await?).unwrap();
    assert!(header.version_info.is_some() && header.cell_block_codec_class.is_some());
    let refuses = cluster.borrow().refuses;
    if let Some([class, words]) = refuses {
        let exception = ExceptionResponse {
            stack_trace: Some(format!("{class}: {words}\n\tat …")),
            exception_class_name: Some(class.to_owned()),
        };
        // Like a complaint about the connection.
        let header = RequestHeader { call_id: Some(u32::MAX), ..RequestHeader::default() };
        let refusal = reply(&header, Some(exception), &GetResponse::default(), &[]);
        stream.write_all(&refusal).await.ok()?;
    }
    loop {
        let frame = frame(&mut stream).await?;
        let mut rest = &frame[..];
        let header = RequestHeader::decode_length_delimited(&mut rest).unwrap();
        let cells = header.cell_block_meta.and_then(|meta| meta.length).unwrap_or_default();
        let (message, cells) = rest.split_at(rest.len() - cells as usize);
        let out = answer(&cluster, number, &header, message, cells)?;
        let answers = cluster.borrow_mut().answers_with(out);
        stream.write_all(&answers).await.ok()?;
    }
}

async fn frame(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let length = stream.read_u32().await.ok()?;
    let mut frame = vec![0; length as usize];
    stream.read_exact(&mut frame).await.ok()?;
    Some(frame)
}

/// The bytes to send back; `None` if the connection ends.
fn answer(
    cluster: &Handle,
    number: usize,
    header: &RequestHeader,
    message: &[u8],
    cells: &[u8],
) -> Option<Vec<u8>> {
    let mut cluster = cluster.borrow_mut();
    let method = header.method_name.clone().unwrap_or_default();
    let scan = (method == "Scan").then(|| read::<ScanRequest>(message));
    let about_meta = scan.as_ref().is_some_and(|scan| {
        scan.region.as_ref().is_some_and(|region| region.value.starts_with(b"hbase:meta"))
    });
    if method == "GetMetaRegionLocations" {
        return Some(reply(header, None, &cluster.meta_location(), &[]));
    }
    if let Some(said) = cluster.master(&method, header, message) {
        return Some(said);
    }
    if about_meta && cluster.secretive {
        return None;
    }
    if about_meta {
        let (said, cells) = cluster.meta(&scan?);
        return Some(reply(header, None, &said, &cells));
    }
    cluster.calls.push(method.clone());
    let fault = cluster.faults.pop_front();
    match fault {
        Some(Fault::Close) => return None,
        Some(Fault::Garbage) => return Some(b"\0\0\0\x04HTTP".to_vec()),
        Some(Fault::Endless) => return Some(u32::MAX.to_be_bytes().to_vec()),
        Some(Fault::Exception(class)) => return Some(refusal(header, class)),
        _ => {}
    }
    let out = match method.as_str() {
        "Get" => cluster.get(number, header, &read(message), fault),
        "Mutate" => cluster.mutate(number, header, &read(message), cells),
        "Multi" => cluster.multi(number, header, &read(message), cells, fault),
        "GetRegionLoad" => reply(header, None, &cluster.loads, &[]),
        _ => cluster.scan(number, header, &scan?, fault),
    };
    Some(if fault == Some(Fault::Silence) { Vec::new() } else { out })
}

fn read<M: Message + Default>(mut message: &[u8]) -> M {
    M::decode_length_delimited(&mut message).unwrap()
}

fn reply(
    header: &RequestHeader,
    exception: Option<ExceptionResponse>,
    message: &impl Message,
    cells: &[u8],
) -> Vec<u8> {
    let meta = CellBlockMeta { length: Some(cells.len() as u32) };
    let failed = exception.is_some();
    let answer = ResponseHeader {
        call_id: header.call_id,
        exception,
        cell_block_meta: (!cells.is_empty()).then_some(meta),
    };
    let mut body = answer.encode_length_delimited_to_vec();
    if !failed {
        body.extend(message.encode_length_delimited_to_vec());
        body.extend_from_slice(cells);
    }
    let mut out = (body.len() as u32).to_be_bytes().to_vec();
    out.extend(body);
    out
}

fn refusal(header: &RequestHeader, class: &str) -> Vec<u8> {
    let class = format!("org.apache.hadoop.hbase.{class}");
    let exception = ExceptionResponse {
        stack_trace: Some(format!("{class}: as the test asked\n\tat …")),
        exception_class_name: Some(class),
    };
    reply(header, Some(exception), &GetResponse::default(), &[])
}

const NOT_SERVING: &str = "NotServingRegionException";

impl StandInCluster {
    /// What to send now that there is another answer: nothing until there are enough.
    fn answers_with(&mut self, answer: Vec<u8>) -> Vec<u8> {
        self.waiting.push(answer);
        if self.waiting.len() < self.together {
            return Vec::new();
        }
        self.waiting.drain(..).rev().flatten().collect()
    }

    fn first(&self) -> ServerName {
        let (host, port) = self.servers[0].rsplit_once(':').unwrap();
        ServerName { host_name: host.to_owned(), port: port.parse().ok() }
    }

    /// The master's answers to its own requests. Procedures of several steps are done at once.
    fn master(&mut self, method: &str, header: &RequestHeader, message: &[u8]) -> Option<Vec<u8>> {
        let name = |table: Option<TableName>| {
            String::from_utf8(table.unwrap_or_default().qualifier.to_vec()).unwrap()
        };
        match method {
            "GetActiveMaster" => {
                let server_name = Some(self.first());
                return Some(reply(header, None, &ActiveMaster { server_name }, &[]));
            }
            "GetTableDescriptors" => {
                let table = name(read::<TableRequest>(message).table_name);
                let families = vec![ColumnFamilySchema { name: Bytes::from_static(FAMILY) }];
                let schema = TableSchema { table_name: None, column_families: families };
                let found = self.tables.contains(&table).then_some(schema);
                let said = TableDescriptors { table_schema: found.into_iter().collect() };
                return Some(reply(header, None, &said, &[]));
            }
            "GetClusterStatus" => {
                return Some(refusal(header, "NobodyKnowsException"));
            }
            "CreateTable" => {
                let schema = read::<CreateTableRequest>(message).table_schema;
                self.tables.push(name(schema.table_name));
            }
            "DisableTable" => {}
            "DeleteTable" => {
                let table = name(read::<TableRequest>(message).table_name);
                self.tables.retain(|it| *it != table);
            }
            _ => return None,
        }
        Some(reply(header, None, &ProcedureStarted { proc_id: None }, &[]))
    }

    fn meta_location(&self) -> MetaLocations {
        let server = self.first();
        let region_info = RegionInfo::default();
        let location = RegionLocation { region_info, server_name: Some(server) };
        MetaLocations { meta_locations: vec![location] }
    }

    fn meta(&self, request: &ScanRequest) -> (ScanResponse, Vec<u8>) {
        let scan = request.scan.clone().unwrap();
        let mut listed = self.listed.clone();
        listed.sort_by_key(|region| region.start);
        let from = scan.start_row.unwrap();
        if scan.reversed == Some(true) {
            listed.reverse();
            listed.retain(|region| *region.name().as_bytes() <= *from);
            listed.truncate(1);
        }
        let mut cells = Vec::new();
        for region in &listed {
            let info = RegionInfo {
                region_id: 1,
                table_name: TableName::default(),
                start_key: Some(Bytes::from_static(region.start.as_bytes())),
                end_key: Some(Bytes::from_static(region.end.as_bytes())),
                ..RegionInfo::default()
            };
            let row = region.name();
            let info = [b"PBUF", &info.encode_to_vec()[..]].concat();
            write_put(row.as_bytes(), b"info", b"regioninfo", &info, &mut cells);
            let server = self.servers[region.server].as_bytes();
            write_put(row.as_bytes(), b"info", b"server", server, &mut cells);
        }
        let cells_per_result = vec![2; listed.len()];
        (ScanResponse { cells_per_result, ..ScanResponse::default() }, cells)
    }

    fn serves(&self, server: usize, region: &[u8]) -> Option<Held> {
        let here = |held: &&Held| held.server == server && held.name().as_bytes() == region;
        self.held.iter().find(here).cloned()
    }

    fn get(
        &self,
        server: usize,
        header: &RequestHeader,
        request: &GetRequest,
        fault: Option<Fault>,
    ) -> Vec<u8> {
        if self.serves(server, &request.region.value).is_none() {
            return refusal(header, NOT_SERVING);
        }
        let mut cells = Vec::new();
        let count = self.read(&request.get, fault, &mut cells);
        let result = Some(RowResult { associated_cell_count: Some(count) });
        reply(header, None, &GetResponse { result }, &cells)
    }

    /// Writes the cells of a row, and returns how many it claims there are.
    fn read(&self, get: &Get, fault: Option<Fault>, cells: &mut Vec<u8>) -> i32 {
        let row = if fault == Some(Fault::OtherRow) { b"other" } else { &get.row[..] };
        let wanted = &get.column[0].qualifier;
        let mut count = 0;
        for (name, value) in self.rows.get(&get.row[..]).into_iter().flatten() {
            if wanted.is_empty() || wanted.iter().any(|it| **it == **name) {
                write_put(row, FAMILY, name, value, cells);
                count += 1;
            }
        }
        count + i32::from(fault == Some(Fault::FewerCells))
    }

    fn mutate(
        &mut self,
        server: usize,
        header: &RequestHeader,
        request: &MutateRequest,
        cells: &[u8],
    ) -> Vec<u8> {
        if self.serves(server, &request.region.value).is_none() {
            return refusal(header, NOT_SERVING);
        }
        self.carry_out(&request.mutation, &mut Cells::of(cells));
        reply(header, None, &MutateResponse { processed: Some(true) }, &[])
    }

    fn carry_out(&mut self, mutation: &Mutation, cells: &mut Cells<'_>) {
        let row = mutation.row.clone().unwrap();
        if mutation.mutate_type == Some(3) {
            self.rows.remove(&row[..]);
        }
        for _ in 0..mutation.associated_cell_count.unwrap_or_default() {
            let cell = cells.next().unwrap().unwrap();
            assert_eq!((cell.row, cell.family), (&row[..], FAMILY));
            let columns = self.rows.entry(row.to_vec()).or_default();
            columns.insert(cell.qualifier.to_vec(), cell.value.to_vec());
        }
    }

    fn multi(
        &mut self,
        server: usize,
        header: &RequestHeader,
        request: &MultiRequest,
        cells: &[u8],
        fault: Option<Fault>,
    ) -> Vec<u8> {
        let mut cells = Cells::of(cells);
        let (mut results, mut out) = (Vec::new(), Vec::new());
        for (number, part) in request.region_action.iter().enumerate() {
            let is_last = number + 1 == request.region_action.len();
            let refused = match fault {
                Some(Fault::Region(class)) if is_last => Some(class),
                _ => None,
            };
            let here = self.serves(server, &part.region.value).is_some();
            let served = here && refused.is_none();
            let mut result = RegionActionResult::default();
            for action in &part.action {
                if let (Some(get), true) = (&action.get, served) {
                    let count = self.read(get, fault, &mut out);
                    let row = RowResult { associated_cell_count: Some(count) };
                    result.result_or_exception.push(ResultOrException {
                        index: action.index,
                        result: Some(row),
                        exception: None,
                    });
                }
                let Some(mutation) = &action.mutation else { continue };
                if !served {
                    let count = mutation.associated_cell_count.unwrap_or_default();
                    cells.by_ref().take(count as usize).for_each(drop);
                    continue;
                }
                self.carry_out(mutation, &mut cells);
                let row = ResultOrException { index: action.index, ..Default::default() };
                result.result_or_exception.push(row);
            }
            result.exception = (!served).then(|| NameBytesPair {
                name: format!("org.apache.hadoop.hbase.{}", refused.unwrap_or(NOT_SERVING)),
                value: None,
            });
            if is_last && fault == Some(Fault::FewerRows) {
                result.result_or_exception.pop();
            }
            results.push(result);
        }
        reply(header, None, &MultiResponse { region_action_result: results }, &out)
    }

    fn scan(
        &self,
        server: usize,
        header: &RequestHeader,
        request: &ScanRequest,
        fault: Option<Fault>,
    ) -> Vec<u8> {
        let region = request.region.clone().unwrap().value;
        let Some(held) = self.serves(server, &region) else {
            return refusal(header, NOT_SERVING);
        };
        let scan = request.scan.clone().unwrap();
        let (from, last) = (scan.start_row.unwrap(), scan.stop_row);
        let (includes_stop, columns) = (scan.include_stop_row, &scan.column[0].qualifier);
        assert_eq!(last.is_some(), includes_stop.is_some());
        let within = |row: &[u8]| {
            let stops = |last: &Bytes| row > last || row == last && includes_stop == Some(false);
            (held.end.is_empty() || row < held.end.as_bytes()) && !last.as_ref().is_some_and(stops)
        };
        let prefix = scan.filter.map(|filter| {
            assert_eq!(filter.name, "org.apache.hadoop.hbase.filter.ColumnPrefixFilter");
            ColumnPrefixFilter::decode(filter.serialized_filter.unwrap()).unwrap().prefix
        });
        let wanted = |name: &[u8]| {
            (columns.is_empty() || columns.iter().any(|it| *it == name))
                && prefix.as_ref().is_none_or(|prefix| name.starts_with(prefix))
                || fault == Some(Fault::OtherColumn)
        };
        let limit = request.number_of_rows.unwrap() as usize;
        let rows = self.rows.range(from.to_vec()..).filter(|(row, _)| within(row));
        let rows = rows.map(|(row, columns)| {
            (row, columns.iter().filter(|(name, _)| wanted(name)).collect::<Vec<_>>())
        });
        let rows = rows.filter(|(_, columns)| !columns.is_empty());
        let mut rows: Vec<_> = rows.take(limit).collect();
        if fault == Some(Fault::Disorder) {
            rows.reverse();
        }
        let mut cells = Vec::new();
        let mut cells_per_result = Vec::new();
        for (row, columns) in rows {
            cells_per_result.push(columns.len() as u32);
            for (name, value) in columns {
                write_put(row, FAMILY, name, value, &mut cells);
            }
        }
        let said = ScanResponse { cells_per_result, ..ScanResponse::default() };
        reply(header, None, &said, &cells)
    }
}
