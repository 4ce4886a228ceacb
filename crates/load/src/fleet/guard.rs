//! Checks what a broker sends before the AMQP library reads it. Any server at the broker's address
//! may send anything, and the library accepts any number of frames, and tables of any depth.
//!
//! Passes on whole frames, of the kinds that a broker sends to springload, up to a limit of unread
//! bytes. Tables are removed: springload needs none, and the library parses nested ones
//! recursively. Everything else about a frame is left to the library.

use super::LARGEST;
use std::collections::VecDeque;
use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The largest frame that springload accepts, in bytes: RabbitMQ's default.
pub const FRAME_MAX: u32 = 1 << 17;
/// What a message weighs in addition to its body: more than the library needs for it.
pub(super) const OVERHEAD: usize = 4 << 10;
/// The length of what precedes the contents of a frame: its kind, channel, and length.
const HEAD: usize = 7;
/// The byte that ends a frame.
const END: u8 = 0xCE;

/// The kinds of frames, by AMQP's numbers.
const METHOD: u8 = 1;
const HEADER: u8 = 2;
const BODY: u8 = 3;
const HEARTBEAT: u8 = 8;

/// AMQP's class and method, for the methods that need a closer look.
const START: [u16; 2] = [10, 10];
const CANCEL: [u16; 2] = [60, 30];
const RETURN: [u16; 2] = [60, 50];
const DELIVER: [u16; 2] = [60, 60];
/// All other methods that a broker sends to springload.
const OTHERS: [[u16; 2]; 18] = [
    // connection: tune, open-ok, close, close-ok, blocked, unblocked
    [10, 30],
    [10, 41],
    [10, 50],
    [10, 51],
    [10, 60],
    [10, 61],
    // channel: open-ok, close, close-ok
    [20, 11],
    [20, 40],
    [20, 41],
    // exchange: declare-ok; queue: declare-ok, bind-ok
    [40, 11],
    [50, 11],
    [50, 21],
    // basic: qos-ok, consume-ok, cancel-ok, ack, nack; confirm: select-ok
    [60, 11],
    [60, 21],
    [60, 31],
    [60, 80],
    [60, 120],
    [85, 11],
];
/// The flags of a message's properties, in the order of the properties.
const CONTENT_TYPE: u16 = 1 << 15;
const CONTENT_ENCODING: u16 = 1 << 14;
const HEADERS: u16 = 1 << 13;

const NONSENSE: &str = "its answer makes no sense";

/// A number of bytes that several parties add to and subtract from, up to a limit.
#[derive(Clone, Debug)]
pub struct Weight {
    sum: Arc<AtomicUsize>,
    most: usize,
}

impl Weight {
    /// Starts at 0, with this limit.
    pub fn up_to(most: usize) -> Self {
        Self { sum: Arc::default(), most }
    }

    /// Adds to it and returns true, unless that would exceed the limit.
    pub fn add(&self, bytes: usize) -> bool {
        let add = |sum: usize| sum.checked_add(bytes).filter(|sum| *sum <= self.most);
        self.sum.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }

    /// Subtracts what was added.
    pub fn remove(&self, bytes: usize) {
        self.sum.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The part of a message that comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Header,
    /// This many bytes of the body.
    Body(usize),
}

/// Checks what a broker sends on one connection.
#[derive(Debug)]
pub struct Guard {
    /// The beginning of an incomplete frame.
    begun: Vec<u8>,
    /// Bytes that may be read.
    ready: VecDeque<u8>,
    /// The message being received: there is one channel, and so one message at a time.
    message: Option<Next>,
    unread: Weight,
}

impl Guard {
    /// A guard for a reader that takes what it has read off `unread`.
    pub fn new(unread: Weight) -> Self {
        Self { begun: Vec::new(), ready: VecDeque::new(), message: None, unread }
    }

    /// Checks bytes that have arrived.
    ///
    /// # Errors
    /// Returns an error if they are invalid: nothing after them may be read.
    pub fn look(&mut self, bytes: &[u8]) -> Result<(), String> {
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(bytes);
        let mut rest = &all[..];
        while let Some(frame) = next_frame(rest)? {
            rest = &rest[frame.len()..];
            let instead = self.check(frame)?;
            let contents = instead.as_deref().unwrap_or(&frame[HEAD..frame.len() - 1]);
            let length = u32::try_from(contents.len()).map_err(|_| NONSENSE)?;
            self.ready.extend(&frame[..3]);
            self.ready.extend(length.to_be_bytes());
            self.ready.extend(contents);
            self.ready.push_back(END);
        }
        let seen = all.len() - rest.len();
        all.drain(..seen);
        self.begun = all;
        Ok(())
    }

    /// Hands over as many bytes as may be read and fit. Returns their number.
    pub fn hand_over(&mut self, buffer: &mut [u8]) -> usize {
        self.ready.read(buffer).unwrap_or(0)
    }

