//! The Java class names of workloads and bindings, and what replaces them.

use super::args::wrong;
use crate::driver::{Binding, Card};
use crate::plan::Invalid;

/// The packages of YCSB's classes; the second was used up to release 0.16.
const PACKAGES: [&str; 2] = ["site.ycsb.", "com.yahoo.ycsb."];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkloadClass {
    Core,
    ConstantOccupancy,
    TimeSeries,
    Rest,
}

/// A class's name without YCSB's package.
fn within_package(class: &str) -> Option<&str> {
    PACKAGES.iter().find_map(|package| class.strip_prefix(package))
}

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

/// The driver that a binding names, and the binding itself.
pub(super) type NamedBinding = &'static (Card, Binding);

/// The class in `java:CLASS`, if `name` has that form.
pub(super) fn named_class(name: &str) -> Option<&str> {
    let (name, class) = name.split_once(':')?;
    Binding::named(name).filter(|(_, binding)| binding.takes_any_class()).map(|_| class)
}

pub(super) fn binding(name: &str) -> Result<NamedBinding, Invalid> {
    let own = name.split_once(':').filter(|_| named_class(name).is_some());
    Binding::named(own.map_or(name, |(own, _)| own)).ok_or_else(|| {
        let problem = format!("no such binding: {name:?}");
        Invalid::new("BINDING", problem, Binding::cure(name))
    })
}

pub(super) fn binding_class(class: &str) -> Result<NamedBinding, Invalid> {
    within_package(class).and_then(Binding::of_class).ok_or_else(|| {
        let problem = format!("no such class here: {class:?}");
        Invalid::new("-db", problem, "leave it out: the binding is already named")
    })
}
