//! Decodes an HTTP/1.1 answer as it arrives (RFC 9112), without doing any I/O.

use super::chunked::Chunked;
use super::head::{self, Framing, Head, MAX_HEAD, Parsed};
use super::malformed::Malformed;
use std::ops::Range;

/// The progress of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// More bytes are needed: at least this many, as far as is known.
    More(usize),
    /// The answer is complete.
    Done,
}

/// The most interim answers accepted before the final one.
const MAX_INTERIM: u32 = 100;

/// Decodes one answer. The caller appends to a buffer and passes all of it at every call.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    head: Head,
    head_request: bool,
    interim: u32,
    /// Where the head begins: after any interim answers.
    start: usize,
    /// Where it ends.
    end: usize,
    body: DecodedBody,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum DecodedBody {
    /// The head is not complete.
    #[default]
    Waiting,
    Length(Range<usize>),
    Chunked(usize, Chunked),
    UntilClose(usize),
    Done(Range<usize>),
}

impl Decoder {
    /// A decoder for the answer to a request; `head_request` says whether it was a HEAD.
    pub fn new(head_request: bool) -> Self {
        Self { head_request, ..Self::default() }
    }

    /// The head, once it has been read.
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// The range of the head; empty until it is complete.
    pub const fn head_text(&self) -> Range<usize> {
        self.start..self.end
    }

    /// The range of the decoded body; empty until the answer is complete.
    pub fn body(&self) -> Range<usize> {
        match &self.body {
            DecodedBody::Done(range) => range.clone(),
            _ => 0..0,
        }
    }

    /// Processes `buffer`, everything that has arrived so far. A chunked body is decoded in place.
    ///
    /// # Errors
    /// Returns an error if the bytes are not an HTTP/1.1 answer, or continue after its end.
    pub fn step(&mut self, buffer: &mut [u8]) -> Result<Step, Malformed> {
        if self.body == DecodedBody::Waiting && !self.read_head(buffer)? {
            return Ok(Step::More(1));
        }
        match &mut self.body {
            DecodedBody::Length(range) => {
                if buffer.len() < range.end {
                    return Ok(Step::More(range.end - buffer.len()));
                }
                let (range, excess) = (range.clone(), buffer.len() > range.end);
                self.finish(range, excess)
            }
            DecodedBody::Chunked(start, chunked) => {
                let Some(consumed) = chunked.decode(buffer)? else { return Ok(Step::More(1)) };
                let (range, excess) = (*start..chunked.end, buffer.len() > consumed);
                self.finish(range, excess)
            }
            DecodedBody::UntilClose(_) | DecodedBody::Waiting => Ok(Step::More(1)),
            DecodedBody::Done(_) => Ok(Step::Done),
        }
    }

    /// Tells the decoder that the peer has closed the connection after `received` bytes. Returns
    /// `true` if that completed the answer.
    pub fn close(&mut self, received: usize) -> bool {
        if let DecodedBody::UntilClose(start) = self.body {
            self.body = DecodedBody::Done(start..received);
        }
        matches!(self.body, DecodedBody::Done(_))
    }

    fn finish(&mut self, body: Range<usize>, excess: bool) -> Result<Step, Malformed> {
        if excess {
            return Err(Malformed::Excess);
        }
        self.body = DecodedBody::Done(body);
        Ok(Step::Done)
    }

    /// Reads the head, after any interim answers. Returns `false` if it is incomplete.
    fn read_head(&mut self, buffer: &[u8]) -> Result<bool, Malformed> {
        loop {
            let Some(parsed) = head::parse(&buffer[self.start..])? else {
                return if buffer.len() - self.start > MAX_HEAD {
                    Err(Malformed::HeadTooLarge)
                } else {
                    Ok(false)
                };
            };
            let Parsed { length, head, framing } = parsed;
            let end = self.start + length;
            if head.status == 101 {
                // This client never asks to switch protocols.
                return Err(Malformed::Head);
            }
            if head.status < 200 {
                // An interim answer and its headers say nothing about the final one.
                self.start = end;
                self.interim += 1;
                if self.interim > MAX_INTERIM {
                    return Err(Malformed::Interim);
                }
                continue;
            }
            let bodiless = self.head_request || matches!(head.status, 204 | 304);
            self.body = match framing {
                _ if bodiless => DecodedBody::Length(end..end),
                Framing::Length(size) => DecodedBody::Length(end..end + size),
                Framing::Chunked => DecodedBody::Chunked(end, Chunked::new(end)),
                Framing::UntilClose => DecodedBody::UntilClose(end),
            };
            self.end = end;
            self.head = head;
            self.head.keep_alive &= !matches!(self.body, DecodedBody::UntilClose(_));
            return Ok(true);
        }
    }
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
