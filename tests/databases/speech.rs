//! The messages of some protocols, as far as a relay must know them to spoil writes.

use std::io::BufRead as _;

use crate::spoiling::{Half, Speech, Stream, read_on};

/// Redis' protocol.
pub(crate) struct Resp;

impl Resp {
    /// A command or a response, with everything nested in it.
    fn value(from: &mut Stream, mut out: Vec<u8>) -> Option<Vec<u8>> {
        let begun = out.len();
        from.read_until(b'\n', &mut out).ok().filter(|read| *read > 0)?;
        let line = std::str::from_utf8(&out[begun..]).ok()?.trim_end();
        let count = line.get(1..).and_then(|it| it.parse::<i64>().ok()).unwrap_or(-1);
        let Ok(count) = usize::try_from(count) else { return Some(out) };
        match line.as_bytes().first()? {
            b'$' | b'=' | b'!' => read_on(from, out, count + 2),
            b'*' | b'~' | b'>' => (0..count).try_fold(out, |out, _| Self::value(from, out)),
            b'%' => (0..2 * count).try_fold(out, |out, _| Self::value(from, out)),
            _ => Some(out),
        }
    }
}

impl Speech for Resp {
    fn request(&self, from: &mut Stream, _: u64) -> Option<Vec<u8>> {
        Self::value(from, Vec::new())
    }

    fn answer(&self, from: &mut Stream) -> Option<Vec<u8>> {
        Self::value(from, Vec::new())
    }

    fn is_write(&self, request: &[u8]) -> bool {
        let mut lines = request.split(|byte| *byte == b'\n').skip(2);
        lines.next() == Some(b"HSET\r")
    }

    fn number(&self, _: &[u8]) -> Option<u64> {
        None
    }

    /// Answers as proxies do that have no answer of the server: twemproxy and Envoy.
    fn failed(&self, _: &[u8], half: Half) -> Vec<u8> {
        match half {
            Half::Answer => b"-ERR Connection timed out\r\n".to_vec(),
            Half::Request => b"-upstream failure\r\n".to_vec(),
        }
    }

    fn nothing(&self) -> Option<Vec<u8>> {
        Some(b"*1\r\n$4\r\nPING\r\n".to_vec())
    }
}

/// The protocol of `MongoDB`.
pub(crate) struct Mongo;

/// The four bytes of a little-endian number at this place.
fn word(message: &[u8], at: usize) -> u32 {
    let bytes = message.get(at..at + 4).and_then(|it| it.try_into().ok());
    bytes.map_or(0, u32::from_le_bytes)
}

impl Mongo {
    fn message(from: &mut Stream) -> Option<Vec<u8>> {
        let length = read_on(from, Vec::new(), 4)?;
        let more = word(&length, 0).checked_sub(4)?;
        read_on(from, length, more as usize)
    }
}

impl Speech for Mongo {
    fn request(&self, from: &mut Stream, _: u64) -> Option<Vec<u8>> {
        Self::message(from)
    }

    fn answer(&self, from: &mut Stream) -> Option<Vec<u8>> {
        Self::message(from)
    }

    fn is_write(&self, request: &[u8]) -> bool {
        // The name of the first element, after the header, flags, and the beginning of the
        // document.
        let name = request.get(26..).unwrap_or_default();
        [&b"insert\0"[..], b"update\0"].iter().any(|it| name.starts_with(it))
    }

    fn number(&self, message: &[u8]) -> Option<u64> {
        // Only responses name the message that they belong to.
        let [own, answered] = [4, 8].map(|at| word(message, at));
        Some(if answered == 0 { own } else { answered }.into())
    }

