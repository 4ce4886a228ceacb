//! What every source of values is, and what it draws from. Knows no source by name.

use crate::generate::Stream;
use crate::op::{Key, OpKind, Saved};
use crate::schema::Documents;
use crate::values::{Data, Skew};
use std::collections::BTreeMap;
use std::fmt::Debug;

/// The most stored documents that one request can use.
pub const MOST_DOCUMENTS: usize = 1_000;

/// What a value is drawn from, for one request.
#[derive(Debug)]
pub struct Draw<'a> {
    /// The documents of the run.
    pub documents: &'a Documents,
    /// The stored documents that the request is about, by key and version: as many as its values
    /// need.
    pub stored: &'a [(Key, u32)],
    /// Random numbers.
    pub stream: &'a mut Stream,
    /// The number of the request among all requests of the run that the plan defines.
    pub number: u64,
    /// The number of the request among those of its operation.
    pub turn: u64,
    /// The number of the earlier request that made what this one needs.
    pub earlier: u64,
    /// What earlier steps of the same sequence have saved, by name.
    pub saved: &'a BTreeMap<String, Saved>,
    /// A scratch buffer.
    pub scratch: &'a mut Vec<u8>,
}

/// Where the value of a hole comes from.
pub trait ValueSource: Debug + Send + Sync {
    /// How many stored documents it needs.
    fn documents(&self) -> usize {
        0
    }

    /// How the last of them is chosen, if that is given.
    fn skew(&self) -> Option<Skew> {
        None
    }

    /// The operation that makes the value, if it comes from one.
    fn after(&self) -> Option<After> {
        None
    }

    /// The name under which an earlier step of the same sequence saves the value, if one does.
    fn saved(&self) -> Option<&str> {
        None
    }

    /// Whether a request with this value makes something.
    fn makes(&self) -> bool {
        false
    }

    /// The number of requests that it has values for, if limited.
    fn rows(&self) -> Option<u64> {
        None
    }

    /// What is wrong with it if documents look like the stored ones of `draw`.
    fn problem(&self, _draw: &mut Draw<'_>) -> Option<Problem> {
        None
    }

    /// Appends a value, and returns `true` if it is text, `false` if it is JSON.
    fn write(&self, draw: &mut Draw<'_>, out: &mut Vec<u8>) -> bool;
}

/// A problem and its cure.
pub type Problem = (String, String);

/// A source, or what is wrong with the text in the hole.
type MadeSource = Result<Box<dyn ValueSource>, String>;

/// The description of a source.
#[derive(Clone, Copy, Debug)]
pub struct SourceCard {
    /// How it is written.
    pub form: &'static str,
    /// What it produces, in one line.
    pub help: &'static str,
    /// Parses the text in a hole; `None` if it belongs to another source.
    pub(super) parse: fn(&str, &Data) -> Option<MadeSource>,
}

/// A dependency on a value that another operation has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct After {
    /// The operation that makes it.
    pub kind: OpKind,
    /// Whether no other request may take the same value.
    pub takes: bool,
}

/// Splits `key#2` into its name and the index of its document, 0 without a number.
pub(super) fn numbered(hole: &str) -> (&str, Result<usize, String>) {
    let Some((name, number)) = hole.split_once('#') else { return (hole, Ok(0)) };
    let place = number.parse::<usize>().ok().filter(|it| (1..=MOST_DOCUMENTS).contains(it));
    let place = place.map(|number| number - 1);
    (name, place.ok_or_else(|| format!("the number of a document is 1 to {MOST_DOCUMENTS}")))
}
