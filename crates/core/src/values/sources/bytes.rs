//! `{{bytes SIZE}}` and `{{text SIZE}}`: random content.

use super::{Draw, SourceCard, ValueSource};

/// The largest size.
const MOST: usize = 1 << 30;
/// The characters of a text: as many as six bits can distinguish.
const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .";

pub(super) const CARD: SourceCard = SourceCard {
    form: "text SIZE",
    help: "So many random letters, digits, spaces and points, as 500, 20k or 4M; as \
           {{bytes SIZE}}, random bytes, which do not belong in JSON or an address",
    parse: |hole, _| {
        let (word, size) = hole.split_once(' ')?;
        let letters = match word {
            "text" => true,
            "bytes" => false,
            _ => return None,
        };
        let size = parse(size.trim()).filter(|size| *size <= MOST);
        let size = size.ok_or_else(|| format!("write it like {{{{{word} 20k}}}}, up to 1G"));
        Some(size.map(|size| Box::new(Random { size, letters }) as Box<dyn ValueSource>))
    },
};

/// Parses a number with `k`, `M` or `G` for thousand, million and billion.
fn parse(text: &str) -> Option<usize> {
    let digits = text.trim_end_matches(['k', 'M', 'G']);
    let unit = match &text[digits.len()..] {
        "" => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        _ => return None,
    };
    digits.parse::<usize>().ok()?.checked_mul(unit)
}

#[derive(Debug)]
struct Random {
    size: usize,
    letters: bool,
}

impl ValueSource for Random {
    fn write(&self, draw: &mut Draw<'_>, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        out.resize(start + self.size, 0);
        for piece in out[start..].chunks_mut(8) {
            let bytes = draw.stream.draw().to_le_bytes();
            piece.copy_from_slice(&bytes[..piece.len()]);
        }
        if self.letters {
            out[start..].iter_mut().for_each(|byte| *byte = LETTERS[usize::from(*byte & 63)]);
        }
        true
    }
}
