//! Fetches one stored document by its address.

use super::{Admin, Credentials};
use crate::net::{Endpoint, TlsOptions};
use crate::{LogIn, TargetError};
use std::sync::Arc;
use url::Url;

/// Fetches the document at `url`, in JSON. If the URL has a user, Basic authentication is used.
///
/// # Errors
/// Fails if there is no answer, or it is not a document.
pub async fn fetch_document(
    url: &Url,
    tls: &TlsOptions,
    timeout_ns: u64,
) -> Result<String, TargetError> {
    let endpoint = Arc::new(Endpoint::resolve(url, tls)?);
    let login = LogIn::of_url(url);
    let credentials = match &login.user {
        None => Credentials::None,
        Some(user) => Credentials::Basic { name: user.clone(), password: login.password().into() },
    };
    let mut admin = Admin::new(&endpoint, credentials, timeout_ns);
    let (_, document) = admin.expect(&[200], "GET", url.path(), None).await?;
    Ok(document.to_string())
}
