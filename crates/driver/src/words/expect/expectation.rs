//! What every expectation is, and the properties of an answer that it checks.

/// The properties of an answer that expectations check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JudgedAnswer<'b> {
    /// The status; 0 if the driver has none.
    pub status: u16,
    /// Rows, or documents.
    pub rows: u64,
    /// Whether the document that the request is about is among the rows, if that was looked at.
    pub has_document: Option<bool>,
    /// The body, as it was sent.
    pub body: &'b [u8],
}

/// Something that is expected of each answer.
pub trait Expectation {
    /// Whether an answer meets it.
    fn is_met(&self, found: &JudgedAnswer<'_>) -> bool;

    /// What was expected and what was found, in words.
    fn words(&self, found: &JudgedAnswer<'_>) -> String;
}
