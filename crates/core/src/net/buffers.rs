//! Buffers that the sessions of one shard share to read answers into.
//!
//! A session needs a buffer from the first byte of an answer until its body has been processed,
//! which usually happens in one step of its task. A thousand sessions can thus share a buffer or
//! two, which stay in the processor's L1 cache.

use std::cell::RefCell;

/// The size of a new buffer, in bytes.
const SIZE: usize = 8 * 1024;
/// The size of the largest buffer that is kept.
const MOST_KEPT: usize = 4 << 20;

/// The free buffers of one shard.
#[derive(Debug, Default)]
pub struct Buffers {
    answers: RefCell<Vec<Vec<u8>>>,
    head: RefCell<Vec<u8>>,
}

impl Buffers {
    /// The buffer returned last, or a new one. Its content is arbitrary.
    #[inline]
    pub fn take(&self) -> Vec<u8> {
        self.answers.borrow_mut().pop().unwrap_or_else(|| vec![0; SIZE])
    }

    /// Takes a buffer back. A buffer that grew beyond a limit for a large answer is dropped.
    #[inline]
    pub fn give(&self, buffer: Vec<u8>) {
        if buffer.len() <= MOST_KEPT {
            self.answers.borrow_mut().push(buffer);
        }
    }

    /// Lends an empty buffer to build a head in.
    pub fn with_head(&self, make: impl FnOnce(&mut Vec<u8>)) {
        let mut head = self.head.borrow_mut();
        head.clear();
        make(&mut head);
    }
}
