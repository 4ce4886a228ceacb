//! Code generated from the list of drivers. The driver is selected once per thread: the loop knows
//! its type.

use super::{
    Binding, Bound, Card, DriverPlan, Local, Monitor, Replicator, Size, Target, TargetAsked,
    TargetError, UnsettledWrites,
};
use crate::clock::Nanos;
use crate::mistake::Invalid;
use crate::op::Failure;
use crate::properties::PropertyReader;

/// Work on a target of any driver.
pub trait WithTarget {
    /// The result.
    type Output;

    /// Does the work.
    fn with<T: Target>(self, target: &T) -> Self::Output;
}

/// The methods of [`Target`] that are called outside the loop, for any driver.
#[allow(missing_docs, reason = "they are those of `Target`")]
pub trait Opened {
    fn size(&self) -> Local<'_, Option<Size>>;
    fn answers(&self, timeout_ns: Nanos) -> Local<'_, Option<Result<(), Failure>>>;
    fn documents(&self) -> Local<'_, Option<u64>>;
    fn unsettled(&self) -> UnsettledWrites;
    fn monitors(&self) -> Vec<Box<dyn Monitor>>;
    fn replicator(&self) -> Option<Box<dyn Replicator>>;
    fn hold_compaction(&self) -> Local<'_, Result<(), TargetError>>;
    fn begin_compaction(&self) -> Local<'_, Result<(), TargetError>>;
    fn is_compacting(&self) -> Local<'_, Option<bool>>;
    fn tear_down(&self) -> Local<'_, Result<bool, TargetError>>;
}

impl<T: Target> Opened for T {
    fn size(&self) -> Local<'_, Option<Size>> {
        Box::pin(Target::size(self))
    }

    fn answers(&self, timeout_ns: Nanos) -> Local<'_, Option<Result<(), Failure>>> {
        Box::pin(Target::answers(self, timeout_ns))
    }

    fn documents(&self) -> Local<'_, Option<u64>> {
        Box::pin(Target::documents(self))
    }

    fn unsettled(&self) -> UnsettledWrites {
        Target::unsettled(self)
    }

    fn monitors(&self) -> Vec<Box<dyn Monitor>> {
        Target::monitors(self)
    }

    fn replicator(&self) -> Option<Box<dyn Replicator>> {
        Target::replicator(self)
    }

    fn hold_compaction(&self) -> Local<'_, Result<(), TargetError>> {
        Box::pin(Target::hold_compaction(self))
    }

    fn begin_compaction(&self) -> Local<'_, Result<(), TargetError>> {
        Box::pin(Target::begin_compaction(self))
    }

    fn is_compacting(&self) -> Local<'_, Option<bool>> {
        Box::pin(Target::is_compacting(self))
    }

    fn tear_down(&self) -> Local<'_, Result<bool, TargetError>> {
        Box::pin(Target::tear_down(self))
    }
}

/// The binding of a driver for which YCSB has none: it is asked for by its own name, and
/// `property` contains its address.
pub(super) const fn by_address<P: DriverPlan>(
    name: &'static [&'static str; 1],
    property: &'static [&'static str; 1],
    flag: &'static str,
) -> Binding {
    let read = |read: &mut PropertyReader<'_>| Bound {
        address: Some(read.text(&format!("{}.url", P::CARD.name), P::CARD.name)),
        ..Bound::default()
    };
    Binding { names: name, classes: &[], properties: property, flag, site: None, read }
}

/// A driver that this program was built without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Absent {
    /// Its name in plans. The schemes of its addresses begin with it (with `-` for `_`).
    pub(super) name: &'static str,
    /// The cargo feature that includes it.
    pub(super) feature: &'static str,
}

impl Absent {
    fn problem(self) -> String {
        format!("this springload was built without {}", self.name)
    }

    pub(super) fn cure(self) -> String {
        format!("get it with: cargo install --path . --features {}", self.feature)
    }
}

