//! Probes: documents beside the load, to find out when they can be seen.

use super::TargetError;
use crate::op::Way;
use std::convert::Infallible;

/// A document that was stored to be looked for.
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

    /// Makes what looking in this way needs, such as an index, and waits until it is there.
    ///
    /// # Errors
    /// Why this way cannot be used.
    fn prepare(&mut self, way: Way) -> impl Future<Output = Result<(), TargetError>>;

    /// Stores document number `n`. Returns once the server has acknowledged it.
    ///
    /// # Errors
    /// When it has not: the document may be there nonetheless.
    fn store(&mut self, n: u64) -> impl Future<Output = Result<Stored, TargetError>>;

    /// Whether the answer to a request of this kind shows the document.
    ///
    /// # Errors
    /// When there is no such answer.
    fn sees(&mut self, way: Way, it: &Stored) -> impl Future<Output = Result<bool, TargetError>>;

    /// Removes the document.
    ///
    /// # Errors
    /// When the server does not acknowledge it.
    fn remove(&mut self, it: &Stored) -> impl Future<Output = Result<(), TargetError>>;

    /// Removes what [`Prober::prepare`] has made for this way.
    ///
    /// # Errors
    /// When the server does not acknowledge it.
    fn clear(&mut self, way: Way) -> impl Future<Output = Result<(), TargetError>>;
}

/// Of drivers without probes: there is none.
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
