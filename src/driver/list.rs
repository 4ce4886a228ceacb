//! What is generated from the list of drivers. The driver is selected once per thread: the loop
//! knows its type.

use super::{Card, Target, TargetAsked};

/// Work on a target of any driver.
pub trait WithTarget {
    /// The result.
    type Output;

    /// Does it.
    fn with<T: Target>(self, target: &T) -> Self::Output;
}

/// Finds the driver of an address by its scheme or its name. The first driver has the stand-in, and
/// reports addresses that no driver recognises.
pub(super) fn of_address(asked: &TargetAsked, cards: &[Card]) -> &'static str {
    let address = asked.address.as_deref().unwrap_or_default();
    let scheme = address.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    let meant = |card: &&Card| match &scheme {
        Some(scheme) => card.schemes.contains(&scheme.as_str()),
        None => card.name == address,
    };
    cards.iter().find(meant).or(cards.first()).map_or("", |card| card.name)
}

/// A plan together with its driver's name.
#[derive(serde::Serialize)]
pub(super) struct Tagged<'a, P> {
    pub(super) driver: &'static str,
    #[serde(flatten)]
    pub(super) plan: &'a P,
}

/// The modules of the drivers, the enums over them, and what differs between drivers.
macro_rules! drivers {
    ($($module:ident: $name:ident($plan:ident) = $tag:literal,)*) => {
        $(pub mod $module;)*

        /// The target of a plan, for any driver. Stored with the driver's name, except for the
        /// first.
        #[derive(Clone, Debug, PartialEq)]
        pub enum TargetPlan {
            $(#[doc = concat!("Of the driver `", $tag, "`.")] $name($module::$plan),)*
        }

        /// A database of any driver, ready for load.
        #[derive(Clone, Debug)]
        pub enum Driver {
            $(
                #[doc = concat!("Of the driver `", $tag, "`.")]
                $name(<$module::$plan as DriverPlan>::Target),
            )*
        }

        /// What is known about each driver.
        pub const CARDS: &[Card] = &[$(<$module::$plan as DriverPlan>::CARD,)*];

        impl TargetPlan {
            /// Makes a plan from a request, with the driver that the address names.
            ///
            /// # Errors
            /// The mistake that was found.
            pub fn check(asked: &TargetAsked) -> Result<Self, Invalid> {
                match list::of_address(asked, CARDS) {
                    $($tag => <$module::$plan as DriverPlan>::check(asked).map(Self::$name),)*
                    other => unreachable!("{other} has a card"),
                }
            }

            /// What is known about its driver.
            pub const fn card(&self) -> Card {
                match self {
                    $(Self::$name(_) => <$module::$plan as DriverPlan>::CARD,)*
                }
            }

            /// Finds the server, authenticates, finds or creates the database.
            ///
            /// # Errors
            /// Why the target cannot be used.
            pub async fn open(
                &self,
                opening: &Opening,
            ) -> Result<(Driver, ServerFacts), TargetError> {
                match self {
                    $(Self::$name(plan) => {
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
                    $(Self::$name(plan) => plan,)*
                }
            }
        }

        impl serde::Serialize for TargetPlan {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$name(plan) if $tag == CARDS[0].name => plan.serialize(to),)*
                    $(Self::$name(plan) => list::Tagged { driver: $tag, plan }.serialize(to),)*
                }
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
                    $($tag => serde_json::from_value(plan).map(Self::$name),)*
                    other => return Err(D::Error::custom(format!("no driver {other:?}"))),
                }
                .map_err(D::Error::custom)
            }
        }

        impl Driver {
            /// Does `work` with the target.
            pub fn apply<V: WithTarget>(&self, work: V) -> V::Output {
                match self {
                    $(Self::$name(target) => work.with(target),)*
                }
            }

            /// Asks for the size of the database, if the driver can.
            pub async fn size(&self) -> Option<Size> {
                match self {
                    $(Self::$name(target) => target.size().await,)*
                }
            }

            /// Removes what the run created and does not keep. Returns whether it did.
            ///
            /// # Errors
            /// Why it could not.
            pub async fn tear_down(&self) -> Result<bool, TargetError> {
                match self {
                    $(Self::$name(target) => target.tear_down().await,)*
                }
            }
        }
    };
}
pub(super) use drivers;
