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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::couchdb::scripted_tests::{TIMEOUT_NS, answers, scripted};

    #[tokio::test]
    async fn a_document_is_fetched_with_the_log_in_of_its_address() {
        let document = r#"{"_id":"a/b","n":1}"#;
        let server = scripted(vec![("GET /db/a%2Fb", answers([("200 OK", document)]))]);
        let (plain, tls) = (format!("{}/db/a%2Fb", server.url), TlsOptions::default());
        for address in [plain.clone(), plain.replace("//", "//ann:secret@")] {
            let url = address.parse().unwrap();
            assert_eq!(fetch_document(&url, &tls, TIMEOUT_NS).await.unwrap(), document);
        }
        let with_login = "GET /db/a%2Fb [Authorization: Basic YW5uOnNlY3JldA==]";
        assert_eq!(server.seen(), ["GET /db/a%2Fb", with_login]);
        let other = format!("{}/db/c", server.url).parse().unwrap();
        let error = fetch_document(&other, &tls, TIMEOUT_NS).await.unwrap_err();
        assert!(error.to_string().contains("answers 404 to GET /db/c: missing"), "{error}");
    }
}
