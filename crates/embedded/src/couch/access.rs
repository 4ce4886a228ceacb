//! Checks that are made before a request's body is read. If one fails, CouchDB refuses without
//! reading the body, and closes the connection if there was one.

use std::net::IpAddr;

use hyper::Method;
use hyper::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use hyper::http::request::Parts;

use super::auth::Identity;
use super::document::MAX_DOCUMENT_BYTES;
use super::reply::{Refusal, Reply};
use super::route::{Place, Within};
use super::single::check_id;
use super::stand_in::{SharedState, is_json};

/// Admits a request, or refuses it.
///
/// # Errors
/// Returns the answer to a refused request.
pub(crate) fn admit(
    shared: &SharedState,
    parts: &Parts,
    place: &Place,
    peer: IpAddr,
) -> Result<Identity, Reply> {
    let closing = |reply: Reply| if has_body(parts) { reply.close() } else { reply };
    let methods = place.methods();
    if matches!(place, Place::In(_, Within::Unknown)) {
        return Err(closing(Refusal::NOT_SUPPORTED.into()));
    }
    if !methods.split(',').any(|method| method == parts.method.as_str()) {
        return Err(closing(Reply::from(Refusal::NOT_ALLOWED).allow(methods)));
    }
    let logging_in = *place == Place::Session && parts.method == Method::POST;
    let identity = if logging_in {
        Identity { name: None, proof: None, admin: false, renewed: None }
    } else {
        shared.auth.identify(&parts.headers, peer).map_err(|refusal| closing(refusal.into()))?
    };
    let checked = check(shared, parts, place, identity.admin);
    checked.map_err(|refusal| closing(refusal.into())).map(|()| identity)
}

fn check(shared: &SharedState, parts: &Parts, place: &Place, admin: bool) -> Result<(), Refusal> {
    let (database, within) = match place {
        Place::Root | Place::Up | Place::Session => return Ok(()),
        Place::In(database, within) => (database, within),
        _ if admin => return Ok(()),
        _ => return Err(Refusal::NOT_ADMIN),
    };
    if !admin {
        let server = *within == Within::Itself && parts.method == Method::PUT;
        return Err(if server { Refusal::NOT_ADMIN } else { Refusal::NOT_AUTHORIZED });
    }
    if *within == Within::Itself && parts.method == Method::PUT {
        return Ok(());
    }
    shared.database(database)?;
    if parts.method == Method::POST && !is_json(&parts.headers) {
        return Err(Refusal::BAD_CONTENT_TYPE);
    }
    if let Within::Document(id) = within {
        check_id(id)?;
    }
    let single = matches!(within, Within::Document(_) | Within::Itself);
    if single && content_length(parts) > MAX_DOCUMENT_BYTES as u64 {
        return Err(Refusal::DOCUMENT_TOO_LARGE);
    }
    Ok(())
}

/// The announced length of the body; 0 if there is none.
pub(crate) fn content_length(parts: &Parts) -> u64 {
    let value = parts.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    value.and_then(|value| value.parse().ok()).unwrap_or(0)
}

fn has_body(parts: &Parts) -> bool {
    content_length(parts) > 0 || parts.headers.contains_key(TRANSFER_ENCODING)
}
