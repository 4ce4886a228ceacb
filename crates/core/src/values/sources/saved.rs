//! `{{saved NAME}}`: a value from the answer to an earlier step of the same sequence.

use super::{Draw, SourceCard, ValueSource};

pub(super) const CARD: SourceCard = SourceCard {
    form: "saved NAME",
    help: "What an earlier step of the same sequence has saved from its answer under this name",
    parse: |hole, _| {
        let name = hole.strip_prefix("saved ")?.trim().to_owned();
        let saved = || Box::new(FromAnswer(name.clone())) as Box<dyn ValueSource>;
        Some(if name.is_empty() { Err("it has no name".to_owned()) } else { Ok(saved()) })
    },
};

#[derive(Debug)]
struct FromAnswer(String);

impl ValueSource for FromAnswer {
    fn saved(&self) -> Option<&str> {
        Some(&self.0)
    }

    fn write(&self, draw: &mut Draw<'_>, out: &mut Vec<u8>) -> bool {
        // In a checked plan, an earlier step has saved it.
        let Some(saved) = draw.saved.get(&self.0) else { return true };
        out.extend_from_slice(&saved.bytes);
        saved.is_text
    }
}
