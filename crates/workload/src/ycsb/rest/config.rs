//! The validated configuration of a replay of traces, in addition to that of a core workload.
//!
//! Defaults and checks are those of YCSB's `RestWorkload` and `RestClient`.

use super::super::config::{CoreConfig, RequestSpec};
use crate::generate::THETA;
use crate::properties::{Properties, PropertyError, PropertyReader};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use url::Url;

/// The default address of `RestClient`.
const PREFIX: &str = "http://127.0.0.1:8080";
/// Its default headers: names and values alternately.
const HEADERS: &str = "Accept */* Content-Type application/xml user-agent Mozilla/5.0";

/// Four traces, and the server on which they are replayed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RestConfig {
    /// The server's address, without path, user or password.
    pub server: String,
    /// The traces of reads, inserts, updates and deletes.
    pub traces: [Trace; 4],
    /// Zipf's exponent for the lengths of bodies, if they follow Zipf's law.
    pub size_exponent: f64,
    /// User and password.
    #[serde(skip)]
    pub user: Option<(String, String)>,
    /// Headers of every request, `Name: value`.
    #[serde(skip)]
    pub headers: Vec<String>,
}

/// The URLs for one kind of operation. The URLs themselves are not stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trace {
    /// The file they came from.
    pub file: String,
    /// The number of URLs.
    pub urls: u64,
    /// Zipf's exponent for requests, if they follow Zipf's law.
    pub exponent: f64,
    /// The URLs: as written, and as sent, with path and query.
    #[serde(skip)]
    pub lines: Arc<[(String, String)]>,
}

/// The prefixes of property names, by operation.
const KINDS: [&str; 4] = ["read", "insert", "update", "delete"];

impl RestConfig {
    /// The properties read here but not by a core workload.
    pub const PROPERTIES: [&str; 16] = [
        "deleterecordcount",
        "deletezipfconstant",
        "headers",
        "insertrecordcount",
        "insertsizezipfconstant",
        "insertzipfconstant",
        "readrecordcount",
        "readzipfconstant",
        "response.compression",
        "updaterecordcount",
        "updatezipfconstant",
        "url.prefix",
        "url.trace.delete",
        "url.trace.insert",
        "url.trace.read",
        "url.trace.update",
    ];

    /// Checks all properties and reports all mistakes at once; `file` reads the files that they
    /// name.
    ///
    /// # Errors
    /// Returns one for each property whose value is invalid, alone or in combination with others.
    pub fn read(
        properties: &Properties,
        file: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<(CoreConfig, Self), Vec<PropertyError>> {
        let core = CoreConfig::read(properties, false, file);
        let mut read = PropertyReader::new(properties);
        let prefix = read.text("url.prefix", PREFIX);
        let base = address(&mut read, &prefix);
        let config = Self {
            server: base.as_ref().map(|url| url.origin().ascii_serialization()).unwrap_or_default(),
            user: base.as_ref().and_then(user),
            traces: KINDS.map(|kind| trace(&mut read, kind, &prefix, base.as_ref(), file)),
            size_exponent: exponent(&mut read, "insertsizezipfconstant"),
            headers: headers(&mut read),
        };
        let (mut core, config) = match (core, read.end(config)) {
            (Ok(core), Ok(config)) => (core, config),
            (core, config) => {
                let mut errors = core.err().unwrap_or_default();
                errors.extend(config.err().unwrap_or_default());
                return Err(errors);
            }
        };
        // Everything else is a read.
        let mix = &mut core.proportions;
        mix.read += mix.scan + mix.read_modify_write;
        (mix.scan, mix.read_modify_write) = (0.0, 0.0);
        let mut read = PropertyReader::new(properties);
        if matches!(core.requests, RequestSpec::Latest { .. } | RequestSpec::Sequential) {
            let cure = "give uniform, zipfian, hotspot or exponential";
            read.wrong("requestdistribution", "is not available for traces", cure);
        }
        let shares = [mix.read, mix.insert, mix.update, mix.delete];
        for ((kind, trace), share) in KINDS.iter().zip(&config.traces).zip(shares) {
            if share > 0.0 && trace.lines.is_empty() {
                let cure = format!("put one URL per line into it, or give {kind}proportion=0");
                let problem = format!("{} has no lines", trace.file);
                read.wrong(&format!("url.trace.{kind}"), problem, &cure);
            }
        }
        read.end((core, config))
    }
}

/// The common prefix of all URLs.
fn address(read: &mut PropertyReader<'_>, prefix: &str) -> Option<Url> {
    let url = Url::parse(prefix).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    if url.is_none() {
        let problem = "is not an http or https address";
        read.wrong("url.prefix", problem, "give http://[user:password@]host:port[/path]");
    }
    url
}

fn user(url: &Url) -> Option<(String, String)> {
    let decode =
        |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
    let password = decode(url.password().unwrap_or_default());
    (!url.username().is_empty()).then(|| (decode(url.username()), password))
}

fn trace(
    read: &mut PropertyReader<'_>,
    kind: &str,
    prefix: &str,
    base: Option<&Url>,
    file: &dyn Fn(&str) -> Result<String, String>,
) -> Trace {
    let name = format!("url.trace.{kind}");
    let path = read.text(&name, &format!("{kind}trace.txt"));
    let most = read.whole(&format!("{kind}recordcount"), u64::MAX).max(1);
    let text = file(&path).unwrap_or_else(|problem| {
        read.wrong(&name, format!("{path}: {problem}"), "give a file with one URL per line");
        String::new()
    });
    let mut lines = Vec::new();
    for (line, number) in text.lines().map(str::trim).zip(1..=most) {
        let url = Url::parse(&format!("{prefix}{line}")).ok();
        let url = url.filter(|url| base.is_none_or(|base| base.origin() == url.origin()));
        let Some(url) = url else {
            let problem = format!("{path}: line {number}: {line:?} is not valid after {prefix:?}");
            read.wrong(&name, redact(&problem, base), "begin it with a slash");
            break;
        };
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        lines.push((line.to_owned(), format!("{}{query}", url.path())));
    }
    let exponent = exponent(read, &format!("{kind}zipfconstant"));
    Trace { file: path, urls: lines.len() as u64, exponent, lines: lines.into() }
}

/// A message with the password of the address removed.
fn redact(message: &str, base: Option<&Url>) -> String {
    match base.and_then(Url::password) {
        Some(password) if !password.is_empty() => message.replace(password, "***"),
        _ => message.to_owned(),
    }
}

fn exponent(read: &mut PropertyReader<'_>, name: &str) -> f64 {
    let between = |text: &str| text.parse().ok().filter(|it| (0.0..1.0).contains(it) && *it > 0.0);
    read.parsed(name, "give a number between 0 and 1", between).unwrap_or(THETA)
}

fn headers(read: &mut PropertyReader<'_>) -> Vec<String> {
    let text = read.text("headers", HEADERS);
    let words: Vec<&str> = text.split_whitespace().collect();
    if !words.len().is_multiple_of(2) {
        let cure = "give names and values in turn, with spaces between";
        read.wrong("headers", "has a name without a value", cure);
    }
    let mut headers: Vec<String> =
        words.chunks_exact(2).map(|pair| format!("{}: {}", pair[0], pair[1])).collect();
    if !read.flag("response.compression", false) {
        headers.push("Accept-Encoding: identity".to_owned());
    }
    headers
}
