//! The tokens of keys: Cassandra's `Murmur3Partitioner`.
//!
//! Source: Austin Appleby's `MurmurHash3_x64_128`. Cassandra takes its first half, and reads the
//! last bytes as signed numbers.

const FIRST: u64 = 0x87c3_7b91_1142_53d5;
const SECOND: u64 = 0x4cf5_ad43_2745_937f;

/// The token of a key in its wire format.
pub(super) fn token_of(key: &[u8]) -> i64 {
    let (mut one, mut two) = (0_u64, 0_u64);
    let mut blocks = key.chunks_exact(16);
    for block in &mut blocks {
        let (low, high) = block.split_at(8);
        one ^= scrambled(number(low), FIRST, 31, SECOND);
        one = one.rotate_left(27).wrapping_add(two).wrapping_mul(5).wrapping_add(0x52dc_e729);
        two ^= scrambled(number(high), SECOND, 33, FIRST);
        two = two.rotate_left(31).wrapping_add(one).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let rest = blocks.remainder();
    let (low, high) = rest.split_at(rest.len().min(8));
    if !high.is_empty() {
        two ^= scrambled(signed(high), SECOND, 33, FIRST);
    }
    if !low.is_empty() {
        one ^= scrambled(signed(low), FIRST, 31, SECOND);
    }
    let length = key.len() as u64;
    (one, two) = (one ^ length, two ^ length);
    one = one.wrapping_add(two);
    two = two.wrapping_add(one);
    let token = mixed(one).wrapping_add(mixed(two)).cast_signed();
    // The smallest token is reserved for the position before all keys.
    if token == i64::MIN { i64::MAX } else { token }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte))
}

/// Combines bytes as signed numbers.
fn signed(bytes: &[u8]) -> u64 {
    let each =
        |(place, byte): (u32, &u8)| i64::from(byte.cast_signed()).cast_unsigned() << (8 * place);
    (0..).zip(bytes).map(each).fold(0, |all, part| all ^ part)
}

const fn scrambled(number: u64, first: u64, turn: u32, second: u64) -> u64 {
    number.wrapping_mul(first).rotate_left(turn).wrapping_mul(second)
}

const fn mixed(mut hash: u64) -> u64 {
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The results of `token(key)` in Cassandra, which differs from other implementations for bytes
    /// from 128 on.
    #[test]
    fn tokens_are_those_of_cassandra() {
        let (high, long) = ("\u{ff}".repeat(9), "x".repeat(40));
        for (key, token) in [
            ("a", -8_839_064_797_231_613_815),
            ("springload", -4_725_615_615_618_417_211),
            ("0123456789abcdef", 5_467_490_433_528_156_583),
            ("user1000385178204227360", 3_495_000_030_750_137_490),
            ("\u{e9}\u{4e2d}", 6_079_411_211_075_234_541),
            (&high, 2_665_809_118_322_772_223),
            (&long, 5_262_249_189_530_750_049),
        ] {
            assert_eq!(token_of(key.as_bytes()), token, "{key:?}");
        }
    }
}
