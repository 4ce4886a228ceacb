//! The Java class names of workloads and bindings, and what replaces them.

use super::args::wrong;
use crate::plan::Invalid;

/// The packages of YCSB's classes; the second was used up to release 0.16.
const PACKAGES: [&str; 2] = ["site.ycsb.", "com.yahoo.ycsb."];

/// The workload classes that exist here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkloadClass {
    Core,
    ConstantOccupancy,
    TimeSeries,
    Rest,
}

/// A binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    CouchDb,
    Basic,
    Rest,
}

/// A class's name without YCSB's package.
fn within_package(class: &str) -> Option<&str> {
    PACKAGES.iter().find_map(|package| class.strip_prefix(package))
}

/// The workload of this class.
pub(super) fn workload(class: &str) -> Result<WorkloadClass, Invalid> {
    const CURE: &str = "give site.ycsb.workloads.CoreWorkload, or ConstantOccupancyWorkload, \
                        TimeSeriesWorkload or RestWorkload there";
    match within_package(class).and_then(|class| class.strip_prefix("workloads.")) {
        Some("CoreWorkload") => Ok(WorkloadClass::Core),
        Some("ConstantOccupancyWorkload") => Ok(WorkloadClass::ConstantOccupancy),
        Some("TimeSeriesWorkload") => Ok(WorkloadClass::TimeSeries),
        Some("RestWorkload") => Ok(WorkloadClass::Rest),
        _ => Err(wrong("workload", format!("no such class here: {class:?}"), CURE)),
    }
}

/// The binding of this name.
pub(super) fn binding(name: &str) -> Result<Binding, Invalid> {
    match name {
        "couchdb" => Ok(Binding::CouchDb),
        "basic" | "basicts" => Ok(Binding::Basic),
        "rest" => Ok(Binding::Rest),
        other => {
            let problem = format!("no such binding: {other:?}");
            Err(Invalid::new("BINDING", problem, "give couchdb or basic, or rest for traces"))
        }
    }
}

/// The binding of this class; YCSB itself has none for CouchDB.
pub(super) fn binding_class(class: &str) -> Result<Binding, Invalid> {
    match within_package(class) {
        Some("BasicDB" | "BasicTSDB") => Ok(Binding::Basic),
        Some("webservice.rest.RestClient") => Ok(Binding::Rest),
        Some("db.CouchDbClient") => Ok(Binding::CouchDb),
        _ => {
            let problem = format!("no such class here: {class:?}");
            Err(Invalid::new("-db", problem, "leave it out: the binding is already named"))
        }
    }
}