    fn failed(&self, request: &[u8], _: Half) -> Vec<u8> {
        let text = |name: &str, text: &str| {
            let length = (text.len() as u32 + 1).to_le_bytes();
            [b"\x02", name.as_bytes(), b"\0", &length, text.as_bytes(), b"\0"].concat()
        };
        let said = [text("errmsg", "it failed"), text("codeName", "InternalError")].concat();
        let document =
            [&b"\x01ok\0\0\0\0\0\0\0\0\0\x10code\0\x01\0\0\0"[..], &said, b"\0"].concat();
        let length = (document.len() as u32 + 4).to_le_bytes();
        let answered = word(request, 4).to_le_bytes();
        let rest = [&[0; 4][..], &answered, &2_013_u32.to_le_bytes(), &[0; 5], &length, &document];
        let rest = rest.concat();
        [&(rest.len() as u32 + 4).to_le_bytes()[..], &rest].concat()
    }
}

/// HBase's protocol. Responses name the server of each region; the relay replaces it with its own
/// address.
pub(crate) struct HBase {
    /// The port of the region server, and that of the relay in front of it, with as many digits.
    pub(crate) ports: [u16; 2],
}

impl HBase {
    fn frame(from: &mut Stream, before: usize) -> Option<Vec<u8>> {
        let begun = read_on(from, Vec::new(), before + 4)?;
        let length = begun[before..].try_into().expect("four bytes");
        read_on(from, begun, u32::from_be_bytes(length) as usize)
    }

    /// The address with a port, as in the table of all regions, and as in messages.
    fn addresses(port: u16) -> [Vec<u8>; 2] {
        let mut message = b"\x0a\x09127.0.0.1\x10".to_vec();
        varint(port.into(), &mut message);
        [format!("127.0.0.1:{port}").into_bytes(), message]
    }
}

fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

impl Speech for HBase {
    fn request(&self, from: &mut Stream, before: u64) -> Option<Vec<u8>> {
        // A connection begins with six bytes.
        Self::frame(from, if before == 0 { 6 } else { 0 })
    }

    fn answer(&self, from: &mut Stream) -> Option<Vec<u8>> {
        let mut frame = Self::frame(from, 0)?;
        let [own, others] = self.ports.map(Self::addresses);
        for (own, other) in own.iter().zip(others) {
            assert_eq!(own.len(), other.len(), "{:?}", self.ports);
            let mut from = 0;
            while let Some(at) = frame[from..].windows(own.len()).position(|it| it == own) {
                frame[from + at..][..own.len()].copy_from_slice(&other);
                from += at + own.len();
            }
        }
        Some(frame)
    }

    fn is_write(&self, request: &[u8]) -> bool {
        let head = request.get(..30).unwrap_or(request);
        [&b"\x05Multi"[..], b"\x06Mutate"]
            .iter()
            .any(|it| head.windows(it.len()).any(|at| at == *it))
    }

    fn number(&self, message: &[u8]) -> Option<u64> {
        // The first field of the header, if the header's length is encoded in one byte: true for a
        // write, and for the response to one.
        let field = message.get(5..).filter(|it| it.first() == Some(&0x08))?;
        let end = field[1..].iter().position(|byte| *byte < 0x80)?;
        Some(field[1..=end + 1].iter().rev().fold(0, |sum, byte| sum << 7 | u64::from(byte & 0x7f)))
    }

    fn failed(&self, request: &[u8], _: Half) -> Vec<u8> {
        let class = b"java.io.IOException";
        let exception = [&[0x0a, class.len() as u8][..], class].concat();
        let mut header = vec![0x08];
        varint(self.number(request).expect("a call"), &mut header);
        header.extend([0x12, exception.len() as u8]);
        header.extend(exception);
        let length = (header.len() as u32 + 1).to_be_bytes();
        [&length[..], &[header.len() as u8], &header].concat()
    }
}

/// Cassandra's protocol.
pub(crate) struct Cql;

impl Cql {
    fn frame(from: &mut Stream) -> Option<Vec<u8>> {
        let head = read_on(from, Vec::new(), 9)?;
        let length = u32::from_be_bytes(head[5..].try_into().expect("four bytes"));
        read_on(from, head, length as usize)
    }
}

