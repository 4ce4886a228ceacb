//! The hash slots of a cluster, by which keys are divided among its nodes.

pub(super) const SLOTS: usize = 16_384;

/// The CRC of each byte: CRC-16/XMODEM, polynomial 0x1021.
const TABLE: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = ((byte as u16) << 8, 0);
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

fn crc16(bytes: &[u8]) -> u16 {
    let step = |crc: u16, byte: &u8| (crc << 8) ^ TABLE[usize::from((crc >> 8) as u8 ^ byte)];
    bytes.iter().fold(0, step)
}

/// The slot of a key. If a part of the key is in braces, only that part counts, so that users can
/// keep keys together.
///
/// Source: "Redis cluster specification", "Key distribution model" and "Hash tags".
pub(super) fn slot_of(key: &[u8]) -> u16 {
    let open = key.iter().position(|&byte| byte == b'{').map(|at| at + 1);
    let tag = open.and_then(|open| {
        let length = key[open..].iter().position(|&byte| byte == b'}')?;
        (length > 0).then(|| &key[open..open + length])
    });
    crc16(tag.unwrap_or(key)) % SLOTS as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of the specification, and answers of Redis 7.0 to `CLUSTER KEYSLOT`.
    #[test]
    fn slots_are_those_of_redis() {
        assert_eq!(crc16(b"123456789"), 0x31C3);
        for (key, slot) in [
            ("foo", 12_182),
            ("user1000", 3_443),
            ("{user1000}.following", 3_443),
            ("foo{}{bar}", 8_363),
            ("foo{{bar}}zap", 4_015),
            ("foo{bar}{zap}", 5_061),
            ("", 0),
        ] {
            assert_eq!(slot_of(key.as_bytes()), slot, "{key}");
        }
    }
}
