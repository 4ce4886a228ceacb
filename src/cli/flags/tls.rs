//! Flags about TLS: which certificates to trust.

use crate::net::Identity;
use crate::plan::TlsOptions;
use std::path::PathBuf;

/// The help of `-k` of verbs without a report, which has a warning.
pub(in crate::cli) const INSECURE_HELP: &str = "Accept any certificate, even a forged one";

/// Flags about TLS, shared by all verbs that connect to a server.
#[derive(Clone, Debug, Default, clap::Args)]
pub(in crate::cli) struct TlsArgs {
    /// A PEM file with the certificate authorities to trust instead of the system's
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// Accept any certificate
    ///
    /// Accept any certificate, even a forged one; every report warns about this
    #[arg(short = 'k', long, conflicts_with = "tls_ca")]
    insecure: bool,
    /// A PEM file with the client certificate and its chain
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// A PEM file with its private key, unencrypted
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

impl TlsArgs {
    pub(in crate::cli) fn options(&self) -> TlsOptions {
        let both = self.tls_cert.clone().zip(self.tls_key.clone());
        TlsOptions {
            authorities: self.tls_ca.clone(),
            insecure: self.insecure,
            identity: both.map(|(certificate, key)| Identity { certificate, key }),
        }
    }
}
