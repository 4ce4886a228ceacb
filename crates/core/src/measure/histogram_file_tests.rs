//! Histograms as files have them: what is written is read back, by others as well, and what is no
//! histogram of ours is refused in words.

use super::{BASE64, Histogram, Kept, MOST_BYTES, MOST_SAMPLES, V2_DEFLATED, V2_HEAD};
use base64::Engine as _;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use hdrhistogram::serialization::Deserializer;
use proptest::prelude::*;
use std::io::{Read as _, Write as _};

fn with(samples: &[(u64, u64)]) -> Histogram {
    let mut histogram = Histogram::default();
    for &(value, count) in samples {
        histogram.record_many(value, count);
    }
    histogram
}

/// A histogram with something in its first and its last part.
fn some() -> Histogram {
    with(&[(1_000, 3), (52_000, 700), (2_000_000_000, 1)])
}

/// The bytes of a histogram before they are deflated.
fn plain(histogram: &Histogram) -> Vec<u8> {
    let bytes = BASE64.decode(histogram.encode()).unwrap();
    let mut plain = Vec::new();
    ZlibDecoder::new(&bytes[8..]).read_to_end(&mut plain).unwrap();
    plain
}

/// These bytes, deflated, after the first bytes of an encoding.
fn deflated(first: u32, plain: &[u8]) -> Vec<u8> {
    let mut deflater = ZlibEncoder::new(Vec::new(), Compression::default());
    deflater.write_all(plain).unwrap();
    let deflated = deflater.finish().unwrap();
    let mut bytes = first.to_be_bytes().to_vec();
    bytes.extend_from_slice(&(deflated.len() as u32).to_be_bytes());
    bytes.extend_from_slice(&deflated);
    bytes
}

fn read(bytes: &[u8]) -> Result<Histogram, String> {
    Histogram::decode(&BASE64.encode(bytes)).map_err(|error| error.to_string())
}

/// What is read of a histogram whose plain bytes from `at` on are replaced by these.
fn replaced(at: usize, by: &[u8]) -> Result<Histogram, String> {
    let mut plain = plain(&some());
    plain[at..at + by.len()].copy_from_slice(by);
    read(&deflated(V2_DEFLATED, &plain))
}

#[test]
fn what_is_no_histogram_is_refused_in_words() {
    let plain = plain(&some());
    assert_eq!(read(&deflated(V2_DEFLATED, &plain)), Ok(some()));
    let counts = plain.len() as u32 - V2_HEAD as u32;
    let more_zeros_than_fit = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    let refused = [
        (read(&plain), "another encoding"),
        (read(&deflated(0x1c84_9313, &plain)), "another encoding"),
        (read(&deflated(V2_DEFLATED, &plain[..7])), "too short"),
        (replaced(0, &[0; 4]), "cookie"),
        (replaced(4, &(counts + 1).to_be_bytes()), "fill"),
        (replaced(4, &(MOST_BYTES as u32).to_be_bytes()), "fill"),
        (replaced(4, &(MOST_BYTES as u32 + 1).to_be_bytes()), "too large"),
        (replaced(8, &1_u32.to_be_bytes()), "support"),
        (replaced(12, &4_u32.to_be_bytes()), "more than 3 digits"),
        (replaced(16, &0_u64.to_be_bytes()), "parameters"),
        (replaced(24, &128_u64.to_be_bytes()), "longer than it should be"),
        (replaced(32, &2_f64.to_be_bytes()), "support"),
        (replaced(V2_HEAD as usize, &[0xff; 9]), "a count that no histogram has"),
        (replaced(V2_HEAD as usize, &more_zeros_than_fit), "longer than it should be"),
    ];
    for (read, why) in refused {
        let words = read.expect_err(why);
        assert!(words.starts_with("not a V2-deflate HdrHistogram in base64: "), "{words}");
        assert!(words.contains(why), "{words:?}, not {why:?}");
    }
    assert!(Histogram::decode("no histogram").is_err());
    assert!(serde_json::from_str::<Histogram>("\"no histogram\"").is_err());
    assert!(serde_json::from_str::<Kept>("\"no histogram\"").is_err());
}

#[test]
fn a_part_of_a_histogram_is_none() {
    let plain = plain(&some());
    for length in 0..plain.len() {
        assert!(read(&deflated(V2_DEFLATED, &plain[..length])).is_err(), "{length} bytes");
    }
    let bytes = deflated(V2_DEFLATED, &plain);
    for length in 0..bytes.len() {
        assert!(read(&bytes[..length]).is_err(), "{length} deflated bytes");
    }
}

/// A kilobyte may be inflated to a megabyte.
#[test]
fn no_more_is_inflated_than_springload_writes() {
    let mut plain = plain(&some());
    plain.resize((V2_HEAD + MOST_BYTES) as usize, 0);
    assert_eq!(read(&deflated(V2_DEFLATED, &plain)), Ok(some()));
    plain.push(0);
    let words = read(&deflated(V2_DEFLATED, &plain)).expect_err("too large");
    assert!(words.ends_with(": too large"), "{words}");
}

#[test]
fn more_samples_than_a_run_can_have_are_refused() {
    let read = |samples: &[(u64, u64)]| {
        Histogram::decode(&with(samples).encode()).map_err(|error| error.to_string())
    };
    let most = read(&[(1_000, MOST_SAMPLES - 1), (9_000, 1)]).unwrap();
    assert_eq!(most.len(), MOST_SAMPLES);
    let mut sum = Histogram::default();
    (0..9_999).for_each(|_| sum.merge(&most));
    assert_eq!(sum.len(), 9_999 * MOST_SAMPLES);
    assert!(!sum.encode().is_empty(), "thousands of them can be added and written again");
    // A third one would not fit in the sum.
    let largest = u64::MAX / 2;
    let more = [
        &[(1_000, MOST_SAMPLES + 1)][..],
        &[(1_000, MOST_SAMPLES), (9_000, 1)],
        &[(1_000, largest), (9_000, largest), (20_000, largest)],
    ];
    for samples in more {
        let words = read(samples).expect_err("too many");
        assert!(words.ends_with(": more samples than a run can have"), "{words}");
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_by_others_as_well(
        samples in proptest::collection::vec((any::<u64>(), 2_u32..64, 1_u64..1_000_000), 0..40),
        coarse in any::<bool>(),
    ) {
        let mut histogram = if coarse { Histogram::coarse() } else { Histogram::default() };
        for (bits, shift, count) in samples {
            histogram.record_many(bits >> shift, count);
        }
        let text = histogram.encode();
        let back = Histogram::decode(&text).unwrap();
        prop_assert_eq!(back.counts(), histogram.counts());
        prop_assert_eq!(back.len(), histogram.len());
        let bytes = BASE64.decode(&text).unwrap();
        let others: hdrhistogram::Histogram<u64> =
            Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        prop_assert_eq!(Histogram(others).counts(), histogram.counts());
    }
}
