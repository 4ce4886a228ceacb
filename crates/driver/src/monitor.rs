//! Monitors: connections that ask servers about themselves, beside the load.

use crate::clock::Nanos;
use crate::observed::Reading;
use std::collections::BTreeMap;
use std::convert::Infallible;

/// A question that a server is asked again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// How often, in nanoseconds.
    pub every_ns: Nanos,
    /// Whether any node answers for all, so that one is enough.
    pub of_all: bool,
}

/// Why a server did not say something about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Untold {
    /// It has no such numbers, and never will.
    Unknown,
    /// The user may not see them.
    Refused(String),
    /// There was no answer in time, or none that can be read.
    Missed(String),
}

/// One connection to one server, that asks it about itself.
pub trait Monitor: 'static {
    /// The name of the server or node.
    fn name(&self) -> String;

    /// Where its metrics are, without a password, if the user gave their URL.
    fn url(&self) -> Option<String> {
        None
    }

    /// What it asks.
    fn questions(&self) -> Vec<Question>;

    /// Asks question number `question`, and waits for the answer, but not for long.
    ///
    /// # Errors
    /// Why there is none.
    fn ask(&mut self, question: usize) -> impl Future<Output = Result<Reading, Untold>>;

    /// How the server is set, by names of its own and without anything secret; asked once.
    fn settings(&mut self) -> impl Future<Output = BTreeMap<String, String>>;
}

/// A connection of one kind or the other.
#[derive(Debug)]
pub enum Either<A, B> {
    /// Of the one.
    One(A),
    /// Of the other.
    Other(B),
}

impl<A: Monitor, B: Monitor> Monitor for Either<A, B> {
    fn name(&self) -> String {
        match self {
            Self::One(it) => it.name(),
            Self::Other(it) => it.name(),
        }
    }

    fn url(&self) -> Option<String> {
        match self {
            Self::One(it) => it.url(),
            Self::Other(it) => it.url(),
        }
    }

    fn questions(&self) -> Vec<Question> {
        match self {
            Self::One(it) => it.questions(),
            Self::Other(it) => it.questions(),
        }
    }

    async fn ask(&mut self, question: usize) -> Result<Reading, Untold> {
        match self {
            Self::One(it) => it.ask(question).await,
            Self::Other(it) => it.ask(question).await,
        }
    }

    async fn settings(&mut self) -> BTreeMap<String, String> {
        match self {
            Self::One(it) => it.settings().await,
            Self::Other(it) => it.settings().await,
        }
    }
}

/// For drivers whose servers say nothing about themselves: there is no such monitor.
impl Monitor for Infallible {
    fn name(&self) -> String {
        match *self {}
    }

    fn questions(&self) -> Vec<Question> {
        match *self {}
    }

    async fn ask(&mut self, _: usize) -> Result<Reading, Untold> {
        match *self {}
    }

    async fn settings(&mut self) -> BTreeMap<String, String> {
        match *self {}
    }
}
