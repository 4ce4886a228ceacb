//! Fetches one stored document by its address.

use super::{Admin, Credentials};
use crate::TargetError;
use crate::net::{Endpoint, TlsOptions};
use percent_encoding::percent_decode_str;
use std::sync::Arc;
use url::Url;

/// Fetches the document at `url`, in JSON. If the URL has a user, Basic authentication is used.
///
/// # Errors
/// If there is no answer, or it is not a document.
pub async fn fetch_document(
    url: &Url,
    tls: &TlsOptions,
    timeout_ns: u64,
) -> Result<String, TargetError> {
    let endpoint = Arc::new(Endpoint::resolve(url, tls)?);
    let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let credentials = if url.username().is_empty() {
        Credentials::None
    } else {
        let password = url.password().map(decode).unwrap_or_default();
        Credentials::Basic { name: decode(url.username()), password }
    };
    let mut admin = Admin::new(&endpoint, credentials, timeout_ns);
    let (_, document) = admin.expect(&[200], "GET", url.path(), None).await?;
    Ok(document.to_string())
}
