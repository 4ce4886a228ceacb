//! The letters of pictures: widths for the layout, and outlines for drawing.

use std::collections::HashMap;
use std::sync::LazyLock;
use zeno::{Command, PathData as _, Transform};

/// The font families for SVG, which the reader's machine draws: the one used for PNG, and one of
/// nearly the same widths.
pub(super) const FAMILIES: &str = "DejaVu Sans, Verdana, Geneva, sans-serif";

/// A glyph per line: the code of its character in hexadecimal digits, its advance, and its outline
/// as SVG has it, with y growing upwards. Character 0 is a box for those that are missing.
const FILE: &str = include_str!("../../../assets/dejavu/glyphs.txt");
/// The size of the font in the units of this file.
const UNITS_PER_EM: f64 = 2048.0;

/// The shape of a character, in units of the font.
struct Glyph {
    advance: f64,
    outline: &'static str,
}

static GLYPHS: LazyLock<HashMap<char, Glyph>> =
    LazyLock::new(|| FILE.lines().filter_map(parse_glyph).collect());

fn parse_glyph(line: &'static str) -> Option<(char, Glyph)> {
    let (code, rest) = line.split_once(' ')?;
    let (advance, outline) = rest.split_once(' ').unwrap_or((rest, ""));
    let sign = char::from_u32(u32::from_str_radix(code, 16).ok()?)?;
    Some((sign, Glyph { advance: advance.parse().ok()?, outline }))
}

/// Whether the font has a glyph for this character.
#[cfg(test)]
pub(super) fn has(sign: char) -> bool {
    GLYPHS.contains_key(&sign)
}

/// The glyphs of a text; a box for each one that is missing.
fn glyphs(text: &str) -> impl Iterator<Item = &'static Glyph> {
    text.chars().filter_map(|sign| GLYPHS.get(&sign).or_else(|| GLYPHS.get(&'\0')))
}

/// The width of a text, in pixels.
pub(super) fn width(text: &str, size: f64) -> f64 {
    glyphs(text).map(|glyph| glyph.advance).sum::<f64>() * size / UNITS_PER_EM
}

/// The outlines of a text whose base line begins at `at`.
pub(super) fn outlines(text: &str, size: f64, at: (f64, f64)) -> Vec<Command> {
    let (mut path, (mut left, base)) = (Vec::new(), at);
    let scale = size / UNITS_PER_EM;
    for glyph in glyphs(text) {
        // Fonts measure from the base line up.
        let (across, up) = (scale as f32, -scale as f32);
        let place = Transform::new(across, 0.0, 0.0, up, left as f32, base as f32);
        path.extend(glyph.outline.commands().map(|command| command.transform(&place)));
        left += glyph.advance * scale;
    }
    path
}
