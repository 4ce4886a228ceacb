//! Bindings: how YCSB's command line asks for a driver. Knows nothing about YCSB's workloads.

use super::Card;
use super::secrets::redact;
use crate::mistake::Invalid;
use crate::properties::{Properties, PropertyReader};
use serde_json::{Map, Value};

/// How YCSB's command line asks for a driver.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// Its names on the command line; messages use the first.
    pub names: &'static [&'static str],
    /// Its Java classes, without YCSB's package.
    pub classes: &'static [&'static str],
    /// The properties that it reads.
    pub properties: &'static [&'static str],
    /// The flag under which mistakes in the address are reported.
    pub flag: &'static str,
    /// A settings file that it looks for in the folders of the class path.
    pub site: Option<SiteFile>,
    /// Reads the properties.
    pub read: fn(&mut PropertyReader<'_>) -> Bound,
}

/// A file with the settings of a site. Properties override them.
#[derive(Clone, Copy, Debug)]
pub struct SiteFile {
    /// Its name.
    pub name: &'static str,
    /// Reads the properties with these names.
    ///
    /// # Errors
    /// Fails with the reason if the file cannot be read.
    pub read: fn(&[u8], &[&str]) -> Result<Properties, String>,
}

/// What a binding derives from the properties.
#[derive(Clone, Debug, Default)]
pub struct Bound {
    /// The target's address; `None` if the workload names the servers.
    pub address: Option<String>,
    /// Settings specific to the driver, named as in its plan.
    pub options: Map<String, Value>,
    /// Notes for the user that are not errors.
    pub notes: Vec<String>,
    /// Whether the table must exist, since it is not created.
    pub must_exist: bool,
    /// How records are collected before they are sent.
    pub buffer: Option<Buffer>,
    /// What is shown about operations.
    pub shown: Shown,
    /// The timeout of an operation, in nanoseconds, instead of the dialect's own.
    pub timeout_ns: Option<u64>,
}

/// Writes are collected and sent together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The property that asks for it.
    pub property: &'static str,
    /// How many bytes are sent together.
    pub bytes: u64,
}

/// What is shown about operations that are not sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Whether they are printed.
    pub printed: bool,
    /// Whether distinct operations are counted.
    pub counted: bool,
}

impl Binding {
    /// The classes of a binding that stands for a Java class, whichever one the property `db`
    /// names. It is given all properties, including those with the two names below, which are for
    /// Java itself.
    pub(super) const ANY_CLASS: &[&str] = &["*"];
    /// The class path.
    pub const CLASS_PATH: &str = "springload.class-path";
    /// Arguments for Java.
    pub const JVM_ARGUMENTS: &str = "springload.jvm-args";

    /// Whether it accepts any class.
    pub fn takes_any_class(&self) -> bool {
        self.classes == Self::ANY_CLASS
    }

    /// Advice for a name that no binding has.
    pub fn cure(name: &str) -> String {
        let absent = super::ABSENT.iter().find(|it| name.starts_with(it.name));
        absent.map_or_else(|| format!("give one of {}", Self::all_names()), |it| it.cure())
    }

    /// The driver and the binding with this name.
    pub fn named(name: &str) -> Option<&'static (Card, Self)> {
        super::BINDINGS.iter().find(|(_, binding)| binding.names.contains(&name))
    }

    /// The driver and the binding for this Java class.
    pub fn of_class(class: &str) -> Option<&'static (Card, Self)> {
        let has = |binding: &Self| binding.classes.contains(&class) && !binding.takes_any_class();
        super::BINDINGS.iter().find(|(_, binding)| has(binding))
    }

    /// Refuses an address that would lead to a driver other than `card`'s.
    pub fn refusal(&self, card: &Card, address: &str) -> Option<Invalid> {
        let scheme = address.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
        let leads = match &scheme {
            Some(scheme) => card.schemes.contains(&scheme.as_str()),
            None => address == card.name,
        };
        (!leads).then(|| {
            let problem = format!("{:?} is not an address of {}", redact(address), self.names[0]);
            Invalid::new(self.flag, problem, format!("give {}", card.address))
        })
    }

    /// The binding that reads this property.
    pub fn reading(property: &str) -> Option<&'static Self> {
        let mut bindings = super::BINDINGS.iter().map(|(_, binding)| binding);
        bindings.find(|binding| binding.properties.contains(&property))
    }

    /// The first name of each binding, as a list in words.
    pub fn all_names() -> String {
        let names: Vec<_> = super::BINDINGS.iter().map(|(_, binding)| binding.names[0]).collect();
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BINDINGS;
    use crate::properties::Properties;
    use std::collections::HashSet;

    #[test]
    fn names_and_classes_lead_to_one_driver_each() {
        let (mut names, mut classes) = (HashSet::new(), HashSet::new());
        for (card, binding) in BINDINGS {
            assert!(!binding.names.is_empty(), "{}", card.name);
            assert!(binding.names.iter().all(|name| names.insert(*name)), "{:?}", binding.names);
            assert!(binding.classes.iter().all(|it| classes.insert(*it)), "{:?}", binding.classes);
            assert!(binding.flag == "BINDING" || binding.flag.starts_with("-p "), "{}", card.name);
        }
    }

    #[test]
    fn a_driver_without_a_binding_of_ycsb_is_asked_for_by_its_name() {
        let (card, binding) = Binding::named("line").unwrap();
        assert_eq!((card.name, binding.flag), ("line", "-p line.url"));
        assert_eq!(binding.properties, ["line.url"]);
        let mut properties = Properties::default();
        let own = (binding.read)(&mut PropertyReader::new(&properties));
        assert_eq!(own.address.as_deref(), Some("line"));
        properties.set("line.url", "line://h:1");
        let other = (binding.read)(&mut PropertyReader::new(&properties));
        assert_eq!(other.address.as_deref(), Some("line://h:1"));
    }
}
