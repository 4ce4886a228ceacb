//! TLS with certificates that are read once, also for servers that only become known during a run.

use super::certificates::{TlsOptions, tls_config};
use super::endpoint_error::EndpointError;
use std::io;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::ServerName;

/// The TLS configuration, with certificates that are read once.
#[derive(Clone, Debug)]
pub struct Tls(pub(super) Arc<rustls::ClientConfig>);

impl Tls {
    /// Reads the certificates.
    ///
    /// # Errors
    /// Returns an error if a certificate cannot be read, or there are none.
    pub fn new(options: &TlsOptions) -> Result<Self, EndpointError> {
        Ok(Self(tls_config(options, "--tls-ca")?))
    }

    /// Starts TLS on a connection to `host:port`, whose certificate must be for this host.
    ///
    /// # Errors
    /// Returns an error if the server has no such certificate, or does not speak TLS.
    pub async fn secure(
        &self,
        address: &str,
        stream: TcpStream,
    ) -> io::Result<TlsStream<TcpStream>> {
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let invalid = |_| io::Error::new(io::ErrorKind::InvalidInput, "not the name of a host");
        let name = ServerName::try_from(host).map_err(invalid)?;
        tokio_rustls::TlsConnector::from(self.0.clone()).connect(name, stream).await
    }
}