/// Finds the driver for an address by its scheme or its name. The first driver handles the
/// stand-in, and reports addresses that no driver recognizes.
///
/// # Errors
/// Fails if this program was built without the driver.
pub(super) fn of_address(
    asked: &TargetAsked,
    cards: &[Card],
    absent: &[Absent],
) -> Result<&'static str, Invalid> {
    let address = asked.address.as_deref().unwrap_or_default();
    // Slashes after the scheme are optional.
    let scheme = address.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    let meant = |card: &&Card| match &scheme {
        Some(scheme) => card.schemes.contains(&scheme.as_str()),
        None => card.name == address,
    };
    if let Some(card) = cards.iter().find(meant) {
        return Ok(card.name);
    }
    let missing = |it: &&Absent| match &scheme {
        Some(scheme) => scheme.replace('-', "_").starts_with(it.name),
        None => it.name == address,
    };
    match absent.iter().find(missing) {
        Some(absent) => Err(Invalid::new(asked.flag, absent.problem(), absent.cure())),
        None => Ok(cards.first().map_or("", |card| card.name)),
    }
}

/// Refuses nodes that are not all of the same driver, and settings about nodes if there is only
/// one.
///
/// # Errors
/// Fails if an address is another driver's, or a setting about nodes has no effect.
pub(super) fn check_nodes(
    asked: &TargetAsked,
    driver: &str,
    cards: &[Card],
    absent: &[Absent],
) -> Result<(), Invalid> {
    if asked.pin && asked.nodes.is_empty() {
        let cure = "give the other nodes of the cluster, too, or leave it out";
        return Err(Invalid::new("--pin", "there is only one address", cure));
    }
    for address in &asked.nodes {
        let other = TargetAsked { flag: asked.flag, ..TargetAsked::at(address) };
        if asked.address.is_none() || of_address(&other, cards, absent)? != driver {
            let problem = "the addresses are not all of the same kind of database";
            let cure = "give the nodes of one cluster, or one target";
            return Err(Invalid::new(asked.flag, problem, cure));
        }
    }
    Ok(())
}

/// The problem and the cure if the driver of a stored plan is not built in.
pub(super) fn absent(name: &str, absent: &[Absent]) -> Option<(String, String)> {
    let found = absent.iter().find(|it| it.name == name);
    found.map(|it| (it.problem(), it.cure()))
}

/// A plan together with its driver's name.
#[derive(serde::Serialize)]
pub(super) struct Tagged<'a, P> {
    pub(super) driver: &'static str,
    #[serde(flatten)]
    pub(super) plan: &'a P,
}

/// The schema of a driver's plan with the driver's name, which plans of the first driver may omit.
#[cfg(feature = "schema")]
pub(super) fn tagged(mut plan: schemars::Schema, driver: &str, needed: bool) -> schemars::Schema {
    use serde_json::{Value, json};
    let (empty, none) = (|| json!({}), || json!([]));
    let members = plan.ensure_object();
    if let Value::Object(properties) = members.entry("properties").or_insert_with(empty) {
        let tag = json!({ "description": "The driver that speaks to it.", "const": driver });
        properties.shift_insert(0, "driver".to_owned(), tag);
    }
    if needed && let Value::Array(required) = members.entry("required").or_insert_with(none) {
        required.insert(0, "driver".into());
    }
    plan
}

