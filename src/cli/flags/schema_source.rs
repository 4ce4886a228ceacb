//! Schemas on the command line: files, or URLs of stored documents.

use crate::driver::fetch_document;
use crate::plan::{Invalid, SchemaSource, TlsOptions};
use std::path::PathBuf;
use url::Url;

/// Timeout of a single request that is sent outside a run, in nanoseconds.
pub(in crate::cli) const TIMEOUT_NS: u64 = 30_000_000_000;

/// The weight of `[WEIGHT:]PLACE`, and the place.
fn split(text: &str) -> (Option<&str>, &str) {
    match text.split_once(':') {
        Some((digits, place))
            if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) =>
        {
            (Some(digits), place)
        }
        _ => (None, text),
    }
}

/// `[WEIGHT:]PLACE` with its place changed.
pub(in crate::cli) fn placed(text: &str, change: impl Fn(&str) -> String) -> String {
    let (weight, place) = split(text);
    let weight = weight.map_or_else(String::new, |digits| format!("{digits}:"));
    weight + &change(place)
}

/// Parses `[WEIGHT:]FILE` or `[WEIGHT:]http://host/db/id`, and fetches the document.
pub(in crate::cli) fn read(text: &str, tls: &TlsOptions) -> Result<(SchemaSource, u32), Invalid> {
    let (weight, place) = split(text);
    let weight = weight.map_or(Ok(1), str::parse).map_err(|_| {
        let cure = "give a number up to 4 billion";
        let digits = weight.unwrap_or_default();
        Invalid::new("--schema", format!("the weight {digits} is too large"), cure)
    })?;
    if !place.starts_with("http://") && !place.starts_with("https://") {
        return Ok((SchemaSource::File(PathBuf::from(place)), weight));
    }
    let fetched = fetch(place, tls).map_err(|problem| {
        let cure = "give the URL of a stored document: http://host:port/database/id";
        Invalid::new("--schema", problem, cure)
    })?;
    Ok((fetched, weight))
}

fn fetch(place: &str, tls: &TlsOptions) -> Result<SchemaSource, String> {
    let url = Url::parse(place).map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let fetched = runtime.block_on(fetch_document(&url, tls, TIMEOUT_NS));
    let text = fetched.map_err(|error| error.to_string())?;
    let mut name = url;
    let _ = name.set_username("");
    let _ = name.set_password(None);
    Ok(SchemaSource::Text { name: name.to_string(), text })
}
