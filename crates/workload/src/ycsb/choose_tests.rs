//! Choices stay among the stored records and follow their distributions.

use super::*;
use crate::generate::{mix, statistics};
use crate::properties::Properties;
use crate::ycsb::builtin;

fn config(text: &str) -> CoreConfig {
    let properties = Properties::parse(text.as_bytes()).unwrap();
    CoreConfig::read(&properties, false, &|_| Err(String::new())).unwrap()
}

#[test]
fn draws_stay_among_what_is_stored() {
    let names = ["uniform", "zipfian", "latest", "hotspot", "sequential", "exponential"];
    for name in names {
        let text = format!(
            "requestdistribution={name}\nrecordcount=1000\ninsertproportion=1\n\
                            operationcount=1000\ninsertstart=250\ninsertcount=250"
        );
        let mut chooser = Chooser::new(&config(&text), 0, 1);
        let mut stream = Stream::new(mix(1, 0, 0), 0);
        let mut seen = [false; 1100];
        for stored in (1000..1100).flat_map(|stored| std::iter::repeat_n(stored, 300)) {
            let number = chooser.draw(stored, &mut stream);
            assert!(number < stored, "{name}: {number} of {stored}");
            seen[number as usize] = true;
        }
        // Distributions that follow the newest see new records; those with a slice stay in it.
        let follows = matches!(name, "latest" | "exponential");
        assert_eq!(seen[1000..].contains(&true), follows || name == "zipfian", "{name}");
        assert_eq!(seen[..250].contains(&true), follows, "{name}");
    }
}

#[test]
fn exponential_requests_go_to_the_newest_part() {
    let text = "requestdistribution=exponential\nrecordcount=10000\nexponential.percentile=90\n\
                exponential.frac=0.1";
    let mut chooser = Chooser::new(&config(text), 0, 1);
    let mut stream = Stream::new(mix(2, 0, 0), 0);
    let draws = 100_000;
    let newest = (0..draws).filter(|_| chooser.draw(10_000, &mut stream) >= 9000).count();
    // Four standard deviations: 4 * sqrt(100,000 * 0.9 * 0.1) = 379. One draw in 10^10 is repeated.
    assert!(newest.abs_diff(90_000) < 379, "{newest}");
}

#[test]
fn connections_share_a_sequence() {
    let config = config("requestdistribution=sequential\nrecordcount=10\ninsertstart=6");
    let mut choosers = [0, 1].map(|connection| Chooser::new(&config, connection, 2));
    let mut stream = Stream::new(mix(3, 0, 0), 0);
    let drawn: Vec<u64> = (0..6).map(|i| choosers[i % 2].draw(10, &mut stream)).collect();
    assert_eq!(drawn, [6, 7, 8, 9, 6, 7]);
}

#[test]
fn actions_follow_the_standard_mixes() {
    for (name, text) in builtin::WORKLOADS {
        let Proportions { read, update, insert, scan, read_modify_write, delete } =
            config(text).proportions;
        let shares = [read, update, insert, scan, read_modify_write, delete];
        let actions = Actions::new(&config(text).proportions).unwrap();
        let mut stream = Stream::new(mix(4, 0, 0), 0);
        if shares.contains(&1.0) {
            assert!((0..1000).all(|_| actions.draw(&mut stream) == Action::Read), "{name}");
            continue;
        }
        let p = statistics::chi_square(&shares, 100_000, || actions.draw(&mut stream) as usize);
        assert!(p > 0.01, "{name}: p = {p}");
    }
}
