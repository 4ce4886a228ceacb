//! The buffer in which a request is built: body first, head later, in one piece.

/// The room for heads grows by this many bytes at a time.
const STEP: usize = 64;

/// A request under construction. Reused for every operation.
#[derive(Debug, Default)]
pub struct Payload {
    /// Begins with the room for the head, so that one can be added without moving the body.
    bytes: Vec<u8>,
    /// The room that the longest head so far needed, in steps of [`STEP`].
    room: usize,
    start: usize,
    /// Where the body begins once the head has been added.
    body: usize,
}

impl Payload {
    /// Discards the last request.
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.truncate(self.room);
        self.start = self.room;
    }

    /// Whether nothing has been written yet.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.bytes.len() == self.room
    }

    /// The buffer to append the body to.
    #[inline]
    pub const fn body_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// The body so far.
    #[inline]
    pub fn body(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Puts `bytes` in front of the current content.
    pub fn prepend(&mut self, bytes: &[u8]) {
        if bytes.len() > self.start {
            self.make_room(bytes.len() - self.start);
        }
        self.start -= bytes.len();
        self.bytes[self.start..self.start + bytes.len()].copy_from_slice(bytes);
    }

    #[cold]
    fn make_room(&mut self, more: usize) {
        let more = more.next_multiple_of(STEP);
        self.bytes.splice(..0, std::iter::repeat_n(0, more));
        self.room += more;
        self.start += more;
        self.body += more;
    }

    /// Declares the current content to be the body: whatever is prepended later is the head.
    #[inline]
    pub const fn mark_body(&mut self) {
        self.body = self.start;
    }

    /// The length of the declared body, in bytes.
    #[inline]
    pub const fn body_len(&self) -> usize {
        self.bytes.len() - self.body
    }

    /// Removes the head again.
    #[inline]
    pub const fn strip_head(&mut self) {
        self.start = self.body;
    }

    /// The whole request, ready to be sent.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_of_any_length_goes_before_the_body() {
        let mut payload = Payload::default();
        for length in [0, 1, STEP, STEP + 1, 2, 5 * STEP, 3] {
            for mark in [false, true] {
                payload.clear();
                assert!(payload.is_empty() && payload.body().is_empty());
                payload.body_mut().extend_from_slice(b"{}");
                assert!(!payload.is_empty());
                let head = vec![b'h'; length];
                if mark {
                    payload.mark_body();
                }
                payload.prepend(&head);
                assert_eq!(payload.bytes(), [&head[..], b"{}"].concat());
                if mark {
                    payload.prepend(b"again ");
                    assert_eq!(payload.body_len(), 2);
                    payload.strip_head();
                    assert_eq!(payload.bytes(), b"{}");
                }
            }
        }
        // The next head of this length fits without moving the body.
        assert!(payload.room >= 5 * STEP);
    }
}
