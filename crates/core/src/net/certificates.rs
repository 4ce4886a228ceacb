//! How certificates are checked and which one the client has: files that the user names, and the
//! configuration of TLS made from them. Knows no addresses.

use super::any_certificate::AnyCertificate;
use super::given_certificates::GivenCertificates;
use crate::files;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_rustls::rustls;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The problem with a file that begins like PEM but is malformed. The library's own message would
/// quote its bytes.
const MALFORMED: &str = "it is not PEM that can be read";

/// Why a file of certificates or of a key cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {cure}")]
pub struct CertificateError {
    /// The flag that names the file.
    pub flag: String,
    /// What is wrong.
    pub problem: String,
    /// How to fix it.
    pub cure: String,
}

impl CertificateError {
    /// A file that could not be read, and should be in PEM format.
    fn unreadable(flag: &str, why: impl std::fmt::Display) -> Self {
        Self {
            flag: flag.to_owned(),
            problem: format!("cannot read certificates: {why}"),
            cure: format!("give a PEM file with {flag}"),
        }
    }
}

/// How the server's certificate is checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TlsOptions {
    /// The certificate authorities trusted to sign the server's certificate; `None` for the
    /// system's.
    #[serde(rename = "tls_ca")]
    pub authorities: Option<PathBuf>,
    /// Whether every certificate is accepted, without any check.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
    /// The client certificate and its key; absent for none.
    #[serde(rename = "tls_identity", default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
}

/// A client certificate: files in PEM format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Identity {
    /// The certificate, with the chain up to the authority.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

impl TlsOptions {
    /// The same options for servers that the user has not named, which do not get the client
    /// certificate.
    #[must_use]
    pub fn for_strangers(&self) -> Self {
        Self { identity: None, ..self.clone() }
    }

    /// Whether certificates are checked as usual.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Why a file in these options cannot be used.
    pub fn unusable(&self) -> Option<CertificateError> {
        // The system's own authorities are not a file that the user named, and take long to read.
        if self.is_default() {
            return None;
        }
        tls_config(self, "--tls-ca").err()
    }

    /// The flag that asks for these options.
    pub const fn flag(&self) -> &'static str {
        match (self.insecure, &self.authorities) {
            (true, _) => "--insecure",
            (false, Some(_)) => "--tls-ca",
            (false, None) => "--tls-cert",
        }
    }
}

/// The TLS configuration of all clients in springload. `flag` is the flag that names a file of
/// authorities.
///
/// # Errors
/// Returns an error if no authority can be read.
pub fn tls_config(
    options: &TlsOptions,
    flag: &str,
) -> Result<Arc<rustls::ClientConfig>, CertificateError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| CertificateError::unreadable(flag, error))?;
    if options.insecure {
        let any = Arc::new(AnyCertificate(provider));
        let builder = builder.dangerous().with_custom_certificate_verifier(any);
        return finished(builder, options);
    }
    let (mut roots, mut given) = (rustls::RootCertStore::empty(), Vec::new());
    if let Some(file) = &options.authorities {
        let unreadable = |error: String| {
            CertificateError::unreadable(flag, format!("{}: {error}", file.display()))
        };
        let text =
            files::read(file, files::SETTINGS).map_err(|error| unreadable(error.to_string()))?;
        let certificates = CertificateDer::pem_slice_iter(&text)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| unreadable(MALFORMED.to_owned()))?;
        roots.add_parsable_certificates(certificates.clone());
        given = certificates;
    } else {
        let native = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(native.certs);
    }
    if roots.is_empty() {
        return Err(CertificateError::unreadable(flag, "there are none"));
    }
    if given.is_empty() {
        return finished(builder.with_root_certificates(roots), options);
    }
    let signed = WebPkiServerVerifier::builder_with_provider(roots.into(), provider)
        .build()
        .map_err(|error| CertificateError::unreadable(flag, error))?;
    let given = Arc::new(GivenCertificates { given, signed });
    finished(builder.dangerous().with_custom_certificate_verifier(given), options)
}

/// The configuration with the client's own certificate, if there is one.
fn finished(
    builder: rustls::ConfigBuilder<rustls::ClientConfig, rustls::client::WantsClientCert>,
    options: &TlsOptions,
) -> Result<Arc<rustls::ClientConfig>, CertificateError> {
    let Some(identity) = &options.identity else {
        return Ok(Arc::new(builder.with_no_client_auth()));
    };
    let (chain, private) = identity.read(["--tls-cert", "--tls-key"])?;
    let config = builder.with_client_auth_cert(chain, private);
    Ok(Arc::new(config.map_err(|error| identity.unfit(&error, "--tls-key"))?))
}

