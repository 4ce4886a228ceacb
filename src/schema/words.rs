//! The dictionary, and strings made of its words.

use crate::generate::{Stream, below};

/// The number of words, as Iron Cushion's README documents it (its code used 4,096).
pub(super) const WORDS: usize = 32_768;
/// The shortest and the longest word, in characters.
pub(super) const WORD_LENGTHS: std::ops::RangeInclusive<usize> = 3..=15;
/// The most words in one string, as Iron Cushion's README documents it (its code stopped at 4).
pub(super) const STRING_WORDS: usize = 5;
/// The longest string: five words of 15 and four spaces.
pub(super) const STRING_MAX: usize = STRING_WORDS * SLOT - 1;
/// The room a string is written in: more than it needs, so that every place below 128 fits a word
/// and
/// the compiler can see that it does.
pub(super) const STRING_WINDOW: usize = 128 + SLOT;
/// The draws one string takes.
pub(super) const STRING_DRAWS: u64 = 2;

/// The alphabet of words: 64 symbols, none of which JSON escapes.
const ALPHABET: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!?";

/// Bytes per word: 15 of text, and its length in the last.
const SLOT: usize = 16;

/// Bits that choose one word.
const WORD_BITS: u32 = WORDS.trailing_zeros();

/// A fixed number of random words. Half a megabyte, so that it stays in a core's second-level
/// cache.
pub(super) struct Dictionary {
    slots: Box<[[u8; SLOT]; WORDS]>,
}

impl Dictionary {
    /// Draws every length and every character uniformly. The same state gives the same words.
    pub(super) fn new(state: u64) -> Self {
        let mut stream = Stream::new(state, 0);
        let slots: Vec<[u8; SLOT]> = (0..WORDS).map(|_| word(&mut stream)).collect();
        let Ok(slots) = slots.try_into() else { unreachable!("as many words were drawn") };
        Self { slots }
    }

    /// Writes one to five words, joined by single spaces; returns the length.
    ///
    /// All five words are always copied and the end is chosen afterwards: a loop that ends at
    /// random would be mispredicted once per string, which costs more than the copies.
    #[inline]
    pub(super) fn string(&self, draws: [u64; 2], out: &mut [u8; STRING_WINDOW]) -> usize {
        let count = below(draws[1], STRING_WORDS as u64) as usize;
        let mut end = 0;
        let mut length = 0;
        for i in 0..STRING_WORDS {
            // Four words from the first draw; the fifth from bits of the second that hardly
            // depend on how many words are taken.
            let bits = if i < 4 { draws[0] >> (i as u32 * WORD_BITS) } else { draws[1] };
            let slot = &self.slots[bits as usize % WORDS];
            // Never over 64; the remainder spares the check of bounds.
            let at = end % 128;
            let target = &mut out[at..at + SLOT];
            target.copy_from_slice(slot);
            let word = usize::from(slot[SLOT - 1]);
            target[word.min(SLOT - 1)] = b' ';
            end += word;
            if i == count {
                length = end;
            }
            end += 1;
        }
        length
    }

    /// The text of the word numbered `index`.
    #[cfg(test)]
    pub(super) fn word(&self, index: usize) -> &[u8] {
        let slot = &self.slots[index];
        &slot[..usize::from(slot[SLOT - 1])]
    }
}

fn word(stream: &mut Stream) -> [u8; SLOT] {
    let (first, second) = (stream.draw(), stream.draw());
    let lengths = (WORD_LENGTHS.end() - WORD_LENGTHS.start() + 1) as u64;
    let mut slot = [0; SLOT];
    for (i, byte) in slot[..SLOT - 1].iter_mut().enumerate() {
        // Ten symbols of six bits from the first draw, five from the second.
        let bits = if i < 10 { first >> (6 * i) } else { second >> (6 * (i - 10)) };
        *byte = ALPHABET[bits as usize % ALPHABET.len()];
    }
    // The length follows the upper bits of the second draw, the symbols its lower thirty.
    slot[SLOT - 1] = *WORD_LENGTHS.start() as u8 + below(second, lengths) as u8;
    slot
}
