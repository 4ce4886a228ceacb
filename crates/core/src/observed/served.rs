//! The requests that a server has counted.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Requests as a server counts them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Served {
    /// By method.
    pub methods: BTreeMap<String, u64>,
    /// By the status of the answer.
    pub statuses: BTreeMap<String, u64>,
}

impl Served {
    /// All requests.
    pub fn requests(&self) -> u64 {
        self.methods.values().sum()
    }

    /// What was counted since `before`; `None`: less than then, so the server was started again.
    pub fn since(&self, before: &Self) -> Option<Self> {
        let less = |now: &BTreeMap<String, u64>, then: &BTreeMap<String, u64>| {
            let lost = then.keys().any(|name| then[name] > 0 && !now.contains_key(name));
            let one = |(name, count): (&String, &u64)| {
                let more = count.checked_sub(then.get(name).copied().unwrap_or(0))?;
                Some((name.clone(), more))
            };
            let all: Option<BTreeMap<_, _>> = now.iter().map(one).collect();
            all.filter(|_| !lost).map(|mut all| {
                all.retain(|_, count| *count > 0);
                all
            })
        };
        Some(Self {
            methods: less(&self.methods, &before.methods)?,
            statuses: less(&self.statuses, &before.statuses)?,
        })
    }

    /// Adds what another node has counted.
    pub fn add(&mut self, other: &Self) {
        for (sum, part) in
            [(&mut self.methods, &other.methods), (&mut self.statuses, &other.statuses)]
        {
            for (name, count) in part {
                *sum.entry(name.clone()).or_default() += count;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(get: u64, put: u64) -> Served {
        let methods = [("GET".to_owned(), get), ("PUT".to_owned(), put)].into();
        Served { methods, statuses: [("200".to_owned(), get)].into() }
    }

    #[test]
    fn only_what_came_since_counts_and_a_restart_is_seen() {
        let more = served(10, 5).since(&served(4, 5)).unwrap();
        assert_eq!(more.requests(), 6);
        assert_eq!(more.methods.keys().collect::<Vec<_>>(), ["GET"]);
        assert_eq!(served(3, 9).since(&served(4, 5)), None);
        assert_eq!(Served::default().since(&served(4, 5)), None);
        let mut sum = more.clone();
        sum.add(&more);
        assert_eq!((sum.methods["GET"], sum.statuses["200"]), (12, 12));
    }
}
