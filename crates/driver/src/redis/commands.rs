//! Commands of Redis's protocol, RESP, as they are sent: lists of texts, one after the other.

use super::slots::slot_of;

/// Appends a text preceded by its length, as in commands.
pub(super) fn write_text(text: &[u8], out: &mut Vec<u8>) {
    write_length(b'$', text.len(), out);
    out.extend_from_slice(text);
    out.extend_from_slice(b"\r\n");
}

/// Appends the beginning of a command of this many words, including its name, which comes first.
pub(super) fn write_begin(name: &str, words: usize, out: &mut Vec<u8>) {
    write_length(b'*', words, out);
    write_text(name.as_bytes(), out);
}

/// Appends a number after the letter that says what it counts. In one piece, because commands
/// contain many of them.
fn write_length(kind: u8, length: usize, out: &mut Vec<u8>) {
    let mut line = [0; 24];
    let (mut start, mut rest) = (line.len() - 2, length);
    line[start..].copy_from_slice(b"\r\n");
    loop {
        start -= 1;
        line[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    start -= 1;
    line[start] = kind;
    out.extend_from_slice(&line[start..]);
}

/// One command among several.
#[derive(Clone, Copy, Debug, Default)]
struct CommandPlace {
    end: usize,
    /// The hash slot of its key.
    slot: u16,
}

#[derive(Debug, Default)]
pub(super) struct Commands {
    bytes: Vec<u8>,
    places: Vec<CommandPlace>,
    /// Whether slots are needed, which are not cheap to compute.
    clustered: bool,
    /// Buffers for words that are put together before they are added.
    pub(super) scratch: [Vec<u8>; 2],
}

impl Commands {
    /// No commands yet; with `clustered`, each will go to the node that has its key.
    pub(super) fn new(clustered: bool) -> Self {
        Self { clustered, ..Self::default() }
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    /// Begins a command of this many words, including its name.
    pub(super) fn begin(&mut self, name: &str, words: usize) -> OpenCommand<'_> {
        write_begin(name, words, &mut self.bytes);
        self.places.push(CommandPlace { end: self.bytes.len(), slot: 0 });
        OpenCommand { of: self }
    }

    /// Begins a command as [`write_begin`] does.
    pub(super) fn begun(&mut self, begin: &[u8]) -> OpenCommand<'_> {
        self.bytes.extend_from_slice(begin);
        self.places.push(CommandPlace { end: self.bytes.len(), slot: 0 });
        OpenCommand { of: self }
    }

    pub(super) fn add(&mut self, words: &[&str]) {
        let (name, words) = words.split_first().unwrap_or((&"", &[]));
        let mut command = self.begin(name, words.len() + 1);
        for word in words {
            command.word(word.as_bytes());
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Command number `place`, and the slot of its key.
    pub(super) fn get(&self, place: usize) -> (&[u8], u16) {
        let start = place.checked_sub(1).map_or(0, |before| self.places[before].end);
        let CommandPlace { end, slot } = self.places[place];
        (&self.bytes[start..end], slot)
    }
}

/// The last command that was begun.
pub(super) struct OpenCommand<'a> {
    of: &'a mut Commands,
}

impl OpenCommand<'_> {
    pub(super) fn word(&mut self, word: &[u8]) {
        write_text(word, &mut self.of.bytes);
        self.end();
    }

    /// Adds the command's key: a name after the prefix of all keys.
    pub(super) fn key(&mut self, prefix: &str, name: &[u8]) {
        let out = &mut self.of.bytes;
        write_length(b'$', prefix.len() + name.len(), out);
        out.extend_from_slice(prefix.as_bytes());
        out.extend_from_slice(name);
        out.extend_from_slice(b"\r\n");
        if self.of.clustered {
            let end = self.of.bytes.len() - 2;
            let slot = slot_of(&self.of.bytes[end - prefix.len() - name.len()..end]);
            self.slot(slot);
        }
        self.end();
    }

    /// Adds words in the form that [`write_text`] produces.
    pub(super) fn written(&mut self, words: &[u8]) {
        self.of.bytes.extend_from_slice(words);
        self.end();
    }

    /// Sends it to the node that has this slot.
    pub(super) fn slot(&mut self, slot: u16) {
        if let Some(place) = self.of.places.last_mut() {
            place.slot = slot;
        }
    }

    fn end(&mut self) {
        if let Some(place) = self.of.places.last_mut() {
            place.end = self.of.bytes.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_lists_of_texts_and_know_their_slots() {
        let mut commands = Commands::new(true);
        let mut set = commands.begin("SET", 3);
        set.key("run:", b"a");
        set.word(b"b\r\n");
        commands.add(&["PING"]);
        assert_eq!(commands.len(), 2);
        assert_eq!(commands.get(0).0, b"*3\r\n$3\r\nSET\r\n$5\r\nrun:a\r\n$3\r\nb\r\n\r\n");
        assert_eq!(commands.get(0).1, slot_of(b"run:a"));
        assert_eq!(commands.get(1).0, b"*1\r\n$4\r\nPING\r\n");
        for length in [0, 9, 10, 1_234_567, usize::MAX] {
            let mut out = Vec::new();
            write_length(b'$', length, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), format!("${length}\r\n"));
        }
        assert_eq!(commands.bytes(), [commands.get(0).0, commands.get(1).0].concat());
    }
}
