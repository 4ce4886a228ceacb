//! The buffer in which a request is built: body first, head later, in one piece.

/// Room reserved in front of the body, so that a head can be added without moving the body.
const HEAD_ROOM: usize = 512;

/// A request under construction. Reused for every operation.
#[derive(Debug)]
pub struct Payload {
    /// Begins with the room for the head.
    bytes: Vec<u8>,
    start: usize,
    /// Where the body begins once the head has been added.
    body: usize,
}

impl Default for Payload {
    fn default() -> Self {
        Self { bytes: vec![0; HEAD_ROOM], start: HEAD_ROOM, body: HEAD_ROOM }
    }
}

impl Payload {
    /// Discards the last request.
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.truncate(HEAD_ROOM);
        self.start = HEAD_ROOM;
    }

    /// Whether nothing has been written yet.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes.len() == HEAD_ROOM
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
        if bytes.len() <= self.start {
            self.start -= bytes.len();
            self.bytes[self.start..self.start + bytes.len()].copy_from_slice(bytes);
        } else {
            // A head that exceeds its room: rare, but handled correctly.
            self.bytes.splice(..self.start, bytes.iter().copied());
            self.body = self.body + bytes.len() - self.start;
            self.start = 0;
        }
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
