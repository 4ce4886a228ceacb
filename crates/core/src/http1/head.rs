//! The head of an HTTP/1.1 answer (RFC 9112): the status, and how the body is delimited.
//!
//! Extracts what is needed and checks the rest, in one pass. httparse, which reads every header
//! into a list, takes 1.6 times as long; a test ensures that both accept exactly the same heads.

use super::malformed::Malformed;

/// The longest head that is accepted, in bytes.
pub(super) const MAX_HEAD: usize = 64 * 1024;
const MAX_HEADERS: usize = 64;

/// The relevant parts of a head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The status code.
    pub status: u16,
    /// Whether the connection can be reused after this answer.
    pub keep_alive: bool,
    /// Whether it sets a cookie.
    pub sets_cookie: bool,
    /// Hints about how the answer was produced.
    pub hints: Hints,
}

#[cfg(feature = "http2")]
impl Head {
    /// Takes in a header that does not affect where the body ends.
    pub(crate) fn note(&mut self, name: &[u8], value: &[u8]) {
        // HTTP/2 has no connection headers, and checks lengths by rules of its own.
        let _ = heed(name, value, self, &mut Framing::default());
    }
}

/// Hints in an answer about how it was produced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// A cache had the answer, and the server was not asked.
    pub from_cache: bool,
    /// The server asks the client to wait before its next request.
    pub retry_after: bool,
}

/// How the end of a body is marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Framing {
    #[default]
    UntilClose,
    Length(usize),
    Chunked,
}

/// The bytes allowed in a header's name (RFC 9110, 5.6.2).
static TOKEN: [bool; 256] = {
    let mut token = [false; 256];
    let mut byte = 0u8;
    while byte < 128 {
        token[byte as usize] = byte.is_ascii_alphanumeric();
        byte += 1;
    }
    let others = b"!#$%&'*+-.^_`|~";
    byte = 0;
    while (byte as usize) < others.len() {
        token[others[byte as usize] as usize] = true;
        byte += 1;
    }
    token
};

/// A 1 in each byte.
const ONES: u64 = u64::MAX / 255;

/// Why reading a head stopped early.
enum Stop {
    Partial,
    Malformed(Malformed),
}

/// The bytes are not a head.
const WRONG: Stop = Stop::Malformed(Malformed::Head);

/// A head that was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parsed {
    /// In bytes.
    pub(super) length: usize,
    pub(super) head: Head,
    /// How the end of the body is marked.
    pub(super) framing: Framing,
}

/// Reads the head at the beginning of `bytes`; `None` if it is incomplete.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<Parsed>, Malformed> {
    match read(bytes) {
        // The limit applies no matter how the bytes arrived.
        Ok(Parsed { length, .. }) if length > MAX_HEAD => Err(Malformed::HeadTooLarge),
        Ok(read) => Ok(Some(read)),
        Err(Stop::Partial) => Ok(None),
        Err(Stop::Malformed(malformed)) => Err(malformed),
    }
}

fn read(bytes: &[u8]) -> Result<Parsed, Stop> {
    let mut at = 0;
    while matches!(bytes.get(at), Some(b'\r' | b'\n')) {
        at = line_end(bytes, at)?;
    }
    let StatusLine { end, status, keep_alive } = status_line(bytes, at)?;
    at = end;
    let mut head = Head { status, keep_alive, ..Head::default() };
    let mut framing = Framing::default();
    for _ in 0..=MAX_HEADERS {
        if let b'\r' | b'\n' = byte(bytes, at)? {
            return Ok(Parsed { length: line_end(bytes, at)?, head, framing });
        }
        let idle = idle_name(&bytes[at..]);
        if idle > 0 {
            at = text_end(bytes, at + idle)?;
            at = line_end(bytes, at)?;
            continue;
        }
        let start = at;
        at = name_end(bytes, at);
        let name = &bytes[start..at];
        if byte(bytes, at)? != b':' || name.is_empty() {
            return Err(WRONG);
        }
        at += 1;
        let start = at;
        at = text_end(bytes, at)?;
        let value = &bytes[start..at];
        at = line_end(bytes, at)?;
        heed(name, value, &mut head, &mut framing).map_err(Stop::Malformed)?;
    }
    Err(Stop::Malformed(Malformed::HeadTooLarge))
}

