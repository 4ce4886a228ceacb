//! Latency histograms: `HdrHistogram` with three significant digits.
//!
//! Values are nanoseconds. The resolution is 64 ns below 131 µs and 0.1 % above, which keeps a
//! histogram small.

use crate::clock::Nanos;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use serde::{Deserialize, Serialize};
use std::io::Read as _;

/// How many samples must lie beyond a percentile for it to be reported.
const TRUSTED_TAIL: u64 = 10;

/// 100 % in billionths of a percent.
const ALL: u64 = 100_000_000_000;

const LOWEST_NS: u64 = 64;
const DIGITS: u8 = 3;
const COARSE_DIGITS: u8 = 2;

/// The first bytes of a deflated histogram.
const V2_DEFLATED: u32 = 0x1c84_9314;
/// The bytes before the counts.
const V2_HEAD: u64 = 40;
/// An upper bound for the encoded counts of a histogram: with three digits up to 2^64, 9 bytes
/// each.
const MOST_BYTES: u64 = 1 << 20;
/// More samples than a run has: a million a second take nine years. The encoding has no room for
/// counts of more than 63 bits, not even for those of a sum.
const MOST_SAMPLES: u64 = 1 << 48;

/// A mergeable record of durations.
#[derive(Clone, PartialEq)]
pub struct Histogram(hdrhistogram::Histogram<u64>);

/// The recorded values with their counts: the thousands of others that are possible would fill
/// pages in the message of a failed test.
impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.counts()).finish()
    }
}

/// A stored histogram that could not be decoded.
#[derive(Debug, thiserror::Error)]
#[error("not a V2-deflate HdrHistogram in base64: {0}")]
pub struct HistogramError(String);

impl Default for Histogram {
    fn default() -> Self {
        let mut inner = hdrhistogram::Histogram::new_with_bounds(LOWEST_NS, 1 << 20, DIGITS)
            .expect("the bounds are constants");
        inner.auto(true);
        Self(inner)
    }
}

impl Histogram {
    /// A histogram of two significant digits, with a tenth of the memory: 17 KB for values up to a
    /// second. It keeps to them when one of three is added.
    pub fn coarse() -> Self {
        let mut inner = hdrhistogram::Histogram::new_with_bounds(LOWEST_NS, 1 << 20, COARSE_DIGITS)
            .expect("the bounds are constants");
        inner.auto(true);
        Self(inner)
    }

    /// Adds one duration.
    #[inline]
    pub fn record(&mut self, value_ns: Nanos) {
        // With auto-resizing, recording fails only if memory runs out.
        let _ = self.0.record(value_ns);
    }

    /// Adds one duration `count` times.
    pub fn record_many(&mut self, value_ns: Nanos, count: u64) {
        let _ = self.0.record_n(value_ns, count);
    }

    /// Records by how much an event that should happen every `period_ns` was late, and how late the
    /// events that this prevented were, as HdrHistogram's `recordValueWithExpectedInterval` does:
    /// the mean is then that of something arriving at an arbitrary time.
    pub fn record_stall(&mut self, late_ns: Nanos, period_ns: Nanos) {
        let mut late_ns = Some(late_ns);
        while let Some(late) = late_ns {
            self.record(late);
            late_ns = late.checked_sub(period_ns);
        }
    }

    /// Adds every sample of `other`, without loss.
    pub fn merge(&mut self, other: &Self) {
        let _ = self.0.add(&other.0);
    }

    /// The samples without those of `part`, which must be a subset. Lossless, except that minimum
    /// and maximum are known to three digits only.
    pub fn without(&self, part: &Self) -> Self {
        let mut rest = self.clone();
        // Fails only if `part` is not a subset.
        if rest.0.subtract(&part.0).is_ok() { rest } else { self.clone() }
    }

    /// The number of samples.
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value, in nanoseconds, that `percentile` (0 to 100) percent of the samples do not
    /// exceed.
    ///
    /// The rank is computed in integers: in floating point 99.9 % of 10,000 is slightly more than
    /// 9,990, and the crate would take the next rank.
    pub fn percentile(&self, percentile: f64) -> Nanos {
        let Some(rank) = rank(self.len(), percentile) else { return self.min() };
        // Half a rank less, so that rounding errors are harmless: the crate rounds up.
        let quantile = (rank as f64 - 0.5) / self.len() as f64;
        self.0.value_at_quantile(quantile).min(self.max())
    }

