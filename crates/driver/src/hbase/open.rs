//! Before the first stage: the cluster, the table and its regions.

use super::admin::{MasterClient, cannot, of_hbase, settings, split_points};
use super::binding::BINDING;
use super::connection::{Connection, ConnectionSettings, Lost, Setback};
use super::messages::{Column, Get, GetRequest, GetResponse};
use super::plan::{CARD, HBasePlan};
use super::regions::{Region, all, ask, locate_meta};
use super::servers::{CLIENT, RegionServers};
use super::words::{self, Own};
use super::worker::specifier;
use super::{HBase, OpenedTable};
use crate::mistake::Invalid;
use crate::net::{Endpoint, mixed_up};
use crate::op::Failure;
use crate::{Binding, Card, DriverPlan, Nouns, Opening, ServerFacts, TargetAsked, TargetError};
use prost::bytes::Bytes;
use std::net::ToSocketAddrs;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::LocalSet;
use url::Url;

/// The most regions that are looked up in advance.
const MOST_REGIONS: usize = 20_000;

impl DriverPlan for HBasePlan {
    type Target = HBase;

    const CARD: Card = CARD;

    const BINDING: Option<Binding> = Some(BINDING);

    fn check(asked: &TargetAsked) -> Result<Self, Invalid> {
        Self::checked(asked)
    }

    /// Finds the cluster and its table, or creates the table.
    async fn open(&self, opening: &Opening) -> Result<(HBase, ServerFacts), TargetError> {
        let own = Own::new(&opening.operations, words::spell)?;
        let settings = settings(self, opening)?;
        let seeds = self.seeds();
        let admin = MasterClient::of(&seeds, &settings);
        // Servers that are away, or are not HBase, are reported before any request is sent.
        let timeout = Duration::from_nanos(opening.timeout_ns);
        let servers = RegionServers::new(settings.clone());
        let meta = LocalSet::new()
            .run_until(tokio::time::timeout(timeout, locate_meta(&seeds, &servers)))
            .await
            .unwrap_or_else(|_| Err(Setback::NotYet("no answer in time".to_owned())));
        let meta = match meta {
            Ok(meta) => meta,
            Err(trouble) => return Err(unreachable(self, &trouble).await),
        };
        let table = Bytes::from(self.database.name_or_new(opening));
        let created = self.database.must_be_new() && !opening.as_it_is;
        let removed = created && self.database.is_removed();
        if created {
            let splits = self.options.splits.map(split_points).unwrap_or_default();
            admin.create_table(&table, self.family_or_default(), &splits).await?;
        }
        let (family, regions) = match find(self, opening, &admin, &table, &meta).await {
            Ok(found) => found,
            // A table that the run cannot use is not left behind.
            Err(error) if removed => {
                let left = admin.remove_table(&table).await.err();
                return Err(
                    left.map_or(error.clone(), |left| TargetError(format!("{error}; {left}")))
                );
            }
            Err(error) => return Err(error),
        };
        let version = admin.version().await.unwrap_or_default();
        let facts = ServerFacts {
            url: self.url(),
            name: "HBase".to_owned(),
            version,
            same_machine: is_loopback(&regions),
            database: String::from_utf8_lossy(&table).into_owned(),
            created,
            ..ServerFacts::default()
        };
        let opened = OpenedTable {
            seeds,
            table,
            family: family.as_bytes().into(),
            durability: self.options.durability,
            connections: self.options.connections.unwrap_or(1),
            regions,
            settings,
            removed,
            own,
        };
        Ok((HBase { opened: Arc::new(opened) }, facts))
    }
}

async fn unreachable(plan: &HBasePlan, trouble: &Setback) -> TargetError {
    let servers = plan.seeds().join(", ");
    let what = format!("reach HBase at {servers}");
    let stranger = match trouble {
        Setback::Lost(Lost { failure: Failure::Protocol | Failure::Reset, reason, cure: None }) => {
            Some(reason)
        }
        _ => None,
    };
    let silent = plan.tls && matches!(trouble, Setback::NotYet(_));
    if (stranger.is_some() || silent)
        && let Some(known) = told_apart(plan).await
    {
        return TargetError(format!("cannot {what}: {known}"));
    }
    let Some(reason) = stranger else { return cannot(&what, trouble) };
    TargetError(format!(
        "the server at {servers} does not speak HBase's RPC ({reason}); give a master (port \
         16000) or a region server (port 16020) of HBase 2.5 or later"
    ))
}