/// The TLS configuration of a server with this certificate. `flags` name the two files.
///
/// # Errors
/// Returns an error if the certificate or its key cannot be read or used.
pub fn server_config(
    identity: &Identity,
    flags: [&str; 2],
) -> Result<Arc<rustls::ServerConfig>, CertificateError> {
    let (chain, private) = identity.read(flags)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|it| it.with_no_client_auth().with_single_cert(chain, private));
    Ok(Arc::new(config.map_err(|error| identity.unfit(&error, flags[1]))?))
}

impl Identity {
    /// The certificate with its chain, and the key. `flags` name the two files.
    fn read(
        &self,
        flags: [&str; 2],
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), CertificateError> {
        let Self { certificate, key } = self;
        let unreadable = |file: &Path, error: &dyn std::fmt::Display, flag: &str| {
            CertificateError::unreadable(flag, format!("{}: {error}", file.display()))
        };
        let [own, secret] = flags;
        let text = files::read(certificate, files::SETTINGS);
        let text = text.map_err(|error| unreadable(certificate, &error, own))?;
        let chain = CertificateDer::pem_slice_iter(&text)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| unreadable(certificate, &MALFORMED, own))?;
        if chain.is_empty() {
            return Err(unreadable(certificate, &"it has no certificate", own));
        }
        let text =
            files::read(key, files::SETTINGS).map_err(|error| unreadable(key, &error, secret))?;
        let private = PrivateKeyDer::from_pem_slice(&text).map_err(|error| {
            let words = match error {
                pem::Error::NoItemsFound => "it has no unencrypted key",
                _ => MALFORMED,
            };
            unreadable(key, &words, secret)
        })?;
        Ok((chain, private))
    }

    /// The error for a certificate and a key, named by `flag`, that cannot be used together.
    fn unfit(&self, error: &rustls::Error, flag: &str) -> CertificateError {
        let (certificate, key) = (self.certificate.display(), self.key.display());
        let (problem, cure) = match error {
            rustls::Error::InconsistentKeys(_) => (
                format!("the key in {key} does not belong to the certificate in {certificate}"),
                "give the key of this certificate",
            ),
            rustls::Error::InvalidCertificate(_) => (
                format!("the certificate in {certificate} cannot be used in TLS"),
                "give one of X.509 version 3 and its key",
            ),
            _ => (
                format!("the key in {key} cannot be used in TLS"),
                "give an RSA, ECDSA or Ed25519 key",
            ),
        };
        CertificateError { flag: flag.to_owned(), problem, cure: format!("{cure} with {flag}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unusable_file_comes_with_the_flag_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        // Neither what separates a problem from its cure nor the name of a flag confuses it.
        let none = PathBuf::from("none; with --tls-key.pem");
        let of = |options: TlsOptions| options.unusable().map(|it| (it.flag, it.problem, it.cure));
        let unread = of(TlsOptions { authorities: Some(none.clone()), ..TlsOptions::default() });
        let (flag, problem, cure) = unread.unwrap();
        assert_eq!((&flag[..], &cure[..]), ("--tls-ca", "give a PEM file with --tls-ca"));
        assert!(problem.starts_with("cannot read certificates: none; with --tls-key.pem: "));

        let chain = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let (certificate, key) = (file("own.pem", chain), file("key; x.pem", ""));
        let with = |certificate: &Path, key: &Path| {
            let [certificate, key] = [certificate, key].map(Path::to_owned);
            let identity = Some(Identity { certificate, key });
            of(TlsOptions { insecure: true, identity, ..TlsOptions::default() }).unwrap()
        };
        assert_eq!(with(&none, &key).0, "--tls-cert");
        let (flag, problem, cure) = with(&certificate, &key);
        assert_eq!((&flag[..], &cure[..]), ("--tls-key", "give a PEM file with --tls-key"));
        assert!(problem.ends_with("key; x.pem: it has no unencrypted key"), "{problem}");

        assert_eq!(of(TlsOptions { insecure: true, ..TlsOptions::default() }), None);
    }
}
