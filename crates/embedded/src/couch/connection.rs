//! One connection to the stand-in: requests and answers go through hyper, with the faults that are
//! due for each.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::Mutex;

use super::reply::ReplyBody;
use super::service;
use super::stand_in::SharedState;
use crate::catalogue::Fault;
use crate::clock::Clock;
use crate::counters::count;
use crate::turnstile::{Gate, Turnstile};
use crate::wire::{After, Shared, Wire, play};

/// Serves a connection until it ends; `number` gives it its own random draws.
pub(crate) async fn serve(
    shared: Arc<SharedState>,
    gate: Arc<Gate>,
    stream: TcpStream,
    number: u64,
) {
    let Ok(peer) = stream.peer_addr() else { return };
    let peer = peer.ip();
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(gate.patience());
    // A client that closes the connection is not an error here.
    if gate.is_open() {
        let patience = gate.patience();
        let service =
            service_fn(|request| service::serve(Arc::clone(&shared), peer, patience, request));
        let io = TokioIo::new(stream);
        let _ = http.pipeline_flush(true).serve_connection(io, service).await;
    } else {
        let (clock, patience) = (gate.clock(), gate.patience());
        let (stream, turnstile) = (Shared::new(stream), Mutex::new(Turnstile::new(gate, number)));
        let io = TokioIo::new(stream.clone());
        let connection = Connection { shared, clock, patience, peer, turnstile, stream };
        let service = service_fn(|request| connection.answer(request));
        let _ = http.serve_connection(io, service).await;
    }
}

struct Connection {
    shared: Arc<SharedState>,
    clock: Clock,
    patience: Duration,
    peer: IpAddr,
    turnstile: Mutex<Turnstile>,
    stream: Shared,
}

impl Connection {
    /// Answers one request, and applies the fault that is due to the answer.
    ///
    /// # Errors
    /// Returns an error if the connection can no longer be used, or is meant to end.
    async fn answer(&self, request: Request<Incoming>) -> io::Result<Response<ReplyBody>> {
        self.stream.mute(false);
        let read = self.clock.now();
        let (peer, patience) = (self.peer, self.patience);
        let serve = |request| service::serve(Arc::clone(&self.shared), peer, patience, request);
        if service::is_exempt(&request) {
            return serve(request).await.map_err(io::Error::other);
        }
        // One request at a time, so the lock is not contended.
        let mut turnstile = self.turnstile.lock().await;
        let is_head = request.method() == Method::HEAD;
        let fault = turnstile.fault(read);
        let answer = match fault {
            Some(Fault::Wire(Wire::ResetBefore)) => {
                count(&self.shared.tally.requests);
                turnstile.gate().log(read, false);
                play(self.stream.stream(), Wire::ResetBefore, &[]).await?;
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            Some(Fault::Refuse(refused)) => {
                service::refuse(&self.shared, self.patience, request, refused).await
            }
            _ => serve(request).await,
        };
        let answer = answer.map_err(io::Error::other)?;
        if !turnstile.pass(read).await? {
            count(&self.shared.tally.dropped);
            turnstile.gate().log(read, false);
            // Waits until the client closes the connection.
            std::future::pending::<()>().await;
        }
        let sent = match fault {
            // A feed has no end that a fault could apply to.
            Some(Fault::Wire(wire)) if !matches!(answer.body(), ReplyBody::Feed(_)) => {
                self.send(wire, answer, is_head).await
            }
            _ => Ok(answer),
        };
        turnstile.gate().log(read, sent.is_ok());
        sent
    }

    /// Sends an answer in place of hyper, which is made to believe that it sent the answer itself.
    async fn send(
        &self,
        wire: Wire,
        answer: Response<ReplyBody>,
        is_head: bool,
    ) -> io::Result<Response<ReplyBody>> {
        let (head, body) = answer.into_parts();
        let length = body.size_hint().exact();
        let body = match body.collect().await {
            Ok(body) => body.to_bytes(),
            Err(never) => match never {},
        };
        let mut bytes = format!("HTTP/1.1 {}\r\n", head.status).into_bytes();
        for (name, value) in &head.headers {
            for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
                bytes.extend_from_slice(part);
            }
        }
        let length = length.unwrap_or(body.len() as u64);
        bytes.extend_from_slice(format!("content-length: {length}\r\n\r\n").as_bytes());
        if !is_head {
            bytes.extend_from_slice(&body);
        }
        match play(self.stream.stream(), wire, &bytes).await? {
            After::Ended => Err(io::ErrorKind::ConnectionAborted.into()),
            After::Kept => {
                self.stream.mute(true);
                Ok(Response::from_parts(head, ReplyBody::Whole(None)))
            }
        }
    }
}