    /// Checks a frame. Returns what replaces its contents, or `None` if they are passed on as they
    /// are.
    fn check(&mut self, frame: &[u8]) -> Result<Option<Vec<u8>>, String> {
        let contents = &frame[HEAD..frame.len() - 1];
        // The connection's own channel may interrupt a message.
        let own = frame[1..3] == [0, 0];
        match (frame[0], self.message) {
            (METHOD, message) if own || message.is_none() => return self.method(contents),
            (HEADER, Some(Next::Header)) => {
                let (header, body) = self.header(contents)?;
                self.message = Some(Next::Body(body)).filter(|_| body > 0);
                return Ok(Some(header));
            }
            (BODY, Some(Next::Body(left))) => {
                let left = left.checked_sub(contents.len()).ok_or(NONSENSE)?;
                self.message = Some(Next::Body(left)).filter(|_| left > 0);
            }
            (HEARTBEAT, _) => {}
            _ => return Err(NONSENSE.to_owned()),
        }
        Ok(None)
    }

    fn method(&mut self, contents: &[u8]) -> Result<Option<Vec<u8>>, String> {
        let (class, rest) = number(contents)?;
        match [class, number(rest)?.0] {
            START => {
                // Class, method and version; a table; the rest.
                let (head, table) = contents.split_at_checked(6).ok_or(NONSENSE)?;
                return Ok(Some([head, &[0; 4], after_table(table)?].concat()));
            }
            // Its message follows.
            RETURN | DELIVER if self.message.is_none() => self.message = Some(Next::Header),
            // There is only one to cancel, but each is answered.
            CANCEL => self.weigh(0)?,
            other if OTHERS.contains(&other) => {}
            [class, method] => return Err(format!("it sends AMQP's method {class}.{method}")),
        }
        Ok(None)
    }

    /// The header of a message without its table, and the length of the body.
    fn header(&self, contents: &[u8]) -> Result<(Vec<u8>, usize), String> {
        // Class and weight; the length of the body; the flags.
        let (head, rest) = contents.split_at_checked(4).ok_or(NONSENSE)?;
        let (length, rest) = rest.split_first_chunk().ok_or(NONSENSE)?;
        let length = u64::from_be_bytes(*length);
        let (flags, texts) = number(rest)?;
        let body = usize::try_from(length).ok().filter(|body| *body <= LARGEST);
        let body = body.ok_or_else(|| too_large(length))?;
        self.weigh(body)?;
        let mut table = texts;
        for flag in [CONTENT_TYPE, CONTENT_ENCODING] {
            if flags & flag != 0 {
                let (length, text) = table.split_first().ok_or(NONSENSE)?;
                table = text.get(usize::from(*length)..).ok_or(NONSENSE)?;
            }
        }
        let after = if flags & HEADERS == 0 { table } else { after_table(table)? };
        let before = &texts[..texts.len() - table.len()];
        let flags = (flags & !HEADERS).to_be_bytes();
        Ok(([head, &length.to_be_bytes(), &flags, before, after].concat(), body))
    }

    fn weigh(&self, body: usize) -> Result<(), String> {
        let fits = self.unread.add(body + OVERHEAD);
        fits.then_some(()).ok_or_else(|| "it sends more messages than it may".to_owned())
    }
}

/// The first frame in `bytes`, once it is complete.
fn next_frame(bytes: &[u8]) -> Result<Option<&[u8]>, String> {
    if bytes.first().is_some_and(|kind| ![METHOD, HEADER, BODY, HEARTBEAT].contains(kind)) {
        return Err(NONSENSE.to_owned());
    }
    let Some(&[_, _, _, a, b, c, d]) = bytes.first_chunk::<HEAD>() else { return Ok(None) };
    let length = u64::from(u32::from_be_bytes([a, b, c, d])) + HEAD as u64 + 1;
    if length > u64::from(FRAME_MAX) {
        return Err(format!("it sends a frame of {length} bytes; the largest is {FRAME_MAX}"));
    }
    let frame = bytes.get(..length as usize);
    if frame.is_some_and(|frame| frame.last() != Some(&END)) {
        return Err(NONSENSE.to_owned());
    }
    Ok(frame)
}

/// Splits off a number of two bytes.
fn number(bytes: &[u8]) -> Result<(u16, &[u8]), String> {
    let (number, rest) = bytes.split_first_chunk().ok_or(NONSENSE)?;
    Ok((u16::from_be_bytes(*number), rest))
}

fn after_table(bytes: &[u8]) -> Result<&[u8], String> {
    let (length, rest) = bytes.split_first_chunk().ok_or(NONSENSE)?;
    let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| NONSENSE)?;
    Ok(rest.get(length..).ok_or(NONSENSE)?)
}

