//! A line protocol over TCP: an example of a driver, with a server for it.
//!
//! Each request is a line, and so is each answer:
//!
//! | request | answer |
//! |---|---|
//! | `NEW name document` | `OK`, or `EXISTS` |
//! | `PUT name document` | `OK`, or `MISSING` |
//! | `SET name fields` | `OK`, or `MISSING`: replaces only these fields |
//! | `GET name` | `OK document`, or `MISSING` |
//! | `DEL name` | `OK`, or `MISSING` |
//!
//! Documents and fields are JSON without line breaks, names are percent-encoded. If a server cannot
//! do what is asked, it answers `ERROR` and the reason. A bulk insert is a number of `NEW` at once.
//! The server keeps everything a run has made: nothing is ever removed.

mod pen;
mod plan;
mod session;
mod stand_in;
mod words;

pub use pen::LinePen;
pub use plan::LinePlan;
pub use session::LineSession;

use super::{Shard, ShardOf, Target};
use crate::net::ShardContext;
use stand_in::StandIn;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

/// A server for this protocol.
#[derive(Clone, Debug)]
pub struct Line {
    address: SocketAddr,
    /// The server, if the run started it; it ends when the last clone is dropped.
    _own: Option<Arc<StandIn>>,
    own: words::Own,
}

impl Target for Line {
    type Shard = ShardOf<Self>;

    async fn shard(&self, context: Rc<ShardContext>) -> io::Result<Self::Shard> {
        Ok(ShardOf { target: self.clone(), context })
    }
}

impl Shard for ShardOf<Line> {
    type Session = LineSession;

    fn session(&self) -> LineSession {
        LineSession::new(self.target.address, self.target.own.clone(), &self.context)
    }
}

#[cfg(test)]
mod tests;
