//! Reads the copies of a database on each node of its cluster separately.
//!
//! A request for a document is answered from several copies. Administrators can ask a node for its
//! own copy of a shard, as a database named like the file: `/_node/{node}/shards%2F…`.

use super::open::enter;
use super::{Admin, AdminError, CouchPlan, compaction, encode_segment};
use crate::measure::{Copies, NodeCopies};
use crate::{Opening, TargetError};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher as _, RandomState};

/// Documents that are listed in one answer.
const PAGE: usize = 5_000;

/// A revision: its number, and its shortened hash. The greater of two is the winner.
type RankedRevision = (u64, u128);
/// The documents of one copy of a shard: their ids, shortened, and revisions.
type Copy = HashMap<u64, RankedRevision>;

impl CouchPlan {
    /// Compares the copies of a database with each other. `None` if there is only one of each
    /// shard, or the server has no shards.
    pub(super) async fn compare_copies(
        &self,
        opening: &Opening,
        database: &str,
    ) -> Result<Option<Copies>, TargetError> {
        let (mut admin, mut own) = self.ways(opening).await?;
        let path = format!("/{}", encode_segment(database));
        let shards = match compaction::copies(&mut admin, &path).await {
            Ok(shards) => shards,
            // Servers without shards refuse in different ways.
            Err(AdminError::Unexpected { status: 400 | 404..=499 | 501, .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if shards.values().all(|nodes| nodes.len() < 2) {
            return Ok(None);
        }
        let (hasher, mut found) = (RandomState::new(), BTreeMap::new());
        for (shard, nodes) in &shards {
            let mut all: Vec<(&str, Copy)> = Vec::new();
            for node in nodes {
                let sum: &mut NodeCopies = found.entry(node.clone()).or_default();
                sum.node.clone_from(node);
                if sum.problem.is_some() {
                    continue;
                }
                // A cookie of one node may not be valid on another, so each is asked itself.
                let (admin, asked) = match own.get_mut(node) {
                    Some(own) => (own, "_local"),
                    None => (&mut admin, &**node),
                };
                match read(admin, asked, shard, &hasher).await {
                    Ok(copy) => all.push((node, copy)),
                    Err(UnreadCopy { why, status }) => {
                        (sum.problem, sum.status) = (Some(why), status);
                    }
                }
            }
            compare(&all, &mut found);
        }
        Ok(Some(Copies { nodes: found.into_values().collect(), ..Copies::default() }))
    }

    /// The administration of the first node that answers, and those of all nodes that do, by the
    /// cluster's names for them.
    async fn ways(&self, opening: &Opening) -> Result<(Admin, NamedAdmins), TargetError> {
        let mut away = TargetError("there is no server".to_owned());
        let (mut first, mut own) = (None, NamedAdmins::new());
        for node in self.all(opening.stand_in.as_ref()) {
            let (admin, welcome) = enter(self, &node, opening, true).await?;
            if let Err(error) = welcome {
                away = error.into();
                continue;
            }
            let mut admin = admin.kept_open();
            if let Ok((200, local)) = admin.request("GET", "/_node/_local", None).await
                && let Some(name) = local["name"].as_str()
            {
                own.insert(name.to_owned(), admin.again().kept_open());
            }
            first.get_or_insert(admin);
        }
        first.map_or(Err(away), |first| Ok((first, own)))
    }
}

/// Administrations of nodes, by the cluster's names for them.
type NamedAdmins = HashMap<String, Admin>;

/// Adds up how much each copy of a shard has and lacks.
fn compare(all: &[(&str, Copy)], found: &mut BTreeMap<String, NodeCopies>) {
    let mut best = Copy::new();
    for (id, revision) in all.iter().flat_map(|(_, copy)| copy) {
        let greatest = best.entry(*id).or_insert(*revision);
        *greatest = (*greatest).max(*revision);
    }
    for (node, copy) in all {
        let Some(sum) = found.get_mut(*node) else { continue };
        sum.documents += copy.len() as u64;
        sum.missing += best.len() as u64 - copy.len() as u64;
        let older = copy.iter().filter(|(id, revision)| best.get(id) != Some(revision));
        sum.older += older.count() as u64;
    }
}

#[derive(Deserialize)]
struct Changes<'a> {
    #[serde(borrow)]
    results: Vec<Change<'a>>,
}

#[derive(Deserialize)]
struct Change<'a> {
    seq: u64,
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    changes: Vec<Changed<'a>>,
}

#[derive(Deserialize)]
struct Changed<'a> {
    #[serde(borrow)]
    rev: Cow<'a, str>,
}

