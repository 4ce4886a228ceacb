//! Asks each region server about the run's table: which requests its regions have served, what they
//! hold, and whether they are being compacted.

use super::admin::table_name;
use super::connection::{Connection, ConnectionSettings, Lost, Setback};
use super::messages::{RegionLoad, RegionLoadRequest, RegionLoads};
use super::regions::ask;
use super::{HBase, servers};
use crate::observed::{Meter, Reading, Task};
use crate::op::Failure;
use crate::{Local, Monitor, NoReading};
use prost::bytes::Bytes;
use std::collections::HashMap;
use std::time::Duration;

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// The unit of the sizes that it reports, in bytes.
const MEGABYTE: f64 = 1_048_576.0;

const REQUESTS: &str = "requests";
const SIZES: &str = "sizes";
const REGIONS: &str = "regions";

/// What a server has counted since it was first asked. A region that moves away takes its counts
/// along, and one that arrives begins at 0.
#[derive(Debug, Default)]
struct Counts {
    last: HashMap<Bytes, [u64; 2]>,
    /// Read requests and write requests.
    all: [u64; 2],
}

impl Counts {
    fn add(&mut self, regions: &[RegionLoad]) {
        let mut known = HashMap::new();
        for region in regions {
            let now = [region.reads.unwrap_or(0), region.writes.unwrap_or(0)];
            if let Some(before) = self.last.get(&region.region.value) {
                for (sum, (now, before)) in self.all.iter_mut().zip(now.iter().zip(before)) {
                    // The region was opened again, so it counts from 0.
                    *sum = sum.saturating_add(now.checked_sub(*before).unwrap_or(*now));
                }
            }
            known.insert(region.region.value.clone(), now);
        }
        self.last = known;
    }
}

/// The reading of these regions; `server` is the one that has them, and `table` their table.
fn reading_of(regions: &[RegionLoad], counts: &mut Counts, server: &str, table: &Bytes) -> Reading {
    counts.add(regions);
    let sum = |of: fn(&RegionLoad) -> Option<u32>| {
        regions.iter().filter_map(of).map(f64::from).sum::<f64>()
    };
    let [reads, writes] = counts.all.map(|count| count as f64);
    let is_busy = |it: &RegionLoad| {
        let left = it.compacting.unwrap_or(0).saturating_sub(it.compacted.unwrap_or(0));
        it.compaction_state.unwrap_or(0) > 0 || left > 0
    };
    let place = format!("{} on {server}", String::from_utf8_lossy(table));
    let task = Task { kind: "compaction".to_owned(), what: place };
    Reading {
        values: vec![
            (Meter::rate("reads_per_s", "requests that read", REQUESTS), reads),
            (Meter::rate("writes_per_s", "requests that write", REQUESTS), writes),
            (
                Meter::gauge("memstore_bytes", "memstores", "bytes", SIZES),
                sum(|it| it.memstore_mb) * MEGABYTE,
            ),
            (
                Meter::gauge("file_bytes", "store files", "bytes", SIZES),
                sum(|it| it.storefiles_mb) * MEGABYTE,
            ),
            (Meter::gauge("store_files", "store files", "", REGIONS), sum(|it| it.storefiles)),
            (Meter::gauge("regions", "regions", "", REGIONS), regions.len() as f64),
        ],
        tasks: Some(regions.iter().any(is_busy).then_some(task).into_iter().collect()),
        ..Reading::default()
    }
}

/// A connection to one region server.
#[derive(Debug)]
pub(super) struct HBaseMonitor {
    /// `host:port`
    server: String,
    table: Bytes,
    settings: ConnectionSettings,
    connection: Option<Connection>,
    counts: Counts,
}

impl HBaseMonitor {
    /// One for each server that had regions of the table when the run began.
    pub(super) fn each(target: &HBase) -> Vec<Box<dyn Monitor>> {
        let opened = &target.opened;
        let mut servers: Vec<String> = opened.regions.iter().map(|it| it.server.clone()).collect();
        servers.sort_unstable();
        servers.dedup();
        let settings = ConnectionSettings {
            timeout_ns: PATIENCE.as_nanos() as u64,
            ..opened.settings.clone()
        };
        let monitor = |server| Self {
            server,
            table: opened.table.clone(),
            settings: settings.clone(),
            connection: None,
            counts: Counts::default(),
        };
        servers.into_iter().map(|it| Box::new(monitor(it)) as Box<dyn Monitor>).collect()
    }

