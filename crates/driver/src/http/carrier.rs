//! A user's connection to a server, with either version of HTTP.

use crate::clock::Nanos;
use crate::http1::{self, Answer, Noted, Request, reason};
#[cfg(feature = "http2")]
use crate::http2;
use crate::measure::Probe;
use crate::net::{Endpoint, ShardContext};
use crate::op::{Failure, Reason};
#[cfg(feature = "http2")]
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// A user's connection, or a place on one that users share.
#[cfg_attr(
    feature = "http2",
    allow(
        clippy::large_enum_variant,
        reason = "a box would cost every request of HTTP/1.1 a step"
    )
)]
pub(super) enum Carrier {
    One(http1::Connection),
    #[cfg(feature = "http2")]
    Two(Box<http2::Connection>),
}

/// The connections that some users share, with HTTP/2.
#[derive(Debug, Default)]
pub(super) struct Seats {
    /// How many users share a connection; `None` with HTTP/1.1.
    #[cfg(feature = "http2")]
    streams: Option<usize>,
    /// By the server's number; made on first use.
    #[cfg(feature = "http2")]
    seats: RefCell<Vec<Option<Rc<http2::Seat>>>>,
}

impl Seats {
    #[cfg(feature = "http2")]
    pub(super) fn new(streams: Option<usize>) -> Rc<Self> {
        Rc::new(Self { streams, ..Self::default() })
    }

    #[cfg(not(feature = "http2"))]
    pub(super) fn new(_: Option<usize>) -> Rc<Self> {
        Rc::default()
    }

    #[cfg(feature = "http2")]
    fn seat(&self, server: usize, endpoint: &Arc<Endpoint>) -> Option<Rc<http2::Seat>> {
        let streams = self.streams?;
        let mut seats = self.seats.borrow_mut();
        if seats.len() <= server {
            seats.resize_with(server + 1, || None);
        }
        let new = || Rc::new(http2::Seat::new(endpoint.clone(), streams));
        Some(seats[server].get_or_insert_with(new).clone())
    }
}

/// Does the same with a connection of either version.
macro_rules! either {
    ($self:expr, $it:ident => $does:expr) => {
        match $self {
            Carrier::One($it) => $does,
            #[cfg(feature = "http2")]
            Carrier::Two($it) => $does,
        }
    };
}

impl Carrier {
    /// The connection to the server with this number, not yet open.
    #[cfg_attr(not(feature = "http2"), allow(unused_variables, reason = "HTTP/1.1 shares nothing"))]
    pub(super) fn new(
        server: usize,
        endpoint: &Arc<Endpoint>,
        seats: &Seats,
        context: &Rc<ShardContext>,
    ) -> Self {
        #[cfg(feature = "http2")]
        if let Some(seat) = seats.seat(server, endpoint) {
            return Self::Two(Box::new(http2::Connection::new(seat, context)));
        }
        Self::One(http1::Connection::new(endpoint.clone(), context))
    }

    pub(super) fn exchange(
        &mut self,
        request: Request<'_>,
        probe: &mut Probe,
    ) -> impl Future<Output = Result<Answer, Failure>> {
        async move {
            match self {
                Self::One(it) => it.exchange(request, probe).await,
                // Kept out of the future of all requests of HTTP/1.1.
                #[cfg(feature = "http2")]
                Self::Two(it) => Box::pin(it.exchange(request, probe)).await,
            }
        }
    }

    pub(super) async fn ready(&mut self) -> Option<Nanos> {
        either!(self, it => it.ready().await)
    }

    pub(super) async fn rest(&self) -> bool {
        either!(self, it => it.rest().await)
    }

    pub(super) fn close(&mut self) {
        either!(self, it => it.close());
    }

    /// Sends nothing more on the connection if its last answer, which makes no sense, may belong to
    /// another request. Streams cannot be confused, so HTTP/2 connections stay in use.
    pub(super) fn distrust(&mut self) {
        match self {
            Self::One(it) => it.close(),
            #[cfg(feature = "http2")]
            Self::Two(_) => {}
        }
    }

    pub(super) fn is_open(&self) -> bool {
        either!(self, it => it.is_open())
    }

    pub(super) fn sent(&self) -> u64 {
        either!(self, it => it.sent())
    }

    pub(super) fn take_noted(&mut self) -> Noted {
        either!(self, it => it.take_noted())
    }

    pub(super) fn status(&self) -> Option<u16> {
        either!(self, it => it.status())
    }

    pub(super) fn head(&self) -> &[u8] {
        either!(self, it => it.head())
    }

    pub(super) fn body(&self) -> &[u8] {
        either!(self, it => it.body())
    }

    pub(super) fn sets_cookie(&self) -> bool {
        match self {
            Self::One(it) => it.set_cookie().is_some(),
            #[cfg(feature = "http2")]
            Self::Two(it) => it.sets_cookie(),
        }
    }

    /// The reason why the last exchange failed, in the words of the server or the system.
    pub(super) fn reason(&self) -> Option<Reason> {
        match self {
            Self::One(it) => reason::of(it),
            #[cfg(feature = "http2")]
            Self::Two(it) => reason::explanation(it.status(), it.head(), it.body(), it.trouble()),
        }
    }
}
