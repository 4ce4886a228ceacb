//! CouchDB's own words for the operations of a plan: a file for each, and a line in the list.

mod answer;
mod query;

pub(super) use answer::{Counted, any as count_any};

use crate::op::{ByKind, Failure};
use crate::values::{Holes, MalformedHole, Pieces};
use crate::words::{Expect, OperationPlan, Word, Wrong, flag_of};
use crate::{TargetError, mistake::Invalid};

macro_rules! words {
    ($($module:ident,)*) => {
        $(mod $module;)*

        const WORDS: &[CouchWord] = &[$($module::WORD),*];
        /// What the driver's card says about them.
        pub(super) const CARDS: &[Word] = &[$($module::WORD.word),*];
    };
}

words! {
    view,
    find,
    all_docs,
    bulk_get,
    request,
}

/// A word: how it becomes a request.
#[derive(Clone, Copy)]
struct CouchWord {
    word: Word,
    spell: fn(&OperationPlan) -> Result<Spelled, Wrong>,
}

/// A request, cut into pieces.
#[derive(Clone, Debug)]
pub(super) struct Spelled {
    /// `GET`, `POST` and so on.
    pub(super) method: String,
    /// What follows the database in its address.
    pub(super) path: Pieces,
    /// Its body, in JSON.
    pub(super) body: Option<Pieces>,
    /// The values that it needs.
    pub(super) holes: Holes,
    /// Whether nothing is changed by it, so that it may be sent twice.
    pub(super) reads: bool,
    /// Counts the rows of the answer, if all of it is there.
    pub(super) count: fn(&[u8]) -> Result<Counted, Failure>,
    /// What is expected of the answer.
    pub(super) expect: Expect,
    /// The view that it asks, with its design document.
    pub(super) view: Option<(String, String)>,
}

impl Spelled {
    /// A request that reads.
    fn reading(method: &str, count: fn(&[u8]) -> Result<Counted, Failure>) -> Self {
        Self {
            method: method.to_owned(),
            path: Pieces::default(),
            body: None,
            holes: Holes::default(),
            reads: true,
            count,
            expect: Expect::default(),
            view: None,
        }
    }
}

/// The operations of a plan, ready for sessions.
pub(super) type Operations = ByKind<Option<Spelled>>;

/// A hole without an end.
fn malformed(error: &MalformedHole) -> Wrong {
    (error.to_string(), "close it with }}".to_owned())
}

/// The request of an operation.
///
/// # Errors
/// What is wrong with it.
pub(super) fn spell(operation: &OperationPlan) -> Result<Spelled, Invalid> {
    let flag = flag_of(operation.name.name());
    let Some(word) = WORDS.iter().find(|it| it.word.name == operation.word) else {
        let words: Vec<_> = CARDS.iter().map(|word| word.name).collect();
        let problem = format!("{:?} is not a word of CouchDB", operation.word);
        return Err(Invalid::new(flag, problem, format!("give one of {}", words.join(", "))));
    };
    let spelled = (word.spell)(operation);
    let spelled = spelled.map_err(|(problem, cure)| {
        Invalid::new(flag, format!("{}: {problem}", word.word.name), cure)
    })?;
    Ok(Spelled { expect: operation.expect, ..spelled })
}

/// The requests of a plan's operations.
///
/// # Errors
/// If one is misspelt, which cannot happen in a checked plan.
pub(super) fn prepared(operations: &[OperationPlan]) -> Result<Operations, TargetError> {
    let mut prepared = Operations::new();
    for operation in operations {
        let spelled = spell(operation).map_err(|mistake| TargetError(mistake.to_string()))?;
        *prepared.of(operation.name) = Some(spelled);
    }
    Ok(prepared)
}
