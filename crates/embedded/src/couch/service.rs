//! Answers an HTTP request: checks it, reads the body, calls the right function, and counts.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use hyper::{Method, Request, Response};

use super::access::{admit, content_length};
use super::all_docs::all_docs;
use super::bulk::{bulk_docs, bulk_get};
use super::changes::changes;
use super::itself::{config, stats, system, tasks};
use super::query::Query;
use super::reply::{Refusal, Reply, ReplyBody};
use super::route::{Place, Within};
use super::single::{document, post};
use super::stand_in::{
    Call, SharedState, all_dbs, counters, create, dbs_info, delete, info, session, up, uuids,
    welcome,
};
use crate::catalogue::Refused;
use crate::counters::Tally;

/// The longest body accepted, in bytes. CouchDB's own limit is 4 GiB, too much to keep in memory.
const MAX_REQUEST_BYTES: u64 = 1 << 30;

/// Answers one request.
///
/// # Errors
/// Returns an error if the body cannot be read completely: the connection can no longer be used.
pub(crate) async fn serve(
    shared: Arc<SharedState>,
    peer: IpAddr,
    patience: Duration,
    request: Request<Incoming>,
) -> Result<Response<ReplyBody>, hyper::Error> {
    let (parts, body) = request.into_parts();
    let place = Place::parse(parts.uri.path());
    shared.tally.asked(&parts.method);
    let identity = match admit(&shared, &parts, &place, peer) {
        Ok(identity) => identity,
        Err(reply) => return Ok(send(&shared.tally, &place, reply)),
    };
    let length = content_length(&parts);
    if length > MAX_REQUEST_BYTES {
        let reply = Reply::from(Refusal::TOO_LARGE).close();
        return Ok(send(&shared.tally, &place, reply));
    }
    let body = match read(body, length, patience).await? {
        Ok(body) => body,
        Err(refusal) => return Ok(send(&shared.tally, &place, Reply::from(refusal).close())),
    };
    let query = Query::parse(parts.uri.query());
    let call = Call {
        shared: &shared,
        method: &parts.method,
        path: parts.uri.path(),
        headers: &parts.headers,
        query: &query,
        body: &body,
        identity: &identity,
        peer,
    };
    let mut reply = answer(&call, &place).unwrap_or_else(refusal);
    if shared.quorum.as_ref().is_some_and(|quorum| quorum.is_lost()) {
        reply.status = place.accepted(call.method, reply.status);
    }
    if let Some(token) = &identity.renewed {
        reply = reply.cookie(shared.auth.set_cookie(token));
    }
    Ok(send(&shared.tally, &place, reply))
}

/// Refuses a request without carrying it out.
///
/// # Errors
/// Returns an error if the body cannot be read completely: the connection can no longer be used.
pub(crate) async fn refuse(
    shared: &SharedState,
    patience: Duration,
    request: Request<Incoming>,
    refused: Refused,
) -> Result<Response<ReplyBody>, hyper::Error> {
    let place = Place::parse(request.uri().path());
    shared.tally.asked(request.method());
    let mut reply = Reply::from(Refusal::from(refused));
    if read(request.into_body(), 0, patience).await?.is_err() {
        reply = reply.close();
    }
    Ok(send(&shared.tally, &place, reply))
}

/// Whether a request is exempt from faults: what the server reports about itself can always be
/// read.
pub(crate) fn is_exempt(request: &Request<Incoming>) -> bool {
    Place::parse(request.uri().path()).is_about_itself()
}

fn refusal(refusal: Refusal) -> Reply {
    let reply = Reply::from(refusal);
    if refusal.status == Refusal::TOO_LARGE.status { reply.close() } else { reply }
}

fn answer(call: &Call<'_>, place: &Place) -> Result<Reply, Refusal> {
    match place {
        Place::Root => Ok(welcome()),
        Place::Up => Ok(up()),
        Place::Uuids => uuids(call),
        Place::AllDbs => Ok(all_dbs(call.shared)),
        Place::DbsInfo => dbs_info(call),
        Place::Session => session(call),
        Place::Counters => Ok(counters(call.shared)),
        Place::Stats => stats(call.shared),
        Place::System => Ok(system(call.shared)),
        Place::Config => Ok(config()),
        Place::Tasks => Ok(tasks()),
        Place::In(name, Within::Itself) if call.method == Method::PUT => create(call, name),
        Place::In(name, Within::Itself) if call.method == Method::DELETE => delete(call, name),
        Place::In(name, within) => {
            let database = call.shared.database(name)?;
            match within {
                Within::Itself if call.reads() => Ok(info(name, &database)),
                Within::Itself => post(call, &database),
                Within::BulkDocs => bulk_docs(call, &database),
                Within::BulkGet => bulk_get(call, &database),
                Within::AllDocs => all_docs(call, &database),
                Within::Changes => changes(call, &database),
                Within::FullCommit => {
                    Ok(Reply::json(201, "{\"ok\":true,\"instance_start_time\":\"0\"}\n"))
                }
                Within::Compact => Ok(Reply::json(202, "{\"ok\":true}\n")),
                Within::Document(id) => document(call, &database, id),
                Within::Unknown => Err(Refusal::NOT_SUPPORTED),
            }
        }
    }
}

fn send(tally: &Tally, place: &Place, reply: Reply) -> Response<ReplyBody> {
    tally.sent(reply.status);
    // Reading the counters must not change them.
    if !place.is_about_itself() {
        tally.answered(reply.status);
    }
    reply.into_response()
}

/// The whole body, unless it is too long or takes too long.
async fn read(
    body: Incoming,
    length: u64,
    patience: Duration,
) -> Result<Result<Bytes, Refusal>, hyper::Error> {
    if body.is_end_stream() {
        return Ok(Ok(Bytes::new()));
    }
    match tokio::time::timeout(patience, read_all(body, length)).await {
        Ok(body) => Ok(body?.ok_or(Refusal::TOO_LARGE)),
        Err(_) => Ok(Err(Refusal::TOO_SLOW)),
    }
}

/// The whole body, or `None` if it is too long.
async fn read_all(mut body: Incoming, length: u64) -> Result<Option<Bytes>, hyper::Error> {
    let mut whole = Bytes::new();
    let mut gathered = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        if data.len() as u64 == length {
            whole = data;
            continue;
        }
        if gathered.is_empty() {
            // An announced length is only trusted up to a limit, because announcing one costs
            // nothing.
            gathered.reserve((length as usize).min(1 << 20));
        }
        gathered.extend_from_slice(&data);
        if gathered.len() as u64 > MAX_REQUEST_BYTES {
            return Ok(None);
        }
    }
    Ok(Some(if whole.is_empty() { gathered.into() } else { whole }))
}
