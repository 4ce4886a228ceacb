//! Points that are queried were written, and invalid configurations are refused.

use super::*;
use crate::op::Draft;
use crate::properties::Properties;
use serde_json::Value as Json;
use std::collections::BTreeSet;

fn series(text: &str) -> Result<Arc<Series>, Vec<String>> {
    let properties = Properties::parse(text.as_bytes()).unwrap();
    let asker = Asker { threads: 3, now_ms: 1_700_000_000_123, queries: true };
    match SeriesConfig::read(&properties, asker) {
        Ok((core, config)) => Ok(Arc::new(Series::new(&core, &config, 5))),
        Err(errors) => Err(errors.into_iter().map(|error| error.property).collect()),
    }
}

/// All operations of three connections.
fn all(series: &Arc<Series>, load: Option<u32>) -> Vec<(Op, Draft)> {
    let mut done = Vec::new();
    for k in 0..3 {
        let each = series.core.insert_count / 3;
        let mut lane = match load {
            Some(batch) => series.load(k, 3, each, batch),
            None => series.run(k, 3, Some(series.core.operations / 3)),
        };
        let mut draft = Draft::default();
        while let Next::Op(op) = lane.next(&mut draft) {
            done.push((op, std::mem::take(&mut draft)));
        }
    }
    done
}

const SMALL: &str = "recordcount=216\noperationcount=600\nfieldcount=3\nfieldlength=4\ntagcount=2\n\
                     tagcardinality=2,3\ndelayedseries=0\nscanproportion=0.5\n\
                     requestdistribution=zipfian\nrandomwritetimestamporder=true\n";

#[test]
fn queries_are_about_points_that_were_written() {
    let series = series(SMALL).unwrap();
    let written: Vec<Vec<u8>> = all(&series, Some(1)).into_iter().map(|(_, it)| it.name).collect();
    let written_once: BTreeSet<&Vec<u8>> = written.iter().collect();
    assert_eq!((written.len(), written_once.len()), (216, 216));
    for (op, draft) in all(&series, None) {
        // Updates before the second point in time go to the first.
        if op.kind != OpKind::Update {
            assert!(written_once.contains(&draft.name), "{op:?} {draft:?}");
        }
    }
    // The same points in fewer requests.
    let mut bulk = Vec::new();
    for (op, draft) in all(&series, Some(5)) {
        let documents = [b"[", &draft.body[..], b"]"].concat();
        let documents: Vec<Json> = serde_json::from_slice(&documents).unwrap();
        assert_eq!((op.kind, op.documents as usize), (OpKind::BulkInsert, documents.len()));
        bulk.extend(documents.iter().map(|it| it["_id"].as_str().unwrap().as_bytes().to_vec()));
    }
    assert_eq!(bulk, written);
}

#[test]
fn ranges_have_two_ends_and_room_for_what_is_between() {
    let more = "querytimespan=180\nscanproportion=0\nupdateproportion=0\ninsertstart=1000";
    let ranged = series(&format!("{SMALL}{more}")).unwrap();
    for (op, draft) in all(&ranged, None) {
        let name = String::from_utf8(draft.name).unwrap();
        let (from, to) = name.split_once('\0').expect("two ends");
        let time = |id: &str| id.rsplit(':').next().unwrap().parse::<u64>().unwrap();
        assert_eq!((op.kind, op.limit, time(to) - time(from)), (OpKind::Read, 4, 180));
    }
    let grouped = series(&format!("{SMALL}{more}\ngroupbyfunction=sum\ngroupbykeys=0,1"));
    for (op, draft) in all(&grouped.unwrap(), None) {
        // Four points in time, three values of the second tag.
        assert_eq!(op.limit, 12);
        assert!(draft.name.ends_with(":\u{fff0}".as_bytes()), "{draft:?}");
    }
}

#[test]
fn values_that_follow_from_the_point_hold_until_altered() {
    let text = "recordcount=60\nfieldcount=3\ntagcount=2\ntagcardinality=2,2\ninsertstart=9\n\
                dataintegrity=true\nvaluetype=integers\nrandomtimeseriesorder=false";
    // Some of these series lag behind: the stored time counts.
    let series = series(text).unwrap();
    for (_, draft) in all(&series, Some(1)) {
        assert!(spell::holds(&series.config, &draft.body));
        let altered = String::from_utf8(draft.body).unwrap().replace("\"YCSBTS\":", "\"YCSBTS\":1");
        assert!(!spell::holds(&series.config, altered.as_bytes()), "{altered}");
    }
    assert!(!spell::holds(&series.config, b"[]"));
}

#[test]
fn reads_are_looked_at_where_their_values_follow_from_the_point() {
    for integrity in [true, false] {
        let text = format!(
            "recordcount=60\nfieldcount=3\ntagcount=1\ninsertstart=9\noperationcount=20\n\
             dataintegrity={integrity}\nvaluetype=integers\nrandomtimeseriesorder=false"
        );
        let run = all(&series(&text).unwrap(), None);
        let reads: Vec<_> = run.iter().filter(|(op, _)| op.kind == OpKind::Read).collect();
        assert!(!reads.is_empty());
        assert!(reads.iter().all(|(_, draft)| draft.looks == integrity));
    }
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    for (text, name) in [
        ("fieldcount=2", "fieldcount"),
        ("fieldcount=0", "fieldcount"),
        ("fieldlength=1\nfieldcount=53", "fieldlength"),
        ("tagcount=0", "tagcount"),
        ("tagcardinality=1,0", "tagcardinality"),
        ("tagcardinality=a", "tagcardinality"),
        ("tagcardinality=9999999,9999999,9999999", "tagcardinality"),
        ("timestampunits=NANOSECONDS", "timestampunits"),
        ("timestampinterval=0", "timestampinterval"),
        ("insertstart=now", "insertstart"),
        ("valuetype=mixed", "valuetype"),
        ("sparsity=1.5", "sparsity"),
        ("delayedintervals=0", "delayedintervals"),
        ("querytimespan=5\nqueryrandomtimespan=true", "querytimespan"),
        ("groupbyfunction=sum", "groupbykeys"),
        ("groupbyfunction=sum\ngroupbykeys=1,0", "groupbykeys"),
        ("downsamplingfunction=sum", "downsamplinginterval"),
        ("requestdistribution=latest", "requestdistribution"),
        ("readmodifywriteproportion=0.1", "readmodifywriteproportion"),
        ("recordcount=639", "recordcount"),
        ("recordcount=0\nfieldcount=3\ntagcount=1\nrandomwritetimestamporder=true", "recordcount"),
    ] {
        let refused = series(&format!("recordcount=1000\n{text}")).unwrap_err();
        assert_eq!(refused, [name], "{text}");
    }
    let integrity = series("recordcount=1000\ndataintegrity=true\nquerytimespan=60");
    let wrong = ["valuetype", "querytimespan", "randomtimeseriesorder", "insertstart"];
    assert_eq!(integrity.unwrap_err(), wrong);
}
