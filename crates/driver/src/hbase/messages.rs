//! The protocol buffers of HBase that this driver needs, in proto2: `RPC.proto`, `Client.proto`,
//! `Registry.proto`, `HBase.proto`, `Master.proto`, `Admin.proto` and `ClusterStatus.proto` of
//! HBase 2.6, without the fields that are never used here.
//!
//! Declared by hand, so that building springload needs no protocol compiler.

use prost::Message;
use prost::bytes::Bytes;

/// The first message on a connection, after the preamble.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ConnectionHeader {
    #[prost(message, optional, tag = "1")]
    pub(super) user_info: Option<UserInformation>,
    #[prost(string, optional, tag = "2")]
    pub(super) service_name: Option<String>,
    #[prost(string, optional, tag = "3")]
    pub(super) cell_block_codec_class: Option<String>,
    #[prost(message, optional, tag = "5")]
    pub(super) version_info: Option<VersionInfo>,
}

/// The client's version, which determines what servers send in cell blocks.
#[derive(Clone, PartialEq, Message)]
pub(super) struct VersionInfo {
    #[prost(string, required, tag = "1")]
    pub(super) version: String,
    #[prost(string, required, tag = "2")]
    pub(super) url: String,
    #[prost(string, required, tag = "3")]
    pub(super) revision: String,
    #[prost(string, required, tag = "4")]
    pub(super) user: String,
    #[prost(string, required, tag = "5")]
    pub(super) date: String,
    #[prost(string, required, tag = "6")]
    pub(super) src_checksum: String,
    #[prost(uint32, optional, tag = "7")]
    pub(super) version_major: Option<u32>,
    #[prost(uint32, optional, tag = "8")]
    pub(super) version_minor: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct UserInformation {
    #[prost(string, required, tag = "1")]
    pub(super) effective_user: String,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct CellBlockMeta {
    #[prost(uint32, optional, tag = "1")]
    pub(super) length: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RequestHeader {
    #[prost(uint32, optional, tag = "1")]
    pub(super) call_id: Option<u32>,
    #[prost(string, optional, tag = "3")]
    pub(super) method_name: Option<String>,
    #[prost(bool, optional, tag = "4")]
    pub(super) request_param: Option<bool>,
    #[prost(message, optional, tag = "5")]
    pub(super) cell_block_meta: Option<CellBlockMeta>,
    /// Milliseconds after which the server drops the call.
    #[prost(uint32, optional, tag = "7")]
    pub(super) timeout: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ResponseHeader {
    #[prost(uint32, optional, tag = "1")]
    pub(super) call_id: Option<u32>,
    #[prost(message, optional, tag = "2")]
    pub(super) exception: Option<ExceptionResponse>,
    #[prost(message, optional, tag = "3")]
    pub(super) cell_block_meta: Option<CellBlockMeta>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ExceptionResponse {
    #[prost(string, optional, tag = "1")]
    pub(super) exception_class_name: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub(super) stack_trace: Option<String>,
}

/// A message without fields, as used for many requests.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Nothing {}

#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct ServerName {
    #[prost(string, required, tag = "1")]
    pub(super) host_name: String,
    #[prost(uint32, optional, tag = "2")]
    pub(super) port: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ActiveMaster {
    #[prost(message, optional, tag = "1")]
    pub(super) server_name: Option<ServerName>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MetaLocations {
    #[prost(message, repeated, tag = "1")]
    pub(super) meta_locations: Vec<RegionLocation>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RegionLocation {
    #[prost(message, required, tag = "1")]
    pub(super) region_info: RegionInfo,
    #[prost(message, optional, tag = "2")]
    pub(super) server_name: Option<ServerName>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct TableName {
    #[prost(bytes = "bytes", required, tag = "1")]
    pub(super) namespace: Bytes,
    #[prost(bytes = "bytes", required, tag = "2")]
    pub(super) qualifier: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RegionInfo {
    #[prost(uint64, required, tag = "1")]
    pub(super) region_id: u64,
    #[prost(message, required, tag = "2")]
    pub(super) table_name: TableName,
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub(super) start_key: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "4")]
    pub(super) end_key: Option<Bytes>,
    #[prost(bool, optional, tag = "5")]
    pub(super) offline: Option<bool>,
    #[prost(bool, optional, tag = "6")]
    pub(super) split: Option<bool>,
    #[prost(int32, optional, tag = "7")]
    pub(super) replica_id: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RegionSpecifier {
    /// 1: `value` is a region's name.
    #[prost(int32, required, tag = "1")]
    pub(super) kind: i32,
    #[prost(bytes = "bytes", required, tag = "2")]
    pub(super) value: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Column {
    #[prost(bytes = "bytes", required, tag = "1")]
    pub(super) family: Bytes,
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub(super) qualifier: Vec<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Get {
    #[prost(bytes = "bytes", required, tag = "1")]
    pub(super) row: Bytes,
    #[prost(message, repeated, tag = "2")]
    pub(super) column: Vec<Column>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct GetRequest {
    #[prost(message, required, tag = "1")]
    pub(super) region: RegionSpecifier,
    #[prost(message, required, tag = "2")]
    pub(super) get: Get,
}

/// The cells themselves are in the frame's cell block.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct RowResult {
    #[prost(int32, optional, tag = "2")]
    pub(super) associated_cell_count: Option<i32>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct GetResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) result: Option<RowResult>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Mutation {
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub(super) row: Option<Bytes>,
    /// 2: put, 3: delete.
    #[prost(int32, optional, tag = "2")]
    pub(super) mutate_type: Option<i32>,
    #[prost(int32, optional, tag = "6")]
    pub(super) durability: Option<i32>,
    #[prost(int32, optional, tag = "8")]
    pub(super) associated_cell_count: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MutateRequest {
    #[prost(message, required, tag = "1")]
    pub(super) region: RegionSpecifier,
    #[prost(message, required, tag = "2")]
    pub(super) mutation: Mutation,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct MutateResponse {
    #[prost(bool, optional, tag = "2")]
    pub(super) processed: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Scan {
    #[prost(message, repeated, tag = "1")]
    pub(super) column: Vec<Column>,
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub(super) start_row: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "4")]
    pub(super) stop_row: Option<Bytes>,
    #[prost(message, optional, tag = "5")]
    pub(super) filter: Option<Filter>,
    #[prost(bool, optional, tag = "15")]
    pub(super) reversed: Option<bool>,
    #[prost(uint32, optional, tag = "17")]
    pub(super) caching: Option<u32>,
    #[prost(bool, optional, tag = "22")]
    pub(super) include_stop_row: Option<bool>,
}

/// A filter that the server applies, by its Java class.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Filter {
    #[prost(string, required, tag = "1")]
    pub(super) name: String,
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub(super) serialized_filter: Option<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ColumnPrefixFilter {
    #[prost(bytes = "bytes", required, tag = "1")]
    pub(super) prefix: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ScanRequest {
    #[prost(message, optional, tag = "1")]
    pub(super) region: Option<RegionSpecifier>,
    #[prost(message, optional, tag = "2")]
    pub(super) scan: Option<Scan>,
    #[prost(uint64, optional, tag = "3")]
    pub(super) scanner_id: Option<u64>,
    #[prost(uint32, optional, tag = "4")]
    pub(super) number_of_rows: Option<u32>,
    #[prost(bool, optional, tag = "5")]
    pub(super) close_scanner: Option<bool>,
    #[prost(uint64, optional, tag = "6")]
    pub(super) next_call_seq: Option<u64>,
    #[prost(uint32, optional, tag = "11")]
    pub(super) limit_of_rows: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ScanResponse {
    #[prost(uint32, repeated, packed = "false", tag = "1")]
    pub(super) cells_per_result: Vec<u32>,
    #[prost(uint64, optional, tag = "2")]
    pub(super) scanner_id: Option<u64>,
    #[prost(bool, optional, tag = "3")]
    pub(super) more_results: Option<bool>,
    #[prost(bool, optional, tag = "8")]
    pub(super) more_results_in_region: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Action {
    #[prost(uint32, optional, tag = "1")]
    pub(super) index: Option<u32>,
    #[prost(message, optional, tag = "2")]
    pub(super) mutation: Option<Mutation>,
    #[prost(message, optional, tag = "3")]
    pub(super) get: Option<Get>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RegionAction {
    #[prost(message, required, tag = "1")]
    pub(super) region: RegionSpecifier,
    #[prost(message, repeated, tag = "3")]
    pub(super) action: Vec<Action>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MultiRequest {
    #[prost(message, repeated, tag = "1")]
    pub(super) region_action: Vec<RegionAction>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct NameBytesPair {
    #[prost(string, required, tag = "1")]
    pub(super) name: String,
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub(super) value: Option<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ResultOrException {
    #[prost(uint32, optional, tag = "1")]
    pub(super) index: Option<u32>,
    #[prost(message, optional, tag = "2")]
    pub(super) result: Option<RowResult>,
    #[prost(message, optional, tag = "3")]
    pub(super) exception: Option<NameBytesPair>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RegionActionResult {
    #[prost(message, repeated, tag = "1")]
    pub(super) result_or_exception: Vec<ResultOrException>,
    #[prost(message, optional, tag = "2")]
    pub(super) exception: Option<NameBytesPair>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MultiResponse {
    #[prost(message, repeated, tag = "1")]
    pub(super) region_action_result: Vec<RegionActionResult>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ColumnFamilySchema {
    #[prost(bytes = "bytes", required, tag = "1")]
    pub(super) name: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TableSchema {
    #[prost(message, optional, tag = "1")]
    pub(super) table_name: Option<TableName>,
    #[prost(message, repeated, tag = "3")]
    pub(super) column_families: Vec<ColumnFamilySchema>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct CreateTableRequest {
    #[prost(message, required, tag = "1")]
    pub(super) table_schema: TableSchema,
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub(super) split_keys: Vec<Bytes>,
}

/// The request to disable or delete a table, and the one for its descriptor.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TableRequest {
    #[prost(message, optional, tag = "1")]
    pub(super) table_name: Option<TableName>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TableDescriptors {
    #[prost(message, repeated, tag = "1")]
    pub(super) table_schema: Vec<TableSchema>,
}

/// The answer to a request that the master carries out in several steps.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct ProcedureStarted {
    #[prost(uint64, optional, tag = "1")]
    pub(super) proc_id: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct ProcedureResultRequest {
    #[prost(uint64, required, tag = "1")]
    pub(super) proc_id: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ProcedureResult {
    /// 0: not found, 1: running, 2: finished.
    #[prost(int32, required, tag = "1")]
    pub(super) state: i32,
    #[prost(message, optional, tag = "5")]
    pub(super) exception: Option<ForeignException>,
}

/// Why a procedure failed.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ForeignException {
    #[prost(message, optional, tag = "2")]
    pub(super) generic_exception: Option<GenericException>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct GenericException {
    #[prost(string, optional, tag = "1")]
    pub(super) class_name: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub(super) message: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ClusterStatusRequest {
    /// 0: HBase's version.
    #[prost(int32, repeated, packed = "false", tag = "1")]
    pub(super) options: Vec<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ClusterStatusResponse {
    #[prost(message, required, tag = "1")]
    pub(super) cluster_status: ClusterStatus,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ClusterStatus {
    #[prost(message, optional, tag = "1")]
    pub(super) hbase_version: Option<HBaseVersion>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct HBaseVersion {
    #[prost(string, required, tag = "1")]
    pub(super) version: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RegionLoadRequest {
    #[prost(message, optional, tag = "1")]
    pub(super) table_name: Option<TableName>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RegionLoads {
    #[prost(message, repeated, tag = "1")]
    pub(super) regions: Vec<RegionLoad>,
}

/// What a region holds and has served.
#[derive(Clone, PartialEq, Message)]
pub(super) struct RegionLoad {
    #[prost(message, required, tag = "1")]
    pub(super) region: RegionSpecifier,
    #[prost(uint32, optional, tag = "3")]
    pub(super) storefiles: Option<u32>,
    #[prost(uint32, optional, tag = "5")]
    pub(super) storefiles_mb: Option<u32>,
    #[prost(uint32, optional, tag = "6")]
    pub(super) memstore_mb: Option<u32>,
    #[prost(uint64, optional, tag = "8")]
    pub(super) reads: Option<u64>,
    #[prost(uint64, optional, tag = "9")]
    pub(super) writes: Option<u64>,
    /// Cells in the current or last compaction ...
    #[prost(uint64, optional, tag = "10")]
    pub(super) compacting: Option<u64>,
    /// ... and how many of these have been compacted.
    #[prost(uint64, optional, tag = "11")]
    pub(super) compacted: Option<u64>,
    /// 0: none, 1: minor, 2: major, 3: both.
    #[prost(int32, optional, tag = "27")]
    pub(super) compaction_state: Option<i32>,
}
