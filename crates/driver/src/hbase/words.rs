//! HBase's own words for the operations of a plan: ranges of rows, and several rows at once.

mod multi_get;
mod scan;

use crate::mistake::Invalid;
use crate::values::{Holes, Pieces, Values};
use crate::words::{self, OperationPlan, Word, flag_of, word_of};
pub(super) use multi_get::MultiGet;
use prost::bytes::Bytes;
pub(super) use scan::{Range, SpelledScan};

/// The words as the driver's card lists them.
pub(super) const CARDS: &[Word] = &[multi_get::WORD, scan::WORD];

/// An operation, cut into pieces.
#[derive(Clone, Debug)]
pub(super) enum SpelledOperation {
    Scan(SpelledScan),
    MultiGet(MultiGet),
}

pub(super) type Own = words::Own<SpelledOperation>;

impl SpelledOperation {
    pub(super) const fn holes(&self) -> &Holes {
        match self {
            Self::Scan(scan) => &scan.holes,
            Self::MultiGet(get) => &get.holes,
        }
    }
}

/// Spells an operation.
///
/// # Errors
/// Fails if the operation is invalid.
pub(super) fn spell(operation: &OperationPlan) -> Result<SpelledOperation, Invalid> {
    let word = word_of(operation, CARDS, "HBase")?;
    let spelled = match word.name {
        "scan" => scan::spell(operation).map(SpelledOperation::Scan),
        _ => multi_get::spell(operation).map(SpelledOperation::MultiGet),
    };
    spelled.map_err(|(problem, cure)| {
        let flag = flag_of(operation.name.name());
        Invalid::new(flag, format!("{}: {problem}", word.name), cure)
    })
}

fn joined(pieces: &Pieces, values: &Values) -> Bytes {
    let (mut out, mut scratch) = (Vec::new(), Vec::new());
    pieces.join(values, &mut scratch, &mut out);
    out.into()
}
