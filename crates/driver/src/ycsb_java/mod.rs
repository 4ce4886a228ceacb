//! YCSB's Java bindings, unchanged: a Java process hosts one, with a thread and a `DB` object for
//! each connection. `docs/ycsb-java.md` explains what is measured.

mod binding;
mod frame;
mod host;
mod pen;
mod plan;
mod process;
mod session;

pub use pen::JavaPen;
pub use plan::YcsbJavaPlan;
pub use session::JavaSession;

use super::{
    Binding, Card, DriverPlan, Opening, ServerFacts, Shard, ShardOf, Target, TargetAsked,
    TargetError,
};
use crate::mistake::Invalid;
use crate::net::ShardContext;
use host::{Door, Host};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// A binding in its process.
#[derive(Clone, Debug)]
pub struct YcsbJava {
    door: Door,
    /// `None` in tests, which answer in its place.
    host: Option<Arc<Host>>,
    /// How long it may take to end.
    timeout: Duration,
}

impl DriverPlan for YcsbJavaPlan {
    type Target = YcsbJava;

    const CARD: Card = plan::CARD;

    const BINDING: Option<Binding> = Some(binding::BINDING);

    fn check(asked: &TargetAsked) -> Result<Self, Invalid> {
        Self::checked(asked)
    }

    async fn open(&self, opening: &Opening) -> Result<(YcsbJava, ServerFacts), TargetError> {
        let timeout = Duration::from_nanos(opening.timeout_ns);
        let host = Host::start(self, timeout).await?;
        let facts = ServerFacts {
            url: format!("ycsb-java:{}", self.class),
            name: "YCSB binding".to_owned(),
            version: format!("on Java {}", host.java),
            // The process with the binding runs here, wherever the database is.
            same_machine: true,
            database: self.table.clone(),
            created: false,
            ..ServerFacts::default()
        };
        let host = Arc::new(host);
        Ok((YcsbJava { door: host.door.clone(), host: Some(host), timeout }, facts))
    }
}

impl Target for YcsbJava {
    type Shard = ShardOf<Self>;

    async fn shard(&self, context: Rc<ShardContext>) -> io::Result<Self::Shard> {
        Ok(ShardOf { target: self.clone(), context })
    }

    /// Removes nothing, since bindings cannot; but they clean up.
    async fn tear_down(&self) -> Result<bool, TargetError> {
        match &self.host {
            Some(host) => host.end(self.timeout).await.map(|()| false),
            None => Ok(false),
        }
    }
}

impl Shard for ShardOf<YcsbJava> {
    type Session = JavaSession;

    fn session(&self) -> JavaSession {
        JavaSession::new(&self.target, &self.context)
    }
}

#[cfg(test)]
mod tests;