fn byte(bytes: &[u8], at: usize) -> Result<u8, Stop> {
    bytes.get(at).copied().ok_or(Stop::Partial)
}

/// The position after the line break at `at`.
fn line_end(bytes: &[u8], at: usize) -> Result<usize, Stop> {
    match byte(bytes, at)? {
        b'\n' => Ok(at + 1),
        b'\r' if byte(bytes, at + 1)? == b'\n' => Ok(at + 2),
        _ => Err(WRONG),
    }
}

struct StatusLine {
    /// The start of the next line.
    end: usize,
    status: u16,
    /// Whether this version of HTTP keeps connections open by default.
    keep_alive: bool,
}

/// Reads the status line at `at`.
fn status_line(bytes: &[u8], at: usize) -> Result<StatusLine, Stop> {
    const VERSION: &[u8] = b"HTTP/1.";
    let line = &bytes[at..];
    let known = line.len().min(VERSION.len());
    if line[..known] != VERSION[..known] {
        return Err(WRONG);
    }
    let keep_alive = match byte(line, VERSION.len())? {
        b'1' => true,
        b'0' => false,
        _ => return Err(WRONG),
    };
    if byte(line, 8)? != b' ' {
        return Err(WRONG);
    }
    let mut status = 0;
    for position in 9..12 {
        let digit = byte(line, position)?;
        if !digit.is_ascii_digit() {
            return Err(WRONG);
        }
        status = status * 10 + u16::from(digit - b'0');
    }
    let end = match byte(line, 12)? {
        b' ' => text_end(bytes, at + 13)?,
        _ => at + 12,
    };
    Ok(StatusLine { end: line_end(bytes, end)?, status, keep_alive })
}

/// The length of the name at the beginning of `line`, with its colon, if it is a common header that
/// is ignored here; otherwise 0.
#[inline]
fn idle_name(line: &[u8]) -> usize {
    match line.first() {
        Some(b'C') => begins(line, b"Cache-Control:") + begins(line, b"Content-Type:"),
        Some(b'D') => begins(line, b"Date:"),
        Some(b'E') => begins(line, b"ETag:"),
        Some(b'S') => begins(line, b"Server:"),
        Some(b'X') => begins(line, b"X-Couch-Request-ID:") + begins(line, b"X-CouchDB-Body-Time:"),
        _ => 0,
    }
}

/// The length of `text` if `line` begins with it, otherwise 0.
#[inline]
fn begins<const N: usize>(line: &[u8], text: &[u8; N]) -> usize {
    if line.starts_with(text) { N } else { 0 }
}

/// The end of the name at `at`: the first byte not allowed in a name.
///
/// Letters and hyphens, which make up almost all names, are checked eight bytes at a time: with the
/// high bit of each byte cleared, a sum has that bit set exactly if the byte is not below a bound
/// (H. S. Warren, Hacker's Delight, 6-1).
fn name_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(eight) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*eight);
        let low = word & (0x7f * ONES);
        let lower = low | (0x20 * ONES);
        let letter =
            (lower + u64::from(0x80 - b'a') * ONES) & !(lower + u64::from(0x7f - b'z') * ONES);
        let other_than_hyphen = (low ^ (u64::from(b'-') * ONES)) + 0x7f * ONES;
        let found = (word | !letter & other_than_hyphen) & (0x80 * ONES);
        if found == 0 {
            at += 8;
            continue;
        }
        at += found.trailing_zeros() as usize / 8;
        if bytes[at] == b':' {
            return at;
        }
        break;
    }
    at + bytes[at..].iter().take_while(|&&byte| TOKEN[usize::from(byte)]).count()
}

/// The end of the text at `at`: the first control character that is not a tab.
///
/// Checks eight bytes at a time. If x is the eight bytes, x − 0x20 in each byte has the high bit
/// set for each byte below 0x20, and x + 1 for each byte 0x7f: at least for the lowest one, as
/// carries go upwards. Bytes from 0x80 on have the high bit set in x, and are checked one by one
/// (after H. S. Warren, Hacker's Delight, 6-1).
fn text_end(bytes: &[u8], mut at: usize) -> Result<usize, Stop> {
    while let Some(eight) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*eight);
        let found =
            (word | word.wrapping_sub(0x20 * ONES) | word.wrapping_add(ONES)) & (0x80 * ONES);
        if found == 0 {
            at += 8;
            continue;
        }
        at += found.trailing_zeros() as usize / 8;
        if !matches!(bytes[at], b'\t' | 0x80..) {
            return Ok(at);
        }
        at += 1;
    }
    while byte(bytes, at)? >= b' ' && bytes[at] != 0x7f || bytes[at] == b'\t' {
        at += 1;
    }
    Ok(at)
}