    /// The greatest sample, in nanoseconds; 0 if all are below the resolution.
    pub fn max(&self) -> Nanos {
        // After recording a 0 the crate's maximum is 0, but 63 once it is read back.
        Some(self.0.max()).filter(|&max| max >= LOWEST_NS).unwrap_or(0)
    }

    /// The least sample, in nanoseconds.
    pub fn min(&self) -> Nanos {
        self.0.min()
    }

    /// The mean, in nanoseconds.
    pub fn mean(&self) -> f64 {
        self.0.mean()
    }

    /// The recorded values in ascending order, each with its count.
    pub fn counts(&self) -> Vec<(Nanos, u64)> {
        let seen = self.0.iter_recorded();
        seen.map(|it| (it.value_iterated_to(), it.count_since_last_iteration())).collect()
    }

    /// How many samples lie beyond a value. Only samples that differ from it in their first three
    /// digits are counted.
    pub fn beyond(&self, ns: Nanos) -> u64 {
        self.len() - self.0.count_between(0, ns)
    }

    /// Whether at least ten samples lie beyond `percentile`.
    pub fn earns(&self, percentile: f64) -> bool {
        earned(self.len(), percentile)
    }

    /// The underlying `HdrHistogram`, for log writers.
    pub const fn inner(&self) -> &hdrhistogram::Histogram<u64> {
        &self.0
    }

    /// The histogram in `HdrHistogram`'s V2 encoding, deflated, in base64.
    pub fn encode(&self) -> String {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.0, &mut bytes)
            .expect("writing to memory does not fail");
        BASE64.encode(bytes)
    }

    /// Reads what [`Histogram::encode`] wrote.
    ///
    /// # Errors
    /// Returns an error if the text is not base64 or not a V2-deflate histogram, or if it claims
    /// more than a run can have.
    pub fn decode(text: &str) -> Result<Self, HistogramError> {
        let bytes = BASE64.decode(text).map_err(|error| HistogramError(error.to_string()))?;
        let plain = inflated(&bytes).map_err(HistogramError)?;
        let mut inner = Deserializer::new()
            .deserialize(&mut plain.as_slice())
            .map_err(|error| HistogramError(error.to_string()))?;
        if inner.len() > MOST_SAMPLES {
            return Err(HistogramError("more samples than a run can have".to_owned()));
        }
        inner.auto(true);
        Ok(Self(inner))
    }
}

/// Inflates a V2 encoding, unless it is larger than any that springload writes: a file may claim
/// any size for a histogram.
fn inflated(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let word = |bytes: &[u8], at: usize| {
        let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_be_bytes(four))
    };
    let deflated = bytes.get(8..).filter(|_| word(bytes, 0) == Some(V2_DEFLATED));
    let deflated = deflated.ok_or("another encoding")?;
    let mut plain = Vec::new();
    let most = V2_HEAD + MOST_BYTES;
    let mut reader = flate2::read::ZlibDecoder::new(deflated).take(most + 1);
    reader.read_to_end(&mut plain).map_err(|error| error.to_string())?;
    let claimed = word(&plain, 4).ok_or("too short")?;
    if plain.len() as u64 > most || u64::from(claimed) > MOST_BYTES {
        return Err("too large".to_owned());
    }
    if word(&plain, 12).is_none_or(|digits| digits > u32::from(DIGITS)) {
        return Err(format!("more than {DIGITS} digits"));
    }
    // As a number, this is the one that cannot be negated, which the crate would do.
    if plain.windows(9).any(|nine| nine.iter().all(|byte| *byte == 0xff)) {
        return Err("a count that no histogram has".to_owned());
    }
    Ok(plain)
}

