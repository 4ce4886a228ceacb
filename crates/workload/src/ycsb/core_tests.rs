//! Together, connections do what was requested; each only uses records that it knows to exist.

use super::*;
use crate::op::{Draft, Fields as _};
use crate::properties::Properties;
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeSet;

fn config(text: &str) -> CoreConfig {
    let properties = Properties::parse(text.as_bytes()).unwrap();
    CoreConfig::read(&properties, false, &|_| Err(String::new())).unwrap()
}

fn core(text: &str) -> Arc<Core> {
    Arc::new(Core::new(&config(text), 7, 0))
}

/// All operations of a lane with their drafts; all succeed.
fn all(lane: CoreLane) -> Vec<(Op, Draft)> {
    all_with(lane, Draft::default)
}

fn all_with(mut lane: CoreLane, new: fn() -> Draft) -> Vec<(Op, Draft)> {
    let mut done = Vec::new();
    let mut draft = new();
    while let Next::Op(op) = lane.next(&mut draft) {
        lane.observe(&op, Ok(Reply::default()), &Answered::default());
        done.push((op, std::mem::replace(&mut draft, new())));
    }
    done
}

proptest! {
    #[test]
    fn every_record_is_loaded_once(
        start in 0u64..50, count in 1u64..60, connections in 1u64..9, batch in 1u32..9,
    ) {
        let text = format!(
            "recordcount={}\ninsertstart={start}\ninsertcount={count}\nfieldcount=1\n\
             insertorder=ordered",
            start + count
        );
        let core = core(&text);
        let mut loaded = BTreeSet::new();
        for k in 0..connections {
            for (op, draft) in all(core.load(k, connections, batch)) {
                let documents = format!("[{}]", String::from_utf8(draft.body).unwrap());
                let documents: Vec<Value> = serde_json::from_str(&documents).unwrap();
                prop_assert_eq!(documents.len(), op.documents as usize);
                for number in op.key..op.key + u64::from(op.documents) {
                    prop_assert!(loaded.insert(number));
                }
                let names = String::from_utf8(draft.name).unwrap();
                let names: Vec<&str> = names.split('\0').collect();
                for (i, document) in documents.iter().enumerate() {
                    prop_assert_eq!(names[i], format!("user{}", op.key + i as u64));
                    prop_assert_eq!(&document["_id"], names[i]);
                }
            }
        }
        prop_assert_eq!(loaded, (start..start + count).collect());
    }

    #[test]
    fn a_connection_asks_for_what_is_loaded_and_for_its_own(
        distribution in "uniform|zipfian|latest|exponential", connections in 1u64..9,
        slice in 0u64..4,
    ) {
        let text = format!(
            "recordcount=100\noperationcount=300\ninsertproportion=1\nreadproportion=1\n\
             requestdistribution={distribution}\ninsertstart={}\ninsertcount=25",
            slice * 25
        );
        let core = core(&text);
        let mut inserted = BTreeSet::new();
        for k in 0..connections {
            let mut own = BTreeSet::new();
            let share = 300 / connections + u64::from(k < 300 % connections);
            for (op, _) in all(core.run(k, connections, Some(share))) {
                if op.kind == OpKind::Create {
                    prop_assert!(own.insert(op.key) && inserted.insert(op.key));
                    // Clients with other slices use other numbers.
                    prop_assert_eq!((op.key - 100) / 300, slice);
                } else {
                    prop_assert!(op.key < 100 || own.contains(&op.key), "{}", op.key);
                }
            }
        }
    }
}

#[test]
fn what_is_asked_does_not_depend_on_what_is_written() {
    let text = "recordcount=50\nreadproportion=1\nupdateproportion=1\nscanproportion=1\n\
                insertproportion=1\ndeleteproportion=1\nreadmodifywriteproportion=1\n\
                readallfields=false\nrequestdistribution=zipfian\noperationcount=500";
    let asked = |new| -> Vec<(Op, Vec<u8>)> {
        let done = all_with(core(text).run(1, 3, Some(500)), new);
        done.into_iter().map(|(op, draft)| (op, draft.name)).collect()
    };
    let json = asked(Draft::default);
    assert_eq!(json, asked(Draft::ignoring));
    for pair in json.windows(2) {
        let (first, last) = (&pair[0].0, &pair[1].0);
        assert_eq!(first.part == Part::First, last.part == Part::Last);
        if first.part == Part::First {
            assert_eq!((first.kind, last.kind), (OpKind::Read, OpKind::Update));
            assert_eq!((first.key, &pair[0].1), (last.key, &pair[1].1));
        }
    }
}

#[test]
fn shares_of_the_newest_are_the_same_for_any_number_of_connections() {
    let text = "recordcount=1000\noperationcount=40000\ninsertproportion=0.1\n\
                readproportion=0.9\nrequestdistribution=latest";
    // The share of reads that go to the last tenth of inserted records.
    let share = |connections: u64| {
        let core = core(text);
        let (mut reads, mut newest) = (0.0, 0.0);
        for k in 0..connections {
            let mut inserted = 0;
            for (op, _) in all(core.run(k, connections, Some(40_000 / connections))) {
                if op.kind == OpKind::Create {
                    inserted += 1;
                } else {
                    let all = 1000 + inserted * connections;
                    reads += 1.0;
                    newest += f64::from(u8::from(op.key >= all - all / 10));
                }
            }
        }
        newest / reads
    };
    let alone = share(1);
    // Five standard deviations of the difference of two shares of 36,000 are 1.6 %.
    for connections in [4, 20] {
        let off = (share(connections) - alone).abs();
        assert!(off < 0.016, "{connections}: {off}");
    }
}

