//! Checks a stored phase again, for everything that [`CoreConfig::read`] refuses in properties.

use super::choose::Actions;
use super::{Class, CoreConfig, LengthSpec, RequestSpec, YcsbPhase, YcsbStage};
use crate::demand::{MOST_BATCH, MOST_DOCUMENTS};
use crate::mistake::{Flagged, Invalid};

/// The greatest length of a field or a scan.
const MOST_LENGTH: u64 = 1 << 30;
/// The longest prefix of a name, in bytes.
const MOST_PREFIX: usize = 1_000;
const MOST_PAUSE_S: f64 = 366.0 * 86_400.0;
const CURE: &str = "make the plan again, from its command line";

/// Adds the mistakes in `stage`, for this number of connections.
pub(super) fn check(stage: &YcsbStage, connections: u64, mistakes: &mut Vec<Invalid>) {
    let config = &stage.config;
    let counts = [
        ("batch", u64::from(stage.batch), 1, MOST_BATCH),
        ("operations", stage.operations.unwrap_or(1), 1, MOST_DOCUMENTS),
        ("config.operations", config.operations, 0, MOST_DOCUMENTS),
        ("config.records", config.records, 1, MOST_DOCUMENTS),
        ("config.insert_count", config.insert_count, 1, MOST_DOCUMENTS),
        ("config.keys.digits", config.keys.digits as u64, 0, 200),
        ("config.fields.count", config.fields.count, 1, 1_000_000),
    ];
    for (name, value, least, most) in counts {
        mistakes.extend(Flagged::new(name, value).out_of_range(least, most));
    }
    let mut wrong = |name: &str, problem: &str| {
        mistakes.push(Invalid::new(format!("config.{name}"), problem, CURE));
    };
    let end = config.insert_start.checked_add(config.insert_count);
    if end.is_none_or(|end| end > config.records) {
        wrong("insert_start", "this many records are not there");
    }
    for (name, prefix) in [("keys", &config.keys.prefix), ("fields", &config.fields.prefix)] {
        if prefix.len() > MOST_PREFIX {
            wrong(name, "a prefix of more than 1000 bytes");
        }
    }
    for (name, length) in [("fields", &config.fields.length), ("scan_length", &config.scan_length)]
    {
        if !is_sane(length) {
            wrong(name, "no lengths, or longer ones than 1 GiB");
        }
    }
    let p = &config.proportions;
    let all = [p.read, p.update, p.insert, p.scan, p.read_modify_write, p.delete];
    if !all.iter().all(|it| (0.0..=1e15).contains(it)) || Actions::new(p).is_none() {
        wrong("proportions", "they are not 0 or more, or all of them are 0");
    }
    if !is_sane_request(config) {
        wrong("requests", "shares that are none");
    }
    if !(0.0..=MOST_PAUSE_S).contains(&config.retry.interval_s) {
        wrong("retry", "a pause that is none");
    }
    let constant = matches!(config.fields.length, LengthSpec::Constant { .. });
    match &stage.class {
        Class::Core if config.fields.integrity && !constant => {
            wrong("fields", "integrity needs fields of one length");
        }
        Class::Rest(_) => {
            let cure = "run the command that made it";
            let problem = "traces and their headers are not stored in a plan";
            mistakes.push(Invalid::new("class", problem, cure));
        }
        Class::Series(series) if mistakes.is_empty() => {
            let queries = stage.phase == YcsbPhase::Run;
            let errors = series.check_again(config, connections, queries);
            mistakes.extend(
                errors
                    .into_iter()
                    .map(|it| Invalid::new(format!("class.{}", it.property), it.problem, it.cure)),
            );
        }
        Class::Core | Class::Series(_) => {}
    }
}

fn is_sane(length: &LengthSpec) -> bool {
    match length {
        LengthSpec::Constant { length } => *length <= MOST_LENGTH,
        LengthSpec::Uniform { min, max } | LengthSpec::Zipfian { min, max } => {
            min <= max && *max <= MOST_LENGTH
        }
        LengthSpec::Histogram { block, counts } => {
            let sum = counts.iter().try_fold(0u64, |sum, &count| sum.checked_add(count));
            let longest = block.checked_mul(counts.len() as u64);
            sum.is_some_and(|sum| sum > 0) && longest.is_some_and(|it| it <= MOST_LENGTH)
        }
    }
}

fn is_sane_request(config: &CoreConfig) -> bool {
    let share = |it: f64| (0.0..=1.0).contains(&it);
    match config.requests {
        RequestSpec::Hotspot { data, operations } => share(data) && share(operations),
        RequestSpec::Exponential { percentile, fraction } => {
            percentile > 0.0 && percentile < 100.0 && fraction > 0.0 && fraction <= 1e9
        }
        RequestSpec::Uniform
        | RequestSpec::Zipfian
        | RequestSpec::Latest { .. }
        | RequestSpec::Sequential => true,
    }
}
