//! What pens keep of an operation, in reused buffers, until its kind is known.

#[derive(Debug, Default)]
pub(super) struct KeptNames {
    text: Vec<u8>,
    starts: Vec<usize>,
}

impl KeptNames {
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.starts.clear();
    }

    /// The buffer to which the next one is appended.
    pub(super) fn begin(&mut self) -> &mut Vec<u8> {
        self.starts.push(self.text.len());
        &mut self.text
    }

    /// All of them, in the order in which they were written.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let end = |place: usize| self.starts.get(place + 1).copied().unwrap_or(self.text.len());
        self.starts.iter().enumerate().map(move |(place, &start)| &self.text[start..end(place)])
    }

    pub(super) fn first(&self) -> &[u8] {
        self.iter().next().unwrap_or_default()
    }
}

/// The fields that a read is to return.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    fields: Vec<String>,
    /// How many of them belong to this operation.
    count: usize,
}

impl Wanted {
    pub(super) const fn clear(&mut self) {
        self.count = 0;
    }

    pub(super) fn push(&mut self, field: &str) {
        match self.fields.get_mut(self.count) {
            Some(place) => {
                place.clear();
                place.push_str(field);
            }
            None => self.fields.push(field.to_owned()),
        }
        self.count += 1;
    }

    /// All of them; if there are none, every field is wanted.
    pub(super) fn all(&self) -> &[String] {
        &self.fields[..self.count]
    }
}
