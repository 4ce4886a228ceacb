//! Keys, texts and draws compared with those of YCSB itself. Independent of requests.
//!
//! The files here were printed by small programs of ours that call YCSB 0.17.0 on Java 17:
//! `keys.txt` has record numbers and their hashes; `draws.txt` counts a million draws of each
//! generator (100,000 of each character) by the cells named below; `integrity.txt` has what its
//! `BasicDB` inserted with `dataintegrity=true`, `zeropadding=22`. `reports.txt` has reports that
//! YCSB printed.

mod report;
mod series;

use springload::generate::{
    Exponential, Hotspot, Latest, Scrambled, Stream, THETA, Uniform, Zipfian, fnv, mix,
};
use springload::workload::ycsb::values::{integrity_text, random_text};
use springload::workload::ycsb::{KeyNames, KeyOrder, LengthSpec, Lengths};
use statrs::distribution::{ChiSquared, ContinuousCDF};

const KEYS: &str = include_str!("keys.txt");
const DRAWS: &str = include_str!("draws.txt");
const INTEGRITY: &str = include_str!("integrity.txt");

#[test]
fn hashes_are_those_of_ycsb() {
    for line in KEYS.lines() {
        let (number, hash) = line.split_once(' ').unwrap();
        assert_eq!(fnv::ycsb(number.parse().unwrap()).to_string(), hash, "{number}");
    }
}

#[test]
fn keys_and_integrity_texts_are_those_of_ycsb() {
    let names = KeyNames { prefix: "user".to_owned(), digits: 22, order: KeyOrder::Hashed };
    let lines: Vec<&str> = INTEGRITY.lines().collect();
    for (i, pair) in lines.chunks(2).enumerate() {
        let (key, field) = pair[0].split_once(' ').unwrap();
        let (mut named, mut text) = (Vec::new(), Vec::new());
        names.write(i as u64 / 2, &mut named);
        assert_eq!(String::from_utf8(named).unwrap(), key);
        integrity_text(key, field, 100, &mut text);
        assert_eq!(String::from_utf8(text).unwrap(), pair[1]);
    }
}

/// The counts of YCSB's draws under this name.
fn counts(name: &str) -> Vec<f64> {
    let rows = DRAWS.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    rows.flat_map(str::split_whitespace).map(|count| count.parse().unwrap()).collect()
}

/// Compares as many of our draws, by cell, with YCSB's: Pearson's test that two samples come from
/// one distribution (Press and others, "Numerical Recipes", section 14.3, `chstwo`).
fn compare(name: &str, mut draw: impl FnMut() -> u64) {
    let theirs = counts(name);
    let mut ours = vec![0.0; theirs.len()];
    let sum: f64 = theirs.iter().sum();
    for _ in 0..sum as u64 {
        ours[draw() as usize] += 1.0;
    }
    let cells = theirs.iter().zip(&ours).filter(|(a, b)| *a + *b > 0.0);
    let statistic: f64 = cells.clone().map(|(a, b)| (a - b) * (a - b) / (a + b)).sum();
    let p = ChiSquared::new((cells.count() - 1) as f64).unwrap().sf(statistic);
    assert!(p > 0.01, "{name}: p = {p}\n{ours:?}");
}

/// The first twenty are separate cells, then forty-nine share one.
const fn head(number: u64) -> u64 {
    if number < 20 { number } else { 20 + (number - 20) / 49 }
}

#[test]
fn draws_are_distributed_as_those_of_ycsb() {
    let mut stream = Stream::new(mix(1, 0, 0), 0);
    let s = &mut stream;
    let zipfian = Zipfian::new(1000, THETA);
    compare("zipfian", || head(zipfian.draw(s)));
    let scrambled = Scrambled::new(0, 1000);
    compare("scrambled", || scrambled.draw(s) / 25);
    let mut latest = Latest::new(999);
    compare("latest", || head(999 - latest.draw(999, s)));
    let hotspot = Hotspot::new(0, 1000, 0.2, 0.8);
    compare("hotspot", || hotspot.draw(s) / 25);
    let exponential = Exponential::new(95.0, 857.142_857_1);
    compare("exponential", || (exponential.draw(s) / 50).min(39));
    let uniform = Uniform::new(0, 1000);
    compare("uniform", || uniform.draw(s) / 25);
    let counts = vec![5, 0, 10, 20, 40, 1];
    let histogram = Lengths::new(&LengthSpec::Histogram { block: 7, counts });
    compare("histogram", || histogram.draw(s) / 7);
}

#[test]
fn characters_are_distributed_as_those_of_ycsb() {
    let mut stream = Stream::new(mix(2, 0, 0), 0);
    let mut text = Vec::new();
    for place in 0..6 {
        compare(&format!("text{place}"), || {
            text.clear();
            random_text(6, &mut stream, &mut text);
            u64::from(text[place] - b' ')
        });
    }
}
