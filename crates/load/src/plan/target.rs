//! What a specification asks a driver for.

use super::http;
use super::spec::PlanSpec;
use crate::driver::{TargetAsked, TargetPlan};
use crate::mistake::Invalid;
use crate::schema::Ids;

/// The target that the specification asks for.
pub(super) fn target(spec: &PlanSpec) -> Result<TargetPlan, Invalid> {
    if let Some(list) = &spec.http {
        return Ok(http::target(list, &spec.tls));
    }
    TargetPlan::check(&asked_target(spec))
}

/// The part of the specification that is passed to its driver.
pub(super) fn asked_target(spec: &PlanSpec) -> TargetAsked {
    let prefix = match (spec.work.id_prefix(), &spec.ids) {
        (Some(prefix), _) => prefix,
        (None, Ids::Prefix(text)) => text,
        (None, Ids::Partitions(_)) => "p0:",
        (None, _) => "",
    };
    TargetAsked {
        address: spec.target.clone(),
        flag: spec.target_flag,
        nodes: spec.nodes.clone(),
        pin: spec.pin,
        database: spec.database.clone(),
        existing: spec.existing,
        keep: spec.keep,
        auth: spec.auth.value,
        auth_flag: spec.auth.flag,
        tls: spec.tls.clone(),
        headers: spec.headers.clone(),
        id_prefix: prefix.to_owned(),
        options: spec.options.clone(),
    }
}
