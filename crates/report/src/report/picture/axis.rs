//! Axes: from values to pixels, and which values get labels. Logarithms are taken here, so that one
//! kind of axis serves all scales.

use super::font;
use crate::report::chart::{self, Scale};
use crate::report::number::decimal;
use std::ops::Range;

/// The height of the letters beside an axis.
pub(super) const LETTERS: f64 = 13.0;
/// The minimum space between two labels, in pixels.
const APART: f64 = 14.0;
/// Up to this many values were chosen by the user, so each gets a label.
const MOST_CHOSEN: usize = 12;
/// Steps of a time axis, in seconds, that are easy to count in.
const STEPS_S: [f64; 17] = [
    1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1_800.0, 3_600.0, 7_200.0,
    14_400.0, 28_800.0, 86_400.0,
];

/// An axis with its place in the picture.
pub(super) struct Places {
    scale: Scale,
    /// The first and the last place.
    range: Range<f64>,
    pixels: (f64, f64),
    /// Positions in pixels, with their labels.
    pub(super) ticks: Vec<(f64, String)>,
}

impl Places {
    /// The axis of a chart with room for the values; its ends are at these pixels.
    pub(super) fn new(
        axis: &chart::ChartAxis,
        values: impl Iterator<Item = f64>,
        pixels: (f64, f64),
    ) -> Self {
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        let range = if axis.names.is_empty() {
            range(axis.scale, &values)
        } else {
            -0.5..axis.names.len() as f64 - 0.5
        };
        let mut places = Self { scale: axis.scale, range, pixels, ticks: Vec::new() };
        let wanted = if axis.names.is_empty() {
            places.wanted(&values)
        } else {
            (0u32..).zip(&axis.names).map(|(at, name)| (f64::from(at), name.clone())).collect()
        };
        places.ticks = places.apart(wanted);
        places
    }

    pub(super) fn pixel(&self, value: f64) -> f64 {
        let share = (self.place(value) - self.range.start) / (self.range.end - self.range.start);
        self.pixels.0 + share * (self.pixels.1 - self.pixels.0)
    }

    fn place(&self, value: f64) -> f64 {
        place(self.scale, value)
    }

    fn length(&self) -> f64 {
        (self.pixels.1 - self.pixels.0).abs()
    }

    /// Whether labels are side by side, rather than one above the other.
    fn across(&self) -> bool {
        self.pixels.1 > self.pixels.0
    }

    /// The values to label, with their labels.
    fn wanted(&self, values: &[f64]) -> Vec<(f64, String)> {
        let numbers = |values: &[f64]| values.iter().map(|&it| (it, label(it))).collect();
        match self.scale {
            Scale::Time => self.even(&STEPS_S),
            Scale::Nines => nines(self.range.end),
            Scale::Linear | Scale::Log => {
                let mut chosen = values.to_vec();
                chosen.sort_by(f64::total_cmp);
                chosen.dedup();
                if self.across() && (2..=MOST_CHOSEN).contains(&chosen.len()) {
                    return numbers(&chosen);
                }
                if self.scale == Scale::Linear {
                    return self.even(&[]);
                }
                let all: [&[f64]; 3] =
                    [&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0], &[1.0, 2.0, 5.0], &[1.0]];
                let fits = |steps: &&[f64]| {
                    let decades = (self.range.end - self.range.start).max(1e-6);
                    self.length() / decades / steps.len() as f64 >= 22.0
                };
                let steps = all.into_iter().find(fits).unwrap_or(&[1.0]);
                numbers(&powers(steps, &self.range))
            }
        }
    }

    /// Even steps: the shortest of `steps` that leaves enough room, or one from a power of ten.
    fn even(&self, steps: &[f64]) -> Vec<(f64, String)> {
        let most = self.length() / if self.across() { 90.0 } else { 32.0 };
        let span = self.range.end - self.range.start;
        let fits = |step: f64| span / step <= most;
        let short = |step: &f64| span / step >= 2.0;
        let given = steps.iter().copied().find(|&step| fits(step)).filter(short);
        let step = given.unwrap_or_else(|| {
            let power = 10f64.powf((span / most).log10().floor());
            let factors = [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power);
            factors.clone().find(|&step| fits(step)).unwrap_or(10.0 * power)
        });
        let places = (-(step.log10() + 1e-9).floor()).clamp(0.0, 9.0) as usize;
        let count = (span / step + 1e-9) as u32;
        let values = (0..=count).map(|at| self.range.start + f64::from(at) * step);
        values.map(|value| (value, decimal(value, places))).collect()
    }

    /// Keeps the labels with enough room between them, with their pixels.
    fn apart(&self, wanted: Vec<(f64, String)>) -> Vec<(f64, String)> {
        let mut ticks: Vec<(f64, String)> = Vec::new();
        let room = |text: &str| {
            if self.across() { font::width(text, LETTERS) + APART } else { LETTERS + 4.0 }
        };
        for (value, text) in wanted {
            let at = self.pixel(value);
            let clear = ticks.last().is_none_or(|(last, before)| {
                (at - last).abs() >= f64::midpoint(room(&text), room(before))
            });
            if clear {
                ticks.push((at, text));
            }
        }
        ticks
    }
}

