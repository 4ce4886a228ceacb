//! What earlier runs left on a server: scratch databases, replications, and settings that keep the
//! server from compacting.

use super::compaction;
use super::open::enter;
use super::open_many::remove_each;
use super::plan::CouchPlan;
use super::replicator::{REPLICATOR, drop_job};
use crate::{Leftover, Opening, Scratch, TargetError};

impl CouchPlan {
    /// The scratch databases on the server, in order of their names, then the replications, and
    /// then the settings.
    pub(super) async fn list_scratches(
        &self,
        opening: &Opening,
    ) -> Result<Vec<Scratch>, TargetError> {
        let all = self.all(opening.stand_in.as_ref());
        let (mut admin, _) = enter(self, &all[0], opening, false).await?;
        let server = &all[0].server;
        let (_, names) = admin.expect(&[200], "GET", "/_all_dbs", None).await?;
        let Some(names) = names.as_array() else {
            return Err(TargetError(format!(
                "{server} does not answer GET /_all_dbs with a list of names; check the address"
            )));
        };
        let mut found: Vec<_> =
            names.iter().filter_map(|name| Scratch::of_name(name.as_str()?)).collect();
        found.sort_by(|one, other| one.name.cmp(&other.name));
        // A user who may not see replications, or has none, still wants the databases removed.
        let path = format!("{REPLICATOR}/_all_docs");
        if let (200, listed) = admin.request("GET", &path, None).await? {
            let rows = listed["rows"].as_array().into_iter().flatten();
            let jobs = rows.filter_map(|row| Scratch::of_name(row["id"].as_str()?));
            found.extend(jobs.map(|job| Scratch { kind: Leftover::Replication, ..job }));
        }
        found.extend(compaction::left(&mut admin).await);
        Ok(found)
    }

    /// Removes these, the replications first: they write to the databases. Settings come last.
    pub(super) async fn drop_scratches(
        &self,
        opening: &Opening,
        scratches: &[Scratch],
    ) -> Result<(), TargetError> {
        let all = self.all(opening.stand_in.as_ref());
        let (mut admin, _) = enter(self, &all[0], opening, false).await?;
        let names = |kind: Leftover| {
            let of_kind = scratches.iter().filter(move |scratch| scratch.kind == kind);
            of_kind.map(|scratch| scratch.name.clone()).collect::<Vec<_>>()
        };
        for job in names(Leftover::Replication) {
            drop_job(&mut admin, &job).await?;
        }
        remove_each(&admin, names(Leftover::Database)).await?;
        Ok(compaction::take_back(&mut admin, &names(Leftover::Compaction)).await?)
    }
}