fn heed(
    name: &[u8],
    value: &[u8],
    head: &mut Head,
    framing: &mut Framing,
) -> Result<(), Malformed> {
    match name.len() {
        3 if name.eq_ignore_ascii_case(b"age") => head.hints.from_cache |= is_old(value),
        7 | 12 | 14 | 15 if CACHES.iter().any(|it| name.eq_ignore_ascii_case(it)) => {
            head.hints.from_cache |= is_hit(value);
        }
        11 if name.eq_ignore_ascii_case(b"retry-after") => head.hints.retry_after = true,
        10 if name.eq_ignore_ascii_case(b"connection") => {
            head.keep_alive = connection_stays(value, head.keep_alive);
        }
        10 if name.eq_ignore_ascii_case(b"set-cookie") => head.sets_cookie = true,
        14 if name.eq_ignore_ascii_case(b"content-length") => {
            *framing = length_framing(*framing, value)?;
        }
        17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
            if !value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                return Err(Malformed::Length);
            }
            *framing = Framing::Chunked;
        }
        _ => {}
    }
    Ok(())
}

/// The headers in which caches report a hit: the standard one of RFC 9211, and those that Squid and
/// others, nginx by convention, and Cloudflare send.
const CACHES: [&[u8]; 4] = [b"cache-status", b"x-cache", b"x-cache-status", b"cf-cache-status"];

/// Whether an `Age` shows that the answer was stored: a cache that has just fetched it sends 0.
fn is_old(value: &[u8]) -> bool {
    let digits = value.trim_ascii();
    digits.iter().all(u8::is_ascii_digit) && digits.iter().any(|digit| *digit != b'0')
}

/// Whether one of the caches reports a `hit`, as in `HIT`, `TCP_HIT from proxy` and `Edge; hit`.
fn is_hit(value: &[u8]) -> bool {
    let mut words = value.split(|byte| !byte.is_ascii_alphabetic());
    words.any(|word| word.eq_ignore_ascii_case(b"hit"))
}

/// The values of all headers called `name` in an accepted head, in order.
pub fn header_values<'a>(head: &'a [u8], name: &str) -> Vec<&'a [u8]> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    // The status line is known to be one of HTTP/1.1, unless it is one of HTTP/2.
    let lines = head.strip_prefix(b"HTTP/2 ").and_then(|rest| {
        let line = memchr::memchr(b'\n', rest)?;
        Some(&rest[line + 1..])
    });
    let parsed = match lines {
        Some(lines) => httparse::parse_headers(lines, &mut headers).map(drop),
        None => httparse::Response::new(&mut headers).parse(head).map(drop),
    };
    if parsed.is_err() {
        return Vec::new();
    }
    let named = headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
    named.map(|header| header.value).collect()
}

/// Whether the connection stays open, given a `Connection` header and the default.
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

