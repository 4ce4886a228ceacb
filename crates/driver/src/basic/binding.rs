//! `BasicDB` and `BasicTSDB`, YCSB's bindings without a server.

use super::BasicOptions;
use super::plan::CARD;
use crate::properties::PropertyReader;
use crate::{Binding, Bound, Shown};
use serde_json::{Map, json};

pub(super) const BINDING: Binding = Binding {
    names: &["basic", "basicts"],
    classes: &["BasicDB", "BasicTSDB"],
    properties: &[
        "basicdb.count",
        "basicdb.randomizedelay",
        "basicdb.simulatedelay",
        "basicdb.verbose",
    ],
    flag: "BINDING",
    site: None,
    read,
};

fn read(read: &mut PropertyReader<'_>) -> Bound {
    let options = BasicOptions {
        // The most that YCSB's type can hold: 24 days.
        delay_ms: read.within("basicdb.simulatedelay", 0, 0..=0x7fff_ffff) as u32,
        randomized: read.flag("basicdb.randomizedelay", true),
        printed: read.flag("basicdb.verbose", true),
        counted: read.flag("basicdb.count", false),
    };
    Bound {
        address: Some(CARD.name.to_owned()),
        options: Map::from_iter([("basic".to_owned(), json!(options))]),
        shown: Shown { printed: options.printed, counted: options.counted },
        ..Bound::default()
    }
}
