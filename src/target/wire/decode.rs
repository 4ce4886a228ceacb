//! An HTTP/1.1 answer, decoded as it arrives (RFC 9112), without any input or output.

use super::chunked::Chunked;
use std::mem::MaybeUninit;
use std::ops::Range;

/// The longest head that is accepted, in bytes.
const MAX_HEAD: usize = 64 * 1024;
const MAX_HEADERS: usize = 64;

/// Why bytes are not an HTTP/1.1 answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The status line or a header is not one.
    #[error("malformed head")]
    Head,
    /// More head than any server has reason to send.
    #[error("head too large")]
    HeadTooLarge,
    /// Lengths that contradict each other or are not numbers.
    #[error("malformed length")]
    Length,
    /// A chunk whose size or end is malformed.
    #[error("malformed chunk")]
    Chunk,
    /// Bytes that belong to no request.
    #[error("bytes beyond the answer")]
    Excess,
}

/// What a head says that matters here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The status code.
    pub status: u16,
    /// Whether the connection can be used again after this answer.
    pub keep_alive: bool,
    /// Where the value of the first `Set-Cookie` stands.
    pub set_cookie: Option<Range<usize>>,
    framing: Framing,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Framing {
    #[default]
    UntilClose,
    Length(usize),
    Chunked,
}

/// How far an answer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// More bytes are needed; at least this many, as far as is known.
    More(usize),
    /// The answer is complete.
    Done,
}

/// Decodes one answer. The caller appends to a buffer and passes all of it at every call.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    head: Head,
    head_request: bool,
    /// Where the head begins: after any interim answers.
    start: usize,
    body: Body,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Body {
    /// The head is not complete.
    #[default]
    Waiting,
    Length(Range<usize>),
    Chunked(usize, Chunked),
    UntilClose(usize),
    Done(Range<usize>),
}

impl Decoder {
    /// A decoder for the answer to a request; `head_request` tells that it was a HEAD.
    pub fn new(head_request: bool) -> Self {
        Self { head_request, ..Self::default() }
    }

    /// The head, once the first step after it was made.
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// Where the decoded body stands; empty until the answer is complete.
    pub fn body(&self) -> Range<usize> {
        match &self.body {
            Body::Done(range) => range.clone(),
            _ => 0..0,
        }
    }

    /// Takes in `buffer`, all that has arrived so far. A chunked body is decoded in place.
    ///
    /// # Errors
    /// When the bytes are not an HTTP/1.1 answer, or go beyond it.
    pub fn step(&mut self, buffer: &mut [u8]) -> Result<Step, Malformed> {
        if self.body == Body::Waiting && !self.read_head(buffer)? {
            return Ok(Step::More(1));
        }
        match &mut self.body {
            Body::Length(range) => {
                if buffer.len() < range.end {
                    return Ok(Step::More(range.end - buffer.len()));
                }
                let (range, excess) = (range.clone(), buffer.len() > range.end);
                self.finish(range, excess)
            }
            Body::Chunked(start, chunked) => {
                let Some(consumed) = chunked.decode(buffer)? else { return Ok(Step::More(1)) };
                let (range, excess) = (*start..chunked.end, buffer.len() > consumed);
                self.finish(range, excess)
            }
            Body::UntilClose(_) | Body::Waiting => Ok(Step::More(1)),
            Body::Done(_) => Ok(Step::Done),
        }
    }

    /// Tells that the peer has closed the connection after `received` bytes. `true`: that
    /// completed the answer.
    pub fn close(&mut self, received: usize) -> bool {
        if let Body::UntilClose(start) = self.body {
            self.body = Body::Done(start..received);
        }
        matches!(self.body, Body::Done(_))
    }

    fn finish(&mut self, body: Range<usize>, excess: bool) -> Result<Step, Malformed> {
        if excess {
            return Err(Malformed::Excess);
        }
        self.body = Body::Done(body);
        Ok(Step::Done)
    }

    /// Reads the head, past any interim answers. `false`: it is not yet complete.
    fn read_head(&mut self, buffer: &[u8]) -> Result<bool, Malformed> {
        loop {
            let plain = if self.start == 0 { head::plain(buffer) } else { None };
            let parsed = if plain.is_some() { plain } else { parse_head(buffer, self.start)? };
            let Some((end, head)) = parsed else {
                return if buffer.len() - self.start > MAX_HEAD {
                    Err(Malformed::HeadTooLarge)
                } else {
                    Ok(false)
                };
            };
            if head.status == 101 {
                // Nothing here ever asks to change protocols.
                return Err(Malformed::Head);
            }
            if head.status < 200 {
                // An interim answer says nothing about the final one, its headers neither.
                self.start = end;
                continue;
            }
            let bodiless = self.head_request || matches!(head.status, 204 | 304);
            self.body = match head.framing {
                _ if bodiless => Body::Length(end..end),
                Framing::Length(size) => Body::Length(end..end + size),
                Framing::Chunked => Body::Chunked(end, Chunked::new(end)),
                Framing::UntilClose => Body::UntilClose(end),
            };
            self.head = head;
            self.head.keep_alive &= !matches!(self.body, Body::UntilClose(_));
            return Ok(true);
        }
    }
}

