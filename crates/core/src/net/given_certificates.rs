//! TLS with servers whose certificates are in the file of authorities, or signed by one of them.
//!
//! `openssl req -x509` makes an authority's certificate, and many servers use one as their own. If
//! the user names exactly this one as trusted, it is accepted, as in curl: name and dates must be
//! right.

use std::sync::Arc;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::client::{WebPkiServerVerifier, verify_server_name};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

#[derive(Debug)]
pub(super) struct GivenCertificates {
    pub(super) given: Vec<CertificateDer<'static>>,
    pub(super) signed: Arc<WebPkiServerVerifier>,
}

/// Whether a certificate was refused because it is an authority's own. Its dates have been checked
/// before that.
pub(super) fn is_authority(wrong: &CertificateError) -> bool {
    matches!(wrong, CertificateError::Other(other)
        if format!("{other:?}").contains("CaUsedAsEndEntity"))
}

impl ServerCertVerifier for GivenCertificates {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let signed = &self.signed;
        let checked =
            signed.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match checked {
            Err(Error::InvalidCertificate(wrong))
                if is_authority(&wrong) && self.given.iter().any(|given| given == end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            checked => checked,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signed.supported_verify_schemes()
    }
}
