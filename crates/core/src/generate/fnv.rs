//! The hash that YCSB scatters record numbers with. Knows nothing about the names of keys.
//!
//! FNV-1a (Fowler, Noll and Vo, <http://www.isthe.com/chongo/tech/comp/fnv/>) over the eight bytes
//! of a number, read as a signed number and made positive. YCSB takes the lowest byte first,
//! go-ycsb the highest.

/// The 64-bit FNV offset basis and prime.
const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// The factor of four trailing zero bytes: xor with zero changes nothing.
const FOUR_ZEROS: u64 = PRIME.wrapping_mul(PRIME).wrapping_mul(PRIME).wrapping_mul(PRIME);

/// YCSB's `fnvhash64`: the lowest byte first.
///
/// Negative only for the one hash whose absolute value overflows, as in Java.
#[inline]
pub const fn ycsb(number: u64) -> i64 {
    let low = rounds(BASIS, number, 4);
    // Nearly all numbers that are hashed are below 2^32.
    let hash =
        if number >> 32 == 0 { low.wrapping_mul(FOUR_ZEROS) } else { rounds(low, number >> 32, 4) };
    hash.cast_signed().wrapping_abs()
}

/// go-ycsb's `Hash64`: the highest byte first.
#[inline]
pub const fn go_ycsb(number: u64) -> i64 {
    rounds(BASIS, number.swap_bytes(), 8).cast_signed().wrapping_abs()
}

/// Hashes `count` bytes of `bytes`, the lowest first.
#[inline]
const fn rounds(mut hash: u64, mut bytes: u64, count: u32) -> u64 {
    let mut round = 0;
    while round < count {
        hash = (hash ^ (bytes & 0xff)).wrapping_mul(PRIME);
        bytes >>= 8;
        round += 1;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn basis_is_the_hash_of_the_authors_signature() {
        // According to the FNV page, the basis is FNV-0 (multiply, then xor, from 0) of this text.
        let text = b"chongo <Landon Curt Noll> /\\../\\";
        let hash = text.iter().fold(0u64, |hash, &b| hash.wrapping_mul(PRIME) ^ u64::from(b));
        assert_eq!(hash, BASIS);
    }

    #[test]
    fn numbers_of_ycsb() {
        let known = [
            (0, 6_284_781_860_667_377_211),
            (1, 8_517_097_267_634_966_620),
            (2, 1_820_151_046_732_198_393),
            (10, 2_408_371_864_701_034_737),
            (1000, 5_952_875_239_596_136_740),
        ];
        for (number, hash) in known {
            assert_eq!(ycsb(number), hash);
        }
    }

    #[test]
    fn numbers_of_go_ycsb() {
        assert_eq!(go_ycsb(0), ycsb(0));
        assert_eq!(go_ycsb(1), 6_284_782_960_179_005_422);
    }

    proptest! {
        #[test]
        fn the_short_way_equals_the_long_one(number: u64, shift in 0u32..64) {
            let number = number >> shift;
            let whole = rounds(BASIS, number, 8).cast_signed().wrapping_abs();
            prop_assert_eq!(ycsb(number), whole);
            prop_assert_eq!(go_ycsb(number.swap_bytes()), whole);
        }
    }
}
