//! Requests are taken from the traces, in the requested proportions and distributions.

use super::*;
use crate::op::Draft;
use crate::properties::Properties;
use std::collections::BTreeMap;

fn config(text: &str) -> Result<(CoreConfig, RestConfig), Vec<String>> {
    let properties = Properties::parse(text.as_bytes()).unwrap();
    let file = |path: &str| match path {
        "readtrace.txt" => {
            let lines: Vec<_> = (0..50).map(|i| format!(" /read/{i}?a=b \r\n")).collect();
            Ok(lines.concat())
        }
        "inserttrace.txt" => Ok("/new\n".to_owned()),
        "updatetrace.txt" => Ok("/old one\n".to_owned()),
        "deletetrace.txt" | "empty" => Ok(String::new()),
        _ => Err("No such file".to_owned()),
    };
    let config = RestConfig::read(&properties, &file);
    config.map_err(|errors| errors.into_iter().map(|error| error.to_string()).collect())
}

/// How often each target was requested in 20,000 operations of two connections, and the lengths of
/// bodies.
fn asked(text: &str) -> (BTreeMap<(OpKind, String), u64>, Vec<usize>) {
    let (core, config) = config(text).unwrap();
    let rest = Arc::new(Rest::new(&core, &config, 11));
    let (mut counts, mut lengths) = (BTreeMap::new(), Vec::new());
    for k in 0..2 {
        let mut lane = rest.run(k, Some(10_000));
        let mut draft = Draft::default();
        while let Next::Op(op) = lane.next(&mut draft) {
            let target = String::from_utf8(std::mem::take(&mut draft.name)).unwrap();
            *counts.entry((op.kind, target)).or_insert(0) += 1;
            if matches!(op.kind, OpKind::Create | OpKind::Update) {
                lengths.push(draft.body.len());
            }
            draft = Draft::default();
        }
    }
    (counts, lengths)
}

#[test]
fn all_kinds_go_to_their_own_trace() {
    let text = "readproportion=1\ninsertproportion=1\nupdateproportion=1\nscanproportion=1\n\
                fieldlength=7\nurl.prefix=http://example.com/base";
    let (counts, lengths) = asked(text);
    let of = |kind: OpKind| -> u64 {
        counts.iter().filter(|((it, _), _)| *it == kind).map(|(_, count)| count).sum()
    };
    // Four standard deviations of a binomial with p = 1/4 and 1/2: 4 * sqrt(3,750), sqrt(5,000).
    assert!(of(OpKind::Create).abs_diff(5_000) < 245 && of(OpKind::Update).abs_diff(5_000) < 245);
    assert!(of(OpKind::Read).abs_diff(10_000) < 283, "scans are reads: {counts:?}");
    assert_eq!(counts.len(), 52);
    for target in ["/base/read/0?a=b", "/base/new", "/base/old%20one"] {
        assert!(counts.keys().any(|(_, it)| it == target), "{target}");
    }
    assert!(lengths.iter().all(|&length| length == 7));
}

#[test]
fn distributions_fall_off_or_do_not() {
    let reads = "updateproportion=0\n";
    let share = |more: &str| -> Vec<f64> {
        let (counts, _) = asked(&format!("{reads}{more}"));
        let of = |i| counts.get(&(OpKind::Read, format!("/read/{i}?a=b"))).copied().unwrap_or(0);
        (0..50).map(|i| of(i) as f64 / 20_000.0).collect()
    };
    assert!(share("").iter().all(|it| (it - 0.02).abs() < 0.005));
    // Zipf's law, n = 50: 1 / sum of i^-0.5 is 0.0786, of i^-0.99 0.2193.
    let zipfian = |more: &str| share(&format!("requestdistribution=zipfian\n{more}"))[0];
    assert!((zipfian("readzipfconstant=0.5") - 0.0786).abs() < 0.01);
    assert!((zipfian("") - 0.2193).abs() < 0.015);
    let hot = share("requestdistribution=hotspot");
    assert!((hot[..10].iter().sum::<f64>() - 0.8).abs() < 0.02, "{hot:?}");
    // 95 per cent are among the first 43 of all numbers drawn, 0.17 per cent are beyond the end.
    let exponential = share("requestdistribution=exponential");
    assert!(exponential[..43].iter().sum::<f64>() > 0.94 && exponential[0] > 3.0 * exponential[30]);
    assert_eq!(share("readrecordcount=3").iter().filter(|it| **it > 0.0).count(), 3);
}

#[test]
fn lengths_of_bodies_may_be_zipfian() {
    let text = "readproportion=0\nupdateproportion=1\nfieldlength=40\n\
                fieldlengthdistribution=zipfian\ninsertsizezipfconstant=0.5";
    let (_, lengths) = asked(text);
    assert!(lengths.iter().all(|length| (1..=40).contains(length)));
    let one = lengths.iter().filter(|&&length| length == 1).count();
    // 1 / sum of i^-0.5 over 40 is 0.0886.
    assert!((one as f64 / 20_000.0 - 0.0886).abs() < 0.01, "{one}");
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    for (text, start) in [
        ("url.trace.delete=gone.txt", "url.trace.delete: gone.txt: No such file; "),
        ("url.trace.read=empty", "url.trace.read: empty has no lines; "),
        ("deleteproportion=1", "url.trace.delete: deletetrace.txt has no lines; "),
        ("requestdistribution=latest", "requestdistribution: "),
        ("requestdistribution=sequential", "requestdistribution: "),
        ("readzipfconstant=1", "readzipfconstant: "),
        ("insertsizezipfconstant=-1", "insertsizezipfconstant: "),
        ("readrecordcount=x", "readrecordcount: "),
        ("headers=Accept", "headers: has a name without a value; "),
        ("url.prefix=ftp://x", "url.prefix: "),
    ] {
        let errors = config(text).unwrap_err();
        assert!(errors.len() == 1 && errors[0].starts_with(start), "{text}: {errors:?}");
    }
    let wrong = config("url.prefix=http://a:secret@b\nurl.trace.read=readtrace.txt");
    assert_eq!(wrong.unwrap().1.user, Some(("a".to_owned(), "secret".to_owned())));
}
