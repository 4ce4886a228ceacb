//! An HTTP response of arbitrary bytes, split at arbitrary places: the decoder never panics, and
//! its result does not depend on the splits.
//!
//! An input is one byte (bit 0: the response to a HEAD; bits 1 to 3: the number of splits), a byte
//! per split (its distance from the previous one), and the response.
#![no_main]

use libfuzzer_sys::fuzz_target;
use springload::http1::{Decoder, Step, header_values};

/// The result of decoding a response.
#[derive(Debug, PartialEq, Eq)]
enum Made {
    Whole {
        status: u16,
        keep_alive: bool,
        etags: Vec<Vec<u8>>,
        cookies: Vec<Vec<u8>>,
        sets_cookie: bool,
        body: Vec<u8>,
    },
    /// The peer closed the connection too early.
    Cut,
    /// Not a response, or more than one.
    Malformed,
}

fn decode<'a>(head_request: bool, parts: impl Iterator<Item = &'a [u8]>) -> Made {
    let mut decoder = Decoder::new(head_request);
    let mut buffer = Vec::new();
    let mut done = false;
    for part in parts.filter(|part| !part.is_empty()) {
        if done {
            return Made::Malformed;
        }
        buffer.extend_from_slice(part);
        match decoder.step(&mut buffer) {
            Ok(Step::Done) => done = true,
            Ok(Step::More(more)) => assert!(more > 0),
            Err(_) => return Made::Malformed,
        }
    }
    if !done && !decoder.close(buffer.len()) {
        return Made::Cut;
    }
    let head = decoder.head();
    let values = |name| {
        let text = &buffer[decoder.head_text()];
        header_values(text, name).into_iter().map(<[u8]>::to_vec).collect::<Vec<_>>()
    };
    Made::Whole {
        status: head.status,
        keep_alive: head.keep_alive,
        etags: values("etag"),
        cookies: values("set-cookie"),
        sets_cookie: head.sets_cookie,
        body: buffer[decoder.body()].to_vec(),
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&flags, rest)) = data.split_first() else { return };
    let Some((steps, answer)) = rest.split_at_checked(usize::from(flags >> 1 & 7)) else { return };
    let head_request = flags & 1 == 1;
    let whole = decode(head_request, std::iter::once(answer));
    let mut left = answer;
    let mut parts = Vec::new();
    for &step in steps {
        let (part, rest) = left.split_at(usize::from(step).min(left.len()));
        parts.push(part);
        left = rest;
    }
    parts.push(left);
    assert_eq!(decode(head_request, parts.into_iter()), whole);
    if answer.len() < 512 {
        assert_eq!(decode(head_request, answer.chunks(1)), whole);
    }
});
