//! Which series of an exporter's answers are kept.

use super::*;
use crate::observed::ObservedLog;

fn choice(asked: &[&str]) -> Choice {
    Choice::new("node", asked.iter().map(|text| Glob::new(text)).collect())
}

fn names(reading: &Reading) -> Vec<&str> {
    reading.values.iter().map(|(meter, _)| &*meter.name).collect()
}

const TEXT: &[u8] = b"# TYPE reads counter\nreads_total{disk=\"a\"} 5\nreads_total{disk=\"b\"} 7\n\
    # TYPE took_seconds histogram\ntook_seconds_bucket{le=\"1\"} 3\ntook_seconds_sum 1.5\n\
    # TYPE free_bytes gauge\nfree_bytes 100\n# TYPE x_info gauge\nx_info{a=\"b\"} 1\n";

#[test]
fn globs_match_whole_names() {
    for (glob, text, is_match) in [
        ("*", "", true),
        ("", "", true),
        ("", "a", false),
        ("a?c", "abc", true),
        ("a?c", "ac", false),
        ("a?c", "aéc", true),
        ("node_*_total", "node_cpu_seconds_total", true),
        ("node_*_total", "node_cpu_seconds_total{a=\"b\"}", false),
        ("*mode=\"user\"*", "node_cpu{cpu=\"0\",mode=\"user\"}", true),
        ("a*b*c", "aXbXbX", false),
        ("**a", "ba", true),
        ("[a]", "a", false),
    ] {
        assert_eq!(Glob::new(glob).matches(text), is_match, "{glob} {text}");
    }
}

#[test]
fn counts_are_rates_and_all_else_is_as_it_is() {
    let reading = choice(&[]).read(TEXT).unwrap();
    let found = reading.values.iter().map(|(meter, value)| (&*meter.name, &*meter.unit, *value));
    let wanted = [
        ("reads_total_per_s{disk=\"a\"}", "per second", 5.0),
        ("reads_total_per_s{disk=\"b\"}", "per second", 7.0),
        ("took_seconds_sum_per_s", "seconds per second", 1.5),
        ("free_bytes", "bytes", 100.0),
    ];
    assert_eq!(found.collect::<Vec<_>>(), wanted);
    assert!(reading.values.iter().all(|(meter, _)| meter.about == "node"));
    assert_eq!(reading.note, None);
}

#[test]
fn what_is_asked_for_is_kept_even_buckets() {
    let read = |asked: &[&str]| choice(asked).read(TEXT).unwrap();
    assert_eq!(names(&read(&["took_*bucket"])), ["took_seconds_bucket_per_s{le=\"1\"}"]);
    assert_eq!(names(&read(&["reads_total{*\"b\"}"])), ["reads_total_per_s{disk=\"b\"}"]);
    assert_eq!(names(&read(&["free_bytes", "x_inf?"])), ["free_bytes", "x_info{a=\"b\"}"]);
    let nothing = read(&["reads"]);
    assert!(nothing.values.is_empty());
    assert_eq!(nothing.note.unwrap(), "none of its 6 series is asked for");
}

#[test]
fn of_many_series_the_first_that_are_not_0_are_kept_and_that_is_noted() {
    let text = |first: u32| {
        let line = |it: u32| format!("a{{n=\"{it}\"}} {}\n", if it < first { 0 } else { it });
        (0..200).map(line).collect::<String>()
    };
    let mut choice = choice(&[]);
    let reading = choice.read(text(100).as_bytes()).unwrap();
    assert_eq!(reading.values.len(), MOST_SERIES);
    assert_eq!(names(&reading)[0], "a{n=\"100\"}");
    assert!(reading.note.as_ref().unwrap().starts_with("60 of 200 series"), "{:?}", reading.note);
    // The series that were kept once are always kept, and no others.
    let later = choice.read(text(1).as_bytes()).unwrap();
    assert_eq!(names(&later), names(&reading));
}

#[test]
fn an_answer_that_is_no_list_is_none() {
    for wrong in [&b"<html>\nhello"[..], b"", b" \n", b"{\"a\":1}", b"\xff\xfe\x00"] {
        assert!(choice(&[]).read(wrong).is_err(), "{wrong:?}");
    }
    let note = choice(&[]).read(b"a 1\n\x1b[2Jb\n").unwrap().note.unwrap();
    assert!(note.starts_with("1 line could not be read") && !note.contains('\x1b'), "{note}");
}

#[test]
fn a_counter_that_falls_alone_is_no_restart() {
    let mut log = ObservedLog::new(["node".to_owned()]);
    let mut choice = choice(&[]);
    for (at_s, a, b, c) in [(1.0, 9, 9, 9), (2.0, 10, 10, 5), (3.0, 11, 11, 6), (4.0, 1, 1, 7)] {
        let text = format!("a_total {a}\nb_total {b}\nc_total {c}\n");
        log.answered(0, 0, at_s, &choice.read(text.as_bytes()).unwrap());
    }
    let source = log.so_far().sources.remove(0);
    assert_eq!(source.restarts_s, [4.0]);
    let values = |at: usize| source.tables[0].columns[at].values.clone();
    assert_eq!(values(0), [None, Some(1.0), Some(1.0), None]);
    assert_eq!(values(2), [None, None, Some(1.0), None]);
}
