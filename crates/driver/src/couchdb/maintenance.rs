//! Maintenance mode of a node: it stays in the cluster, but serves no documents.

use super::open::enter;
use super::{Admin, CouchPlan};
use crate::{Opening, TargetError};
use serde_json::Value;

/// Where the mode is set, on the node that is asked.
const MODE: &str = "/_node/_local/_config/couchdb/maintenance_mode";

impl CouchPlan {
    /// The mode of a node; `None` if it is not set.
    pub(super) async fn maintenance(
        &self,
        opening: &Opening,
        node: usize,
    ) -> Result<Option<String>, TargetError> {
        let mut admin = self.admin(opening, node).await?;
        let (status, mode) = admin.request("GET", MODE, None).await?;
        if status == 404 {
            return Ok(None);
        }
        let (_, mode) = admin.expect_reply((status, mode), &[200], "GET", MODE)?;
        Ok(mode.as_str().map(str::to_owned))
    }

    /// Sets the mode of a node; `None` removes the setting.
    pub(super) async fn set_maintenance(
        &self,
        opening: &Opening,
        node: usize,
        mode: Option<&str>,
    ) -> Result<(), TargetError> {
        let mut admin = self.admin(opening, node).await?;
        if let Some(mode) = mode {
            let body = Value::from(mode).to_string();
            admin.expect(&[200], "PUT", MODE, Some(body.as_bytes())).await?;
        } else {
            admin.expect(&[200, 404], "DELETE", MODE, None).await?;
        }
        Ok(())
    }

    /// The administration of a node, logged in.
    async fn admin(&self, opening: &Opening, node: usize) -> Result<Admin, TargetError> {
        let none = || TargetError("there is no such node".to_owned());
        let node = self.all(opening.stand_in.as_ref()).into_iter().nth(node).ok_or_else(none)?;
        let (admin, welcome) = enter(self, &node, opening, false).await?;
        welcome?;
        Ok(admin)
    }
}
