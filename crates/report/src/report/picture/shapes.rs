//! A picture as a list of shapes in pixels, from the left and from the top. The shapes are the same
//! whether they become SVG or PNG.

use super::font;

/// A color: red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Color(pub(super) u8, pub(super) u8, pub(super) u8);

/// How a text is aligned with its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A text on one line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Text {
    /// Its point, on the base line.
    pub(super) at: (f64, f64),
    /// The height of its letters, including the space between lines.
    pub(super) size: f64,
    pub(super) color: Color,
    pub(super) anchor: Anchor,
    pub(super) words: String,
}

impl Text {
    /// Where it begins.
    pub(super) fn left(&self) -> f64 {
        let width = font::width(&self.words, self.size);
        match self.anchor {
            Anchor::Start => self.at.0,
            Anchor::Middle => self.at.0 - width / 2.0,
            Anchor::End => self.at.0 - width,
        }
    }
}

/// A box: left, top, width and height.
pub(super) type Box4 = [f64; 4];

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// Boxes of one color, and their opacity, 0 to 1.
    Boxes(Color, f64, Vec<Box4>),
    /// Lines from point to point, each without gaps.
    Lines {
        color: Color,
        width: f64,
        /// Lengths of dashes and gaps, alternating; empty: a solid line.
        dash: &'static [f64],
        lines: Vec<Vec<(f64, f64)>>,
    },
    /// Dots with this radius.
    Dots(Color, f64, Vec<(f64, f64)>),
    Text(Text),
}

/// The shapes, in drawing order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Drawing {
    pub(super) width: f64,
    pub(super) height: f64,
    /// A description for those who cannot see it.
    pub(super) words: String,
    pub(super) shapes: Vec<Shape>,
}

impl Drawing {
    /// Draws boxes of one color that hide what is behind them.
    pub(super) fn boxes(&mut self, color: Color, boxes: Vec<Box4>) {
        self.shapes.push(Shape::Boxes(color, 1.0, boxes));
    }

    /// Draws a straight line, a pixel wide.
    pub(super) fn rule(&mut self, color: Color, from: (f64, f64), to: (f64, f64)) {
        let lines = vec![vec![from, to]];
        self.shapes.push(Shape::Lines { color, width: 1.0, dash: &[], lines });
    }

    /// Draws a text; returns where it ends.
    pub(super) fn text(
        &mut self,
        at: (f64, f64),
        size: f64,
        color: Color,
        anchor: Anchor,
        text: impl Into<String>,
    ) -> f64 {
        let text = Text { at, size, color, anchor, words: text.into() };
        let end = text.left() + font::width(&text.words, size);
        self.shapes.push(Shape::Text(text));
        end
    }
}
