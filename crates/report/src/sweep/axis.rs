//! What a sweep varies: one axis per setting, all their combinations, in shuffled order.

use crate::generate::{Stream, below, mix};
use crate::plan::{BadValue, count};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Separates the order of cells from other uses of the same seed.
const ORDER: u64 = u64::from_be_bytes(*b"sweeps..");
/// More values of one setting than anyone would wait for.
const MOST_VALUES: usize = 1_000;
/// The syntax, for messages.
const FORMS: &str =
    "give NAME=A,B,C, NAME=FROM..TOxFACTOR or NAME=FROM..TO+STEP, such as batch=10..10000x10";

/// A setting and its values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// The setting: the name of a flag without its dashes.
    pub name: String,
    /// The values, in the form that the flag takes.
    pub values: Vec<String>,
}

/// A setting with one value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// The setting.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl Axis {
    /// The values as numbers, if all of them are counts.
    pub fn numbers(&self) -> Option<Vec<f64>> {
        self.values.iter().map(|value| count(value).ok().map(|it| it as f64)).collect()
    }
}

impl FromStr for Axis {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let wrong = |problem: &str| BadValue::new(format!("{text:?}: {problem}"), FORMS);
        let (name, list) = text.split_once('=').ok_or_else(|| wrong("no values"))?;
        let name = name.trim().trim_start_matches('-').replace('_', "-");
        if name.is_empty() {
            return Err(wrong("no setting"));
        }
        let mut values = match range(list) {
            Some(range) => range.map_err(|problem| wrong(&problem))?,
            None => list.split(',').map(|value| value.trim().to_owned()).collect(),
        };
        if values.iter().any(String::is_empty) {
            return Err(wrong("an empty value"));
        }
        let given = values.len();
        let mut seen = std::collections::HashSet::new();
        values.retain(|value| seen.insert(value.clone()));
        if values.len() < given {
            return Err(wrong("a value twice (repeat cells with --repeat)"));
        }
        if values.len() > MOST_VALUES {
            return Err(wrong("more than 1000 values"));
        }
        Ok(Self { name, values })
    }
}

/// The values of `1..1000x10` or `1..16+5`; `None`: it is not a range of counts with a step but,
/// for example, the load stage `10s:100..200`.
fn range(text: &str) -> Option<Result<Vec<String>, String>> {
    let (from, rest) = text.split_once("..")?;
    let from = count(from.trim()).ok()?;
    let at = rest.find(['x', '+'])?;
    let (to, step) = (count(rest[..at].trim()).ok()?, count(rest[at + 1..].trim()).ok()?);
    let by_factor = rest[at..].starts_with('x');
    let stuck = if by_factor { step < 2 || from == 0 } else { step == 0 };
    if stuck || to < from {
        return Some(Err("an empty range".to_owned()));
    }
    let next = |&value: &u64| {
        let next = if by_factor { value.checked_mul(step) } else { value.checked_add(step) };
        next.filter(|&next| next <= to)
    };
    let values = std::iter::successors(Some(from), next).take(MOST_VALUES + 1);
    Some(Ok(values.map(|value| value.to_string()).collect()))
}

/// All combinations of the axes' values; the last axis varies fastest. Without axes there is one
/// combination, which is empty.
pub fn matrix(axes: &[Axis]) -> Vec<Vec<Setting>> {
    let mut cells = vec![Vec::new()];
    for axis in axes {
        let with = |cell: &Vec<Setting>| {
            let cell = cell.clone();
            axis.values.iter().map(move |value| {
                let setting = Setting { name: axis.name.clone(), value: value.clone() };
                [&cell[..], &[setting]].concat()
            })
        };
        cells = cells.iter().flat_map(with).collect();
    }
    cells
}

/// The numbers from 0 up to, but not including, `count`, shuffled by `seed` (Fisher-Yates; Knuth,
/// The Art of Computer Programming, volume 2, 3.4.2, algorithm P).
pub fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut stream = Stream::new(mix(seed, 0, ORDER), 0);
    for last in (1..count).rev() {
        order.swap(last, below(stream.draw(), last as u64 + 1) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        text.parse::<Axis>().unwrap_or_else(|error| panic!("{error}")).values
    }

    #[test]
    fn lists_and_ranges() {
        assert_eq!(values("batch=10, 100,1k"), ["10", "100", "1k"]);
        assert_eq!(values("batch=1..1000x10"), ["1", "10", "100", "1000"]);
        assert_eq!(values("batch=1..1k x10"), ["1", "10", "100", "1000"]);
        assert_eq!(values("connections=1..16+5"), ["1", "6", "11", "16"]);
        assert_eq!(values("connections=2..3+5"), ["2"]);
        assert_eq!(values("stages=10s:100..200"), ["10s:100..200"]);
        assert_eq!("--max_in-flight=1".parse::<Axis>().unwrap().name, "max-in-flight");
    }

    #[test]
    fn each_mistake_names_the_grammar() {
        for (text, says) in [
            ("batch", "no values"),
            ("=1", "no setting"),
            ("batch=", "an empty value"),
            ("batch=1,,2", "an empty value"),
            ("batch=1,1", "a value twice"),
            ("batch=1..10x1", "empty range"),
            ("batch=0..10x2", "empty range"),
            ("batch=5..1+1", "empty range"),
            ("batch=0..1M+1", "more than 1000"),
        ] {
            let error = text.parse::<Axis>().unwrap_err();
            assert!(error.problem.contains(says) && error.cure == FORMS, "{error}");
        }
    }

    #[test]
    fn the_matrix_has_every_combination_once() {
        let axes = ["a=1,2".parse().unwrap(), "b=x,y,z".parse().unwrap()];
        let cells = matrix(&axes);
        let text: Vec<_> =
            cells.iter().map(|cell| format!("{}{}", cell[0].value, cell[1].value)).collect();
        assert_eq!(text, ["1x", "1y", "1z", "2x", "2y", "2z"]);
        assert_eq!(matrix(&[]), [Vec::new()]);
    }

    #[test]
    fn the_order_is_a_permutation_that_the_seed_decides() {
        let order = shuffled(100, 7);
        assert_eq!(order, shuffled(100, 7));
        assert_ne!(order, shuffled(100, 8));
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
        assert_ne!(order, sorted);
        assert_eq!((shuffled(0, 1), shuffled(1, 1)), (vec![], vec![0]));
    }

    #[test]
    fn each_order_is_equally_likely() {
        let mut seen = std::collections::BTreeMap::<_, u32>::new();
        (0..6_000).for_each(|seed| *seen.entry(shuffled(3, seed)).or_default() += 1);
        // With equal chances the chi-square of five degrees of freedom exceeds 20.5 once in 1,000.
        let squares = seen.values().map(|&count| (f64::from(count) - 1_000.0).powi(2));
        let chi_square = squares.sum::<f64>() / 1_000.0;
        assert!(seen.len() == 6 && chi_square < 20.5, "{seen:?}: {chi_square}");
    }
}
