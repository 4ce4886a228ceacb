//! Connects to the nodes of a cluster.

use super::names::Names;
use crate::call::CallError;
use crate::net::{Endpoint, EndpointError, ShardContext, Stream, Tls, TlsOptions, Trouble};
use crate::op::Failure;
use std::sync::Arc;
use url::Url;

/// What connections to all nodes have in common. Nodes discovered during a run need no file to be
/// read, and no look-up on a load thread.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    /// How certificates are checked, with TLS.
    tls: Option<Tls>,
    /// The largest answer that is read, in bytes.
    pub(crate) max_answer: u64,
    names: Names,
}

impl Reach {
    /// Reads the files that `tls` names, if TLS is used.
    ///
    /// # Errors
    /// Fails if a file cannot be used.
    pub(crate) fn new(tls: Option<&TlsOptions>, max_answer: u64) -> Result<Self, EndpointError> {
        Ok(Self { tls: tls.map(Tls::new).transpose()?, max_answer, names: Names::default() })
    }

    #[cfg(test)]
    pub(crate) fn with_names(
        self,
        look_up: impl Fn(&str, u16) -> std::io::Result<Vec<std::net::SocketAddr>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self { names: Names::new(look_up), ..self }
    }

    /// Whether TLS is used.
    pub(crate) const fn is_secure(&self) -> bool {
        self.tls.is_some()
    }

    /// The endpoint of a node, `host:port`. Its name is looked up on another thread.
    ///
    /// # Errors
    /// Fails if `node` is not an address, or its name cannot be resolved.
    pub(crate) async fn endpoint(&self, node: &str) -> Result<Arc<Endpoint>, CallError> {
        let found = async {
            let url = Url::parse(&format!("http://{node}"));
            let url = url.map_err(|_| EndpointError::Url(node.to_owned()))?;
            let addresses = self.names.find(&url).await?;
            Endpoint::at(&url, addresses, self.tls.as_ref())
        };
        let failed = |error: EndpointError| CallError::new(Failure::Connect, error.to_string());
        Ok(Arc::new(found.await.map_err(failed)?.with_max_answer(self.max_answer)))
    }
}

/// Connects. After `failed` attempts it starts with a different address.
///
/// # Errors
/// Fails if no connection can be made.
pub(crate) async fn connect(
    endpoint: &Endpoint,
    failed: u32,
    context: &ShardContext,
) -> Result<Stream, CallError> {
    let noting = context.timestamps().is_some();
    Stream::connect(endpoint, failed, noting).await.map_err(|error| {
        let (failure, reason) = Trouble::refused(&error);
        CallError { failure, reason }
    })
}
