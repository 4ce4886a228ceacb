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

use super::{Shard, ShardOf, Target, TargetError};
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
    /// How long its end may take.
    timeout: Duration,
}

impl Target for YcsbJava {
    type Shard = ShardOf<Self>;

    async fn shard(&self, context: Rc<ShardContext>) -> io::Result<Self::Shard> {
        Ok(ShardOf { target: self.clone(), context })
    }

    /// Removes nothing, since bindings cannot do that; but they clean up.
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