impl Speech for Cql {
    fn request(&self, from: &mut Stream, _: u64) -> Option<Vec<u8>> {
        Self::frame(from)
    }

    fn answer(&self, from: &mut Stream) -> Option<Vec<u8>> {
        Self::frame(from)
    }

    fn is_write(&self, request: &[u8]) -> bool {
        request[4] == 0x0a
    }

    fn number(&self, message: &[u8]) -> Option<u64> {
        Some(u16::from_be_bytes([message[2], message[3]]).into())
    }

    /// Reports that not all replicas responded in time, or that there are too few.
    fn failed(&self, request: &[u8], half: Half) -> Vec<u8> {
        let text = |text: &str| [&(text.len() as u16).to_be_bytes(), text.as_bytes()].concat();
        let (code, counts): (u32, [u32; 2]) = match half {
            Half::Answer => (0x1100, [0, 1]),
            Half::Request => (0x1000, [1, 0]),
        };
        let [one, two] = counts.map(u32::to_be_bytes);
        let mut body = [&code.to_be_bytes()[..], &text("it failed"), &[0, 4], &one, &two].concat();
        if half == Half::Answer {
            body.extend(text("SIMPLE"));
        }
        let length = (body.len() as u32).to_be_bytes();
        [&[0x84, 0], &request[2..4], &[0], &length, &body].concat()
    }
}

/// HTTP, as CouchDB speaks it. Without HEAD, whose responses have no body.
pub(crate) struct Http;

impl Http {
    /// A request or a response with its body.
    fn message(from: &mut Stream) -> Option<Vec<u8>> {
        let (mut out, mut length, mut chunked) = (Vec::new(), 0, false);
        loop {
            let line = Self::line(from, &mut out)?;
            match line.split_once(':').map(|(name, value)| (name, value.trim())) {
                Some(("content-length", value)) => length = value.parse().ok()?,
                Some(("transfer-encoding", value)) => chunked = value == "chunked",
                _ => {}
            }
            if line.is_empty() {
                break;
            }
        }
        while chunked {
            let size = usize::from_str_radix(&Self::line(from, &mut out)?, 16).ok()?;
            out = read_on(from, out, size + 2)?;
            chunked = size > 0;
        }
        read_on(from, out, length)
    }

    /// The next line in lower case, without its end.
    fn line(from: &mut Stream, out: &mut Vec<u8>) -> Option<String> {
        let begun = out.len();
        from.read_until(b'\n', out).ok().filter(|read| *read > 0)?;
        Some(std::str::from_utf8(&out[begun..]).ok()?.trim_end().to_ascii_lowercase())
    }
}

impl Speech for Http {
    fn request(&self, from: &mut Stream, _: u64) -> Option<Vec<u8>> {
        Self::message(from)
    }

    fn answer(&self, from: &mut Stream) -> Option<Vec<u8>> {
        Self::message(from)
    }

    fn is_write(&self, request: &[u8]) -> bool {
        let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        let mut words = line.split(' ');
        let (method, path) = (words.next(), words.next().unwrap_or_default());
        // Not of a database, which has one segment.
        match method {
            Some("PUT") => path.trim_matches('/').contains('/'),
            Some("POST") => path.contains("/_bulk_docs") || !path.contains("/_"),
            _ => false,
        }
    }

    fn number(&self, _: &[u8]) -> Option<u64> {
        None
    }

    fn failed(&self, _: &[u8], _: Half) -> Vec<u8> {
        let body = r#"{"error":"internal_server_error","reason":"it failed"}"#;
        let length = body.len();
        let head = "HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\n";
        format!("{head}Content-Length: {length}\r\n\r\n{body}").into_bytes()
    }

    fn nothing(&self) -> Option<Vec<u8>> {
        Some(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".to_vec())
    }
}
