//! Flags about TLS: whom to trust.

use crate::plan::TlsOptions;
use std::path::PathBuf;

/// Flags about TLS, shared by all verbs that connect to a server.
#[derive(Clone, Debug, Default, clap::Args)]
pub(in crate::cli) struct TlsArgs {
    /// A PEM file of the certificate authorities to trust, instead of the system's
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// Accept any certificate
    ///
    /// Accept any certificate, even a forged one; every report warns of that
    #[arg(short = 'k', long, conflicts_with = "tls_ca")]
    insecure: bool,
}

impl TlsArgs {
    /// How certificates are checked.
    pub(in crate::cli) fn options(&self) -> TlsOptions {
        TlsOptions { authorities: self.tls_ca.clone(), insecure: self.insecure }
    }
}
