//! Reads the parts of a body in CQL's binary protocol. Does not know which parts an answer has.
//!
//! Source: "CQL BINARY PROTOCOL v4" of Apache Cassandra, section 3.

/// A value on the wire; `None` is null.
pub(super) type WireValue<'a> = Option<&'a [u8]>;

/// The rest of a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(head)
    }

    pub(super) fn short(&mut self) -> Option<u16> {
        self.take(2).map(|it| u16::from_be_bytes([it[0], it[1]]))
    }

    pub(super) fn int(&mut self) -> Option<u32> {
        self.take(4).and_then(|it| it.try_into().ok()).map(u32::from_be_bytes)
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        let length = self.short()?;
        std::str::from_utf8(self.take(usize::from(length))?).ok()
    }

    pub(super) fn short_bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.short()?;
        self.take(usize::from(length))
    }

    /// A value, which may be null.
    pub(super) fn value(&mut self) -> Option<WireValue<'a>> {
        match self.int()?.cast_signed() {
            length @ 0.. => self.take(length.unsigned_abs() as usize).map(Some),
            _ => Some(None),
        }
    }

    /// Skips the names of a keyspace and of something in it.
    pub(super) fn skip_place(&mut self) -> Option<()> {
        self.text()?;
        self.text().map(|_| ())
    }
}
