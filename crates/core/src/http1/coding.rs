//! Decompresses bodies that have a content coding (RFC 9110, 8.4.1).

use super::head::header_values;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use std::io::{self, Read};

/// The body of an answer without its content coding; `None` if it has none. `most` is the largest
/// decoded size, in bytes.
///
/// # Errors
/// Returns a message if the body cannot be decoded.
pub fn decoded(head: &[u8], body: &[u8], most: usize) -> Result<Option<Vec<u8>>, String> {
    let codings = header_values(head, "content-encoding");
    let codings = codings.iter().flat_map(|value| value.split(|byte| *byte == b','));
    let mut codings = codings.map(<[u8]>::trim_ascii).filter(|coding| !is(coding, "identity"));
    // An answer to HEAD, or a 304, names the coding that the body would have.
    let Some(coding) = codings.next().filter(|_| !body.is_empty()) else { return Ok(None) };
    if codings.next().is_some() {
        return Err("the body is encoded more than once, which springload does not undo".to_owned());
    }
    let plain = match coding {
        coding if is(coding, "gzip") || is(coding, "x-gzip") => {
            read(MultiGzDecoder::new(body), most)
        }
        // Some servers leave out the zlib wrapper, as RFC 9110 notes.
        coding if is(coding, "deflate") => read(ZlibDecoder::new(body), most)
            .or_else(|error| read(DeflateDecoder::new(body), most).map_err(|_| error)),
        other => {
            let name = other.escape_ascii();
            return Err(format!("the body is compressed with {name}, not with gzip or deflate"));
        }
    };
    let plain = plain.map_err(|error| {
        format!("the body cannot be decoded as {}: {error}", coding.escape_ascii())
    })?;
    if plain.len() > most {
        return Err(format!(
            "the body is larger than {most} bytes when decoded: give --max-answer"
        ));
    }
    Ok(Some(plain))
}

fn is(coding: &[u8], name: &str) -> bool {
    coding.eq_ignore_ascii_case(name.as_bytes())
}

/// Reads to the end, or until there are more than `most` bytes.
fn read(from: impl Read, most: usize) -> io::Result<Vec<u8>> {
    let mut plain = Vec::new();
    from.take(most as u64 + 1).read_to_end(&mut plain)?;
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use std::io::Write as _;

    const TEXT: &[u8] = b"what was said, what was said, what was said";

    fn head(coding: &str) -> Vec<u8> {
        format!("HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\n\r\n").into_bytes()
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut out = GzEncoder::new(Vec::new(), Compression::best());
        out.write_all(text).unwrap();
        out.finish().unwrap()
    }

    #[test]
    fn each_coding_is_undone() {
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::best());
        zlib.write_all(TEXT).unwrap();
        let mut bare = DeflateEncoder::new(Vec::new(), Compression::best());
        bare.write_all(TEXT).unwrap();
        let twice = [gzip(&TEXT[..9]), gzip(&TEXT[9..])].concat();
        for (coding, body) in [
            ("gzip", gzip(TEXT)),
            ("X-GZip", twice),
            ("deflate", zlib.finish().unwrap()),
            ("identity, deflate", bare.finish().unwrap()),
        ] {
            let plain = decoded(&head(coding), &body, TEXT.len()).unwrap();
            assert_eq!(plain.as_deref(), Some(TEXT), "{coding}");
        }
        for head in [&head("identity")[..], b"HTTP/1.1 200 OK\r\n\r\n"] {
            assert_eq!(decoded(head, TEXT, 9), Ok(None));
        }
        assert_eq!(decoded(&head("gzip"), b"", 9), Ok(None));
    }

    #[test]
    fn what_is_damaged_too_large_or_unknown_is_refused() {
        let whole = gzip(TEXT);
        let mut changed = whole.clone();
        changed[whole.len() - 6] ^= 1;
        let more = [&whole[..], b"more"].concat();
        for body in [&whole[..whole.len() - 1], &changed, &more, TEXT] {
            let message = decoded(&head("gzip"), body, 1_000).unwrap_err();
            assert!(message.starts_with("the body cannot be decoded as gzip: "), "{message}");
        }
        assert!(decoded(&head("deflate"), TEXT, 1_000).is_err());
        let message = decoded(&head("gzip"), &whole, TEXT.len() - 1).unwrap_err();
        assert!(message.contains("larger than 42 bytes"), "{message}");
        // A few bytes may decompress to gigabytes.
        let bomb = gzip(&vec![0; 50_000_000]);
        assert!(decoded(&head("gzip"), &bomb, 1_000).is_err());
        for (coding, problem) in [
            ("br", "the body is compressed with br, "),
            ("gzip, br", "the body is encoded more than once, "),
            ("gzip, gzip", "the body is encoded more than once, "),
        ] {
            let message = decoded(&head(coding), &whole, 1_000).unwrap_err();
            assert!(message.starts_with(problem), "{message}");
        }
    }
}
