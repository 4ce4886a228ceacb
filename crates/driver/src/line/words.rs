//! This protocol's own word for the operations of a plan: any line.

use crate::mistake::Invalid;
use crate::values::{Holes, Pieces};
use crate::words::{self, OperationPlan, Word, Wrong, flag_of, malformed, word_of};

const EXAMPLE: &str = "GET {{key}}";

/// The word as the driver's card lists it.
pub(super) const CARDS: &[Word] = &[Word {
    name: "line",
    help: "Any line, in which values are percent-encoded; an answer that begins with OK is a \
           success, and a row",
    example: EXAMPLE,
}];

/// A line, cut into pieces, and the values that it needs.
#[derive(Clone, Debug)]
pub(super) struct SpelledLine {
    pub(super) line: Pieces,
    pub(super) holes: Holes,
}

pub(super) type Own = words::Own<SpelledLine>;

/// Spells the line of an operation.
///
/// # Errors
/// Fails if the operation is invalid.
pub(super) fn spell(operation: &OperationPlan) -> Result<SpelledLine, Invalid> {
    let word = word_of(operation, CARDS, "this protocol")?;
    let spelled = || -> Result<SpelledLine, Wrong> {
        operation.only_rows()?;
        let text = operation.text(EXAMPLE)?;
        if text.is_empty() || text.contains('\n') {
            return Err(("it is not one line".to_owned(), format!("write it like {EXAMPLE}")));
        }
        let (mut line, mut holes) = (Pieces::default(), Holes::default());
        line.plain(text, false, &mut holes).map_err(|error| malformed(&error))?;
        Ok(SpelledLine { line, holes })
    };
    spelled().map_err(|(problem, cure)| {
        let flag = flag_of(operation.name.name());
        Invalid::new(flag, format!("{}: {problem}", word.name), cure)
    })
}