    async fn regions(&mut self) -> Result<RegionLoads, Setback> {
        let connection = match self.connection.take().filter(Connection::is_usable) {
            Some(connection) => connection,
            None => Connection::open(&self.server, servers::ADMIN, &self.settings).await?,
        };
        let request = RegionLoadRequest { table_name: Some(table_name(&self.table)) };
        let answer = ask(&connection, "GetRegionLoad", &request).await;
        self.connection = Some(connection);
        answer
    }

    async fn answer(&mut self) -> Result<Reading, NoReading> {
        let asked = tokio::time::timeout(PATIENCE, self.regions()).await;
        match asked {
            Ok(Ok(loads)) => {
                Ok(reading_of(&loads.regions, &mut self.counts, &self.server, &self.table))
            }
            Ok(Err(Setback::Lost(lost))) => Err(no_reading(lost)),
            Ok(Err(Setback::NotYet(why))) => Err(NoReading::Missed(why)),
            Err(_) => Err(NoReading::Missed("no answer in time".to_owned())),
        }
    }
}

/// The reason why there is no reading.
fn no_reading(Lost { failure, reason, .. }: Lost) -> NoReading {
    match failure {
        Failure::Authentication => NoReading::Refused(reason),
        _ if reason.starts_with("AccessDenied") => NoReading::Refused(reason),
        Failure::Rejected => NoReading::Unknown,
        _ if reason.starts_with("UnknownProtocolException") => NoReading::Unknown,
        _ => NoReading::Missed(reason),
    }
}

impl Monitor for HBaseMonitor {
    fn name(&self) -> String {
        self.server.clone()
    }

    fn ask(&mut self, _: usize) -> Local<'_, Result<Reading, NoReading>> {
        Box::pin(self.answer())
    }
}

#[cfg(test)]
mod tests {
    use super::super::messages::RegionSpecifier;
    use super::*;

    fn region(name: &'static str, reads: u64) -> RegionLoad {
        let value = Bytes::from_static(name.as_bytes());
        let region = RegionSpecifier { kind: 1, value };
        RegionLoad { region, reads: Some(reads), memstore_mb: Some(3), ..RegionLoad::default() }
    }

    #[test]
    fn a_region_that_moves_or_is_opened_again_does_not_make_a_count_fall() {
        let mut counts = Counts::default();
        let mut reads = |regions: &[RegionLoad]| {
            counts.add(regions);
            counts.all[0]
        };
        assert_eq!(reads(&[region("a", 500), region("b", 900)]), 0);
        assert_eq!(reads(&[region("a", 510), region("b", 905)]), 15);
        assert_eq!(reads(&[region("a", 520)]), 25, "one has moved away");
        assert_eq!(reads(&[region("a", 4), region("c", 700)]), 29, "one begins anew, one comes");
    }

    #[test]
    fn regions_are_summed_and_one_that_is_compacted_is_enough() {
        let table = Bytes::from_static(b"t");
        let still =
            reading_of(&[region("a", 1), region("b", 2)], &mut Counts::default(), "h:1", &table);
        let value = |name: &str| still.values.iter().find(|(it, _)| it.name == name).unwrap().1;
        assert_eq!((value("memstore_bytes"), value("regions")), (6.0 * MEGABYTE, 2.0));
        assert_eq!(still.tasks, Some(vec![]));
        for busy in [
            RegionLoad { compaction_state: Some(2), ..region("c", 0) },
            RegionLoad { compacting: Some(9), compacted: Some(8), ..region("c", 0) },
        ] {
            let reading =
                reading_of(&[region("a", 1), busy], &mut Counts::default(), "h:1", &table);
            let task = Task { kind: "compaction".into(), what: "t on h:1".into() };
            assert_eq!(reading.tasks, Some(vec![task]));
        }
        let done = RegionLoad { compacting: Some(9), compacted: Some(9), ..region("c", 0) };
        assert_eq!(reading_of(&[done], &mut Counts::default(), "h:1", &table).tasks, Some(vec![]));
    }

    #[test]
    fn a_server_that_may_not_tell_is_not_one_that_is_silent() {
        let of = |failure, reason: &str| no_reading(Lost::new(failure, reason));
        let denied = "AccessDeniedException: no rights";
        assert_eq!(of(Failure::Rejected, denied), NoReading::Refused(denied.into()));
        assert_eq!(of(Failure::Rejected, "UnknownProtocolException"), NoReading::Unknown);
        assert_eq!(of(Failure::Timeout, "x"), NoReading::Missed("x".into()));
    }
}
