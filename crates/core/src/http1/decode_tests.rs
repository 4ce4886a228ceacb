//! Answers in every form, split at every position.

use super::*;
use proptest::prelude::*;

/// Feeds `bytes` in pieces that end at `cuts`, then the end of the connection.
fn feed(
    bytes: &[u8],
    cuts: &[usize],
    head_request: bool,
) -> Result<(u16, Vec<u8>), Option<Malformed>> {
    let mut decoder = Decoder::new(head_request);
    let mut buffer = Vec::new();
    let mut from = 0;
    for to in cuts.iter().copied().chain([bytes.len()]) {
        buffer.extend_from_slice(&bytes[from..to]);
        from = to;
        if decoder.step(&mut buffer).map_err(Some)? == Step::Done && from == bytes.len() {
            return Ok((decoder.head().status, buffer[decoder.body()].to_vec()));
        }
    }
    if decoder.close(buffer.len()) {
        return Ok((decoder.head().status, buffer[decoder.body()].to_vec()));
    }
    Err(None)
}

const ANSWERS: [(&[u8], u16, &[u8]); 7] = [
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, b"hello"),
    (b"HTTP/1.1 404 Object Not Found\r\ncontent-length:0\r\n\r\n", 404, b""),
    (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;x=y\r\n!\r\n0\r\n\r\n",
        200,
        b"hello!",
    ),
    (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nA\r\n0123456789\r\n0\r\nT: 1\r\n\r\n",
        200,
        b"0123456789",
    ),
    (
        b"HTTP/1.1 100 Continue\r\nConnection: close\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}",
        201,
        b"{}",
    ),
    (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
    (b"HTTP/1.0 200 OK\r\n\r\nuntil close", 200, b"until close"),
];

#[test]
fn answers_cut_at_every_position_read_the_same() {
    for (bytes, status, body) in ANSWERS {
        for cut in 0..=bytes.len() {
            assert_eq!(feed(bytes, &[cut], false), Ok((status, body.to_vec())), "cut at {cut}");
        }
        let every: Vec<_> = (0..bytes.len()).collect();
        assert_eq!(feed(bytes, &every, false), Ok((status, body.to_vec())));
    }
}

#[test]
fn answers_that_end_early_are_not_answers() {
    for (bytes, _, _) in &ANSWERS[..5] {
        for end in 0..bytes.len() {
            assert_eq!(feed(&bytes[..end], &[], false), Err(None), "ended at {end}");
        }
    }
}

#[test]
fn the_answer_to_a_head_request_has_no_body() {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n";
    assert_eq!(feed(answer, &[], true), Ok((200, Vec::new())));
}

#[test]
fn malformed_answers_are_told_apart() {
    let wrong = |bytes: &[u8]| feed(bytes, &[], false).unwrap_err();
    assert_eq!(wrong(b"hello there\r\n\r\n"), Some(Malformed::Head));
    assert_eq!(wrong(b"HTTP/1.1 101 Switching\r\n\r\n"), Some(Malformed::Head));
    for length in ["x", "-1", "", "5, 5", "99999999999999999999"] {
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
        assert_eq!(wrong(answer.as_bytes()), Some(Malformed::Length), "{length}");
    }
    let two = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n";
    assert_eq!(wrong(two), Some(Malformed::Length));
    let gzip = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n";
    assert_eq!(wrong(gzip), Some(Malformed::Length));
    for chunk in ["g\r\n", "\r\n", "5\r\nhelloX\r\n", "1000000000000000\r\n"] {
        let answer = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}");
        assert_eq!(wrong(answer.as_bytes()), Some(Malformed::Chunk), "{chunk:?}");
    }
    let excess = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabHTTP/1.1 200 OK\r\n\r\n";
    assert_eq!(wrong(excess), Some(Malformed::Excess));
    let mut large = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
    large.resize(MAX_HEAD + 100, b'x');
    assert_eq!(wrong(&large), Some(Malformed::HeadTooLarge));
    // The result is the same if the end of the head has also arrived.
    large.extend_from_slice(b"\r\n\r\n");
    assert_eq!(wrong(&large), Some(Malformed::HeadTooLarge));
}

/// Feeds `piece` after `start` again and again until the decoder gives up: after how many bytes,
/// and why.
fn endless(start: &[u8], piece: &[u8]) -> (usize, Malformed) {
    let mut decoder = Decoder::new(false);
    let mut buffer = start.to_vec();
    for _ in 0..100_000 {
        buffer.extend_from_slice(piece);
        if let Err(malformed) = decoder.step(&mut buffer) {
            return (buffer.len(), malformed);
        }
    }
    panic!("read without end");
}

#[test]
fn interim_answers_and_trailers_have_an_end() {
    let interim = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
    let (read, malformed) = endless(b"", interim);
    assert_eq!((read, malformed), (101 * interim.len(), Malformed::Interim));
    let start = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n";
    let (read, malformed) = endless(start, b"X: y\r\n");
    assert_eq!(malformed, Malformed::Trailers);
    assert!((64 * 1024..65 * 1024).contains(&read), "{read}");
}

#[test]
fn the_connection_header_decides_over_the_version() {
    let stays = |answer: &[u8]| {
        let mut decoder = Decoder::new(false);
        decoder.step(&mut answer.to_vec()).unwrap();
        decoder.head().keep_alive
    };
    assert!(stays(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    assert!(!stays(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: Close\r\n\r\n"));
    assert!(!stays(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"));
    assert!(stays(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n"));
    assert!(!stays(b"HTTP/1.1 200 OK\r\n\r\n"));
}

proptest! {
    #[test]
    fn any_body_in_any_chunks_comes_out_whole(
        body in proptest::collection::vec(any::<u8>(), 0..600),
        sizes in proptest::collection::vec(1usize..97, 1..30),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let mut answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        let mut rest = &body[..];
        for size in sizes.iter().cycle() {
            if rest.is_empty() { break; }
            let (chunk, after) = rest.split_at((*size).min(rest.len()));
            answer.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            answer.extend_from_slice(chunk);
            answer.extend_from_slice(b"\r\n");
            rest = after;
        }
        answer.extend_from_slice(b"0\r\n\r\n");
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(answer.len())).collect();
        cuts.sort_unstable();
        prop_assert_eq!(feed(&answer, &cuts, false), Ok((200, body)));
    }

    #[test]
    fn no_bytes_make_the_decoder_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        good in any::<bool>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut answer = if good {
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec()
        } else {
            b"HTTP/1.1 ".to_vec()
        };
        answer.extend_from_slice(&bytes);
        let cut = cut.index(answer.len());
        let _ = feed(&answer, &[cut], false);
    }
}
