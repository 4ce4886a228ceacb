//! Scratch databases that earlier runs left on a server.

use super::open::enter;
use super::plan::CouchPlan;
use super::{AdminError, encode_segment};
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

    /// Removes one of the scratch databases.
    pub(super) async fn drop_scratch(
        &self,
        opening: &Opening,
        scratch: &Scratch,
    ) -> Result<(), TargetError> {
        let all = self.all(opening.stand_in.as_ref());
        let (mut admin, _) = enter(self, &all[0], opening, false).await?;
        let path = format!("/{}", encode_segment(&scratch.name));
        let removed: Result<(), AdminError> = super::open::remove(&mut admin, &path).await;
        Ok(removed?)
    }
}
