//! The text of numbers and booleans, each from one draw, written without branches on the value.
//!
//! Every function writes to the front of a window, may write beyond its text, and returns the
//! length of the text. The texts are canonical: a store that parses and prints them again gives the
//! same bytes.

/// The widest text made here, `-2147483648`, and the bytes that may be written beyond it.
pub(super) const NUMBER_WINDOW: usize = 17;

/// The longest text of an integer.
pub(super) const INTEGER_MAX: usize = 11;
/// The longest text of a float.
pub(super) const FLOAT_MAX: usize = 10;
/// The longest text of a boolean.
pub(super) const BOOLEAN_MAX: usize = 5;

/// ASCII zeros.
const ZEROS: u64 = u64::from_ne_bytes([b'0'; 8]);

/// Copies a text of fixed length to the window. As an array, it compiles to one or two moves.
#[inline]
fn put<const N: usize>(out: &mut [u8; NUMBER_WINDOW], at: usize, text: [u8; N]) {
    if let Some(place) = out[at..].first_chunk_mut() {
        *place = text;
    }
}

/// Writes `true` or `false` according to the draw's highest bit.
#[inline]
pub(super) fn boolean(draw: u64, out: &mut [u8; NUMBER_WINDOW]) -> usize {
    let yes = draw >> 63 == 1;
    let text = if yes { *b"true    " } else { *b"false   " };
    put(out, 0, text);
    5 - usize::from(yes)
}

/// Writes the draw's upper 32 bits as a signed integer, all values equally likely.
#[inline]
pub(super) fn integer(draw: u64, out: &mut [u8; NUMBER_WINDOW]) -> usize {
    let value = ((draw >> 32) as u32).cast_signed();
    out[0] = b'-';
    let sign = usize::from(value < 0);
    let magnitude = value.unsigned_abs();
    let (high, low) = (magnitude / 100_000_000, magnitude % 100_000_000);
    // Ten digits, the first in the lowest byte, so that they are in order in memory.
    let tens = high / 10;
    let digits = (u128::from(digits(low)) << 16) | u128::from(((high - tens * 10) << 8) | tens);
    // Leading zeros are removed; the last digit stays, so that 0 is written as one digit.
    let leading = (digits.trailing_zeros() / 8).min(9);
    let text = (digits | (u128::from(ZEROS) << 16) | 0x3030) >> (8 * leading);
    put(out, sign, text.to_le_bytes());
    sign + 10 - leading as usize
}

/// Writes a decimal fraction, uniform in [0, 1): `0.30425853`.
///
/// Eight digits, without trailing zeros except for `0.0`. Below 0.0001 many printers switch to
/// exponents (Python below 1e-4, Rust's ryu below 1e-5, JavaScript and `CouchDB`'s jiffy below
/// 1e-6), so a draw in that range is spread over the whole range again, in steps of 0.0001: the
/// distribution stays uniform, and no value lies between 0 and 0.0001. Fifteen digits or fewer
/// survive any double-precision reader and shortest-form printer.
#[inline]
pub(super) fn float(draw: u64, out: &mut [u8; NUMBER_WINDOW]) -> usize {
    let mut fraction = (((draw >> 32) * 100_000_000) >> 32) as u32;
    if fraction < 10_000 {
        fraction *= 10_000;
    }
    let digits = digits(fraction);
    let trailing = (digits.leading_zeros() / 8).min(7) as usize;
    put(out, 0, *b"0.");
    put(out, 2, (digits | ZEROS).to_le_bytes());
    10 - trailing
}

/// The eight decimal digits of a number below 10^8 as bytes 0 to 9, the first in the lowest byte.
///
/// Splits in halves within one word: by 10^4, by 100, by 10. Each quotient is a multiplication and
/// a shift, exact in its range: n * 10486 >> 20 = n / 100 for n < 10^4 (10486 / 2^20 exceeds 1/100
/// by 2.3e-7 * n < 0.0024), n * 103 >> 10 = n / 10 for n < 100. Source: Paul Khuong, "How to print
/// integers really fast" (pvk.ca, 2017).
#[inline]
fn digits(number: u32) -> u64 {
    let number = u64::from(number);
    let high = number / 10_000;
    let fours = high | ((number - high * 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let twos = hundreds | ((fours - hundreds * 100) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((twos - tens * 10) << 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(write: fn(u64, &mut [u8; NUMBER_WINDOW]) -> usize, draw: u64) -> String {
        let mut out = [b'#'; NUMBER_WINDOW];
        let length = write(draw, &mut out);
        String::from_utf8(out[..length].to_vec()).unwrap()
    }

    /// The lowest draw that gives `fraction` hundred-millionths.
    fn draw_of(fraction: u64) -> u64 {
        ((fraction << 32).div_ceil(100_000_000)) << 32
    }

    #[test]
    fn digits_are_right_for_every_half() {
        for n in 0..10_000u32 {
            for number in [n, n * 10_000, n * 10_000 + 9_999 - n] {
                let ascii = (digits(number) | ZEROS).to_le_bytes();
                assert_eq!(std::str::from_utf8(&ascii).unwrap(), format!("{number:08}"));
            }
        }
    }

    #[test]
    fn integers_at_the_ends() {
        for value in [0, 1, -1, 9, 10, 99_999_999, 100_000_000, 999_999_999, i32::MAX, i32::MIN] {
            assert_eq!(
                text(integer, u64::from(i32::cast_unsigned(value)) << 32),
                value.to_string()
            );
        }
        assert_eq!(i32::MIN.to_string().len(), INTEGER_MAX);
    }

    #[test]
    fn floats_at_the_ends() {
        let cases = [
            (0, "0.0"),
            (1, "0.0001"),
            (9_999, "0.9999"),
            (10_000, "0.0001"),
            (10_001, "0.00010001"),
            (30_425_853, "0.30425853"),
            (50_000_000, "0.5"),
            (99_999_999, "0.99999999"),
        ];
        for (fraction, expected) in cases {
            assert_eq!(text(float, draw_of(fraction)), expected);
        }
        assert_eq!(text(float, u64::MAX).len(), FLOAT_MAX);
    }

    #[test]
    fn booleans_have_both_sides() {
        assert_eq!(text(boolean, u64::MAX), "true");
        assert_eq!(text(boolean, 0), "false");
        assert_eq!("false".len(), BOOLEAN_MAX);
    }

    proptest! {
        #[test]
        fn integers_equal_the_standard_text(draw: u64) {
            prop_assert_eq!(text(integer, draw), ((draw >> 32) as u32).cast_signed().to_string());
        }

        #[test]
        fn floats_survive_being_read_and_printed(draw: u64) {
            let written = text(float, draw);
            let value: f64 = written.parse().unwrap();
            prop_assert!((0.0..1.0).contains(&value));
            prop_assert_eq!(serde_json::to_string(&value).unwrap(), written);
        }
    }
}