/// The framing after a `Content-Length`, given the framing known so far; a transfer coding
/// overrides it.
fn length_framing(known: Framing, value: &[u8]) -> Result<Framing, Malformed> {
    let digits = value.trim_ascii();
    if digits.is_empty() || digits.len() > 15 {
        return Err(Malformed::Length);
    }
    let mut size = 0;
    for &byte in digits {
        if !byte.is_ascii_digit() {
            return Err(Malformed::Length);
        }
        size = size * 10 + usize::from(byte - b'0');
    }
    match known {
        Framing::Chunked => Ok(Framing::Chunked),
        Framing::Length(other) if other != size => Err(Malformed::Length),
        _ => Ok(Framing::Length(size)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The result of httparse for `bytes`.
    fn reference(bytes: &[u8]) -> Result<Option<Parsed>, Malformed> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        let length = match response.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => return Err(Malformed::Head),
        };
        let status = response.code.expect("complete");
        let keep_alive = response.version == Some(1);
        let mut head = Head { status, keep_alive, ..Head::default() };
        let mut framing = Framing::default();
        for header in response.headers.iter() {
            heed(header.name.as_bytes(), header.value, &mut head, &mut framing)?;
        }
        Ok(Some(Parsed { length, head, framing }))
    }

    #[test]
    fn caches_and_waits_are_known_by_their_headers() {
        let hints = |headers: &str| {
            let text = format!("HTTP/1.1 200 OK\r\n{headers}\r\n");
            let Hints { from_cache, retry_after } =
                parse(text.as_bytes()).unwrap().unwrap().head.hints;
            (from_cache, retry_after)
        };
        for cached in [
            "Age: 7\r\n",
            "age: 07 \r\n",
            "X-Cache: TCP_HIT from proxy\r\n",
            "Cache-Status: origin; fwd=miss, Edge; hit\r\n",
            "CF-Cache-Status: HIT\r\n",
            // What one cache had, other caches may not have had.
            "X-Cache: HIT\r\nAge: 0\r\n",
            "X-Cache: HIT\r\nX-Cache-Status: MISS\r\n",
        ] {
            assert_eq!(hints(cached), (true, false), "{cached}");
        }
        for other in [
            "",
            "Age: 0\r\n",
            "Age: -7\r\n",
            "Age: old 7\r\n",
            "Age:\r\n",
            "X-Cache: MISS\r\n",
            "X-Cache: hits\r\n",
            "X-Cache: white\r\n",
            "X-Cached: HIT\r\n",
        ] {
            assert_eq!(hints(other), (false, false), "{other}");
        }
        assert_eq!(hints("Retry-After: 3\r\n"), (false, true));
    }

    /// Parts of heads, valid and invalid.
    fn piece() -> impl Strategy<Value = Vec<u8>> {
        let known: [&[u8]; 35] = [
            b"\r\n",
            b"\n",
            b"\r",
            b" ",
            b"\t",
            b":",
            b"\0",
            b"\x7f",
            b"\xff",
            b"HTTP/1.1 200 OK",
            b"HTTP/1.0 404",
            b"Content-Length: 5",
            b"content-length:",
            b" 17 ",
            b"Connection: close",
            b"CONNECTION: x, Keep-Alive",
            b"Set-Cookie: a=b",
            b"Age: 17",
            b"X-Cache: MISS, HIT",
            b"Cache-Status: Edge; hit",
            b"Retry-After: 120",
            b"Cache-Control: x\xff\x7e",
            b"Server:",
            b"ETag\x3a \"1-a\"",
            b"X-Couch-Request-ID: \x7f",
            b"Transfer-Encoding: chunked",
            b"200",
            b"transfer-encoding: gzip",
            b"Date: Sat, 21 Nov 2026 05:00:00 GMT",
            b"x",
            b"\r\n\r\n",
            b"a-name_of.all'kinds!: and a value of more than eight bytes",
            b"\r\nx: \ty\t\r\n",
            b" : ",
            b"eight by\x1fte",
        ];
        prop_oneof![
            8 => prop::sample::select(known.to_vec()).prop_map(<[u8]>::to_vec),
            1 => prop::collection::vec(any::<u8>(), 1..12),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        #[test]
        fn heads_are_read_as_httparse_reads_them(
            begun in prop::sample::select(vec![
                &b"HTTP/1.1 200 OK\r\n"[..], b"HTTP/1.0 201 \r\n", b"\r\nHTTP/1.1 304\n", b"",
            ]),
            pieces in prop::collection::vec(piece(), 0..14),
            ended in prop::sample::select(vec![&b"\r\n\r\n"[..], b"\n\n", b""]),
        ) {
            let whole = [begun, &pieces.concat(), ended].concat();
            for end in 0..=whole.len() {
                let (ours, theirs) = (parse(&whole[..end]), reference(&whole[..end]));
                // An invalid length is reported before the head is complete.
                let same = ours == theirs || ours == Err(Malformed::Length) && theirs == Ok(None)
                    || ours.is_err() && theirs.is_err();
                prop_assert!(same, "{:?}: {ours:?}, httparse {theirs:?}", &whole[..end]);
            }
        }
    }
}
