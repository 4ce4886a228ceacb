//! How the nodes of a cluster are reached.

use crate::call::CallError;
use crate::net::{Endpoint, EndpointError, ShardContext, Stream, TlsOptions, Trouble};
use std::sync::Arc;
use url::Url;

/// What connections to all nodes have in common.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    /// How certificates are checked, with TLS.
    pub(crate) tls: Option<TlsOptions>,
    /// The largest answer that is read, in bytes.
    pub(crate) max_answer: u64,
}

impl Reach {
    /// The endpoint of a node, `host:port`. Its name is looked up.
    pub(crate) fn endpoint(&self, node: &str) -> Result<Arc<Endpoint>, EndpointError> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let url = Url::parse(&format!("{scheme}://{node}"));
        let url = url.map_err(|_| EndpointError::Url(node.to_owned()))?;
        let tls = self.tls.clone().unwrap_or_default();
        Ok(Arc::new(Endpoint::resolve(&url, &tls)?.with_max_answer(self.max_answer)))
    }
}

/// Connects. After `failed` attempts it starts with a different address.
///
/// # Errors
/// Why it cannot.
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