#[test]
fn what_is_verified_must_have_all_its_text() {
    let text = "recordcount=5\ndataintegrity=true\nfieldcount=2\nfieldlength=30\n\
                readproportion=1\nupdateproportion=0\noperationcount=1\nkeyprefix=\"\\\\";
    let core = core(text);
    let mut lane = core.run(0, 1, Some(1));
    let mut draft = Draft::default();
    let op = lane.next(&mut draft).op().unwrap();
    assert!(draft.looks);
    let mut stored = Vec::new();
    let mut stream = Stream::new(0, 0);
    let (records, key) = (&core.records, &draft.name);
    Record { records, key, which: 0..2, stream: &mut stream }.write(b"", &mut stored);
    let mut check = |document: &[u8]| {
        let answered = Answered { document: Some(document), ..Answered::default() };
        lane.observe(&op, Ok(Reply::default()), &answered)
    };
    assert_eq!(check(&stored), Check::Checked(Ok(())));
    let wrong = Check::Checked(Err(Failure::UnexpectedState));
    let text = String::from_utf8(stored).unwrap();
    let altered = [text.replacen(':', ":1,\"x\":", 1), text.replacen("field1", "f", 1)];
    for other in ["{}", "[", &altered[0], &altered[1]] {
        assert_eq!(check(other.as_bytes()), wrong, "{other}");
    }
    assert_eq!(
        lane.observe(&op, Ok(Reply::default()), &Answered::default()),
        Check::Unchecked,
        "a driver that keeps no documents"
    );
}

#[test]
fn a_record_is_the_same_whole_and_field_by_field() {
    let core = core("recordcount=5\nfieldcount=3\nfieldlength=200");
    let (records, key) = (&core.records, b"user1");
    let (mut one, mut other) = (Stream::new(3, 0), Stream::new(3, 0));
    let mut whole = Vec::new();
    Record { records, key, which: 1..3, stream: &mut one }.write(b"", &mut whole);
    let mut fields = serde_json::Map::new();
    Record { records, key, which: 1..3, stream: &mut other }.each(|name, value| {
        fields.insert(name.to_owned(), String::from_utf8(value.to_vec()).unwrap().into());
    });
    assert_eq!(fields.keys().collect::<Vec<_>>(), ["field1", "field2"]);
    assert_eq!(serde_json::from_slice::<Value>(&whole).unwrap(), Value::Object(fields));
}

#[test]
fn latest_as_ycsb_follows_the_inserts_of_all_connections() {
    let text = "recordcount=100\nrequestdistribution=latest\ninsertproportion=0.5\n\
                readproportion=0.5\nupdateproportion=0\noperationcount=4000";
    let run = |more: &str| {
        let core = core(&format!("{text}{more}"));
        let mut lanes: Vec<_> = (0..4).map(|k| core.run(k, 4, Some(1000))).collect();
        let (mut inserted, mut others) = (BTreeSet::new(), 0);
        let mut own = vec![BTreeSet::new(); 4];
        let mut draft = Draft::default();
        for turn in 0..4000 {
            let k = turn % 4;
            let op = lanes[k].next(&mut draft).op().unwrap();
            lanes[k].observe(&op, Ok(Reply::default()), &Answered::default());
            draft = Draft::default();
            if op.kind == OpKind::Create {
                assert!(inserted.insert(op.key) && own[k].insert(op.key));
            } else {
                others += u32::from(op.key >= 100 && !own[k].contains(&op.key));
                if !more.is_empty() {
                    assert!(op.key < 100 || inserted.contains(&op.key), "{} is not there", op.key);
                }
            }
        }
        let consecutive = inserted.iter().copied().eq(100..100 + inserted.len() as u64);
        (others, consecutive)
    };
    assert_eq!(run("").0, 0, "a connection knows its own inserts alone");
    let (others, consecutive) = run("\nspringload.latest=ycsb");
    // Three out of four inserts are made by other connections.
    assert!(others > 1000 && consecutive, "{others}");
}

#[test]
fn agents_that_count_on_their_own_never_insert_the_same_record() {
    let text = "recordcount=100\nrequestdistribution=latest\ninsertproportion=1\n\
                readproportion=0\nupdateproportion=0\noperationcount=500\nspringload.latest=ycsb";
    let mut inserted = BTreeSet::new();
    for agent in 0..3 {
        let core = Arc::new(Core::new(&config(text), 7, agent));
        let mut lane = core.run(agent, 3, Some(166));
        let mut draft = Draft::default();
        while let Next::Op(op) = lane.next(&mut draft) {
            assert!(op.key >= 100 && inserted.insert(op.key), "{} of agent {agent}", op.key);
            lane.observe(&op, Ok(Reply::default()), &Answered::default());
            draft = Draft::default();
        }
    }
    assert_eq!(inserted.len(), 3 * 166);
}
