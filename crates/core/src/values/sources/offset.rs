//! `{{VALUE + N}}`: a number from another source, with an offset.

use super::{Draw, Problem, ValueSource};
use crate::values::Skew;

/// The units that may follow a number, in milliseconds.
const UNITS: [(&str, i64); 5] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// The source in front of ` + N` or ` - N`, and the number with its sign; `None` if there is no
/// such suffix.
///
/// # Errors
/// Returns an error if the suffix is not a number.
pub(super) fn split(hole: &str) -> Option<(&str, Result<i64, String>)> {
    let of = |sign: &str| hole.rfind(sign);
    let place = of(" + ").max(of(" - "))?;
    let (source, number) = hole.split_at(place);
    let (sign, number) = number.split_at(3);
    let sign = if sign == " - " { -1 } else { 1 };
    let number = number.trim();
    let digits = number.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &number[digits.len()..];
    let unit = if unit.is_empty() {
        Some(1)
    } else {
        UNITS.iter().find(|(name, _)| *name == unit).map(|(_, unit)| *unit)
    };
    let number = digits.parse::<i64>().ok().zip(unit);
    let number = number.and_then(|(number, unit)| number.checked_mul(unit)?.checked_mul(sign));
    let wrong = || "write it like {{int 0 100 + 5}}, or {{now - 1h}} with ms, s, m, h or d";
    Some((source.trim(), number.ok_or_else(|| wrong().to_owned())))
}

/// A source, and the offset added to its numbers.
#[derive(Debug)]
pub(super) struct Offset(pub(super) Box<dyn ValueSource>, pub(super) i64);

impl Offset {
    /// Appends the number; `None` if the value is not a number.
    fn add(&self, draw: &mut Draw<'_>, out: &mut Vec<u8>) -> Option<()> {
        let start = out.len();
        self.0.write(draw, out);
        let text = std::str::from_utf8(&out[start..]).ok()?;
        if let Ok(whole) = text.parse::<i64>() {
            out.truncate(start);
            let sum = whole.saturating_add(self.1);
            out.extend_from_slice(itoa::Buffer::new().format(sum).as_bytes());
        } else {
            let sum = text.parse::<f64>().ok()? + self.1 as f64;
            let sum = serde_json::Number::from_f64(sum)?.to_string();
            out.truncate(start);
            out.extend_from_slice(sum.as_bytes());
        }
        Some(())
    }
}

impl ValueSource for Offset {
    fn documents(&self) -> usize {
        self.0.documents()
    }

    fn skew(&self) -> Option<Skew> {
        self.0.skew()
    }

    fn rows(&self) -> Option<u64> {
        self.0.rows()
    }

    fn saved(&self) -> Option<&str> {
        self.0.saved()
    }

    fn problem(&self, draw: &mut Draw<'_>) -> Option<Problem> {
        if self.saved().is_some() {
            // The answer is not known in advance.
            return None;
        }
        if let Some(problem) = self.0.problem(draw) {
            return Some(problem);
        }
        let mut out = Vec::new();
        self.add(draw, &mut out).is_none().then(|| {
            let value = String::from_utf8_lossy(&out).chars().take(40).collect::<String>();
            let problem = format!("{value:?} is not a number, so that nothing can be added to it");
            (problem, "leave the + or - out".to_owned())
        })
    }

    fn write(&self, draw: &mut Draw<'_>, out: &mut Vec<u8>) -> bool {
        self.add(draw, out).is_none()
    }
}
