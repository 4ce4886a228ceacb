//! The requests that a run sends beside its load, which servers count like any others.

use crate::measure::Served;
use crate::observed::Observed;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Requests beside the load that were answered, by server. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct SentBeside(Arc<Mutex<BTreeMap<String, Served>>>);

impl SentBeside {
    /// Counts a request to a server, named as in [`crate::Monitor::name`].
    pub(crate) fn count(&self, server: &str, method: &str, status: u16) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = all.entry(server.to_owned()).or_default();
        *sent.methods.entry(method.to_owned()).or_default() += 1;
        *sent.statuses.entry(status.to_string()).or_default() += 1;
    }

    /// What was sent to this server.
    pub fn to(&self, server: &str) -> Served {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(server).cloned().unwrap_or_default()
    }

    /// Takes these requests away from those that the servers have counted.
    pub fn take_from(&self, observed: &mut Observed) {
        for source in &mut observed.sources {
            if let Some(served) = &mut source.served {
                served.take(&self.to(&source.name));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observed::Source;

    #[test]
    fn only_what_was_sent_to_a_server_is_taken_from_its_count() {
        let served = |get: u64| Served {
            methods: [("GET".to_owned(), get)].into(),
            statuses: [("200".to_owned(), get)].into(),
        };
        let source = |name: &str, served| {
            let name = name.to_owned();
            Source { name, served, ..Source::default() }
        };
        let sources = vec![
            source("a:1", Some(served(9))),
            source("b:2", Some(served(9))),
            source("c:3", None),
        ];
        let mut observed = Observed { sources, ..Observed::default() };
        let beside = SentBeside::default();
        for server in ["a:1", "a:1", "c:3"] {
            beside.clone().count(server, "GET", 200);
        }
        assert_eq!((beside.to("a:1"), beside.to("b:2")), (served(2), Served::default()));
        beside.take_from(&mut observed);
        let left: Vec<_> = observed.sources.into_iter().map(|it| it.served).collect();
        assert_eq!(left, [Some(served(7)), Some(served(9)), None]);
    }
}
