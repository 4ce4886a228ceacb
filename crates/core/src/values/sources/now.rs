//! `{{now}}`: the time.

use super::{Draw, SourceCard, ValueSource};
use crate::clock::wall_ns;

pub(super) const CARD: SourceCard = SourceCard {
    form: "now",
    help: "The time in milliseconds since 1970, as JavaScript's Date.now(); the only value that \
           differs between runs with the same seed",
    parse: |hole, _| (hole == "now").then(|| Ok(Box::new(Now) as Box<dyn ValueSource>)),
};

#[derive(Debug)]
struct Now;

impl ValueSource for Now {
    fn write(&self, _: &mut Draw<'_>, out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(itoa::Buffer::new().format(wall_ns() / 1_000_000).as_bytes());
        false
    }
}