/// The message for a server that speaks TLS although the address has a scheme without it, or the
/// other way round, with what to write instead.
async fn told_apart(plan: &HBasePlan) -> Option<String> {
    let scheme = if plan.tls { "https" } else { "http" };
    for seed in plan.seeds() {
        let Ok(url) = Url::parse(&format!("{scheme}://{seed}")) else { continue };
        let Ok(endpoint) = Endpoint::resolve(&url, &plan.certificates) else { continue };
        if let Some(known) = mixed_up(&endpoint).await {
            return Some(of_hbase(&known.with_cure()));
        }
    }
    None
}

/// The family and the regions of the table.
async fn find(
    plan: &HBasePlan,
    opening: &Opening,
    admin: &MasterClient<'_>,
    table: &Bytes,
    meta: &str,
) -> Result<(String, Vec<Region>), TargetError> {
    let family = family(plan, opening, admin, table).await?;
    let timeout = Duration::from_nanos(admin.settings.timeout_ns);
    let looking = look(table, &family, meta, admin.settings);
    let regions = LocalSet::new()
        .run_until(tokio::time::timeout(timeout, looking))
        .await
        .unwrap_or_else(|_| Err(Setback::NotYet("no region answers in time".to_owned())))
        .map_err(|trouble| {
            cannot(&format!("use table {:?}", String::from_utf8_lossy(table)), &trouble)
        })?;
    Ok((family, regions))
}

/// The family that was named, or the table's only one.
async fn family(
    plan: &HBasePlan,
    opening: &Opening,
    admin: &MasterClient<'_>,
    table: &Bytes,
) -> Result<String, TargetError> {
    let name = String::from_utf8_lossy(table);
    let found = admin.families(table).await;
    let found = found.map_err(|trouble| cannot(&format!("find table {name:?}"), &trouble))?;
    let Some(found) = found else {
        let url = plan.servers.first().map(|server| plan.url_of(server)).unwrap_or_default();
        let cure =
            format!("create it first (springload hbase create-table {url}/{name} --splits N)");
        return Err(opening.missing(&format!("table {name:?}"), &cure, Nouns::ROWS));
    };
    let has = found.join(", ");
    match &plan.options.column_family {
        Some(family) if found.contains(family) => Ok(family.clone()),
        Some(family) => Err(TargetError(format!(
            "table {name:?} has no column family {family:?}; it has {has}"
        ))),
        None if found.len() == 1 => Ok(found[0].clone()),
        None => Err(TargetError(format!(
            "table {name:?} has several column families; give one of {has} with ?cf="
        ))),
    }
}

/// All regions of the table, once one of them answers.
async fn look(
    table: &Bytes,
    family: &str,
    meta: &str,
    settings: &ConnectionSettings,
) -> Result<Vec<Region>, Setback> {
    let servers = RegionServers::new(settings.clone());
    let meta: Rc<str> = meta.into();
    loop {
        let regions = all(table, MOST_REGIONS, &meta, &servers).await?;
        if let Some(region) = regions.first() {
            match probe(region, family, settings).await {
                Ok(()) => return Ok(regions),
                Err(Setback::NotYet(_)) => {}
                Err(lost) => return Err(lost),
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Reads a row, which need not exist.
async fn probe(
    region: &Region,
    family: &str,
    settings: &ConnectionSettings,
) -> Result<(), Setback> {
    let connection = Connection::open(&region.server, CLIENT, settings).await?;
    let family = Bytes::copy_from_slice(family.as_bytes());
    let row =
        if region.start.is_empty() { Bytes::from_static(b"\0") } else { region.start.clone() };
    let column = vec![Column { family, qualifier: Vec::new() }];
    let request = GetRequest { region: specifier(&region.name), get: Get { row, column } };
    let _: GetResponse = ask(&connection, "Get", &request).await?;
    Ok(())
}

fn is_loopback(regions: &[Region]) -> bool {
    let loopback = |server: &str| {
        let found = server.to_socket_addrs();
        found.is_ok_and(|mut all| all.all(|address| address.ip().is_loopback()))
    };
    let mut servers: Vec<_> = regions.iter().map(|region| region.server.as_str()).collect();
    servers.sort_unstable();
    servers.dedup();
    servers.iter().all(|server| loopback(server))
}
