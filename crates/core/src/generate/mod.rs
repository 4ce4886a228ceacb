//! Pure, seeded sources of keys and values.
//!
//! Everything random is a pure function of a seed and of numbers that identify what is drawn, so
//! that any value can be reproduced in any order on any thread. Knows nothing about documents.

mod exponential;
pub mod fnv;
mod hotspot;
mod latest;
mod range;
mod scrambled;
#[cfg(any(test, feature = "testing"))]
pub mod statistics;
mod weighted;
mod zipfian;

pub use exponential::Exponential;
pub use hotspot::Hotspot;
pub use latest::Latest;
pub use range::{Sequential, Uniform};
pub use scrambled::Scrambled;
pub use weighted::Weighted;
pub use zipfian::{THETA, Zipfian, zeta};

/// The fractional part of the golden ratio in 64 bits: the step of `SplitMix64` (Steele, Lea and
/// Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Step and mask of `wyrand`, from `wyhash.h`, final version 4.2 (Wang Yi, public domain,
/// <https://github.com/wangyi-fudan/wyhash>).
const WYRAND_STEP: u64 = 0x2d35_8dcc_aa6c_78a5;
const WYRAND_MASK: u64 = 0x8bb8_4b93_962e_acc9;

/// One step of `SplitMix64`: a bijection that spreads every input bit over all output bits.
///
/// Source: `next` of <https://prng.di.unimi.it/splitmix64.c> (Sebastiano Vigna, public domain);
/// the multipliers are David Stafford's "Mix13".
pub const fn scramble(x: u64) -> u64 {
    let z = x.wrapping_add(GOLDEN);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A hash of three numbers, from which independent streams are derived.
///
/// It is [`scramble`] applied after each number is mixed in, so with two numbers fixed it is a
/// bijection of the third: different keys never share a hash.
pub const fn mix(a: u64, b: u64, c: u64) -> u64 {
    scramble(scramble(scramble(a) ^ b) ^ c)
}

/// Maps a uniform 64-bit draw to `0..bound` by multiplication and shift.
///
/// No value is favored by more than `bound / 2^64`, so nothing is rejected and one draw always
/// suffices. Source: Lemire, "Fast Random Integer Generation in an Interval", ACM TOMACS 29 (2019),
/// section 3. A `bound` of 0 gives 0.
pub const fn below(draw: u64, bound: u64) -> u64 {
    ((draw as u128 * bound as u128) >> 64) as u64
}

/// Maps a uniform 64-bit draw to `[0, 1)` in steps of 2^-53: every such number is exact.
#[inline]
pub const fn unit(draw: u64) -> f64 {
    (draw >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// `wyrand`: a counter and a hash, so that draw `n` costs no more than draw 0 and consecutive draws
/// do not wait for each other. Documents take millions of values a second from it.
#[derive(Clone, Copy, Debug)]
pub struct Stream(u64);

impl Stream {
    /// Starts at draw number `skip` of the stream named by `state`, which should come from [`mix`].
    #[inline]
    pub const fn new(state: u64, skip: u64) -> Self {
        Self(state.wrapping_add(skip.wrapping_mul(WYRAND_STEP)))
    }

    /// The next 64 uniform bits.
    #[inline]
    pub const fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(WYRAND_STEP);
        let product = self.0 as u128 * (self.0 ^ WYRAND_MASK) as u128;
        (product >> 64) as u64 ^ product as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn scramble_is_splitmix64() {
        // The first outputs for seed 1234567, as published at Rosetta Code,
        // "Pseudo-random numbers/Splitmix64".
        let expected = [6_457_827_717_110_365_317u64, 3_203_168_211_198_807_973];
        for (i, value) in expected.into_iter().enumerate() {
            assert_eq!(scramble(1_234_567u64.wrapping_add(GOLDEN.wrapping_mul(i as u64))), value);
        }
    }

    #[test]
    fn unit_reaches_from_nought_to_just_below_one() {
        assert!(unit(0).abs() < f64::MIN_POSITIVE);
        assert!((1.0 - unit(u64::MAX) - f64::EPSILON / 2.0).abs() < f64::MIN_POSITIVE);
    }

    #[test]
    fn every_output_bit_is_fair() {
        const DRAWS: u32 = 100_000;
        let mut stream = Stream::new(mix(7, 0, 0), 0);
        let mut ones = [0u32; 64];
        for _ in 0..DRAWS {
            let draw = stream.draw();
            for (bit, count) in ones.iter_mut().enumerate() {
                *count += (draw >> bit & 1) as u32;
            }
        }
        // Five standard deviations of a fair coin: 5 * sqrt(100,000) / 2 = 790.
        assert!(ones.iter().all(|&count| count.abs_diff(DRAWS / 2) < 790), "{ones:?}");
    }

    proptest! {
        #[test]
        fn skipping_equals_drawing(state: u64, skip in 0u64..50) {
            let mut drawn = Stream::new(state, 0);
            for _ in 0..skip {
                drawn.draw();
            }
            prop_assert_eq!(drawn.draw(), Stream::new(state, skip).draw());
        }

        #[test]
        fn below_stays_below(draw: u64, bound in 1u64..) {
            prop_assert!(below(draw, bound) < bound);
        }

        #[test]
        fn mix_tells_every_argument_apart(a: u64, b: u64, c: u64, other: u64) {
            prop_assume!(other != c && other != b && other != a);
            prop_assert_ne!(mix(a, b, c), mix(a, b, other));
            prop_assert_ne!(mix(a, b, c), mix(a, other, c));
            prop_assert_ne!(mix(a, b, c), mix(other, b, c));
        }
    }
}
