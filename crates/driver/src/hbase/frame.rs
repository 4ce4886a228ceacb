//! Frames: the units sent over a connection, preceded by their length.
//!
//! A request consists of header, message and cell block, and so does an answer. Header and message
//! are preceded by their own length, as written by `writeDelimitedTo` of Java's protocol buffers.

use super::messages::{CellBlockMeta, ExceptionResponse, RequestHeader, ResponseHeader};
use prost::Message;
use prost::bytes::Buf;

/// The first bytes of a connection: `HBas`, version 0, and SIMPLE authentication.
pub(super) const PREAMBLE: &[u8] = b"HBas\x00\x50";

pub(super) fn write_request(
    call: u32,
    method: &str,
    timeout_ms: u32,
    message: &impl Message,
    cells: &[u8],
    out: &mut Vec<u8>,
) {
    let meta = CellBlockMeta { length: Some(cells.len() as u32) };
    let header = RequestHeader {
        call_id: Some(call),
        method_name: Some(method.to_owned()),
        request_param: Some(true),
        cell_block_meta: (!cells.is_empty()).then_some(meta),
        timeout: Some(timeout_ms),
    };
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    // Both can only fail for lack of room, and a vector grows.
    let _ = header.encode_length_delimited(out);
    let _ = message.encode_length_delimited(out);
    out.extend_from_slice(cells);
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// Appends the first message of a connection, which has no header.
pub(super) fn write_alone(message: &impl Message, out: &mut Vec<u8>) {
    out.extend_from_slice(&(message.encoded_len() as u32).to_be_bytes());
    let _ = message.encode(out);
}

/// The header of an answer, and the rest of the frame.
pub(super) fn read_header(frame: &[u8]) -> Option<(ResponseHeader, &[u8])> {
    let mut rest = frame;
    let header = ResponseHeader::decode_length_delimited(&mut rest).ok()?;
    Some((header, rest))
}

#[derive(Debug, Default)]
pub(super) struct CallAnswer {
    /// The message, preceded by its length, and the cell block.
    bytes: Vec<u8>,
    /// The length of the cell block.
    cells: usize,
    /// Set if the call failed.
    pub(super) exception: Option<ExceptionResponse>,
}

impl CallAnswer {
    /// Takes over the rest of a frame. `None` if the header contradicts it.
    pub(super) fn of(header: ResponseHeader, rest: &[u8]) -> Option<Self> {
        let cells =
            header.cell_block_meta.and_then(|meta| meta.length).unwrap_or_default() as usize;
        (cells <= rest.len()).then(|| Self {
            bytes: rest.to_vec(),
            cells,
            exception: header.exception,
        })
    }

    /// The message; `None` if it is not of this kind.
    pub(super) fn message<M: Message + Default>(&self) -> Option<M> {
        let mut bytes = &self.bytes[..self.bytes.len() - self.cells];
        let message = M::decode_length_delimited(&mut bytes).ok()?;
        (!bytes.has_remaining()).then_some(message)
    }

    pub(super) fn cells(&self) -> &[u8] {
        &self.bytes[self.bytes.len() - self.cells..]
    }

    /// The length of the answer, in bytes.
    pub(super) fn length(&self) -> usize {
        self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::messages::{GetResponse, RowResult};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_has_its_lengths_and_its_cells_behind() {
        let mut out = b"before".to_vec();
        let message = GetResponse { result: Some(RowResult { associated_cell_count: Some(3) }) };
        write_request(7, "Get", 1_000, &message, b"cells", &mut out);
        let frame = &out[6..];
        let (length, frame) = frame.split_at(4);
        assert_eq!(u32::from_be_bytes(length.try_into().unwrap()) as usize, frame.len());
        let mut rest = frame;
        let header = RequestHeader::decode_length_delimited(&mut rest).unwrap();
        assert_eq!((header.call_id, header.timeout), (Some(7), Some(1_000)));
        assert_eq!(header.method_name.as_deref(), Some("Get"));
        assert_eq!(header.cell_block_meta, Some(CellBlockMeta { length: Some(5) }));
        assert_eq!(GetResponse::decode_length_delimited(&mut rest).unwrap(), message);
        assert_eq!(rest, b"cells");
    }

    #[test]
    fn an_answer_is_no_longer_and_no_shorter_than_its_header_says() {
        let header = |cells| ResponseHeader {
            call_id: Some(7),
            cell_block_meta: Some(CellBlockMeta { length: Some(cells) }),
            exception: None,
        };
        let mut rest = Vec::new();
        let message = GetResponse { result: Some(RowResult { associated_cell_count: Some(3) }) };
        message.encode_length_delimited(&mut rest).unwrap();
        rest.extend_from_slice(b"cells");
        let answer = CallAnswer::of(header(5), &rest).unwrap();
        assert_eq!((answer.message(), answer.cells()), (Some(message), &b"cells"[..]));
        let short = CallAnswer::of(header(4), &rest).unwrap();
        assert_eq!(short.message::<GetResponse>(), None);
        assert!(CallAnswer::of(header(99), &rest).is_none());
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_answer_or_refused(bytes: Vec<u8>) {
            if let Some((header, rest)) = read_header(&bytes)
                && let Some(answer) = CallAnswer::of(header, rest)
            {
                let _ = answer.message::<GetResponse>();
                let _ = answer.cells();
            }
        }
    }
}
