//! The buffer in which a request is put together: document first, head later, in one piece.

use crate::op::{Answered, Draft, Failure, Revision};

/// Room kept in front of the body, so that a head can be put there without moving the body.
const HEAD_ROOM: usize = 512;

/// A request under construction, and the rows of a bulk answer. Reused for every operation.
#[derive(Debug)]
pub struct Payload {
    /// Its body begins with the room for a head.
    draft: Draft,
    start: usize,
    /// Where the body begins once its head is put before it.
    body: usize,
    rows: Vec<Result<Revision, Failure>>,
}

impl Default for Payload {
    fn default() -> Self {
        let draft = Draft { name: Vec::new(), body: vec![0; HEAD_ROOM] };
        Self { draft, start: HEAD_ROOM, body: HEAD_ROOM, rows: Vec::new() }
    }
}

impl Payload {
    /// Forgets the last request.
    pub fn clear(&mut self) {
        self.draft.name.clear();
        self.draft.body.truncate(HEAD_ROOM);
        self.start = HEAD_ROOM;
        self.rows.clear();
    }

    /// Where a workload appends the request's name and body to.
    pub const fn draft(&mut self) -> &mut Draft {
        &mut self.draft
    }

    /// What the request is about; see [`Draft::name`].
    pub fn name(&self) -> &[u8] {
        &self.draft.name
    }

    /// The name, to be taken and put back while the rest is worked on.
    pub const fn name_mut(&mut self) -> &mut Vec<u8> {
        &mut self.draft.name
    }

    /// Where the body is appended to.
    pub const fn body_mut(&mut self) -> &mut Vec<u8> {
        &mut self.draft.body
    }

    /// The body so far.
    pub fn body(&self) -> &[u8] {
        &self.draft.body[self.start..]
    }

    /// Puts `bytes` in front of everything that is there.
    pub fn prepend(&mut self, bytes: &[u8]) {
        if bytes.len() <= self.start {
            self.start -= bytes.len();
            self.draft.body[self.start..self.start + bytes.len()].copy_from_slice(bytes);
        } else {
            // A head longer than its room: rare, and right all the same.
            self.draft.body.splice(..self.start, bytes.iter().copied());
            self.body = self.body + bytes.len() - self.start;
            self.start = 0;
        }
    }

    /// Calls all that is there so far the body: what comes before it later is the head.
    pub const fn mark_body(&mut self) {
        self.body = self.start;
    }

    /// The length of what was called the body, in bytes.
    pub const fn body_len(&self) -> usize {
        self.draft.body.len() - self.body
    }

    /// Takes the head away again.
    pub const fn strip_head(&mut self) {
        self.start = self.body;
    }

    /// Everything, ready to be sent.
    pub fn bytes(&self) -> &[u8] {
        &self.draft.body[self.start..]
    }

    /// The outcome of each document of the bulk operation just carried out, in request order.
    pub fn rows(&self) -> &[Result<Revision, Failure>] {
        &self.rows
    }

    /// The request's names, and where a driver puts the rows of the answer to them.
    pub fn names_and_rows(&mut self) -> (&[u8], &mut Vec<Result<Revision, Failure>>) {
        (&self.draft.name, &mut self.rows)
    }

    /// What a workload is shown of an answer whose body is `body`.
    pub fn answered<'a>(&'a self, body: &'a [u8]) -> Answered<'a> {
        Answered { rows: &self.rows, body }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_of_any_length_goes_before_the_body() {
        for length in [0, 1, HEAD_ROOM, HEAD_ROOM + 1, 5 * HEAD_ROOM] {
            let mut payload = Payload::default();
            for _ in 0..2 {
                payload.clear();
                payload.body_mut().extend_from_slice(b"{}");
                let head = vec![b'h'; length];
                payload.prepend(&head);
                assert_eq!(payload.bytes(), [&head[..], b"{}"].concat());
            }
        }
    }
}
