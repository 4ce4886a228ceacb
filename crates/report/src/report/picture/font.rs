//! The letters of pictures: widths for the layout, and outlines for drawing.

use std::sync::LazyLock;
use ttf_parser::{Face, GlyphId, OutlineBuilder};
use zeno::{Command, PathBuilder as _};

/// The font families for SVG, which the reader's machine draws: the one used for PNG, and one of
/// nearly the same widths.
pub(super) const FAMILIES: &str = "DejaVu Sans, Verdana, Geneva, sans-serif";

const FILE: &[u8] = include_bytes!("../../../assets/dejavu/DejaVuSans-subset.ttf");
static FACE: LazyLock<Face<'static>> =
    LazyLock::new(|| Face::parse(FILE, 0).expect("the font is one of our own files"));

/// Whether the font has a glyph for this character.
#[cfg(test)]
pub(super) fn has(sign: char) -> bool {
    FACE.glyph_index(sign).is_some()
}

/// The glyphs of a text; a box for each one that is missing.
fn letters(text: &str) -> impl Iterator<Item = GlyphId> {
    text.chars().map(|sign| FACE.glyph_index(sign).unwrap_or(GlyphId(0)))
}

fn scale(size: f64) -> f64 {
    size / f64::from(FACE.units_per_em())
}

fn advance(letter: GlyphId) -> f64 {
    f64::from(FACE.glyph_hor_advance(letter).unwrap_or_default())
}

/// The width of a text, in pixels.
pub(super) fn width(text: &str, size: f64) -> f64 {
    letters(text).map(advance).sum::<f64>() * scale(size)
}

/// The outlines of a text whose base line begins at `at`.
pub(super) fn outlines(text: &str, size: f64, at: (f64, f64)) -> Vec<Command> {
    let mut pen = Pen { path: Vec::new(), at, scale: scale(size) };
    for letter in letters(text) {
        FACE.outline_glyph(letter, &mut pen);
        pen.at.0 += advance(letter) * pen.scale;
    }
    pen.path
}

/// Draws letters, one after another.
struct Pen {
    path: Vec<Command>,
    at: (f64, f64),
    scale: f64,
}

impl Pen {
    /// Fonts measure from the base line up.
    fn place(&self, x: f32, y: f32) -> [f32; 2] {
        let x = self.at.0 + f64::from(x) * self.scale;
        let y = self.at.1 - f64::from(y) * self.scale;
        [x as f32, y as f32]
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.path.move_to(self.place(x, y));
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.path.line_to(self.place(x, y));
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.path.quad_to(self.place(x1, y1), self.place(x, y));
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.path.curve_to(self.place(x1, y1), self.place(x2, y2), self.place(x, y));
    }

    fn close(&mut self) {
        self.path.close();
    }
}