/// The modules of the drivers, the enums over them, and everything that differs between drivers. A
/// driver with a feature is only present if the program is built with it.
macro_rules! drivers {
    ($($module:ident: $name:ident($plan:ident) = $tag:literal $(if $feature:literal)?,)*) => {
        $(
            $(#[cfg(feature = $feature)])?
            pub mod $module;
        )*

        /// The target of a plan, for any driver. Stored with the driver's name, except for the
        /// first.
        #[derive(Clone, Debug, PartialEq)]
        pub enum TargetPlan {
            $(
                #[doc = concat!("Of the driver `", $tag, "`.")]
                $(#[cfg(feature = $feature)])?
                $name($module::$plan),
            )*
        }

        /// A database of any driver, ready for load.
        #[derive(Clone, Debug)]
        pub enum Driver {
            $(
                #[doc = concat!("Of the driver `", $tag, "`.")]
                $(#[cfg(feature = $feature)])?
                $name(<$module::$plan as DriverPlan>::Target),
            )*
        }

        /// The drivers that this program was built without.
        const ABSENT: &[list::Absent] = &[$($(
            #[cfg(not(feature = $feature))]
            list::Absent { name: $tag, feature: $feature },
        )?)*];

        /// The descriptions of all drivers.
        pub const CARDS: &[Card] = &[
            $(
                $(#[cfg(feature = $feature)])?
                <$module::$plan as DriverPlan>::CARD,
            )*
        ];

        /// How YCSB's command line asks for each driver.
        pub const BINDINGS: &[(Card, Binding)] = &[
            $(
                $(#[cfg(feature = $feature)])?
                (
                    <$module::$plan as DriverPlan>::CARD,
                    match <$module::$plan as DriverPlan>::BINDING {
                        Some(binding) => binding,
                        None => list::by_address::<$module::$plan>(
                            &[$tag],
                            &[concat!($tag, ".url")],
                            concat!("-p ", $tag, ".url"),
                        ),
                    },
                ),
            )*
        ];

        impl TargetPlan {
            /// Makes a plan from a request, with the driver that the address names.
            ///
            /// # Errors
            /// Fails if the request is invalid.
            pub fn check(asked: &TargetAsked) -> Result<Self, Invalid> {
                let driver = list::of_address(asked, CARDS, ABSENT)?;
                heeded::check(asked, CARDS.iter().find(|card| card.name == driver))?;
                list::check_nodes(asked, driver, CARDS, ABSENT)?;
                match driver {
                    $(
                        $(#[cfg(feature = $feature)])?
                        $tag => <$module::$plan as DriverPlan>::check(asked).map(Self::$name),
                    )*
                    other => unreachable!("{other} has a card"),
                }
            }

            /// The problem with a stored plan of this driver, and the cure, if this program was
            /// built without it.
            pub fn absent(driver: &str) -> Option<(String, String)> {
                list::absent(driver, ABSENT)
            }

            /// The description of its driver, limited to the operations that this plan allows.
            pub fn card(&self) -> Card {
                let card = match self {
                    $(
                        $(#[cfg(feature = $feature)])?
                        Self::$name(_) => <$module::$plan as DriverPlan>::CARD,
                    )*
                };
                let place = self.place_noun().unwrap_or(card.nouns.place);
                let nouns = crate::Nouns { place, ..card.nouns };
                Card { operations: self.operations().unwrap_or(card.operations), nouns, ..card }
            }

            /// Finds the server, authenticates, finds or creates the database.
            ///
            /// # Errors
            /// Fails if the target cannot be used.
            pub async fn open(
                &self,
                opening: &Opening,
            ) -> Result<(Driver, ServerFacts), TargetError> {
                match self {
                    $($(#[cfg(feature = $feature)])? Self::$name(plan) => {
                        let (target, facts) = plan.open(opening).await?;
                        Ok((Driver::$name(target), facts))
                    })*
                }
            }
        }

        impl std::ops::Deref for TargetPlan {
            type Target = dyn Planned;

            fn deref(&self) -> &(dyn Planned + 'static) {
                match self {
                    $(
                        $(#[cfg(feature = $feature)])?
                        Self::$name(plan) => plan,
                    )*
                }
            }
        }

        impl serde::Serialize for TargetPlan {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(
                        $(#[cfg(feature = $feature)])?
                        Self::$name(plan) if $tag == CARDS[0].name => plan.serialize(to),
                    )*
                    $(
                        $(#[cfg(feature = $feature)])?
                        Self::$name(plan) => list::Tagged { driver: $tag, plan }.serialize(to),
                    )*
                }
            }
        }

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for TargetPlan {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                "TargetPlan".into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let plans = [$(
                    $(#[cfg(feature = $feature)])?
                    list::tagged(
                        <$module::$plan>::json_schema(generator), $tag, $tag != CARDS[0].name,
                    ),
                )*];
                schemars::json_schema!({
                    "description": "The server and database, as the driver plans them. A plan \
                        that does not name its driver is CouchDB's.",
                    "oneOf": plans,
                })
            }
        }

        impl<'de> serde::Deserialize<'de> for TargetPlan {
            /// Records that name no driver belong to the first one.
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                use serde::de::Error as _;
                let mut members = serde_json::Map::deserialize(from)?;
                let name = members.remove("driver");
                let name = name.as_ref().and_then(serde_json::Value::as_str);
                let plan = serde_json::Value::Object(members);
                match name.unwrap_or(CARDS[0].name) {
                    $(
                        $(#[cfg(feature = $feature)])?
                        $tag => serde_json::from_value(plan).map(Self::$name),
                    )*
                    other => return Err(D::Error::custom(
                        Self::absent(other).map_or_else(
                            || format!("no driver {other:?}"),
                            |(problem, cure)| format!("{problem}; {cure}"),
                        ),
                    )),
                }
                .map_err(D::Error::custom)
            }
        }

        impl Driver {
            /// Does `work` with the target.
            pub fn apply<V: WithTarget>(&self, work: V) -> V::Output {
                match self {
                    $(
                        $(#[cfg(feature = $feature)])?
                        Self::$name(target) => work.with(target),
                    )*
                }
            }
        }

        impl std::ops::Deref for Driver {
            type Target = dyn Opened;

            fn deref(&self) -> &(dyn Opened + 'static) {
                match self {
                    $(
                        $(#[cfg(feature = $feature)])?
                        Self::$name(target) => target,
                    )*
                }
            }
        }
    };
}
pub(super) use drivers;

#[cfg(test)]
mod tests {
    use super::{Absent, absent, check_nodes, of_address};
    use crate::{CARDS, TargetAsked};

    const ABSENT: [Absent; 3] = [
        Absent { name: "ycsb_java", feature: "ycsb-java" },
        Absent { name: "mongodb", feature: "mongodb" },
        Absent { name: "infinispan", feature: "redis" },
    ];

    #[test]
    fn an_address_leads_to_its_driver_or_to_what_this_program_was_built_without() {
        let asked = |address: &str| TargetAsked::at(address);
        let always = |name: &str| matches!(name, "couch_db" | "basic" | "http" | "line");
        let cards: Vec<_> = CARDS.iter().copied().filter(|card| always(card.name)).collect();
        for (address, driver) in [
            ("http://h", "couch_db"),
            ("LINE://h:1", "line"),
            ("line:h", "line"),
            ("http", "http"),
            ("basic", "basic"),
            ("h:5984", "couch_db"),
            ("ann:pw@h", "couch_db"),
            ("http://mongodb", "couch_db"),
            ("", "couch_db"),
        ] {
            assert_eq!(of_address(&asked(address), &cards, &ABSENT), Ok(driver), "{address}");
        }
        for (address, feature) in [
            ("ycsb-java:a.B", "ycsb-java"),
            ("MongoDB+srv://h/db", "mongodb"),
            ("infinispan", "redis"),
        ] {
            let message = of_address(&asked(address), &cards, &ABSENT).unwrap_err().to_string();
            assert!(message.starts_with("TARGET: this springload was built without "), "{message}");
            assert!(message.ends_with(&format!(" --features {feature}")), "{message}");
        }
    }

    #[test]
    fn a_stored_plan_of_a_driver_that_is_not_there_says_how_to_get_it() {
        let problem = "this springload was built without infinispan".to_owned();
        let cure = "get it with: cargo install --path . --features redis".to_owned();
        assert_eq!(absent("infinispan", &ABSENT), Some((problem, cure)));
        assert_eq!(absent("x", &ABSENT), None);
    }

    #[test]
    fn addresses_are_all_those_of_one_driver_and_settings_about_them_need_several() {
        let checked = |address: Option<&str>, others: &[&str], pin| {
            let address = address.map(str::to_owned);
            let nodes = others.iter().map(|&it| it.to_owned()).collect();
            let asked = TargetAsked { address, nodes, pin, ..TargetAsked::at("") };
            let checked = check_nodes(&asked, "line", CARDS, &[]);
            checked.err().map(|it| it.to_string()).unwrap_or_default()
        };
        // Which drivers take several addresses is not decided here.
        assert_eq!(checked(Some("line:h"), &["line:i", "LINE://j"], true), "");
        assert_eq!(checked(Some("line:h"), &["line:i"], false), "");
        assert_eq!(checked(Some("line:h"), &[], false), "");
        let alone = checked(Some("line:h"), &[], true);
        assert!(alone.starts_with("--pin: there is only one address; "), "{alone}");
        for (first, other) in [(Some("line:h"), "basic"), (Some("line:h"), "h"), (None, "line:h")] {
            let mixed = checked(first, &[other], false);
            assert!(mixed.starts_with("TARGET: the addresses are not all of the same"), "{mixed}");
        }
    }

    /// Otherwise a program built without the driver would not know them.
    #[test]
    fn the_schemes_of_drivers_with_a_feature_begin_with_their_names() {
        let list = include_str!("lib.rs");
        for card in CARDS {
            if list.contains(&format!(" = \"{}\" if ", card.name)) {
                assert!(card.schemes.iter().all(|it| it.replace('-', "_").starts_with(card.name)));
            }
        }
    }
}
