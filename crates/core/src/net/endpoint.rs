//! The address to connect to: resolved once, before the first stage.

use super::certificates::TlsOptions;
use super::endpoint_error::EndpointError;
use super::tls::Tls;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::ServerName;
use url::{Host, Url};

/// The name of HTTP/2 in TLS protocol negotiation (RFC 9113, 3.1).
pub(super) const HTTP2: &[u8] = b"h2";

/// A server's addresses and protocol.
#[derive(Clone, Debug)]
pub struct Endpoint {
    pub(super) addresses: Vec<SocketAddr>,
    /// The relay that leads to these addresses, if connections go through one.
    relay: Option<SocketAddr>,
    pub(super) tls: Option<(Arc<rustls::ClientConfig>, ServerName<'static>)>,
    host: String,
    /// The host without the port.
    name: String,
    /// The size of the largest answer that is read, in bytes.
    pub max_answer: usize,
}

/// The default for the largest answer that is read, in bytes.
pub const MAX_ANSWER: u64 = 64_000_000;

impl Endpoint {
    /// Resolves the host of `url`, and prepares TLS if its scheme is https.
    ///
    /// # Errors
    /// Returns an error if the URL is not that of a server, its name has no address, or no
    /// authority can be read.
    pub fn resolve(url: &Url, tls: &TlsOptions) -> Result<Self, EndpointError> {
        let addresses = addresses(url)?;
        let tls = match url.scheme() {
            "https" => Some(Tls::new(tls)?),
            "http" => None,
            _ => return Err(EndpointError::Url(url.to_string())),
        };
        Self::at(url, addresses, tls.as_ref())
    }

    /// The server of `url`, whose addresses are already known. Uses TLS if given, whatever the
    /// scheme.
    ///
    /// # Errors
    /// Returns an error if the URL is not that of a server.
    pub fn at(
        url: &Url,
        addresses: Vec<SocketAddr>,
        tls: Option<&Tls>,
    ) -> Result<Self, EndpointError> {
        let wrong = || EndpointError::Url(url.to_string());
        let host = url.host().ok_or_else(wrong)?;
        let name = name_of(&host);
        let tls = match tls {
            Some(tls) => {
                let server = ServerName::try_from(name.clone()).map_err(|_| wrong())?;
                Some((tls.0.clone(), server))
            }
            None => None,
        };
        let max_answer = MAX_ANSWER as usize;
        let host = host_header(url, &host);
        Ok(Self { addresses, relay: None, tls, host, name, max_answer })
    }

    /// Where the server is.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The name that the server's certificate must have.
    pub(super) fn server_name(&self) -> Option<ServerName<'static>> {
        ServerName::try_from(self.name.clone()).ok()
    }

    /// Sets a limit on the bytes of an answer, including head and transfer coding.
    #[must_use]
    pub fn with_max_answer(self, bytes: u64) -> Self {
        Self { max_answer: usize::try_from(bytes).unwrap_or(usize::MAX), ..self }
    }

    /// Makes HTTP/2 the only protocol offered with TLS.
    #[must_use]
    pub fn with_http2(mut self) -> Self {
        if let Some((config, _)) = &mut self.tls {
            Arc::make_mut(config).alpn_protocols = vec![HTTP2.to_vec()];
        }
        self
    }

    /// Whether connections use TLS.
    pub const fn is_secure(&self) -> bool {
        self.tls.is_some()
    }

    /// Makes connections go through the relay that listens at `relay`.
    #[must_use]
    pub const fn through(mut self, relay: SocketAddr) -> Self {
        self.relay = Some(relay);
        self
    }

    /// The addresses to connect to, in order of preference.
    pub(super) fn ways(&self) -> &[SocketAddr] {
        self.relay.as_ref().map_or(&self.addresses, std::slice::from_ref)
    }

    /// The value of the `Host` header.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether every address of the server is a loopback address.
    pub fn is_loopback(&self) -> bool {
        self.addresses.iter().all(|address| address.ip().is_loopback())
    }
}

/// The addresses of the server that a URL names.
///
/// # Errors
/// Returns an error if the URL is not that of a server, or its name has no address.
pub fn addresses(url: &Url) -> Result<Vec<SocketAddr>, EndpointError> {
    let wrong = || EndpointError::Url(url.to_string());
    let name = name_of(&url.host().ok_or_else(wrong)?);
    let port = url.port_or_known_default().ok_or_else(wrong)?;
    let found = (name.as_str(), port).to_socket_addrs();
    Ok(found.map_err(|error| EndpointError::Resolve(name, error))?.collect())
}

/// The host as in the URL, with the port unless it is the scheme's default.
fn host_header(url: &Url, host: &Host<&str>) -> String {
    url.port().map_or_else(|| host.to_string(), |port| format!("{host}:{port}"))
}

fn name_of(host: &Host<&str>) -> String {
    match host {
        Host::Domain(name) => (*name).to_owned(),
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => address.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_header_has_brackets_and_a_port_where_they_belong() {
        let host = |url: &str| {
            let endpoint = Endpoint::resolve(&Url::parse(url).unwrap(), &TlsOptions::default());
            endpoint.unwrap().host().to_owned()
        };
        assert_eq!(host("http://127.0.0.1:5984/db"), "127.0.0.1:5984");
        assert_eq!(host("http://[::1]:5984"), "[::1]:5984");
        assert_eq!(host("http://127.0.0.1"), "127.0.0.1");
    }

    #[test]
    fn only_http_and_https_are_spoken() {
        let url = Url::parse("ftp://127.0.0.1/").unwrap();
        assert!(matches!(
            Endpoint::resolve(&url, &TlsOptions::default()),
            Err(EndpointError::Url(_))
        ));
    }
}
