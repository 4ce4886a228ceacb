//! Numbers as people write them: `20k`, `1M`, `30s`, `5m`, `create=2,read=3`.

use crate::clock::{Nanos, SECOND_NS};
use crate::mistake::BadValue;
use crate::op::OpKind;
use crate::workload::{Mix, OwnMix};

/// Reads a count: digits, optionally with `_` between them and `k`, `M` or `G` for powers of 1000.
///
/// # Errors
/// Returns a message showing what a count looks like.
pub fn count(text: &str) -> Result<u64, BadValue> {
    let wrong = || {
        let problem = format!("{text:?} is not a count");
        BadValue::new(problem, "give a whole number such as 50, 20k or 1M")
    };
    let (digits, factor) = match text.char_indices().next_back() {
        Some((end, 'k' | 'K')) => (&text[..end], 1_000),
        Some((end, 'm' | 'M')) => (&text[..end], 1_000_000),
        Some((end, 'g' | 'G')) => (&text[..end], 1_000_000_000),
        _ => (text, 1),
    };
    if let Some((whole, fraction)) = digits.split_once('.') {
        // With a suffix, 1.5M is a whole number too.
        let places = u32::try_from(fraction.len()).ok().filter(|&places| places <= 9);
        let scale = places.map(|places| 10u64.pow(places)).ok_or_else(wrong)?;
        if fraction.is_empty() || factor % scale != 0 {
            return Err(wrong());
        }
        let whole = number(whole).and_then(|whole| whole.checked_mul(factor));
        let part = number(fraction).and_then(|part| part.checked_mul(factor / scale));
        return whole.zip(part).and_then(|(a, b)| a.checked_add(b)).ok_or_else(wrong);
    }
    number(digits).and_then(|number| number.checked_mul(factor)).ok_or_else(wrong)
}

fn number(digits: &str) -> Option<u64> {
    let plain: String = digits.chars().filter(|&c| c != '_').collect();
    (!plain.is_empty() && plain.bytes().all(|b| b.is_ascii_digit()))
        .then(|| plain.parse().ok())
        .flatten()
}

/// Reads a size in bytes: a count, optionally followed by `B`.
///
/// # Errors
/// Returns a message showing what a size looks like.
pub fn size(text: &str) -> Result<u64, BadValue> {
    let problem = || format!("{text:?} is not a size");
    count(text.strip_suffix(['B', 'b']).unwrap_or(text))
        .map_err(|_| BadValue::new(problem(), "give bytes such as 500, 20k or 64MB"))
}

/// Reads a duration in nanoseconds: a number with `ms`, `s`, `m` or `h`, or several such parts; a
/// bare number is in seconds.
///
/// # Errors
/// Returns a message showing what a duration looks like.
pub fn duration_ns(text: &str) -> Result<Nanos, BadValue> {
    let wrong = || {
        let problem = format!("{text:?} is not a duration");
        BadValue::new(problem, "give a time such as 500ms, 30s, 5m or 1h30m")
    };
    let (mut rest, mut sum) = (text.trim(), 0.0);
    if rest.is_empty() {
        return Err(wrong());
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let value: f64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "" | "s" => 1.0,
            "us" => 1e-6,
            "ms" => 1e-3,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return Err(wrong()),
        };
        sum += value * unit;
        rest = &rest[letters..];
    }
    // No run takes a year; much more would overflow.
    if sum > 366.0 * 86_400.0 {
        return Err(wrong());
    }
    Ok((sum * SECOND_NS as f64).round() as Nanos)
}

/// Reads a rate in operations per second: a number, optionally with `k` or `M`, and `/s`.
///
/// # Errors
/// Returns a message showing what a rate looks like.
pub fn rate(text: &str) -> Result<f64, BadValue> {
    let wrong = || {
        let problem = format!("{text:?} is not a rate");
        BadValue::new(problem, "give operations per second such as 500 or 10k")
    };
    let plain = text.trim().trim_end_matches("/s");
    let (digits, factor) = match plain.char_indices().next_back() {
        Some((end, 'k' | 'K')) => (&plain[..end], 1e3),
        Some((end, 'm' | 'M')) => (&plain[..end], 1e6),
        _ => (plain, 1.0),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return Err(wrong());
    }
    let rate = digits.parse::<f64>().map_err(|_| wrong())? * factor;
    if rate <= 1e8 { Ok(rate) } else { Err(wrong()) }
}

