//! What the stand-in counted, for an exact comparison with a client's own counts.

use std::sync::atomic::{AtomicU64, Ordering};

use hyper::Method;
use serde::Serialize;

const METHODS: [&str; 5] = ["GET", "HEAD", "POST", "PUT", "DELETE"];
/// Statuses are counted from this one on ...
const FIRST_STATUS: u16 = 200;
/// ... and this many of them.
const STATUSES: usize = 400;

#[derive(Debug)]
struct Statuses([AtomicU64; STATUSES]);

impl Default for Statuses {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; STATUSES])
    }
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What the stand-in counted since it started.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
        pub struct Counters {
            $($(#[$doc])* pub $name: u64,)*
        }

        /// The counters, updated by all serving threads.
        #[derive(Debug, Default)]
        pub(super) struct Tally {
            $(pub(super) $name: AtomicU64,)*
            /// All requests, by method.
            methods: [AtomicU64; METHODS.len()],
            /// Answers by status, from 200 on.
            statuses: Statuses,
        }

        impl Tally {
            /// The current values.
            pub(super) fn snapshot(&self) -> Counters {
                Counters { $($name: self.$name.load(Ordering::Relaxed),)* }
            }
        }
    };
}

counters! {
    /// Connections accepted.
    connections,
    /// Requests answered, or dropped on purpose, except those for the counters themselves.
    requests,
    /// Databases created.
    databases_created,
    /// Databases deleted.
    databases_deleted,
    /// Documents created by `PUT` or `POST` of one document, including those that replaced a
    /// tombstone.
    documents_created,
    /// Documents returned for `GET` or `HEAD` of one document, including 304 answers.
    documents_read,
    /// Documents updated by `PUT` or `POST` of one document.
    documents_updated,
    /// Tombstones written by `DELETE`, `PUT` or `POST` of one document.
    documents_deleted,
    /// `_bulk_docs` requests answered with 201.
    bulk_requests,
    /// Rows without an error in answers to `_bulk_docs`; with `new_edits: false`, documents sent.
    documents_bulk,
    /// Documents found by `_bulk_get`.
    documents_bulk_read,
    /// Answers to `_all_docs`.
    listings,
    /// Rows in answers to `_all_docs`.
    listing_rows,
    /// `_changes` requests accepted.
    changes_requests,
    /// Answers 409, and rows with `conflict` in answers to `_bulk_docs`.
    conflicts,
    /// Answers 404.
    not_found,
    /// Answers 401 and 403.
    unauthorized,
    /// Answers of 400 and above that are counted nowhere else.
    errors_other,
    /// Requests dropped on purpose.
    dropped,
}

pub(super) fn count(counter: &AtomicU64) {
    add(counter, 1);
}

pub(super) fn add(counter: &AtomicU64, number: u64) {
    counter.fetch_add(number, Ordering::Relaxed);
}

impl Tally {
    pub(super) fn asked(&self, method: &Method) {
        if let Some(place) = METHODS.iter().position(|name| *name == method.as_str()) {
            count(&self.methods[place]);
        }
    }

    /// Counts the answer to any request.
    pub(super) fn sent(&self, status: u16) {
        let place = usize::from(status.saturating_sub(FIRST_STATUS));
        if let Some(known) = self.statuses.0.get(place) {
            count(known);
        }
    }

    pub(super) fn methods(&self) -> Vec<(String, u64)> {
        let counts = self.methods.iter().map(|it| it.load(Ordering::Relaxed));
        METHODS.iter().map(|&name| name.to_owned()).zip(counts).collect()
    }

    /// The number of answers for each status that occurred.
    pub(super) fn statuses(&self) -> Vec<(String, u64)> {
        let counts = self.statuses.0.iter().map(|it| it.load(Ordering::Relaxed));
        let named = counts.enumerate().filter(|(_, count)| *count > 0);
        named.map(|(at, count)| ((at + usize::from(FIRST_STATUS)).to_string(), count)).collect()
    }

    pub(super) fn answered(&self, status: u16) {
        count(&self.requests);
        self.refused(status);
    }

    /// Counts the status of an answer, if it is a refusal.
    pub(super) fn refused(&self, status: u16) {
        match status {
            0..=399 => {}
            401 | 403 => count(&self.unauthorized),
            404 => count(&self.not_found),
            409 => count(&self.conflicts),
            _ => count(&self.errors_other),
        }
    }
}
