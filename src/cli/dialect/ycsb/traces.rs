//! The requests of a trace replay.

use crate::plan::{HttpPlan, RequestPlan};
use crate::workload::ycsb::rest::RestConfig;

/// The requests of a trace replay: one per trace, with paths from the workload.
pub(super) fn traces(rest: &RestConfig) -> HttpPlan {
    let request = |method: &str| RequestPlan {
        method: method.to_owned(),
        server: rest.server.clone(),
        path: "/".to_owned(),
        user: rest.user.clone(),
        ..RequestPlan::default()
    };
    HttpPlan {
        requests: ["GET", "POST", "PUT", "DELETE"].map(request).into_iter().collect(),
        headers: rest.headers.clone(),
        keep_alive: true,
        ..HttpPlan::default()
    }
}
