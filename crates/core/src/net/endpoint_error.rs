//! Why a server cannot be used, as far as that is known before it is connected to.

use super::certificates::CertificateError;

/// Why a server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// Not the URL of a server.
    #[error("{0} is not the address of a server: give http://host:port or https://host:port")]
    Url(String),
    /// The name has no address.
    #[error("cannot find the host {0:?}: {1}; check how it is spelled")]
    Resolve(String, std::io::Error),
    /// A file of certificates or of a key cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}
