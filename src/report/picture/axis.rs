//! Axes. Logarithms are taken here, so that one kind of axis serves all scales.

use crate::report::chart::Scale;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use std::ops::Range;

/// An axis of positions, labelled with the values there.
pub(super) struct Places {
    scale: Scale,
    range: Range<f64>,
    /// The names of rows, each as high as 1; empty: values are numbers.
    names: Vec<String>,
}

/// The most names that fit an axis.
const MOST_NAMES: usize = 16;

impl Places {
    /// An axis that has room for the values.
    pub(super) fn new(scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        Self { scale, range: range(scale, values), names: Vec::new() }
    }

    /// An axis of rows, named in their middle.
    pub(super) fn rows(names: &[String]) -> Self {
        let range = 0.0..names.len().max(1) as f64;
        Self { scale: Scale::Linear, range, names: names.to_vec() }
    }

    fn evenly(&self) -> RangedCoordf64 {
        self.range.clone().into()
    }
}

impl Ranged for Places {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, place: &f64, pixels: (i32, i32)) -> i32 {
        self.evenly().map(place, pixels)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match self.scale {
            _ if !self.names.is_empty() => {
                let step = self.names.len().div_ceil(MOST_NAMES);
                (0..self.names.len()).step_by(step).map(|row| row as f64 + 0.5).collect()
            }
            Scale::Time | Scale::Linear => self.evenly().key_points(hint),
            Scale::Log | Scale::Nines => keys(self.scale, &self.range),
        }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Places {
    fn format(place: &f64) -> String {
        place.to_string()
    }

    fn format_ext(&self, place: &f64) -> String {
        let name = self.names.get(*place as usize).cloned();
        name.unwrap_or_else(|| label(self.scale, *place))
    }
}

/// The position of a value on an axis.
pub(super) fn place(scale: Scale, value: f64) -> f64 {
    match scale {
        Scale::Time | Scale::Linear => value,
        Scale::Log | Scale::Nines => value.max(1e-9).log10(),
    }
}

/// The value at a position.
fn label(scale: Scale, place: f64) -> String {
    let number = |value: f64| {
        let digits = if value.abs() < 1e-6 { 0 } else { (-value.abs().log10()).ceil() as i32 };
        format!("{value:.*}", digits.clamp(0, 6) as usize)
    };
    match scale {
        Scale::Time | Scale::Linear => format!("{}", (place * 1e6).round() / 1e6),
        Scale::Log => number(10f64.powf(place)),
        Scale::Nines => format!("{}", (1e9 - 1e9 / 10f64.powf(place)).round() / 1e7),
    }
}

/// The labels of an axis, by logarithm.
fn keys(scale: Scale, range: &Range<f64>) -> Vec<f64> {
    let decades = range.start.floor() as i32..=range.end.ceil() as i32;
    let steps: &[f64] = if scale == Scale::Nines { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let mut keys: Vec<f64> = decades
        .flat_map(|decade| steps.iter().map(move |step| step.log10() + f64::from(decade)))
        .filter(|key| range.contains(key))
        .collect();
    if scale == Scale::Nines {
        keys.push(2f64.log10());
    }
    keys
}

/// The range of the values, with some room; from 0 if the scale says so.
fn range(scale: Scale, values: impl Iterator<Item = f64>) -> Range<f64> {
    let places = values.map(|value| place(scale, value)).filter(|place| place.is_finite());
    let (low, high) = places.fold((f64::MAX, f64::MIN), |(l, h), it| (l.min(it), h.max(it)));
    if low > high {
        return 0.0..1.0;
    }
    match scale {
        Scale::Time | Scale::Nines => 0.0..high.max(1e-3),
        Scale::Linear => 0.0..if high > 0.0 { high * 1.1 } else { 1.0 },
        Scale::Log => low - 0.05..high + 0.1,
    }
}
