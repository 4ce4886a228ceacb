//! The validated configuration of a core workload, wherever the properties come from.

use super::keys::{KeyNames, KeyOrder};
use super::lengths::LengthSpec;
use crate::generate::Weighted;
use crate::properties::{Properties, PropertyError, PropertyReader};
use serde::{Deserialize, Serialize};

/// The default number of records: the largest signed 32-bit number.
const RECORDS_UNSAID: u64 = 2_147_483_647;

/// A core workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoreConfig {
    /// The table; here, it is a database.
    pub table: String,
    /// Total number of records, including those loaded by other clients.
    pub records: u64,
    /// The first record that this client loads.
    pub insert_start: u64,
    /// How many records this client loads.
    pub insert_count: u64,
    /// Number of operations in the run phase; 0 means until time is up.
    pub operations: u64,
    /// The form of keys.
    pub keys: KeyNames,
    /// The fields of a record.
    pub fields: FieldsSpec,
    /// The mix of operations.
    pub proportions: Proportions,
    /// Which records operations access.
    pub requests: RequestSpec,
    /// How many records a scan requests.
    pub scan_length: LengthSpec,
    /// How failed inserts of the load phase are retried.
    pub retry: RetrySpec,
    /// The seed, if a property sets one; `None` for the plan's.
    pub seed: Option<u64>,
}

/// The fields of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FieldsSpec {
    /// The prefix of field names; a number, counted from 0, follows.
    pub prefix: String,
    /// Number of fields.
    pub count: u64,
    /// Number of characters in each field.
    pub length: LengthSpec,
    /// The fields that reads and scans request.
    pub read: ReadFields,
    /// Whether updates replace all fields, rather than one at random.
    pub write_all: bool,
    /// Whether the text of a field is computed from its key and name, and verified when it is read.
    pub integrity: bool,
}

/// The fields that a read requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReadFields {
    /// All fields.
    All,
    /// All fields, each by name; scans still request all fields.
    AllByName,
    /// One at random.
    One,
}

/// The relative frequency of each operation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(missing_docs, reason = "the names say it")]
pub struct Proportions {
    pub read: f64,
    pub update: f64,
    pub insert: f64,
    pub scan: f64,
    pub read_modify_write: f64,
    pub delete: f64,
}

impl Proportions {
    /// Draws by these proportions, in the order of the members; `None` if all are 0.
    pub(super) fn weighted(&self) -> Option<Weighted<6>> {
        let Self { read, update, insert, scan, read_modify_write, delete } = *self;
        Weighted::new([read, update, insert, scan, read_modify_write, delete])
    }
}

/// The distribution of requests over records.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "distribution", rename_all = "snake_case")]
pub enum RequestSpec {
    /// Every record equally often.
    Uniform,
    /// Zipf's law, with the hot records scattered over all.
    Zipfian,
    /// Mostly the newest records.
    Latest {
        /// As YCSB does it: one record count for all connections, based on acknowledged inserts,
        /// and Gray's eta fixed by the initial number of records.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        as_ycsb: bool,
    },
    /// Mostly a subset of the records.
    Hotspot {
        /// The size of the subset, as a share of the records, 0 to 1.
        data: f64,
        /// The share of requests for the subset, 0 to 1.
        operations: f64,
    },
    /// In the order of the records.
    Sequential,
    /// Mostly the newest records, decreasing exponentially.
    Exponential {
        /// The percentage of requests that go to the newest records.
        percentile: f64,
        /// Which part of the records that is, 0 to 1.
        fraction: f64,
    },
}

/// How failed inserts of the load phase are retried.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RetrySpec {
    /// The maximum number of retries.
    pub limit: u64,
    /// The mean pause before each retry, in seconds.
    pub interval_s: f64,
    /// Whether the load continues after an insert that failed for good.
    pub keep_going: bool,
}

impl FieldsSpec {
    /// The most bytes that the names and texts of a record can take.
    pub fn most_bytes(&self) -> u64 {
        let last = self.count.saturating_sub(1).max(1);
        let name = self.prefix.len() as u64 + u64::from(last.ilog10()) + 1;
        self.count.saturating_mul(self.length.most().saturating_add(name))
    }
}

