//! Answers: statuses, headers and bodies, exactly as CouchDB writes them.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, LOCATION,
    SERVER, SET_COOKIE,
};
use hyper::{Response, StatusCode};
use tokio::sync::mpsc;

use super::json::write_string;
use super::revision::Rev;
use super::store::Unwritten;
use crate::catalogue::{LOCKED_OUT, Refused};

const SERVER_NAME: &str =
    concat!("springload-stand-in/", env!("CARGO_PKG_VERSION"), " (CouchDB API)");

/// Bytes per chunk of an answer that CouchDB sends chunked.
const CHUNK_BYTES: usize = 8 * 1024;

/// An error answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) error: &'static str,
    pub(crate) reason: &'static str,
}

const fn refusal(status: u16, error: &'static str, reason: &'static str) -> Refusal {
    Refusal { status, error, reason }
}

impl Refusal {
    pub(crate) const INVALID_JSON: Self = refusal(400, "bad_request", "invalid UTF-8 JSON");
    pub(crate) const NOT_AN_OBJECT: Self =
        refusal(400, "bad_request", "Document must be a JSON object");
    pub(crate) const REQUEST_NOT_AN_OBJECT: Self =
        refusal(400, "bad_request", "Request body must be a JSON object");
    pub(crate) const NO_DOCS: Self =
        refusal(400, "bad_request", "POST body must include `docs` parameter.");
    pub(crate) const DOCS_NOT_ARRAY: Self =
        refusal(400, "bad_request", "`docs` parameter must be an array.");
    pub(crate) const KEYS_NOT_ARRAY: Self =
        refusal(400, "bad_request", "`keys` member must be an array.");
    pub(crate) const BAD_REVISION: Self = refusal(400, "bad_request", "Invalid rev format");
    pub(crate) const REVISIONS_DIFFER: Self = refusal(
        400,
        "bad_request",
        "Document rev from request body and query string have different values",
    );
    pub(crate) const ETAG_DIFFERS: Self =
        refusal(400, "bad_request", "Document rev and etag have different values");
    pub(crate) const BAD_COUNT: Self =
        refusal(400, "bad_request", "count must be a positive integer");
    pub(crate) const COUNT_TOO_LARGE: Self =
        refusal(400, "bad_request", "count parameter too large");
    pub(crate) const NO_DATABASE_NAMES: Self =
        refusal(400, "bad_request", "`keys` member must exist.");
    pub(crate) const TOO_MANY_NAMES: Self = refusal(400, "bad_request", "too_many_keys");
    pub(crate) const MALFORMED_SEQUENCE: Self =
        refusal(400, "bad_request", "Malformed sequence supplied in 'since' parameter.");
    pub(crate) const BAD_PARAMETER: Self =
        refusal(400, "query_parse_error", "Invalid value for a query parameter");
    pub(crate) const ID_NOT_A_STRING: Self =
        refusal(400, "illegal_docid", "Document id must be a string");
    pub(crate) const ID_EMPTY: Self =
        refusal(400, "illegal_docid", "Document id must not be empty");
    pub(crate) const ID_RESERVED: Self =
        refusal(400, "illegal_docid", "Only reserved document ids may start with underscore.");
    pub(crate) const BAD_MEMBER: Self =
        refusal(400, "doc_validation", "Bad special document member");
    pub(crate) const ILLEGAL_NAME: Self = refusal(
        400,
        "illegal_database_name",
        "Only lowercase characters (a-z), digits (0-9), and any of the characters _, $, (, ), +, -, and / are allowed. Must begin with a letter.",
    );
    pub(crate) const NOT_AUTHORIZED: Self =
        refusal(401, "unauthorized", "You are not authorized to access this db.");
    pub(crate) const NOT_ADMIN: Self = refusal(401, "unauthorized", "You are not a server admin.");
    pub(crate) const WRONG_PASSWORD: Self =
        refusal(401, "unauthorized", "Name or password is incorrect.");
    pub(crate) const LOCKED_OUT: Self = refusal(403, "forbidden", LOCKED_OUT);
    pub(crate) const NO_DATABASE: Self = refusal(404, "not_found", "Database does not exist.");
    pub(crate) const MISSING: Self = refusal(404, "not_found", "missing");
    pub(crate) const DELETED: Self = refusal(404, "not_found", "deleted");
    pub(crate) const NOT_ALLOWED: Self =
        refusal(405, "method_not_allowed", "This method is not allowed here");
    pub(crate) const CONFLICT: Self = refusal(409, "conflict", "Document update conflict.");
    pub(crate) const FILE_EXISTS: Self =
        refusal(412, "file_exists", "The database could not be created, the file already exists.");
    pub(crate) const DOCUMENT_TOO_LARGE: Self = refusal(413, "document_too_large", "");
    pub(crate) const TOO_SLOW: Self =
        refusal(408, "timeout", "the request took too long to arrive");
    pub(crate) const TOO_LARGE: Self = refusal(413, "too_large", "the request entity is too large");
    pub(crate) const BAD_CONTENT_TYPE: Self =
        refusal(415, "bad_content_type", "Content-Type must be application/json");
    /// What CouchDB says when its disk is full.
    pub(crate) const FAILED: Self = refusal(500, "error", "internal_server_error");
    pub(crate) const NOT_SUPPORTED: Self = refusal(
        501,
        "not_implemented",
        "The stand-in has no views, no Mango queries and no attachments: give a CouchDB",
    );
    pub(crate) const NO_ATTACHMENTS: Self =
        refusal(501, "not_implemented", "The stand-in keeps no attachments");
    pub(crate) const NO_FILTERS: Self =
        refusal(501, "not_implemented", "The stand-in has no filters but _doc_ids");
    pub(crate) const NO_DOC_IDS: Self =
        refusal(400, "bad_request", "`doc_ids` filter parameter is not a list of doc ids.");

