//! The requests that a replay of traces makes.

use crate::plan::{HttpPlan, RequestPlan};
use crate::schema::Pattern;
use crate::workload::ycsb::rest::RestConfig;

/// The requests of a replay of traces: one for each trace, whose paths come from the workload.
pub(super) fn traces(rest: &RestConfig) -> HttpPlan {
    let request = |method: &str| RequestPlan {
        name: None,
        method: method.to_owned(),
        server: rest.server.clone(),
        path: "/".to_owned(),
        content_type: None,
        body: None,
        literal: false,
        target: Pattern::default(),
        user: rest.user.clone(),
    };
    HttpPlan {
        requests: ["GET", "POST", "PUT", "DELETE"].map(request).to_vec(),
        headers: rest.headers.clone(),
        keep_alive: true,
        ..HttpPlan::default()
    }
}