/// Whether enough of `samples` lie beyond a percentile for it to be reported.
pub fn earned(samples: u64, percentile: f64) -> bool {
    let beyond = u128::from(ALL.saturating_sub(billionths(percentile)));
    u128::from(samples) * beyond >= u128::from(TRUSTED_TAIL) * u128::from(ALL)
}

fn billionths(percentile: f64) -> u64 {
    (percentile * 1e9).round() as u64
}

/// The rank of a percentile among `count` values, counted from 1: that of the least value that this
/// share of them does not exceed. `None` for percentile 0, and without values.
fn rank(count: u64, percentile: f64) -> Option<u64> {
    let share = u128::from(billionths(percentile).min(ALL));
    let rank = (u128::from(count) * share).div_ceil(u128::from(ALL)) as u64;
    (rank > 0).then_some(rank)
}

/// A histogram that is encoded once nothing more is added to it, which takes a hundredth of the
/// memory.
#[derive(Clone, Debug)]
pub enum Kept {
    /// Still growing.
    Open(Histogram),
    /// Encoded by [`Histogram::encode`].
    Packed(String),
}

impl Default for Kept {
    fn default() -> Self {
        Self::Open(Histogram::default())
    }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Kept {
    /// The histogram.
    pub fn get(&self) -> Histogram {
        match self {
            Self::Open(histogram) => histogram.clone(),
            Self::Packed(text) => Histogram::decode(text).unwrap_or_default(),
        }
    }

    /// Adds every sample of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        if let Self::Packed(_) = self {
            *self = Self::Open(self.get());
        }
        if let Self::Open(histogram) = self {
            histogram.merge(other);
        }
    }

    /// Adds every sample of `other`, all to two digits from then on, and encodes the sum.
    pub fn join(&mut self, other: &Self) {
        let mut sum = Histogram::coarse();
        sum.merge(&self.get());
        sum.merge(&other.get());
        *self = Self::Packed(sum.encode());
    }

    /// Encodes what has been added so far.
    pub fn pack(&mut self) {
        if let Self::Open(histogram) = self {
            *self = Self::Packed(histogram.encode());
        }
    }
}

impl Serialize for Kept {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Open(histogram) => histogram.serialize(serializer),
            Self::Packed(text) => serializer.serialize_str(text),
        }
    }
}

/// The schema of a histogram, since this is stored as one.
#[cfg(feature = "schema")]
impl schemars::JsonSchema for Kept {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Histogram::schema_name()
    }

    fn schema_id() -> std::borrow::Cow<'static, str> {
        Histogram::schema_id()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Histogram::json_schema(generator)
    }
}

impl<'de> Deserialize<'de> for Kept {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Histogram::decode(&text).map_err(serde::de::Error::custom)?;
        Ok(Self::Packed(text))
    }
}

impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.encode())
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Histogram {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Histogram".into()
    }

    fn schema_id() -> std::borrow::Cow<'static, str> {
        concat!(module_path!(), "::Histogram").into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A distribution of times: an HdrHistogram in its V2 encoding, deflated, \
                in base64. Values are nanoseconds, to 3 significant digits (2 for a single \
                agent, and in rows of several seconds), with a resolution of 64 ns at best.",
            "type": "string",
            "contentEncoding": "base64",
            "pattern": "^HIST[A-Za-z0-9+/]+=*$",
        })
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::decode(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
#[path = "histogram_file_tests.rs"]
mod file_tests;

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(values: impl Iterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::default();
        values.for_each(|value| histogram.record(value));
        histogram
    }

    #[test]
    fn what_is_kept_is_the_same_by_what_is_in_it() {
        let kept = |values: &[u64]| {
            let mut kept = Kept::default();
            kept.merge(&filled(values.iter().copied()));
            kept
        };
        let mut packed = kept(&[5_000]);
        packed.pack();
        assert_eq!(kept(&[5_000]), packed);
        assert_ne!(kept(&[5_000, 9_000]), packed);
    }

    #[test]
    fn merging_parts_equals_recording_in_one() {
        let value = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) % 3_000_000_000;
        let whole = filled((0..40_000).map(value));
        let mut merged = Histogram::default();
        for part in 0..7 {
            merged.merge(&filled((0..40_000).filter(|i| i % 7 == part).map(value)));
        }
        assert_eq!(merged, whole);
    }

    #[test]
    fn what_is_taken_away_leaves_the_rest() {
        let (low, high) = (filled(1_000..3_000), filled((1..50).map(|i| i * 1_000_000)));
        let mut whole = low.clone();
        whole.merge(&high);
        for (part, rest) in [(&low, &high), (&high, &low)] {
            let left = whole.without(part);
            let shown = |it: &Histogram| (it.len(), [1.0, 50.0, 99.0].map(|p| it.percentile(p)));
            assert_eq!(shown(&left), shown(rest));
            assert!(left.max().abs_diff(rest.max()) * 1000 <= rest.max());
            assert!(left.min().abs_diff(rest.min()) <= 64 + rest.min() / 1000);
        }
        assert!(whole.without(&whole).is_empty());
        assert_eq!(low.without(&whole), low, "what is not here cannot be taken away");
    }

    #[test]
    fn encoding_loses_nothing() {
        let histogram = filled([64, 1_000, 52_000, 2_000_000_000].into_iter());
        assert_eq!(Histogram::decode(&histogram.encode()).unwrap(), histogram);
        assert!(Histogram::decode("no histogram").is_err());
    }

    #[test]
    fn what_is_read_back_tells_the_same() {
        for values in [&[0][..], &[0, 0, 1], &[63], &[64], &[0, 5_000, 1 << 40]] {
            let histogram = filled(values.iter().copied());
            let read = Histogram::decode(&histogram.encode()).unwrap();
            let shown = |histogram: &Histogram| {
                let percentiles = [50.0, 99.0].map(|p| histogram.percentile(p));
                (histogram.min(), histogram.max(), percentiles, histogram.len())
            };
            assert_eq!(shown(&read), shown(&histogram), "{values:?}");
        }
    }

    #[test]
    fn values_are_kept_to_three_digits() {
        for value in [100_000u64, 1_234_567, 987_654_321, 30_000_000_000] {
            let read = filled([value].into_iter()).percentile(50.0);
            assert!(read.abs_diff(value) * 1000 <= value, "{value} was read as {read}");
        }
    }

    #[test]
    fn a_percentile_never_exceeds_the_maximum() {
        let histogram = filled((1..5_000).map(|i| i * 1_003));
        let mut last = 0;
        for percentile in [0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0] {
            assert!(histogram.percentile(percentile) >= last);
            last = histogram.percentile(percentile);
        }
        assert!(last <= histogram.max());
    }

    #[test]
    fn a_percentile_is_the_value_of_its_rank() {
        for count in (1..=40)
            .chain([99, 100, 101, 999, 1_000, 1_001, 2_500, 9_999])
            .chain([10_000, 10_001, 20_000, 50_000, 70_000, 100_000])
        {
            // Values that the histogram can tell apart: one in each of its steps.
            let values: Vec<u64> = (1..=count).map(|i| i % 2_000 * LOWEST_NS + 1).collect();
            let histogram = filled(values.iter().copied());
            let mut sorted = values;
            sorted.sort_unstable();
            for thousandths in [1_u64, 50_000, 90_000, 95_000, 98_000, 99_000, 99_500]
                .into_iter()
                .chain([99_900, 99_990, 99_999, 100_000, 28_000, 57_000, 58_000, 29_000])
            {
                let rank = (count * thousandths).div_ceil(100_000).max(1);
                let exact = sorted[rank as usize - 1];
                let shown = histogram.percentile(thousandths as f64 / 1e3);
                assert!(
                    shown >= exact && shown < exact + LOWEST_NS,
                    "p{} of {count}: {shown}, not {exact}",
                    thousandths as f64 / 1e3
                );
            }
        }
        assert_eq!(Histogram::default().percentile(99.0), 0);
        assert_eq!(filled([640, 6_400].into_iter()).percentile(0.0), 640);
    }

    #[test]
    fn ten_samples_beyond_earn_a_percentile() {
        assert!(filled(0..10_000).earns(99.9));
        assert!(!filled(0..9_999).earns(99.9));
    }
}
