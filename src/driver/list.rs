//! The list of drivers. The choice is made once for each thread: the loop knows its driver.

use super::Target;
use super::basic::Basic;
use super::couchdb::CouchDb;
use super::http::Http;

/// What is done with a target, whichever it is.
pub trait WithTarget {
    /// What comes of it.
    type Output;

    /// Does it.
    fn with<T: Target>(self, target: &T) -> Self::Output;
}

macro_rules! drivers {
    ($($(#[$about:meta])* $name:ident,)*) => {
        /// A configured database behind any driver.
        #[derive(Clone, Debug)]
        pub enum Driver {
            $($(#[$about])* $name($name),)*
        }

        impl Driver {
            /// Does `work` with the target.
            pub fn apply<V: WithTarget>(&self, work: V) -> V::Output {
                match self {
                    $(Self::$name(target) => work.with(target),)*
                }
            }
        }
    };
}

drivers! {
    /// CouchDB and what speaks its protocol.
    CouchDb,
    /// Answers at once and keeps nothing.
    Basic,
    /// Any server that speaks HTTP.
    Http,
}
