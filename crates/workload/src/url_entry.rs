//! An entry of a list of requests: the values of its requests, and its place in a sequence. The
//! driver knows everything else.

use crate::op::OpKind;
use crate::schema::Documents;
use crate::values::ValueSource;
use std::sync::Arc;

/// One entry of the list.
#[derive(Debug)]
pub struct UrlEntry {
    /// Its row in reports.
    pub kind: OpKind,
    /// The sequence that it is a step of.
    pub sequence: Option<OpKind>,
    /// Whether it continues the sequence of the entry before it.
    pub follows: bool,
    /// The sources of its values, in the order of its holes.
    pub values: Vec<Box<dyn ValueSource>>,
    /// A new document as the body of each request, drawn by its number.
    pub documents: Option<Arc<Documents>>,
    /// The names under which it saves values of the answer, in the order of the answer.
    pub saves: Vec<String>,
}
