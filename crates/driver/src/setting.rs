//! The settings of a target besides its address.

use crate::op::with_all;

with_all! {
    /// A setting of a target that not every driver supports.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Setting {
        /// Addresses of several nodes of one cluster.
        Nodes,
        /// Connections that stay with their nodes.
        Pin,
        /// Headers of every request.
        Headers,
        /// How credentials are sent.
        Auth,
        /// How the server's certificate is checked.
        Certificates,
        /// A certificate for the client itself.
        ClientCertificate,
        /// Many databases in place of one.
        Databases,
        /// How compaction is handled.
        Compaction,
    }
}

impl Setting {
    /// How a driver that does not support it behaves.
    pub(super) const fn problem(self) -> &'static str {
        match self {
            Self::Nodes => "several addresses are not taken",
            Self::Pin => "connections are not divided among nodes",
            Self::Headers => "requests have no headers",
            Self::Auth => "credentials are not sent with requests",
            Self::Certificates => "no certificate is checked",
            Self::ClientCertificate => "no client certificate is sent",
            Self::Databases => "a load is not spread over several databases",
            Self::Compaction => "nothing is compacted on request",
        }
    }

    /// How to do without it.
    pub(super) const fn cure(self) -> &'static str {
        match self {
            Self::Nodes => "give one address",
            _ => "leave it out",
        }
    }
}
