//! Followers: connections that receive the changes of a database beside the load.

use super::TargetError;
use crate::measure::Change;
use crate::op::with_all;
use serde::{Deserialize, Serialize};
use std::convert::Infallible;

with_all! {
    /// How changes are requested.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum FeedKind {
        /// One response that continues as long as there are changes.
        #[default]
        Continuous,
        /// One request after another, each for the next changes.
        Longpoll,
        /// Like `continuous`, but in the server-sent events format that browsers read.
        Eventsource,
    }
}

impl FeedKind {
    /// Its name in CouchDB.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Continuous => "continuous",
            Self::Longpoll => "longpoll",
            Self::Eventsource => "eventsource",
        }
    }
}

/// How the changes feed is followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FollowPlan {
    /// The number of followers, each with a connection of its own.
    pub followers: u32,
    /// How changes are requested.
    #[serde(default)]
    pub feed: FeedKind,
    /// A filter on the changes: `design/filter`, optionally with `?` and parameters, or a selector
    /// in JSON. Absent for all changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
}

/// One connection that follows the changes of a database.
pub trait Follower: 'static {
    /// The node that it asks, if there are several.
    fn node(&self) -> Option<String>;

    /// Finds the current end of the changes, from which they will be followed.
    ///
    /// # Errors
    /// Fails if they cannot be followed.
    fn begin(&mut self) -> impl Future<Output = Result<(), TargetError>>;

    /// Receives changes as they come, and passes each to `each`, until the feed ends.
    ///
    /// # Errors
    /// Fails if the feed breaks off. The next call continues after the last change received.
    fn follow(&mut self, each: impl FnMut(Change))
    -> impl Future<Output = Result<(), TargetError>>;

    /// Requests all remaining changes after the last one received.
    ///
    /// # Errors
    /// Fails if they cannot be read.
    fn rest(&mut self, each: impl FnMut(Change)) -> impl Future<Output = Result<(), TargetError>>;
}

/// For drivers without changes: there is no such follower.
impl Follower for Infallible {
    fn node(&self) -> Option<String> {
        match *self {}
    }

    async fn begin(&mut self) -> Result<(), TargetError> {
        match *self {}
    }

    async fn follow(&mut self, _: impl FnMut(Change)) -> Result<(), TargetError> {
        match *self {}
    }

    async fn rest(&mut self, _: impl FnMut(Change)) -> Result<(), TargetError> {
        match *self {}
    }
}
