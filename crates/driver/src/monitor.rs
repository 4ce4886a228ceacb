//! Monitors: connections that ask servers about themselves, beside the load.

use super::Local;
use crate::clock::{Nanos, SECOND_NS};
use crate::observed::Reading;
use std::collections::BTreeMap;

/// A question that a server is asked again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// How often it is asked, in nanoseconds.
    pub every_ns: Nanos,
    /// Whether any node answers for all of them, so that asking one is enough.
    pub of_all: bool,
}

/// Why a question to a server has no reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoReading {
    /// It has no such numbers, and never will.
    Unknown,
    /// The user may not see them.
    Refused(String),
    /// There was no answer in time, or none that can be read.
    Missed(String),
}

/// A connection to a server, on which it is asked about itself.
pub trait Monitor {
    /// The name of the server or node.
    fn name(&self) -> String;

    /// Where its metrics are, without a password, if the user gave their URL.
    fn url(&self) -> Option<String> {
        None
    }

    /// What it asks; most have one question.
    fn questions(&self) -> Vec<Question> {
        vec![Question { every_ns: 2 * SECOND_NS, of_all: false }]
    }

    /// Asks question number `question`, and waits for the answer, but not for long.
    ///
    /// # Errors
    /// Fails if there is no usable answer.
    fn ask(&mut self, question: usize) -> Local<'_, Result<Reading, NoReading>>;

    /// The server's configuration, under the server's own names and without secrets; asked for
    /// once.
    fn settings(&mut self) -> Local<'_, BTreeMap<String, String>> {
        Box::pin(async { BTreeMap::new() })
    }
}