/// The reason a message ends its channel.
pub(super) fn too_large(bytes: u64) -> String {
    format!("a message of {bytes} bytes; the largest allowed is {LARGEST}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, channel: u16, contents: &[u8]) -> Vec<u8> {
        let length = u32::try_from(contents.len()).unwrap().to_be_bytes();
        [&[kind][..], &channel.to_be_bytes(), &length, contents, &[END]].concat()
    }

    fn message(flags: u16, properties: &[u8], body: &[u8]) -> Vec<u8> {
        let length = (body.len() as u64).to_be_bytes();
        let header = [&[0, 60, 0, 0], &length[..], &flags.to_be_bytes(), properties].concat();
        [frame(METHOD, 1, &[0, 60, 0, 60]), frame(HEADER, 1, &header), frame(BODY, 1, body)]
            .concat()
    }

    /// What the guard passes on of bytes that arrive in pieces of this size.
    fn through(bytes: &[u8], at_a_time: usize) -> Result<Vec<u8>, String> {
        let mut guard = Guard::new(Weight::up_to(1 << 20));
        bytes.chunks(at_a_time).try_for_each(|bytes| guard.look(bytes))?;
        let mut all = vec![0; bytes.len()];
        let length = guard.hand_over(&mut all);
        all.truncate(length);
        assert_eq!(guard.hand_over(&mut [0; 9]), 0);
        Ok(all)
    }

    #[test]
    fn tables_are_left_out_wherever_bytes_are_split() {
        let table = [0, 0, 0, 3, 1, b'a', b'V'];
        let start = |table: &[u8]| {
            frame(METHOD, 0, &[&[0, 10, 0, 10, 0, 9], table, &[0, 0, 0, 1, b'P']].concat())
        };
        let texts = [&[1, b't', 2, b'e', b'f'][..], &table, b"rest"].concat();
        let all = CONTENT_TYPE | CONTENT_ENCODING | HEADERS | 1;
        let beat = frame(HEARTBEAT, 0, &[]);
        let sent = [start(&table), beat.clone(), message(all, &texts, b"body"), beat.clone()];
        let texts = message(all & !HEADERS, b"\x01t\x02efrest", b"body");
        let read = [start(&[0; 4]), beat.clone(), texts, beat].concat();
        for at_a_time in 1..sent.concat().len() {
            assert_eq!(through(&sent.concat(), at_a_time).as_ref(), Ok(&read));
        }
        assert_eq!(through(&read, 7).as_ref(), Ok(&read), "there is nothing more to leave out");
    }

    #[test]
    fn what_no_broker_sends_is_refused() {
        let message = message(0, &[], b"body");
        let delivery = frame(METHOD, 1, &[0, 60, 0, 60]);
        for wrong in [
            b"HTTP/1.1 400".to_vec(),
            b"AMQP".to_vec(),
            frame(METHOD, 0, &[0, 10, 0]),
            frame(METHOD, 0, &[0, 10, 0, 10, 0, 9, 0, 0, 0, 1]),
            frame(METHOD, 0, &[0, 10, 0, 20]),
            frame(METHOD, 1, &[0, 60, 0, 20]),
            frame(BODY, 1, b"body"),
            delivery.repeat(2),
            [&delivery[..], &frame(HEADER, 1, &[0; 13])].concat(),
            [&message[..], &frame(BODY, 1, &[])].concat(),
            [&message[..message.len() - 12], &frame(BODY, 1, b"bodys")].concat(),
            [&message[..message.len() - 12], &frame(METHOD, 0, &[0, 60, 0, 50])].concat(),
            vec![METHOD, 0, 0, 0, 1, 255, 249],
        ] {
            assert!(through(&wrong, 3).is_err(), "{wrong:?}");
        }
        // The largest frame, and its beginning.
        let frame = frame(METHOD, 0, &[&[0, 10, 0, 51][..], &vec![0; (1 << 17) - 12]].concat());
        assert_eq!(through(&frame, 1 << 14).map(|all| all.len()), Ok(1 << 17));
        assert_eq!(through(&frame[..1000], 1), Ok(Vec::new()));
    }

    #[test]
    fn only_so_much_may_wait_for_its_reader() {
        let weight = Weight::up_to(3 * OVERHEAD + 11);
        let mut guard = Guard::new(weight.clone());
        let sent = message(0, &[], b"body");
        assert_eq!((guard.look(&sent), guard.look(&sent)), (Ok(()), Ok(())));
        let mut other = Guard::new(weight.clone());
        assert!(other.look(&sent).is_err_and(|why| why.contains("more messages")));
        weight.remove(4 + OVERHEAD);
        assert_eq!(guard.look(&sent), Ok(()));
        let mut large = sent;
        large.splice(23..31, (LARGEST as u64 + 1).to_be_bytes());
        assert!(guard.look(&large).is_err_and(|why| why.contains("67108865 bytes")));
    }
}
