//! The dictionary, and strings made from its words.

use crate::generate::{Stream, below};

/// The number of words, as Iron Cushion's README documents it (its code used 4,096).
pub(super) const WORDS: usize = 32_768;
/// The shortest and the longest word, in characters.
pub(super) const WORD_LENGTHS: std::ops::RangeInclusive<usize> = 3..=15;
/// The most words in one string, as in Iron Cushion's README (its code stopped at 4).
pub(super) const STRING_WORDS: usize = 5;
/// The longest string: five words of 15 and four spaces.
pub(super) const STRING_MAX: usize = STRING_WORDS * SLOT - 1;
/// The room for writing a string: more than needed, so that a word fits at every position below 128
/// and the compiler can prove it.
pub(super) const STRING_WINDOW: usize = 128 + SLOT;
/// The number of draws for one string.
pub(super) const STRING_DRAWS: u64 = 2;

/// The alphabet of words: 64 symbols, none of which JSON escapes.
const ALPHABET: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!?";

/// Bytes copied per word: 15 of text, and one that is overwritten.
const SLOT: usize = 16;

/// The distance between the starts of words in one text. They overlap, so that all of them take an
/// eighth of a megabyte of a core's L2 cache and leave the rest to the kernel, which keeps each
/// request's data there. `docs/schemas.md` says what this means for a server.
const STRIDE: usize = 4;

/// The length of that text, with room for the last word.
const TEXT: usize = WORDS * STRIDE + SLOT - STRIDE;

/// The number of bits that select one word.
const WORD_BITS: u32 = WORDS.trailing_zeros();

/// A fixed number of random words.
pub(super) struct Dictionary {
    text: Box<[u8; TEXT]>,
    /// Where the sequence of lengths begins.
    lengths: u32,
}

impl Dictionary {
    /// Draws every length and every character uniformly. The same state gives the same words.
    pub(super) fn new(state: u64) -> Self {
        let mut stream = Stream::new(state, 0);
        let lengths = stream.draw() as u32;
        let mut symbol = || ALPHABET[stream.draw() as usize % ALPHABET.len()];
        let text: Vec<u8> = (0..TEXT).map(|_| symbol()).collect();
        let Ok(text) = text.try_into() else { unreachable!("as many symbols were drawn") };
        Self { text, lengths }
    }

    /// The length of the word with this index: the sequence of multiples of the golden ratio modulo
    /// one takes each length equally often (Knuth, The Art of Computer Programming, volume 3, 6.4).
    #[inline]
    fn length(&self, index: usize) -> usize {
        const GOLDEN: u32 = 0x9e37_79b9;
        const LENGTHS: u64 = (*WORD_LENGTHS.end() - *WORD_LENGTHS.start() + 1) as u64;
        let place = (index as u32).wrapping_mul(GOLDEN).wrapping_add(self.lengths);
        *WORD_LENGTHS.start() + ((u64::from(place) * LENGTHS) >> 32) as usize
    }

    /// The word with this index, followed by the text after it.
    #[inline]
    fn slot(&self, index: usize) -> &[u8; SLOT] {
        self.text[index * STRIDE..].first_chunk().expect("the last word has all of its room")
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
            // Four words come from the first draw; the fifth from bits of the second that are
            // almost independent of the number of words.
            let bits = if i < 4 { draws[0] >> (i as u32 * WORD_BITS) } else { draws[1] };
            let index = bits as usize % WORDS;
            // Never more than 64; the remainder avoids the bounds check.
            let at = end % 128;
            let target: &mut [u8; SLOT] = out[at..].first_chunk_mut().expect("room for a word");
            *target = *self.slot(index);
            let word = self.length(index);
            target[word] = b' ';
            end += word;
            if i == count {
                length = end;
            }
            end += 1;
        }
        length
    }

    /// The text of the word with this index.
    #[cfg(test)]
    pub(super) fn word(&self, index: usize) -> &[u8] {
        &self.slot(index)[..self.length(index)]
    }
}
