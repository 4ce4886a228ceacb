//! Messages that get lost on the way, and agents that return after they were lost.

use super::*;
use std::collections::BTreeSet;
use std::sync::Mutex;

#[test]
fn a_lost_agent_that_comes_back_hands_in_what_it_measured() {
    let mut bed = Bed::new(&[0; 3]);
    let plan = plan(6, 3, None, 5);
    let cut = bed.cut.clone();
    let healed = std::cell::Cell::new(false);
    let record = bed.run(&plan, &Arc::default(), |at_s| {
        if at_s > 1.5 && !healed.get() {
            cut[1].store(true, Ordering::Relaxed);
            // In the middle of the stage, the agent is lost; after its end, it returns.
            healed.set(true);
            let cut = cut.clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_secs(5));
                cut[1].store(false, Ordering::Relaxed);
            });
        }
    });
    let record = record.unwrap();
    let lost = record.agents[1].lost.as_ref().expect("it is lost");
    assert_eq!((lost.why.as_str(), lost.handed_in), ("nothing heard for 3 s", true));
    let crud = record.stages.last().unwrap();
    let row = &crud.agents[1];
    // It went on until it noticed, and all of that is included.
    assert!(row.lost && row.client.is_some() && row.series.len() >= 4, "{row:?}");
    let issued: u64 = crud.operations.iter().map(|it| it.issued).sum();
    assert_eq!(issued, crud.agents.iter().map(|it| it.requests).sum::<u64>());
    assert_eq!(crud.operations.iter().map(|it| it.unfinished).sum::<u64>(), 0);
    let words = record.lost_words().unwrap();
    assert!(
        words.ends_with("requests until then are included, as it has handed them in"),
        "{words}"
    );
}

#[test]
fn what_gets_lost_on_the_way_is_sent_again() {
    /// Drops every third message that must not be missing, but only the first time it is sent.
    fn lossy(index: usize, message: Vec<u8>) -> Option<Vec<u8>> {
        static SEEN: Mutex<BTreeSet<(usize, u64)>> = Mutex::new(BTreeSet::new());
        let read: serde_json::Value = serde_json::from_slice(&message).unwrap();
        let number = read["number"].as_u64().unwrap();
        let counts = read["body"].is_object() && read["body"]["pong"].is_null();
        let missing = counts && number % 3 == 2 && SEEN.lock().unwrap().insert((index, number));
        (!missing).then_some(message)
    }
    let mut bed = Bed::with(fleet_of(3, &[0; 3], lossy));
    let record = bed.run(&plan(6, 3, None, 2), &Arc::default(), |_| {}).unwrap();
    assert!(record.agents.iter().all(|it| it.lost.is_none()), "{:?}", record.agents);
    let crud = record.stages.last().unwrap();
    let issued: u64 = crud.operations.iter().map(|it| it.issued).sum();
    assert_eq!(issued, crud.agents.iter().map(|it| it.requests).sum::<u64>());
    assert_eq!(crud.operations.iter().map(|it| it.unfinished).sum::<u64>(), 0);
    assert!(issued > 0 && crud.agents.iter().all(|it| it.series.len() >= 2), "{crud:?}");
}
