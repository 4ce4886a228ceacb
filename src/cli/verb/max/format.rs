//! The formats of a search.

use crate::report::{Picture, cleaned, max_page, max_picture, max_text, terminal_json};
use crate::search::MaxRecord;
use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum MaxFormat {
    /// Text for people
    Text,
    /// max.json as it is
    Json,
    /// One page with charts
    Html,
    /// The charts as SVG
    Svg,
    /// The charts as PNG
    Png,
}

impl MaxFormat {
    pub(super) fn render(self, max: &MaxRecord) -> Vec<u8> {
        // A record that cannot be stored was not read from a file, and is our own.
        let cleaned = (self != Self::Json).then(|| cleaned(max).ok().flatten()).flatten();
        let max = cleaned.as_ref().unwrap_or(max);
        match self {
            Self::Text => max_text(max).into_bytes(),
            Self::Html => max_page(max).into_bytes(),
            Self::Svg => max_picture(max, Picture::Svg),
            Self::Png => max_picture(max, Picture::Png),
            Self::Json => {
                let text = serde_json::to_string_pretty(max).expect("plain data");
                terminal_json(text + "\n").into_bytes()
            }
        }
    }
}

/// A search in every format that is text.
#[cfg(feature = "internals")]
pub(in crate::cli) fn reports(max: &MaxRecord) -> Vec<Vec<u8>> {
    let all = MaxFormat::value_variants().iter().filter(|&&it| it != MaxFormat::Png);
    all.map(|format| format.render(max)).collect()
}