/// Reads a mix: `create=2,read=3,update=2,delete=1`; kinds that are not named have weight 0.
///
/// # Errors
/// Returns a message showing what a mix looks like.
pub fn mix(text: &str) -> Result<MixAsked, BadValue> {
    let (mut weights, mut own) = (Vec::new(), OwnMix::new());
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, weight) = part.split_once('=').ok_or_else(|| {
            let problem = format!("{part:?} is not name=weight");
            BadValue::new(problem, "write it like create=2,read=3")
        })?;
        let kind = Mix::KINDS.into_iter().find(|kind| kind.name() == name.trim());
        // Only the plan knows which others exist.
        let others = || OpKind::of_name(name.trim()).ok().filter(|kind| kind.is_own());
        let kind = kind.or_else(others).ok_or_else(|| {
            let kinds = Mix::KINDS.map(OpKind::name).join(", ");
            let problem = format!("{:?} is not an operation", name.trim());
            BadValue::new(problem, format!("the mix is made of {kinds}"))
        })?;
        let weight = count(weight.trim())
            .ok()
            .filter(|&weight| weight <= 1_000_000_000)
            .ok_or_else(|| {
                let problem = format!("{weight:?} is not a weight");
                BadValue::new(problem, "give a whole number up to 1G")
            })?;
        if kind.is_own() {
            own.insert(kind, weight);
        } else {
            weights.push((kind, weight));
        }
    }
    let mix: Mix = weights.into_iter().collect();
    if mix.sum() == 0 && own.values().all(|weight| *weight == 0) {
        let cure = "give at least one positive weight, such as read=1";
        return Err(BadValue::new("all weights are zero", cure));
    }
    Ok(MixAsked { mix, own })
}

/// The requested weights of operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MixAsked {
    /// Those of the built-in kinds.
    pub mix: Mix,
    /// Those of operations that the plan defines.
    pub own: OwnMix,
}

/// The longest label: one line on a phone, or nearly.
pub(super) const MOST_LABEL: usize = 60;

/// Reads a label: one line that is short enough for a title.
///
/// # Errors
/// Returns a message if it is empty, too long or unprintable.
pub fn label(text: &str) -> Result<String, BadValue> {
    let label = text.trim();
    let length = label.chars().count();
    if label.chars().any(char::is_control) {
        let problem = format!("{label:?} has unprintable characters");
        return Err(BadValue::new(problem, "give one line of text"));
    }
    match length {
        0 => Err(BadValue::new("the label is empty", "leave the flag out for none")),
        1..=MOST_LABEL => Ok(label.to_owned()),
        _ => {
            let problem = format!("{length} characters are too many for a title");
            Err(BadValue::new(problem, "give at most 60"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_may_have_a_unit() {
        assert_eq!(size("500"), Ok(500));
        assert_eq!(
            (size("64MB"), size("64M"), size("1.5kb")),
            (Ok(64_000_000), Ok(64_000_000), Ok(1_500))
        );
        assert!(size("B").is_err() && size("64 MiB").is_err());
    }

    #[test]
    fn counts() {
        for (text, value) in [
            ("0", 0),
            ("50", 50),
            ("20k", 20_000),
            ("1M", 1_000_000),
            ("1.5M", 1_500_000),
            ("2_000", 2000),
        ] {
            assert_eq!(count(text), Ok(value), "{text}");
        }
        for text in ["", "-1", "1.5", "k", "1e3", "99999999999G", "1..5M", "ten", "0x10", "+5"] {
            assert!(count(text).unwrap_err().cure.contains("20k"), "{text}");
        }
    }

    #[test]
    fn labels_are_one_short_line() {
        assert_eq!(label(" after the update · é "), Ok("after the update · é".to_owned()));
        assert!(label(&"é".repeat(60)).is_ok());
        for (text, says) in [
            ("", "the label is empty"),
            (" ", "the label is empty"),
            ("two\nlines", "one line"),
            ("\u{1b}[31m", "unprintable characters"),
            (&"x".repeat(61), "at most 60"),
        ] {
            assert!(label(text).unwrap_err().to_string().contains(says), "{text:?}");
        }
    }

    #[test]
    fn durations() {
        let ms = |text: &str| duration_ns(text).map(|ns| ns / 1_000_000);
        for (text, value) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            ("2", 2_000),
            ("1.5s", 1_500),
        ] {
            assert_eq!(ms(text), Ok(value), "{text}");
        }
        for text in ["", "-1s", "5 m", "s", "1x", "1.2.3s", "9999999h", "1s-"] {
            assert!(ms(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_and_mixes() {
        assert_eq!((rate("500"), rate("2.5k/s")), (Ok(500.0), Ok(2500.0)));
        assert!(rate("-5").is_err() && rate("inf").is_err() && rate("").is_err());
        let plain = |mix| MixAsked { mix, own: OwnMix::new() };
        assert_eq!(mix("read=1").unwrap(), plain(Mix::crud([0, 1, 0, 0])));
        let all = Mix::crud([2, 3, 2, 1]);
        assert_eq!(mix("create=2, read=3,update=2,delete=1").unwrap(), plain(all));
        let own = mix("read=1,recent-1=2").unwrap().own;
        let own: Vec<_> = own.iter().map(|(kind, weight)| (kind.name(), *weight)).collect();
        assert_eq!(own, [("recent-1", 2)]);
        for text in ["", "read=0", "Red=1", "read", "read=-1", "read=1.5"] {
            assert!(mix(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_them_panic(text in "\\PC{0,12}") {
            let _ = (count(&text), duration_ns(&text), rate(&text), mix(&text));
        }

        #[test]
        fn every_number_is_a_count(number: u64) {
            prop_assert_eq!(count(&number.to_string()), Ok(number));
        }
    }
}