/// A head of the usual form, read in a third of the time that a whole parser takes.
mod head {
    use super::{Head, MAX_HEAD, MAX_HEADERS, connection_stays, length_framing};

    /// Bytes of the names that servers send: letters, digits and the dash.
    const NAME: [bool; 256] = {
        let mut table = [false; 256];
        let mut byte = 0;
        while byte < 256 {
            table[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'-';
            byte += 1;
        }
        table
    };

    /// Reads the head at the start of `buffer`, and where it ends. `None`: it is not all there, or
    /// holds anything unusual, which is for the parser to judge.
    pub(super) fn plain(buffer: &[u8]) -> Option<(usize, Head)> {
        let status_line = buffer.strip_prefix(b"HTTP/1.1 ")?;
        let [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', b' ', ..] = *status_line else {
            return None;
        };
        let status = [a, b, c].iter().fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0'));
        let mut head = Head { status, keep_alive: true, ..Head::default() };
        let mut at = memchr::memchr(b'\n', buffer)? + 1;
        let mut lines = 1;
        loop {
            let line = &buffer[at..];
            if line.starts_with(b"\r\n") {
                break;
            }
            let end = memchr::memchr(b'\n', line)?;
            let colon = line.iter().position(|&byte| !NAME[usize::from(byte)])?;
            if colon == 0 || line[colon] != b':' || lines > MAX_HEADERS {
                return None;
            }
            let (name, value) = (&line[..colon], line[colon + 1..end].trim_ascii());
            match colon {
                10 if name.eq_ignore_ascii_case(b"connection") => {
                    head.keep_alive = connection_stays(value, head.keep_alive);
                }
                14 if name.eq_ignore_ascii_case(b"content-length") => {
                    head.framing = length_framing(head.framing, value).ok()?;
                }
                10 if name.eq_ignore_ascii_case(b"set-cookie") => return None,
                17 if name.eq_ignore_ascii_case(b"transfer-encoding") => return None,
                _ => {}
            }
            lines += 1;
            at += end + 1;
        }
        let fits = at + 2 <= MAX_HEAD && usual(&buffer[..at], lines);
        fits.then_some((at + 2, head))
    }

    /// Whether each of the lines ends in CR LF and is plain ASCII text otherwise.
    fn usual(lines: &[u8], count: usize) -> bool {
        let (mut returns, mut ends, mut odd) = (0usize, 0usize, false);
        for pair in lines.windows(2) {
            ends += usize::from(pair == b"\r\n");
        }
        for &byte in lines {
            returns += usize::from(byte == b'\r');
            odd |= (byte < b' ' && byte != b'\r' && byte != b'\n') || byte > b'~';
        }
        !odd && returns == count && ends == count
    }
}

/// Reads one head at `start` of `buffer`, and where it ends; `None` when it is not all there.
fn parse_head(buffer: &[u8], start: usize) -> Result<Option<(usize, Head)>, Malformed> {
    let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut []);
    let length = match httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        &buffer[start..],
        &mut headers,
    ) {
        // However the bytes came in.
        Ok(httparse::Status::Complete(length)) if length > MAX_HEAD => {
            return Err(Malformed::HeadTooLarge);
        }
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Malformed::HeadTooLarge),
        Err(_) => return Err(Malformed::Head),
    };
    let mut head = Head {
        status: response.code.ok_or(Malformed::Head)?,
        keep_alive: response.version == Some(1),
        ..Head::default()
    };
    let place = |value: &[u8]| {
        let start = value.as_ptr() as usize - buffer.as_ptr() as usize;
        start..start + value.len()
    };
    for header in response.headers.iter() {
        let (name, value) = (header.name, header.value);
        match name.len() {
            10 if name.eq_ignore_ascii_case("connection") => {
                head.keep_alive = connection_stays(value, head.keep_alive);
            }
            10 if name.eq_ignore_ascii_case("set-cookie") => {
                head.set_cookie.get_or_insert(place(value));
            }
            14 if name.eq_ignore_ascii_case("content-length") => {
                head.framing = length_framing(head.framing, value)?;
            }
            17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                if !value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                    return Err(Malformed::Length);
                }
                head.framing = Framing::Chunked;
            }
            _ => {}
        }
    }
    Ok(Some((start + length, head)))
}

/// What a `Connection` header makes of the default.
fn connection_stays(value: &[u8], default: bool) -> bool {
    for token in value.split(|&byte| byte == b',') {
        match token.trim_ascii() {
            close if close.eq_ignore_ascii_case(b"close") => return false,
            keep if keep.eq_ignore_ascii_case(b"keep-alive") => return true,
            _ => {}
        }
    }
    default
}

/// What a `Content-Length` makes of the framing known so far; a transfer coding overrides it.
fn length_framing(known: Framing, value: &[u8]) -> Result<Framing, Malformed> {
    let digits = value.trim_ascii();
    if digits.is_empty() || digits.len() > 15 || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Malformed::Length);
    }
    let size = digits.iter().fold(0usize, |sum, digit| sum * 10 + usize::from(digit - b'0'));
    match known {
        Framing::Chunked => Ok(Framing::Chunked),
        Framing::Length(other) if other != size => Err(Malformed::Length),
        _ => Ok(Framing::Length(size)),
    }
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