impl CoreConfig {
    /// The properties read here. `seed` and `deleteproportion` are springload's own, `keyprefix` is
    /// go-ycsb's.
    pub const PROPERTIES: [&str; 37] = [
        "core_workload_insertion_keep_going_on_error",
        "core_workload_insertion_retry_interval",
        "core_workload_insertion_retry_limit",
        "dataintegrity",
        "deleteproportion",
        "exponential.frac",
        "exponential.percentile",
        "fieldcount",
        "fieldlength",
        "fieldlengthdistribution",
        "fieldlengthhistogram",
        "fieldnameprefix",
        "hotspotdatafraction",
        "hotspotopnfraction",
        "insertcount",
        "insertorder",
        "insertproportion",
        "insertstart",
        "keyprefix",
        "maxscanlength",
        "minfieldlength",
        "minscanlength",
        "operationcount",
        "readallfields",
        "readallfieldsbyname",
        "readmodifywriteproportion",
        "readproportion",
        "recordcount",
        "requestdistribution",
        "scanlengthdistribution",
        "scanproportion",
        "seed",
        "springload.latest",
        "table",
        "updateproportion",
        "writeallfields",
        "zeropadding",
    ];

    /// Checks all properties and reports all mistakes at once. `go_keys` selects go-ycsb's hash for
    /// keys; `file` reads the histogram file that a property may name.
    ///
    /// # Errors
    /// Returns one for each property whose value is invalid, alone or in combination with others.
    pub fn read(
        properties: &Properties,
        go_keys: bool,
        file: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Self, Vec<PropertyError>> {
        let mut read = PropertyReader::new(properties);
        let records = match read.whole("recordcount", 0) {
            0 => RECORDS_UNSAID,
            records => records,
        };
        let insert_start = read.whole("insertstart", 0);
        let insert_count = read.whole("insertcount", records.saturating_sub(insert_start));
        if insert_start.checked_add(insert_count).is_none_or(|end| end > records) {
            read.wrong(
                "recordcount",
                format!("{records} is less than insertstart and insertcount together"),
                "recordcount counts the records of all clients",
            );
        } else if insert_count == 0 {
            read.wrong("insertcount", "leaves no record", "give 1 or more");
        }
        let config = Self {
            table: read.text("table", "usertable"),
            records,
            insert_start,
            insert_count,
            operations: read.whole("operationcount", 0),
            keys: keys(&mut read, go_keys),
            fields: fields(&mut read, file),
            proportions: proportions(&mut read),
            requests: requests(&mut read),
            scan_length: scan_length(&mut read),
            retry: RetrySpec {
                limit: read.whole("core_workload_insertion_retry_limit", 0),
                interval_s: read.number("core_workload_insertion_retry_interval", 3.0),
                keep_going: read.flag("core_workload_insertion_keep_going_on_error", false),
            },
            seed: read.optional("seed"),
        };
        read.end(config)
    }

    /// The offset of the numbers that this client gives to new records in the run phase, so that
    /// clients that loaded different slices never insert the same record. It is 0 for a client that
    /// loaded from record 0 on, as in YCSB, where all clients insert the same records.
    ///
    /// Connections determine from their own number which records to insert. If all connections
    /// count together, each agent counts from its own offset.
    pub fn insert_shift(&self, agent: u64) -> u64 {
        let client = (self.insert_start / self.insert_count).saturating_add(agent);
        // No client inserts more records than it has operations.
        let most = if self.operations > 0 { self.operations } else { 1 << 40 };
        client.saturating_mul(most)
    }
}

fn keys(read: &mut PropertyReader, go_keys: bool) -> KeyNames {
    let order = match (read.text("insertorder", "hashed").as_str(), go_keys) {
        ("hashed", false) => KeyOrder::Hashed,
        ("hashed", true) => KeyOrder::GoHashed,
        // YCSB treats any other word in this way as well.
        _ => KeyOrder::Ordered,
    };
    let digits = read.within("zeropadding", 1, 0..=200) as usize;
    KeyNames { prefix: read.text("keyprefix", "user"), digits, order }
}

fn fields(read: &mut PropertyReader, file: &dyn Fn(&str) -> Result<String, String>) -> FieldsSpec {
    let max = read.within("fieldlength", 100, 0..=1 << 30);
    let min = read.within("minfieldlength", 1, 0..=1 << 30);
    let distribution = read.text("fieldlengthdistribution", "constant");
    let integrity = read.flag("dataintegrity", false);
    if integrity && distribution != "constant" {
        read.wrong(
            "dataintegrity",
            "needs fields of one length",
            "give fieldlengthdistribution=constant",
        );
    }
    let length = match distribution.as_str() {
        "constant" => LengthSpec::Constant { length: max },
        "uniform" => range(read, ("minfieldlength", min), ("fieldlength", max), false),
        "zipfian" => range(read, ("minfieldlength", min), ("fieldlength", max), true),
        "histogram" => {
            let path = read.text("fieldlengthhistogram", "hist.txt");
            file(&path).and_then(|text| LengthSpec::histogram(&text)).unwrap_or_else(|problem| {
                let cure = "give a file with `BlockSize`, a tab and a length in its first line";
                read.wrong("fieldlengthhistogram", format!("{path}: {problem}"), cure);
                LengthSpec::Constant { length: max }
            })
        }
        other => {
            let cure = "give constant, uniform, zipfian or histogram";
            read.wrong("fieldlengthdistribution", format!("{other:?} is unknown"), cure);
            LengthSpec::Constant { length: max }
        }
    };
    FieldsSpec {
        prefix: read.text("fieldnameprefix", "field"),
        count: read.within("fieldcount", 10, 1..=1_000_000),
        length,
        read: read_fields(read, integrity),
        write_all: read.flag("writeallfields", false),
        integrity,
    }
}

fn read_fields(read: &mut PropertyReader, integrity: bool) -> ReadFields {
    let by_name = read.flag("readallfieldsbyname", false);
    match (read.flag("readallfields", true), by_name || integrity) {
        (false, _) => ReadFields::One,
        (true, true) => ReadFields::AllByName,
        (true, false) => ReadFields::All,
    }
}

/// A range of lengths between two properties, uniform or by Zipf's law.
fn range(
    read: &mut PropertyReader,
    min: (&str, u64),
    max: (&str, u64),
    zipfian: bool,
) -> LengthSpec {
    if min.1 > max.1 {
        let problem = format!("{} is above {} ({})", min.1, max.0, max.1);
        read.wrong(min.0, problem, "swap them");
    }
    let (min, max) = (min.1, max.1);
    if zipfian { LengthSpec::Zipfian { min, max } } else { LengthSpec::Uniform { min, max } }
}

fn proportions(read: &mut PropertyReader) -> Proportions {
    let proportions = Proportions {
        read: read.number("readproportion", 0.95),
        update: read.number("updateproportion", 0.05),
        insert: read.number("insertproportion", 0.0),
        scan: read.number("scanproportion", 0.0),
        read_modify_write: read.number("readmodifywriteproportion", 0.0),
        delete: read.number("deleteproportion", 0.0),
    };
    if proportions.weighted().is_none() {
        read.wrong("readproportion", "every proportion is 0", "give one of them a weight");
    }
    proportions
}

fn requests(read: &mut PropertyReader) -> RequestSpec {
    let data = read.fraction("hotspotdatafraction", 0.2);
    let operations = read.fraction("hotspotopnfraction", 0.8);
    let percentile = read.number("exponential.percentile", 95.0);
    let fraction = read.number("exponential.frac", 0.857_142_857_1);
    let as_ycsb = match read.text("springload.latest", "own").as_str() {
        "own" => false,
        "ycsb" => true,
        other => {
            read.wrong("springload.latest", format!("{other:?} is unknown"), "give own or ycsb");
            false
        }
    };
    match read.text("requestdistribution", "uniform").as_str() {
        "uniform" => RequestSpec::Uniform,
        "zipfian" => RequestSpec::Zipfian,
        "latest" => RequestSpec::Latest { as_ycsb },
        "hotspot" => RequestSpec::Hotspot { data, operations },
        "sequential" => RequestSpec::Sequential,
        "exponential" => {
            if percentile <= 0.0 || percentile >= 100.0 {
                let problem = format!("{percentile} is not between 0 and 100");
                read.wrong("exponential.percentile", problem, "the default is 95");
            }
            if fraction <= 0.0 {
                read.wrong("exponential.frac", "must be above 0", "the default is 0.8571428571");
            }
            RequestSpec::Exponential { percentile, fraction }
        }
        other => {
            let cure = "give uniform, zipfian, latest, hotspot, sequential or exponential";
            read.wrong("requestdistribution", format!("{other:?} is unknown"), cure);
            RequestSpec::Uniform
        }
    }
}

fn scan_length(read: &mut PropertyReader) -> LengthSpec {
    let min = read.within("minscanlength", 1, 0..=1 << 30);
    let max = read.within("maxscanlength", 1000, 0..=1 << 30);
    let distribution = read.text("scanlengthdistribution", "uniform");
    if !matches!(distribution.as_str(), "uniform" | "zipfian") {
        let problem = format!("{distribution:?} is unknown");
        read.wrong("scanlengthdistribution", problem, "give uniform or zipfian");
    }
    range(read, ("minscanlength", min), ("maxscanlength", max), distribution == "zipfian")
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
