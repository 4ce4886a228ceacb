//! A drawing as PNG.

use super::font;
use super::shapes::{Colour, Drawing, Shape, Text};
use tiny_skia::{Color, FillRule, Paint, PathBuilder, Pixmap, Rect, Stroke, StrokeDash, Transform};

/// The drawing as a PNG file.
pub(super) fn write(drawing: &Drawing) -> Vec<u8> {
    let (width, height) = (drawing.width.ceil() as u32, drawing.height.ceil() as u32);
    let mut pixels = Pixmap::new(width.max(1), height.max(1)).expect("a picture fits into memory");
    pixels.fill(Color::WHITE);
    for shape in &drawing.shapes {
        self::shape(shape, &mut pixels);
    }
    pixels.encode_png().expect("writing to memory does not fail")
}

fn paint(Colour(red, green, blue): Colour, hides: f64) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, (hides * 255.0).round() as u8);
    paint
}

fn shape(shape: &Shape, pixels: &mut Pixmap) {
    let still = Transform::identity();
    match shape {
        Shape::Boxes(colour, hides, boxes) => {
            let paint = paint(*colour, *hides);
            for &[left, top, width, height] in boxes {
                let [left, top, width, height] =
                    [left, top, width, height].map(|value| value as f32);
                if let Some(rect) = Rect::from_xywh(left, top, width, height) {
                    pixels.fill_rect(rect, &paint, still, None);
                }
            }
        }
        Shape::Lines { colour, width, dash, lines } => {
            let mut path = PathBuilder::new();
            for line in lines {
                for (at, &(x, y)) in line.iter().enumerate() {
                    let (x, y) = (x as f32, y as f32);
                    if at == 0 { path.move_to(x, y) } else { path.line_to(x, y) }
                }
            }
            let dash = dash.iter().map(|&length| length as f32).collect();
            let stroke = Stroke {
                width: *width as f32,
                line_join: tiny_skia::LineJoin::Round,
                dash: StrokeDash::new(dash, 0.0),
                ..Stroke::default()
            };
            if let Some(path) = path.finish() {
                pixels.stroke_path(&path, &paint(*colour, 1.0), &stroke, still, None);
            }
        }
        Shape::Dots(colour, radius, dots) => {
            let mut path = PathBuilder::new();
            for &(x, y) in dots {
                path.push_circle(x as f32, y as f32, *radius as f32);
            }
            if let Some(path) = path.finish() {
                pixels.fill_path(&path, &paint(*colour, 1.0), FillRule::Winding, still, None);
            }
        }
        Shape::Text(text) => {
            let Text { at, size, colour, .. } = text;
            if let Some(path) = font::outlines(&text.words, *size, (text.left(), at.1)) {
                pixels.fill_path(&path, &paint(*colour, 1.0), FillRule::Winding, still, None);
            }
        }
    }
}