/// The position of a value on an axis.
fn place(scale: Scale, value: f64) -> f64 {
    match scale {
        Scale::Time | Scale::Linear => value,
        Scale::Log | Scale::Nines => value.max(1e-9).log10(),
    }
}

/// A number with all of its decimals, up to six.
fn label(value: f64) -> String {
    let text = decimal(value, 6);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The multiples of powers of ten within a range of logarithms.
fn powers(steps: &[f64], range: &Range<f64>) -> Vec<f64> {
    let decades = range.start.floor() as i32..=range.end.ceil() as i32;
    let all = decades.flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)));
    let within = |value: &f64| (range.start..=range.end).contains(&value.log10());
    all.filter(within).collect()
}

/// 0, 50, 90, 99 % and so on, by 1/(1 − q).
fn nines(end: f64) -> Vec<(f64, String)> {
    let nines = (1..=12).map(|nines| 10f64.powi(nines));
    let all = [1.0, 2.0].into_iter().chain(nines).take_while(|value| value.log10() <= end);
    all.map(|value| (value, label((1e9 - 1e9 / value).round() / 1e7))).collect()
}

/// The range of the values, with some margin; from 0 if the scale requires it.
fn range(scale: Scale, values: &[f64]) -> Range<f64> {
    let places = values.iter().map(|&value| place(scale, value));
    let (low, high) = places.fold((f64::MAX, f64::MIN), |(l, h), it| (l.min(it), h.max(it)));
    if low > high {
        return 0.0..1.0;
    }
    match scale {
        Scale::Time | Scale::Nines => 0.0..high.max(1e-3),
        Scale::Linear => 0.0..if high > 0.0 { high * 1.08 } else { 1.0 },
        Scale::Log => low - 0.08..high + 0.08,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(scale: Scale, values: &[f64], pixels: (f64, f64)) -> Vec<String> {
        let axis = chart::ChartAxis {
            title: String::new(),
            unit: "",
            scale,
            names: Vec::new(),
            end: None,
        };
        let places = Places::new(&axis, values.iter().copied(), pixels);
        places.ticks.into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn numbers_are_round_and_have_no_stray_decimals() {
        let (across, up) = ((0.0, 800.0), (240.0, 0.0));
        assert_eq!(names(Scale::Linear, &[1_423.0; 20], up), ["0", "500", "1,000", "1,500"]);
        assert_eq!(names(Scale::Linear, &[0.0], up), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        let ms: Vec<f64> = (0..30).map(|at| 0.5 * 1.3f64.powi(at)).collect();
        assert_eq!(names(Scale::Log, &ms, up)[..5], ["0.5", "1", "2", "5", "10"]);
        assert_eq!(names(Scale::Time, &[12.003], across)[..3], ["0", "2", "4"]);
        assert_eq!(names(Scale::Time, &[10_800.0], across)[..2], ["0", "1,800"]);
        assert_eq!(names(Scale::Time, &[0.0234], across)[..3], ["0.000", "0.005", "0.010"]);
        assert_eq!(names(Scale::Nines, &[1_600.0], across), ["0", "50", "90", "99", "99.9"]);
    }

    #[test]
    fn what_was_chosen_is_named_unless_it_would_collide() {
        let chosen = [1.0, 2.0, 4.0, 8.0, 16.0, 12.5];
        let wanted = ["1", "2", "4", "8", "12.5", "16"];
        assert_eq!(names(Scale::Log, &chosen, (0.0, 800.0)), wanted);
        let near = [1.0, 1.01, 100.0];
        assert_eq!(names(Scale::Log, &near, (0.0, 800.0)), ["1", "100"]);
    }
}
