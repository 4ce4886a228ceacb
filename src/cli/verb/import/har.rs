//! The parts used of a HAR file (HTTP Archive 1.2), as browsers and proxies write them.

use serde::Deserialize;
use url::Url;

/// The recording of a session.
#[derive(Debug, Deserialize)]
pub(super) struct Har {
    log: Log,
}

#[derive(Debug, Deserialize)]
struct Log {
    entries: Vec<Entry>,
}

/// A request, and its outcome.
#[derive(Debug, Deserialize)]
pub(super) struct Entry {
    pub(super) request: Request,
    #[serde(default)]
    response: Response,
    /// Chrome only: the cache that had the response.
    #[serde(rename = "_fromCache")]
    from_cache: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) url: String,
    #[serde(default)]
    headers: Vec<Pair>,
    pub(super) post_data: Option<PostData>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PostData {
    #[serde(default)]
    pub(super) mime_type: String,
    #[serde(default)]
    pub(super) text: String,
    /// The fields of a form, if the body is not given as text.
    #[serde(default)]
    pub(super) params: Vec<Pair>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Pair {
    pub(super) name: String,
    #[serde(default)]
    pub(super) value: String,
}

#[derive(Debug, Default, Deserialize)]
struct Response {
    #[serde(default)]
    status: i64,
}

impl Har {
    /// # Errors
    /// Fails if it is not a HAR file. The message follows the name of the file.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        serde_json::from_slice(bytes).map_err(|error| format!("is not a HAR file: {error}"))
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.log.entries
    }
}

impl Entry {
    /// Whether the server answered it, rather than the browser itself or nothing.
    pub(super) const fn reached_the_server(&self) -> bool {
        self.from_cache.is_none() && self.response.status > 0
    }

    pub(super) fn has_log_in(&self) -> bool {
        let tells = |pair: &Pair| {
            ["cookie", "authorization"].iter().any(|name| pair.name.eq_ignore_ascii_case(name))
        };
        let in_address = |url: Url| !url.username().is_empty() || url.password().is_some();
        self.request.headers.iter().any(tells)
            || Url::parse(&self.request.url).is_ok_and(in_address)
    }
}
