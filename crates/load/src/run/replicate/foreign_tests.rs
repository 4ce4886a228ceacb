//! Targets before the load to which somebody else writes.

use super::replicas_tests::{opened, spec};
use crate::clock::{Nanos, SECOND_NS};
use crate::engine::Stop;
use crate::plan::Topology;
use crate::run::block_on;
use crate::run::couch_tests::{Couch, Told};
use serde_json::json;

const MS: Nanos = 1_000_000;

/// A design document that somebody puts there does not make a new target incomplete.
#[test]
fn what_only_a_new_target_has_is_not_waited_for() {
    let (couch, stop) = (Couch::start(), Stop::default());
    let replicas = opened(&spec(&couch, &["a", "b"], Topology::FanOut));
    couch.put("a", "1", "1-x");
    couch.put("a", "2", "1-x");
    couch.put("b", "_design/own", "1-x");
    couch.lag("b", 2);
    let filling = async {
        replicas.start(&stop).await?;
        replicas.fill(&stop).await
    };
    block_on(&stop, filling).unwrap();
    let state = replicas.state.borrow();
    let link = &state.found.links[0];
    assert_eq!((link.filled_documents, link.filled_s.is_some()), (3, true));
}

/// Each of its own documents would stand in for one that is missing.
#[test]
fn what_only_a_new_target_has_hides_nothing_that_is_missing() {
    // What the target has, how many documents it has refused, whether it is waited for, and what
    // is missing of three.
    for (has, refused, is_over, missing) in [
        (&["1", "own_1", "own_2", "own_3"][..], 0, false, 2),
        (&["1", "own_1"], 0, false, 2),
        // By counts, two are missing, ...
        (&["own_1"], 2, false, 3),
        (&["own_1"], 3, true, 3),
        // ... or none.
        (&["1", "2", "own_1", "own_2"], 1, true, 1),
    ] {
        let couch = Couch::start();
        let mut asked = spec(&couch, &["a", "b"], Topology::FanOut);
        let replicate = asked.replicate.as_mut().unwrap();
        replicate.converge_timeout_ns = if is_over { 60 * SECOND_NS } else { 600 * MS };
        let replicas = opened(&asked);
        for id in ["1", "2", "3"] {
            couch.put("a", id, "1-x");
        }
        for id in has {
            couch.put("b", id, "1-x");
        }
        let info = json!({ "doc_write_failures": refused, "through_seq": 99 });
        couch.says("b", &[json!({ "state": "running", "info": info })]);
        couch.lag("b", u32::MAX);
        let begun = replicas.begin(&Stop::default(), &mut Told::default());
        let message = begun.err().map(|error| error.to_string()).unwrap_or_default();
        let end = if is_over { "has nothing left to copy of" } else { "has not copied" };
        assert!(message.contains(end), "{has:?}, {refused}: {message}");
        let words = format!(": {missing} of 3 documents are missing; ");
        assert!(message.contains(&words), "{has:?}, {refused}: {message}");
    }
}
