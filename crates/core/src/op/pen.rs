//! How a workload states which documents an operation is about and what they contain. The driver
//! decides how to encode that.

use super::Token;
use serde_json::Value;

/// Writes a workload's operations. Each driver has its own kind of pen, which encodes operations
/// the way its database needs them. There is one per connection, reused for every operation.
pub trait Pen {
    /// Discards the last operation.
    fn clear(&mut self);

    /// Lends the buffer to which the raw identifier of the document is appended. Called again for
    /// each further document of a bulk operation, and for the last document of a bounded range.
    fn name(&mut self) -> &mut Vec<u8>;

    /// The identifiers of the last operation, separated by zero bytes; empty if the driver does not
    /// keep them.
    #[inline]
    fn names(&self) -> &[u8] {
        b""
    }

    /// Writes the last named document as a whole; `token` is the version it replaces.
    fn document(&mut self, token: Option<Token>, fields: impl Fields);

    /// Writes the fields that an update of the last named document changes.
    fn changes(&mut self, fields: impl Fields);

    /// Asks for this field in a read. Without a call, all fields are wanted. A driver that cannot
    /// leave out fields reads all of them.
    #[inline]
    fn want(&mut self, _field: &str) {}

    /// Announces that the workload will look at the document that is read. Without this call, a
    /// driver need not assemble one from what it received.
    #[inline]
    fn look(&mut self) {}

    /// Selects a request from the driver's list, for drivers that have one.
    #[inline]
    fn entry(&mut self, _place: usize) {}

    /// Appends a value of an operation that the plan defines, in the order of its holes. `write`
    /// appends it to the buffer, and returns `true` if it is text, `false` if it is JSON.
    #[inline]
    fn value(&mut self, _write: impl FnOnce(&mut Vec<u8>) -> bool) {}

    /// Offers the operation as a line of text, for drivers that show operations.
    #[inline]
    fn line(&mut self, _write: impl FnOnce(&mut Vec<u8>)) {}
}

/// The content of a document: as a whole, or field by field. Generated on demand, once.
pub trait Fields {
    /// Appends all of it as a JSON object without white space. `first` is the text of the members
    /// that come first, without surrounding braces and commas; it may be empty. Content that is not
    /// JSON, such as the body of a request from a list, is appended as is.
    fn write(self, first: &[u8], out: &mut Vec<u8>);

    /// Passes each field to `field`: its name, and its value as text. Strings are not quoted,
    /// everything else is as in JSON.
    fn each(self, field: impl FnMut(&str, &[u8]))
    where
        Self: Sized,
    {
        let mut text = Vec::new();
        self.write(b"", &mut text);
        each_member(&text, field);
    }
}

/// Passes on the members of a JSON object as [`Fields::each`] does. Any other text has no members.
pub fn each_member(object: &[u8], mut field: impl FnMut(&str, &[u8])) {
    let Ok(Value::Object(members)) = serde_json::from_slice(object) else { return };
    for (name, value) in &members {
        match value {
            Value::String(text) => field(name, text.as_bytes()),
            other => field(name, other.to_string().as_bytes()),
        }
    }
}
