//! Scratch databases that earlier runs left on a server.

use super::open::enter;
use super::open_many::remove_each;
use super::plan::CouchPlan;
use crate::{Opening, Scratch, TargetError};

impl CouchPlan {
    /// The scratch databases on the server, in order of their names.
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
        Ok(found)
    }

    /// Removes these scratch databases.
    pub(super) async fn drop_scratches(
        &self,
        opening: &Opening,
        scratches: &[Scratch],
    ) -> Result<(), TargetError> {
        let all = self.all(opening.stand_in.as_ref());
        let (admin, _) = enter(self, &all[0], opening, false).await?;
        let names = scratches.iter().map(|scratch| scratch.name.clone()).collect();
        Ok(remove_each(&admin, names).await?)
    }
}