    /// Appends `"error":..,"reason":..`, without braces.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\"error\":");
        write_string(self.error, out);
        out.extend_from_slice(b",\"reason\":");
        write_string(self.reason, out);
    }
}

#[derive(Debug)]
pub(crate) enum ReplyBody {
    /// Known at once; sent with `Content-Length`.
    Whole(Option<Bytes>),
    /// Known at once; sent in chunks, as CouchDB sends lists.
    Chunks(VecDeque<Bytes>),
    /// Generated while it is sent: a feed.
    Feed(mpsc::Receiver<Bytes>),
}

impl ReplyBody {
    pub(crate) fn chunked(bytes: Vec<u8>) -> Self {
        let mut rest = Bytes::from(bytes);
        let mut chunks = VecDeque::with_capacity(rest.len() / CHUNK_BYTES + 1);
        while rest.len() > CHUNK_BYTES {
            chunks.push_back(rest.split_to(CHUNK_BYTES));
        }
        chunks.push_back(rest);
        Self::Chunks(chunks)
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match self.get_mut() {
            Self::Whole(bytes) => bytes.take(),
            Self::Chunks(chunks) => chunks.pop_front(),
            Self::Feed(receiver) => match receiver.poll_recv(context) {
                Poll::Ready(next) => next,
                Poll::Pending => return Poll::Pending,
            },
        };
        Poll::Ready(next.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Self::Chunks(_) | Self::Feed(_) => SizeHint::default(),
        }
    }
}

/// An answer before it becomes HTTP.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) payload: ReplyBody,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Reply {
    /// A JSON answer. The caller appends a line feed, as CouchDB does.
    pub(crate) fn json(status: u16, body: impl Into<Bytes>) -> Self {
        Self::new(status, ReplyBody::Whole(Some(body.into())))
    }

    pub(crate) fn new(status: u16, payload: ReplyBody) -> Self {
        Self { status, payload, headers: Vec::new() }
    }

    pub(crate) fn etag(self, rev: Rev) -> Self {
        let mut value = vec![b'"'];
        rev.write(&mut value);
        value.push(b'"');
        self.header(ETAG, value)
    }

    pub(crate) fn location(self, path: String) -> Self {
        self.header(LOCATION, path.into_bytes())
    }

    pub(crate) fn cookie(self, cookie: String) -> Self {
        self.header(SET_COOKIE, cookie.into_bytes())
    }

    pub(crate) fn allow(self, methods: &'static str) -> Self {
        self.header(ALLOW, methods.as_bytes().to_vec())
    }

    /// Makes the connection close after this answer.
    pub(crate) fn close(self) -> Self {
        self.header(CONNECTION, b"close".to_vec())
    }

    fn header(mut self, name: HeaderName, value: Vec<u8>) -> Self {
        // Paths and cookies are already percent-encoded, so the value is always legal.
        if let Ok(value) = HeaderValue::from_maybe_shared(Bytes::from(value)) {
            self.headers.push((name, value));
        }
        self
    }

    pub(crate) fn into_response(self) -> Response<ReplyBody> {
        let mut response = Response::new(self.payload);
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.reserve(8);
        headers.insert(SERVER, HeaderValue::from_static(SERVER_NAME));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("must-revalidate"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in self.headers {
            headers.append(name, value);
        }
        response
    }
}

impl From<Unwritten> for Refusal {
    fn from(why: Unwritten) -> Self {
        match why {
            Unwritten::Conflict => Self::CONFLICT,
            Unwritten::Failed => Self::FAILED,
        }
    }
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Self {
        refusal(refused.status, refused.error, refused.reason)
    }
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Self {
        let mut body = vec![b'{'];
        refusal.write(&mut body);
        body.extend_from_slice(b"}\n");
        Self::json(refusal.status, body)
    }
}
