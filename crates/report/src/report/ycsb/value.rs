//! Numbers in Java's formats.

use std::fmt;

/// An integer or a decimal number: readers tell them apart by the decimal point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Whole(i64),
    Decimal(f64),
}

impl Value {
    pub(super) fn to_json(self) -> serde_json::Value {
        match self {
            Self::Whole(value) => value.into(),
            Self::Decimal(value) => value.into(),
        }
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Whole(value.min(i64::MAX.unsigned_abs()).cast_signed())
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Self::Whole(value.into())
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Decimal(value)
    }
}

impl fmt::Display for Value {
    /// Decimals as in `Double.toString`: with a point, and with an exponent below 0.001 and from
    /// 10,000,000 on (its documentation, Java SE 17).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Whole(value) => write!(f, "{value}"),
            Self::Decimal(value) if value == 0.0 || (1e-3..1e7).contains(&value.abs()) => {
                write!(f, "{value:?}")
            }
            Self::Decimal(value) => {
                let text = format!("{value:E}");
                let (digits, exponent) = text.split_once('E').unwrap_or((&text, "0"));
                let point = if digits.contains('.') { "" } else { ".0" };
                write!(f, "{digits}{point}E{exponent}")
            }
        }
    }
}

/// A number with at most two decimals, as in Java's `#.##`.
pub(super) fn brief(value: f64) -> String {
    // Halves round to even, in Java as in Rust.
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    // Java's format has no digit before the point if it is 0; YCSB's lines show one.
    if text.is_empty() { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As printed by `jshell`, Java 17.
    #[test]
    fn decimals_are_those_of_java() {
        for (value, text) in [
            (0.0, "0.0"),
            (1.5, "1.5"),
            (100.0, "100.0"),
            (0.001, "0.001"),
            (0.057_75, "0.05775"),
            (0.00012, "1.2E-4"),
            (9_999_999.0, "9999999.0"),
            (12_345_678.9, "1.23456789E7"),
            (1e7, "1.0E7"),
        ] {
            assert_eq!(Value::from(value).to_string(), text);
        }
        assert_eq!(Value::from(7u64).to_string(), "7");
        assert_eq!([0.0, 0.06, 75.0, 95.238, 0.1].map(brief), ["0", "0.06", "75", "95.24", "0.1"]);
    }
}
