//! Scratch databases and replications that earlier runs left on a server.

use super::open::enter;
use super::open_many::remove_each;
use super::plan::CouchPlan;
use super::replicator::{REPLICATOR, drop_job};
use crate::{Opening, Scratch, TargetError};

impl CouchPlan {
    /// The scratch databases on the server, in order of their names, and then the replications.
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
        // Whoever may not see them, or has none, still wants the databases removed.
        let path = format!("{REPLICATOR}/_all_docs");
        if let (200, listed) = admin.request("GET", &path, None).await? {
            let rows = listed["rows"].as_array().into_iter().flatten();
            let jobs = rows.filter_map(|row| Scratch::of_name(row["id"].as_str()?));
            found.extend(jobs.map(|job| Scratch { is_replication: true, ..job }));
        }
        Ok(found)
    }

    /// Removes these, the replications first: they write to the databases.
    pub(super) async fn drop_scratches(
        &self,
        opening: &Opening,
        scratches: &[Scratch],
    ) -> Result<(), TargetError> {
        let all = self.all(opening.stand_in.as_ref());
        let (mut admin, _) = enter(self, &all[0], opening, false).await?;
        let (jobs, databases): (Vec<_>, Vec<_>) =
            scratches.iter().partition(|scratch| scratch.is_replication);
        for job in jobs {
            drop_job(&mut admin, &job.name).await?;
        }
        let names = databases.into_iter().map(|scratch| scratch.name.clone()).collect();
        Ok(remove_each(&admin, names).await?)
    }
}
