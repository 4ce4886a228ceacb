//! Infinispan, through its RESP endpoint: a record is a hash, as with Redis.
//!
//! There is no index of the keys and therefore no scan: the sorted set would be a single cache
//! entry, rewritten with each record. YCSB's binding, which speaks Hot Rod, has no scan either.

use super::redis::{Flavor, RespPlan};
use super::{Binding, Bound, Card, Setting};
use crate::op::{Feature, OpKind};

/// Infinispan's RESP endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Infinispan;

/// The plan for Infinispan.
pub type InfinispanPlan = RespPlan<Infinispan>;

impl Flavor for Infinispan {
    const CARD: Card = Card {
        name: "infinispan",
        schemes: &["infinispan", "infinispans"],
        summary: "Infinispan's RESP endpoint",
        address: "infinispan[s]://[user:password@]host[:port][/number[/prefix]][?shape=string&\
                  pipeline=N&resp=3]",
        operations: OpKind::ON_DOCUMENTS.without(OpKind::Scan),
        documents: true,
        databases: false,
        server: true,
        phases: true,
        nouns: crate::Nouns::KEYS,
        heeds: &[Setting::Certificates, Setting::ClientCertificate],
        can: &[Feature::Overwriting, Feature::Settling],
        words: crate::redis::WORDS,
    };
    /// The files that configure YCSB's bindings are for Hot Rod and say nothing about this
    /// endpoint.
    const BINDING: Binding = Binding {
        names: &["infinispan", "infinispan-cs"],
        classes: &["db.InfinispanClient", "db.InfinispanRemoteClient"],
        properties: &["infinispan.url"],
        flag: "-p infinispan.url",
        site: None,
        read: |read| Bound {
            address: Some(read.text("infinispan.url", "infinispan://127.0.0.1")),
            ..Bound::default()
        },
    };
    const PORT: u16 = 11222;
    const INDEXED: bool = false;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DriverPlan as _, Existing, Planned as _, TargetAsked};

    #[test]
    fn there_is_no_index_and_no_scan() {
        let asked =
            |address: &str| TargetAsked { existing: Existing::Yes, ..TargetAsked::at(address) };
        let plan = InfinispanPlan::check(&asked("infinispan://h")).unwrap();
        assert_eq!((plan.server.as_str(), plan.index), ("infinispan://h:11222", false));
        assert!(!plan.operations().unwrap().contains(OpKind::Scan));
        let error = InfinispanPlan::check(&asked("infinispan://h?index=true")).unwrap_err();
        assert!(error.to_string().contains("unknown parameter index"), "{error}");
    }
}
