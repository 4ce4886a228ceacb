//! The target as planned: an address, or none for a server in this process.

use super::{Line, StandIn, words};
use crate::mistake::Invalid;
use crate::op::OpKind;
use crate::words::OperationPlan;
use crate::{Card, DriverPlan, Existing, Opening, Planned, ServerFacts, TargetAsked, TargetError};
use serde::{Deserialize, Serialize};
use std::net::ToSocketAddrs;
use std::sync::Arc;
use url::Url;

/// The server's address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinePlan {
    /// `line://host:port`; `None` for a server that is started in this process for the run.
    pub server: Option<String>,
}

impl Planned for LinePlan {
    fn spell(&self, operation: &OperationPlan) -> Result<Vec<String>, Invalid> {
        Ok(words::spell(operation)?.holes.0)
    }

    fn address(&self) -> Option<String> {
        self.server.clone()
    }

    /// A server in this process needs a descriptor for its end of each connection.
    fn descriptors(&self) -> u64 {
        if self.server.is_some() { 1 } else { 2 }
    }
}

impl DriverPlan for LinePlan {
    type Target = Line;

    const CARD: Card = Card {
        name: "line",
        schemes: &["line"],
        summary: "a line protocol, the example of a driver",
        address: "line://host:port, or line for a server in this process",
        operations: OpKind::ON_DOCUMENTS.without(OpKind::Scan),
        documents: true,
        databases: false,
        server: true,
        phases: true,
        nouns: crate::Nouns { place: "server", ..crate::Nouns::RECORDS },
        heeds: &[],
        can: &[],
        words: words::CARDS,
    };

    fn check(asked: &TargetAsked) -> Result<Self, Invalid> {
        let wrong = |problem: &str| asked.wrong(&Self::CARD, problem);
        let text = asked.address.as_deref().unwrap_or_default();
        if asked.database.is_some() || asked.existing == Existing::Yes {
            return Err(wrong("a database, although this server has none,"));
        }
        if text == Self::CARD.name {
            return Ok(Self { server: None });
        }
        let url = Url::parse(text).map_err(|error| wrong(&error.to_string()))?;
        let more = !url.username().is_empty()
            || url.password().is_some()
            || !matches!(url.path(), "" | "/")
            || url.query().is_some()
            || url.fragment().is_some();
        match (url.host_str(), url.port()) {
            (Some(host), Some(port)) if !more => {
                Ok(Self { server: Some(format!("line://{host}:{port}")) })
            }
            _ => Err(wrong("something other than a host and a port")),
        }
    }

    async fn open(&self, opening: &Opening) -> Result<(Line, ServerFacts), TargetError> {
        let own = words::Own::new(&opening.operations, words::spell)?;
        let Some(server) = &self.server else {
            let failed = |error| TargetError(format!("the server cannot start: {error}"));
            let started = StandIn::start().map_err(failed)?;
            let address = started.address();
            let facts = facts(format!("line://{address}"), true);
            return Ok((Line { address, _own: Some(Arc::new(started)), own }, facts));
        };
        let place = server.trim_start_matches("line://");
        let found = place.to_socket_addrs().ok().and_then(|mut all| all.next());
        let address =
            found.ok_or_else(|| TargetError(format!("cannot find the address of {server}")))?;
        let timeout = std::time::Duration::from_nanos(opening.timeout_ns);
        let connected = tokio::time::timeout(timeout, tokio::net::TcpStream::connect(address));
        match connected.await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return Err(TargetError(format!("cannot reach {server}: {error}"))),
            Err(_) => return Err(TargetError(format!("cannot reach {server}: no answer in time"))),
        }
        let facts = facts(server.clone(), address.ip().is_loopback());
        Ok((Line { address, _own: None, own }, facts))
    }
}

fn facts(url: String, same_machine: bool) -> ServerFacts {
    ServerFacts { url, name: "line".to_owned(), same_machine, ..ServerFacts::default() }
}
