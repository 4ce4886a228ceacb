//! A short pass of those fuzz targets in `fuzz/` that parse files and command lines: their
//! committed seeds, and variants in which pieces are cut, repeated, swapped and replaced.

#[path = "../../fuzz/checks/mod.rs"]
mod checks;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore as _, SeedableRng as _};
use std::fs;
use std::path::Path;

/// The number of variants of each seed, unless `SPRINGLOAD_FUZZ_CHANGES` sets it.
const CHANGES: usize = 60;
/// The pieces to insert: delimiters, and numbers that are too large.
const PIECES: [&str; 16] = [
    "\0",
    "\u{1b}[2J",
    "\r\n",
    "\"",
    "{",
    "]",
    "$(A)",
    "=",
    ":",
    "-",
    "18446744073709551615",
    "1e308",
    "NaN",
    "\u{202e}",
    "null",
    "@",
];

fn below(random: &mut Xoshiro256PlusPlus, end: usize) -> usize {
    (random.next_u64() % (end.max(1) as u64)) as usize
}

/// `seed` after a few changes.
fn changed(seed: &[u8], random: &mut Xoshiro256PlusPlus) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=below(random, 4) {
        let at = below(random, bytes.len() + 1);
        let length = below(random, (bytes.len() - at).min(200) + 1);
        let piece = bytes[at..at + length].to_vec();
        match below(random, 5) {
            0 => drop(bytes.drain(at..at + length)),
            1 => drop(bytes.splice(at..at, piece)),
            2 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << below(random, 8)),
            3 => {
                let place = PIECES[below(random, PIECES.len())].bytes();
                drop(bytes.splice(at..at + length.min(20), place));
            }
            _ => {
                // Replaces a number with another.
                let digits = |byte: &u8| byte.is_ascii_digit();
                if let Some(from) = bytes[at..].iter().position(digits).map(|it| at + it) {
                    let until = bytes[from..].iter().position(|byte| !byte.is_ascii_digit());
                    let until = until.map_or(bytes.len(), |it| from + it);
                    let number = ["0", "-1", "1e15", "9007199254740993", "4294967296"];
                    drop(bytes.splice(from..until, number[below(random, 5)].bytes()));
                }
            }
        }
    }
    bytes
}

/// Tries the seeds of a target and variants of them.
fn pass(target: &str, check: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    let mut seeds: Vec<_> =
        fs::read_dir(folder).expect("seeds").map(|seed| seed.expect("a seed").path()).collect();
    seeds.sort();
    assert!(!seeds.is_empty());
    let asked = std::env::var("SPRINGLOAD_FUZZ_CHANGES").ok().and_then(|text| text.parse().ok());
    let changes = asked.unwrap_or(CHANGES);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(42 + changes as u64);
    for seed in seeds {
        let seed = fs::read(seed).expect("a seed");
        check(&seed);
        for _ in 0..changes {
            check(&changed(&seed, &mut random));
        }
    }
}

/// Tries only valid texts, as the target does.
fn pass_of_texts(target: &str, check: impl Fn(&str)) {
    pass(target, |bytes| {
        if let Ok(text) = std::str::from_utf8(bytes) {
            check(text);
        }
    });
}

#[test]
fn records() {
    pass_of_texts("run_json", checks::run_json);
}

#[test]
fn sweeps() {
    pass_of_texts("sweep_json", checks::sweep_json);
}

#[test]
fn searches() {
    pass_of_texts("max_json", checks::max_json);
}

#[test]
fn words() {
    pass_of_texts("words", checks::words);
}

#[test]
fn lists_of_urls() {
    pass_of_texts("url_file", checks::url_file);
}

#[test]
fn siegercs() {
    pass_of_texts("siegerc", checks::siegerc);
}

#[test]
fn expositions() {
    pass("exposition", checks::exposition);
}

#[test]
fn properties() {
    pass("properties", checks::properties);
}

#[test]
fn frames_of_brokers() {
    pass("broker_frames", checks::broker_frames);
}

#[test]
fn command_lines() {
    pass_of_texts("command_line", checks::command_line);
}

#[test]
fn feeds_of_changes() {
    pass("changes_feed", checks::changes_feed);
}

#[test]
fn answers_of_cassandra() {
    pass("cassandra_answer", checks::cassandra_answer);
}

#[test]
fn answers_of_redis() {
    pass("redis_answer", checks::redis_answer);
}
