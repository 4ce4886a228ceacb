//! Requests by method and answers by status: as a server has counted them, and as they were sent.

use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::collections::BTreeMap;

/// The number of requests by method and by response status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Served {
    /// By method.
    pub methods: BTreeMap<String, u64>,
    /// By the status of the response.
    pub statuses: BTreeMap<String, u64>,
}

/// The methods that are counted separately.
const METHODS: [&str; 8] = ["GET", "PUT", "POST", "DELETE", "HEAD", "COPY", "PATCH", "OPTIONS"];
/// One more than the highest status.
const STATUSES: usize = 600;

/// Counts the requests that the connections of a load thread send.
#[derive(Debug)]
pub struct Tally {
    methods: [Cell<u64>; METHODS.len()],
    statuses: Vec<Cell<u64>>,
}

impl Default for Tally {
    fn default() -> Self {
        Self { methods: Default::default(), statuses: vec![Cell::new(0); STATUSES] }
    }
}

impl Tally {
    /// Counts a request, given as it was sent; `status` is that of its answer, if there was one.
    #[inline]
    pub fn count(&self, request: &[u8], status: Option<u16>) {
        let add = |count: Option<&Cell<u64>>| count.map(|it| it.set(it.get() + 1));
        let method = METHODS.iter().position(|method| request.starts_with(method.as_bytes()));
        add(method.and_then(|method| self.methods.get(method)));
        add(status.and_then(|status| self.statuses.get(usize::from(status))));
    }

    /// What was counted.
    pub fn sums(&self) -> Served {
        let methods = METHODS.iter().zip(&self.methods);
        let methods = methods.map(|(name, count)| ((*name).to_owned(), count.get()));
        let statuses = self.statuses.iter().enumerate();
        let statuses = statuses.map(|(status, count)| (status.to_string(), count.get()));
        let some = |(_, count): &(String, u64)| *count > 0;
        Served {
            methods: methods.filter(some).collect(),
            statuses: statuses.filter(some).collect(),
        }
    }
}

impl Served {
    /// All requests.
    pub fn requests(&self) -> u64 {
        self.methods.values().sum()
    }

    /// What was counted since `before`; `None` if any count is lower than then, so the server was
    /// restarted.
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

    /// Takes away requests that are counted elsewhere.
    pub fn take(&mut self, other: &Self) {
        for (all, part) in
            [(&mut self.methods, &other.methods), (&mut self.statuses, &other.statuses)]
        {
            for (name, count) in part {
                if let Some(known) = all.get_mut(name) {
                    *known = known.saturating_sub(*count);
                }
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
    fn requests_are_told_apart_by_method_and_answers_by_status() {
        let tally = Tally::default();
        let sent = [("PUT /a", Some(201)), ("POST /a", Some(201)), ("PUT /b", None), ("X", None)];
        for (request, status) in sent {
            tally.count(request.as_bytes(), status);
        }
        tally.count(b"GET /a", Some(999));
        let sums = tally.sums();
        let methods = [("GET", 1), ("POST", 1), ("PUT", 2)].map(|(it, n)| (it.to_owned(), n));
        assert_eq!(sums.methods, methods.into());
        assert_eq!(sums.statuses, [("201".to_owned(), 2)].into());
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
        // More than there is leaves nothing, and what is not there stays away.
        sum.take(&served(5, 1));
        assert_eq!((sum.requests(), sum.statuses["200"], sum.methods.len()), (7, 7, 1));
        sum.take(&served(8, 0));
        assert_eq!((sum.requests(), sum.statuses["200"]), (0, 0));
    }
}
