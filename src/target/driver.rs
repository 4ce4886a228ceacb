//! The list of drivers. One choice per operation is all that it costs to have a list.

use super::basic::{Basic, BasicSession};
use super::couchdb::{CouchDb, CouchSession};
use super::http::{Http, HttpSession};
use super::{Deadlines, Outcome, Payload, Session, Target};
use crate::measure::Probe;
use crate::op::Op;
use std::rc::Rc;

macro_rules! drivers {
    ($($(#[$about:meta])* $name:ident($target:ty, $session:ty),)*) => {
        /// A configured database behind any driver.
        #[derive(Clone, Debug)]
        pub enum Driver {
            $($(#[$about])* $name($target),)*
        }

        /// A session with it.
        #[derive(Debug)]
        pub enum DriverSession {
            $($(#[$about])* $name(Box<$session>),)*
        }

        impl Target for Driver {
            type Session = DriverSession;

            fn session(&self, deadlines: &Rc<Deadlines>) -> DriverSession {
                match self {
                    $(Self::$name(target) => {
                        DriverSession::$name(Box::new(target.session(deadlines)))
                    })*
                }
            }
        }

        impl Session for DriverSession {
            async fn ready(&mut self) {
                match self {
                    $(Self::$name(session) => session.ready().await,)*
                }
            }

            async fn execute(
                &mut self,
                op: &Op,
                payload: &mut Payload,
                probe: &mut Probe,
            ) -> Outcome {
                match self {
                    $(Self::$name(session) => session.execute(op, payload, probe).await,)*
                }
            }

            fn body(&self) -> &[u8] {
                match self {
                    $(Self::$name(session) => session.body(),)*
                }
            }

            fn statuses(&self) -> &[u16] {
                match self {
                    $(Self::$name(session) => session.statuses(),)*
                }
            }
        }
    };
}

drivers! {
    /// CouchDB and what speaks its protocol.
    CouchDb(CouchDb, CouchSession),
    /// Answers at once and keeps nothing.
    Basic(Basic, BasicSession),
    /// Any server that speaks HTTP.
    Http(Http, HttpSession),
}
