//! The chunked transfer coding (RFC 9112 §7.1), decoded in place.

use super::malformed::Malformed;

/// The longest accepted line: a chunk's size and extensions, or a trailer.
const MAX_LINE: usize = 4096;
/// The most bytes of trailers that are accepted.
const MAX_TRAILERS: usize = 64 * 1024;

/// Decodes a chunked body inside the buffer it was read into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunked {
    /// The end of the decoded body.
    pub(super) end: usize,
    /// Where the remaining encoded bytes begin.
    cursor: usize,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Size,
    Data(usize),
    DataEnd,
    /// How many bytes of trailers have arrived.
    Trailer(usize),
}

impl Chunked {
    /// A body whose encoded form begins at `start`.
    pub(super) const fn new(start: usize) -> Self {
        Self { end: start, cursor: start, state: State::Size }
    }

    /// Decodes what has arrived. `Some(n)`: the body is complete, and its encoded form ends after
    /// `n` bytes of the buffer.
    pub(super) fn decode(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Malformed> {
        loop {
            match self.state {
                State::Size => {
                    let Some(line) = self.line(buffer)? else { return Ok(None) };
                    let size = chunk_size(&buffer[line.0..line.1])?;
                    self.state = if size == 0 { State::Trailer(0) } else { State::Data(size) };
                }
                State::Data(left) => {
                    let count = left.min(buffer.len() - self.cursor);
                    buffer.copy_within(self.cursor..self.cursor + count, self.end);
                    self.end += count;
                    self.cursor += count;
                    if count < left {
                        self.state = State::Data(left - count);
                        return Ok(None);
                    }
                    self.state = State::DataEnd;
                }
                State::DataEnd => {
                    let Some(line) = self.line(buffer)? else { return Ok(None) };
                    if line.0 != line.1 {
                        return Err(Malformed::Chunk);
                    }
                    self.state = State::Size;
                }
                State::Trailer(before) => {
                    let Some(line) = self.line(buffer)? else { return Ok(None) };
                    if line.0 == line.1 {
                        return Ok(Some(self.cursor));
                    }
                    let so_far = before + (self.cursor - line.0);
                    if so_far > MAX_TRAILERS {
                        return Err(Malformed::Trailers);
                    }
                    self.state = State::Trailer(so_far);
                }
            }
        }
    }

    /// Discards the body decoded so far, and moves what is left to be decoded to the beginning of
    /// the buffer, whose first `filled` bytes are filled. Returns how many bytes are left.
    pub(super) fn forget(&mut self, buffer: &mut [u8], filled: usize) -> usize {
        buffer.copy_within(self.cursor..filled, 0);
        let left = filled - self.cursor;
        (self.cursor, self.end) = (0, 0);
        left
    }

    /// The bounds of the next line without its line break, once it is complete.
    fn line(&mut self, buffer: &[u8]) -> Result<Option<(usize, usize)>, Malformed> {
        let rest = &buffer[self.cursor..];
        let Some(length) = memchr::memchr(b'\n', rest) else {
            return if rest.len() > MAX_LINE { Err(Malformed::Chunk) } else { Ok(None) };
        };
        if length > MAX_LINE {
            return Err(Malformed::Chunk);
        }
        let start = self.cursor;
        self.cursor += length + 1;
        let end = start + length;
        Ok(Some((start, if rest[..length].ends_with(b"\r") { end - 1 } else { end })))
    }
}

/// Reads the hexadecimal size that precedes any extension.
fn chunk_size(line: &[u8]) -> Result<usize, Malformed> {
    let digits = line.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
    // No size reaches 2^60 bytes, and a longer number could overflow.
    if digits.is_empty() || digits.len() > 15 {
        return Err(Malformed::Chunk);
    }
    let text = std::str::from_utf8(digits).map_err(|_| Malformed::Chunk)?;
    if !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Malformed::Chunk);
    }
    usize::from_str_radix(text, 16).map_err(|_| Malformed::Chunk)
}
