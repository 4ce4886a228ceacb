//! `{{made OPERATION}}`: a value made by an earlier request.

use super::new::write_new;
use super::{After, Draw, SourceCard, ValueSource};
use crate::op::OpKind;

pub(super) const CARD: SourceCard = SourceCard {
    form: "made NAME",
    help: "The {{new}} of an earlier request of the operation NAME that succeeded, all equally \
           likely; as {{taken NAME}}, no other request gets the same one",
    parse: |hole, _| {
        let (word, name) = hole.split_once(' ').unwrap_or((hole, ""));
        let takes = match word {
            "made" => false,
            "taken" => true,
            _ => return None,
        };
        let kind = OpKind::of_name(name.trim()).map_err(|error| error.to_string());
        Some(kind.map(|kind| Box::new(Made(After { kind, takes })) as Box<dyn ValueSource>))
    },
};

#[derive(Debug)]
struct Made(After);

impl ValueSource for Made {
    fn after(&self) -> Option<After> {
        Some(self.0)
    }

    fn write(&self, draw: &mut Draw<'_>, out: &mut Vec<u8>) -> bool {
        write_new(draw.documents, draw.earlier, out);
        true
    }
}
