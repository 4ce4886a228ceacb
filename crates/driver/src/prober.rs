//! Probes: documents stored alongside the load, to find out when they become visible.

use super::TargetError;
use crate::op::Way;
use std::convert::Infallible;

/// A document that was stored so that it can be looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its identifier.
    pub id: String,
    /// Its revision.
    pub rev: String,
    /// Where the list of changes ended before it was written.
    pub since: String,
}

/// One connection to one node that stores documents or looks for them.
pub trait Prober: 'static {
    /// The node that it asks, if there are several.
    fn node(&self) -> Option<String>;

    /// Prepares for looking in this way, for example by creating an index, and waits until that is
    /// done.
    ///
    /// # Errors
    /// Fails if this way cannot be used.
    fn prepare(&mut self, way: Way) -> impl Future<Output = Result<(), TargetError>>;

    /// Stores document number `n`. Returns once the server has acknowledged it.
    ///
    /// # Errors
    /// Fails if it was not acknowledged; the document may have been stored nonetheless.
    fn store(&mut self, n: u64) -> impl Future<Output = Result<Stored, TargetError>>;

    /// Whether the answer to a request of this kind shows the document.
    ///
    /// # Errors
    /// Fails if there is no such answer.
    fn sees(&mut self, way: Way, it: &Stored) -> impl Future<Output = Result<bool, TargetError>>;

    /// Removes the document.
    ///
    /// # Errors
    /// Fails if the server does not acknowledge it.
    fn remove(&mut self, it: &Stored) -> impl Future<Output = Result<(), TargetError>>;

    /// Removes what [`Prober::prepare`] created for this way.
    ///
    /// # Errors
    /// Fails if the server does not acknowledge it.
    fn clear(&mut self, way: Way) -> impl Future<Output = Result<(), TargetError>>;
}

/// For drivers without probes: there is no such prober.
impl Prober for Infallible {
    fn node(&self) -> Option<String> {
        match *self {}
    }

    async fn prepare(&mut self, _: Way) -> Result<(), TargetError> {
        match *self {}
    }

    async fn store(&mut self, _: u64) -> Result<Stored, TargetError> {
        match *self {}
    }

    async fn sees(&mut self, _: Way, _: &Stored) -> Result<bool, TargetError> {
        match *self {}
    }

    async fn remove(&mut self, _: &Stored) -> Result<(), TargetError> {
        match *self {}
    }

    async fn clear(&mut self, _: Way) -> Result<(), TargetError> {
        match *self {}
    }
}
