//! Java's names of workloads and bindings, and what stands for them here.

use super::args::wrong;
use crate::plan::Invalid;

/// Packages that YCSB's classes are in: the second up to release 0.16.
const PACKAGES: [&str; 2] = ["site.ycsb.", "com.yahoo.ycsb."];

/// The workload classes that there are here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkloadClass {
    Core,
    ConstantOccupancy,
    TimeSeries,
    Rest,
}

/// What speaks to the database.
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
        _ => Err(wrong("workload", format!("there is no class {class:?} here"), CURE)),
    }
}

/// The binding of this name.
pub(super) fn binding(name: &str) -> Result<Binding, Invalid> {
    match name {
        "couchdb" => Ok(Binding::CouchDb),
        "basic" | "basicts" => Ok(Binding::Basic),
        "rest" => Ok(Binding::Rest),
        other => {
            let problem = format!("there is no binding {other:?}");
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
            let problem = format!("there is no class {class:?} here");
            Err(Invalid::new("-db", problem, "leave it out: the binding before it says enough"))
        }
    }
}