/// Why a copy cannot be read.
struct UnreadCopy {
    why: String,
    /// That of the answer, if it is not the one asked for.
    status: Option<u16>,
}

impl UnreadCopy {
    fn because(why: impl Into<String>) -> Self {
        Self { why: why.into(), status: None }
    }
}

/// Reads a node's whole copy of a shard.
async fn read(
    admin: &mut Admin,
    node: &str,
    shard: &str,
    hasher: &RandomState,
) -> Result<Copy, UnreadCopy> {
    let (mut copy, mut since) = (Copy::new(), 0);
    loop {
        let path = format!("/_node/{node}/{shard}/_changes?since={since}&limit={PAGE}");
        let answered = admin.request("GET", &path, None).await;
        let (status, answer) = answered.map_err(|error| UnreadCopy::because(error.to_string()))?;
        if status != 200 {
            let reason = answer["reason"].as_str().unwrap_or("no reason given");
            let why = format!("status {status} ({})", reason.trim_end_matches('.'));
            return Err(UnreadCopy { why, status: Some(status) });
        }
        let Ok(Changes { results }) = serde_json::from_slice(admin.body()) else {
            return Err(UnreadCopy::because("its answer is not a list of changes"));
        };
        let count = results.len();
        for Change { seq, id, changes } in results {
            // The first is number 1.
            if seq <= since {
                return Err(UnreadCopy::because("its changes are not in order"));
            }
            since = seq;
            let first = changes.first().and_then(|it| revision(&it.rev));
            let first = first.ok_or_else(|| UnreadCopy::because("a change has no revision"))?;
            copy.insert(hasher.hash_one(&*id), first);
        }
        if count < PAGE {
            return Ok(copy);
        }
    }
}

/// A revision such as `2-7051cbe5c8faecd085a3fa619e6e6337`.
fn revision(text: &str) -> Option<RankedRevision> {
    let (number, hash) = text.split_once('-')?;
    Some((number.parse().ok()?, u128::from_str_radix(hash, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(of: &[(u64, u64)]) -> Copy {
        of.iter().map(|(id, number)| (*id, (*number, 7))).collect()
    }

    #[test]
    fn a_copy_lacks_what_others_have() {
        let all = [
            ("a", copy(&[(1, 1), (2, 3), (3, 1)])),
            ("b", copy(&[(1, 1), (2, 2)])),
            ("c", copy(&[(1, 1), (2, 3), (3, 1)])),
        ];
        let named = |node: &str| (node.to_owned(), NodeCopies::default());
        let mut found: BTreeMap<_, _> = ["a", "b", "c"].map(named).into();
        compare(&all, &mut found);
        let counts = |it: &NodeCopies| (it.documents, it.missing, it.older);
        let counted: Vec<_> = found.values().map(counts).collect();
        assert_eq!(counted, [(3, 0, 0), (2, 1, 1), (3, 0, 0)]);
    }

    #[test]
    fn revisions_are_ordered_as_couchdb_orders_them() {
        let of = |text: &str| revision(text);
        assert!(
            of("10-00000000000000000000000000000001") > of("9-f0000000000000000000000000000000")
        );
        assert!(
            of("2-b0000000000000000000000000000000") > of("2-a0000000000000000000000000000000")
        );
        assert_eq!([of("2"), of("x-1"), of("1-"), of("")], [None; 4]);
    }
}
