//! Converts an HTTP/1.1 request for HTTP/2 (RFC 9113, 8.2.2 and 8.3.1).

use crate::http1::CONNECTION_HEADERS;
use bytes::Bytes;
use http::header::{HOST, HeaderMap, HeaderName, HeaderValue, TE};
use http::uri::{Authority, PathAndQuery, Scheme, Uri};
use http::{Method, Request, Version};

/// The headers of the last request: a session's requests mostly have the same ones.
#[derive(Debug, Default)]
pub(super) struct SpelledHeaders {
    /// The header lines as they were given.
    known: Vec<u8>,
    headers: HeaderMap,
    authority: Option<Authority>,
}

impl SpelledHeaders {
    /// The HTTP/2 head of `request`, and where its body begins.
    ///
    /// # Errors
    /// Returns a message if the request cannot be sent over HTTP/2.
    pub(super) fn of(
        &mut self,
        request: &[u8],
        secure: bool,
    ) -> Result<(Request<()>, usize), String> {
        let no_request = || "it has no request line".to_owned();
        let method = memchr::memchr(b' ', request).ok_or_else(no_request)?;
        let target = method + 1;
        let target_end =
            target + memchr::memchr(b' ', &request[target..]).ok_or_else(no_request)?;
        let headers = memchr::memchr(b'\n', &request[target_end..]).ok_or_else(no_request)?;
        let headers = target_end + headers + 1;
        let length = memchr::memmem::find(&request[headers - 2..], b"\r\n\r\n");
        let end = headers + length.ok_or("its headers do not end")?;
        if self.known != request[headers..end] || self.authority.is_none() {
            self.read(&request[headers..end])?;
        }
        let wrong = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
        let path = Bytes::copy_from_slice(&request[target..target_end]);
        let path = PathAndQuery::from_maybe_shared(path).map_err(|it| wrong("its path", &it))?;
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(if secure { Scheme::HTTPS } else { Scheme::HTTP });
        parts.authority.clone_from(&self.authority);
        parts.path_and_query = Some(path);
        let mut spelled = Request::new(());
        *spelled.method_mut() =
            Method::from_bytes(&request[..method]).map_err(|it| wrong("its method", &it))?;
        *spelled.uri_mut() = Uri::from_parts(parts).map_err(|it| wrong("its address", &it))?;
        *spelled.version_mut() = Version::HTTP_2;
        spelled.headers_mut().clone_from(&self.headers);
        Ok((spelled, end + 2))
    }

    fn read(&mut self, lines: &[u8]) -> Result<(), String> {
        self.headers.clear();
        self.authority = None;
        for line in lines.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii) {
            let Some(colon) = memchr::memchr(b':', line) else { continue };
            let flaw = |what| format!("{what} in {}", line[..colon].escape_ascii());
            let name = HeaderName::from_bytes(&line[..colon]).map_err(|_| flaw("not a name"))?;
            let value = line[colon + 1..].trim_ascii();
            let other = name == TE && !value.eq_ignore_ascii_case(b"trailers");
            if other || CONNECTION_HEADERS.contains(&name.as_str()) {
                continue;
            }
            if name == HOST {
                let authority = Authority::try_from(value).map_err(|_| flaw("not a host"))?;
                self.authority = Some(authority);
                continue;
            }
            let value = HeaderValue::from_bytes(value).map_err(|_| flaw("not a value"))?;
            self.headers.append(name, value);
        }
        if self.authority.is_none() {
            return Err("it has no host".to_owned());
        }
        self.known.clear();
        self.known.extend_from_slice(lines);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(text: &str) -> Result<(Request<()>, String), String> {
        let (request, body) = SpelledHeaders::default().of(text.as_bytes(), true)?;
        Ok((request, text[body..].to_owned()))
    }

    #[test]
    fn the_host_becomes_the_authority_and_headers_of_a_connection_are_left_out() {
        let text = "POST /a?b=%20c HTTP/1.1\r\nHost: h:8\r\nX-One: 1\r\nConnection: keep-alive\r\n\
            Keep-Alive: 5\r\nUpgrade: x\r\nTE: gzip\r\nX-One: 2\r\nContent-Length: 2\r\n\r\n\r\n{";
        let (request, body) = spelled(text).unwrap();
        assert_eq!(request.uri(), "https://h:8/a?b=%20c");
        assert_eq!((request.method().as_str(), body.as_str()), ("POST", "\r\n{"));
        let text = |(name, value): (&HeaderName, &HeaderValue)| {
            format!("{name} {}", value.to_str().unwrap())
        };
        let headers: Vec<_> = request.headers().iter().map(text).collect();
        let expected = ["x-one 1", "x-one 2", "content-length 2"];
        assert_eq!(headers, expected);
        let (request, _) = spelled("GET / HTTP/1.1\r\nHost: h\r\nTE: trailers\r\n\r\n").unwrap();
        assert_eq!(request.headers()[TE], "trailers");
        assert_eq!(spelled("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n").unwrap().0.uri().path(), "*");
    }

    #[test]
    fn what_is_known_of_the_last_request_is_not_taken_for_that_of_another() {
        let mut spelling = SpelledHeaders::default();
        let mut of = |text: &str| {
            let (request, _) = spelling.of(text.as_bytes(), false).unwrap();
            let value = request.headers().get("x").map(|it| it.to_str().unwrap().to_owned());
            (request.uri().to_string(), value)
        };
        for (host, x) in [("a", "1"), ("a", "1"), ("a", "2"), ("b", "2"), ("a", "1")] {
            let made = of(&format!("GET /{x} HTTP/1.1\r\nHost: {host}\r\nX: {x}\r\n\r\n"));
            assert_eq!(made, (format!("http://{host}/{x}"), Some(x.to_owned())));
        }
        assert_eq!(of("GET / HTTP/1.1\r\nHost: a\r\n\r\n").1, None);
    }

    #[test]
    fn what_cannot_be_spelled_is_refused_in_words() {
        for (text, words) in [
            ("GET / HTTP/1.1\r\nX: 1\r\n\r\n", "it has no host"),
            ("GET /\u{1} HTTP/1.1\r\nHost: h\r\n\r\n", "its path: invalid uri character"),
            ("GET / HTTP/1.1\r\nHost: h\r\nA B: 1\r\n\r\n", "not a name in A B"),
            ("GET / HTTP/1.1\r\nHost: h\r\n", "its headers do not end"),
        ] {
            assert_eq!(spelled(text).unwrap_err(), words);
        }
    }
}
