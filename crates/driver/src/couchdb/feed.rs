//! The text of a feed of changes, and of a page of them.

use super::revision::Revision;
use crate::TargetError;
use crate::clock::Nanos;
use crate::measure::{Change, document_hash};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The longest line of a feed, and the longest answer to a long poll, in bytes.
pub(super) const MOST_TEXT: usize = 64_000_000;

/// A change in an answer, or its end.
#[derive(Deserialize)]
struct FeedRow<'a> {
    #[serde(borrow)]
    seq: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    changes: Vec<Leaf<'a>>,
    #[serde(borrow)]
    last_seq: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<Cow<'a, str>>,
    #[serde(borrow)]
    reason: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Leaf<'a> {
    #[serde(borrow)]
    rev: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow)]
    results: Vec<FeedRow<'a>>,
    #[serde(borrow)]
    last_seq: &'a RawValue,
}

/// The change in a row; `None` if it is not a change of a document.
fn change(row: &FeedRow<'_>, at: Option<Nanos>) -> Option<Change> {
    let revisions = row.changes.iter().filter_map(|leaf| Revision::parse(leaf.rev.as_bytes()));
    let number = revisions.map(|revision| revision.generation).max()?;
    Some(Change { document: document_hash(row.id.as_deref()?.as_bytes()), number, at })
}

fn parsed<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, TargetError> {
    let unreadable = |error| TargetError(format!("the feed cannot be read: {error}"));
    serde_json::from_slice(text).map_err(unreadable)
}

/// Reads a page of changes, which arrived at this time. Returns how many there are, and the
/// position in the feed after them, as JSON.
///
/// # Errors
/// Fails if it is not such a page.
pub(super) fn read_page(
    text: &[u8],
    at: Option<Nanos>,
    each: &mut impl FnMut(Change),
) -> Result<(usize, String), TargetError> {
    let page: Page<'_> = parsed(text)?;
    page.results.iter().filter_map(|row| change(row, at)).for_each(each);
    Ok((page.results.len(), page.last_seq.get().to_owned()))
}

/// Reads a line-based feed, piece by piece.
#[derive(Debug, Default)]
pub struct Lines {
    text: Vec<u8>,
    since: Option<String>,
}

impl Lines {
    /// Adds a piece.
    pub fn add(&mut self, piece: &[u8]) {
        self.text.extend_from_slice(piece);
    }

    /// The position in the feed after the last line that was read, as JSON, if it has changed.
    pub const fn take_since(&mut self) -> Option<String> {
        self.since.take()
    }

    /// Passes on the changes of all complete lines, which arrived at this time.
    ///
    /// # Errors
    /// Fails if a line is invalid, or is an error from the server. Nothing after it is read.
    pub fn read(&mut self, at: Nanos, each: &mut impl FnMut(Change)) -> Result<(), TargetError> {
        let whole = memchr::memrchr(b'\n', &self.text).map_or(0, |end| end + 1);
        for line in self.text[..whole].split(|&byte| byte == b'\n') {
            read_line(line, at, each, &mut self.since)?;
        }
        self.text.drain(..whole);
        if self.text.len() > MOST_TEXT {
            return Err(TargetError("a line of the feed does not end".to_owned()));
        }
        Ok(())
    }
}

/// Reads a line of a feed, and the position after it.
fn read_line(
    line: &[u8],
    at: Nanos,
    each: &mut impl FnMut(Change),
    since: &mut Option<String>,
) -> Result<(), TargetError> {
    let line = line.trim_ascii();
    let data = line.strip_prefix(b"data:").map(<[u8]>::trim_ascii);
    // In the format for browsers, other lines repeat what this one says.
    let Some(text) = data.or(line.starts_with(b"{").then_some(line)) else { return Ok(()) };
    if text.is_empty() {
        return Ok(());
    }
    let row: FeedRow<'_> = parsed(text)?;
    if let Some(error) = &row.error {
        let reason = row.reason.as_deref().unwrap_or("no reason given");
        return Err(TargetError(format!("the feed ended with {error}: {reason}")));
    }
    if let Some(change) = change(&row, Some(at)) {
        each(change);
    }
    // The server may send null for most changes, and a position only now and then.
    if let Some(seq) = row.seq.or(row.last_seq).filter(|seq| seq.get() != "null") {
        *since = Some(seq.get().to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Documents with the numbers of their changes, and the position after them.
    type Said = (Vec<(u64, u32)>, Option<String>);

    const REV: &str = "3-967a00dff5e02add41819138abb3284d";

    fn read(text: &str) -> Result<Said, String> {
        let (mut changes, mut lines) = (Vec::new(), Lines::default());
        lines.add(text.as_bytes());
        let mut each = |it: Change| changes.push((it.document, it.number));
        lines.read(5, &mut each).map_err(|error| error.to_string())?;
        Ok((changes, lines.take_since()))
    }

    #[test]
    fn lines_of_every_feed_are_read() {
        let (a, b) = (document_hash(b"a"), document_hash("b\"ü".as_bytes()));
        let continuous = format!(
            "\n{{\"seq\":\"4-x\",\"id\":\"a\",\"changes\":[{{\"rev\":\"{REV}\"}}]}}\n\n\
             {{\"seq\":null,\"id\":\"b\\\"ü\",\"changes\":[{{\"rev\":\"{REV}\"}}],\"deleted\":true,\
             \"doc\":{{\"_id\":\"b\"}}}}\n"
        );
        assert_eq!(read(&continuous), Ok((vec![(a, 3), (b, 3)], Some("\"4-x\"".to_owned()))));
        let end = "{\"last_seq\":\"9-y\",\"pending\":0}\n";
        assert_eq!(read(end), Ok((vec![], Some("\"9-y\"".to_owned()))));
        let events = format!(
            "event: heartbeat\ndata: \n\ndata: {{\"seq\":7,\"id\":\"a\",\
             \"changes\":[{{\"rev\":\"{REV}\"}}]}}\nid: 7\n\n"
        );
        assert_eq!(read(&events), Ok((vec![(a, 3)], Some("7".to_owned()))));
        let error = "{\"error\":\"timeout\",\"reason\":\"The request could not be processed\"}\n";
        assert!(read(error).unwrap_err().contains("ended with timeout: The request"));
        assert!(read("{\"seq\":\n").unwrap_err().contains("cannot be read"));
        assert!(read("data: x\n").unwrap_err().contains("cannot be read"));
    }

    #[test]
    fn a_line_is_read_once_it_is_whole() {
        let line = format!("{{\"seq\":1,\"id\":\"a\",\"changes\":[{{\"rev\":\"{REV}\"}}]}}\n");
        let mut lines = Lines::default();
        let mut count = 0;
        for byte in line.repeat(3).as_bytes() {
            lines.add(&[*byte]);
            lines.read(5, &mut |_| count += 1).unwrap();
        }
        assert_eq!((count, lines.take_since().as_deref()), (3, Some("1")));
        lines.add(&vec![b' '; MOST_TEXT]);
        lines.read(5, &mut |_| {}).unwrap();
        lines.add(b" ");
        assert!(lines.read(5, &mut |_| {}).unwrap_err().to_string().contains("does not end"));
    }
}
