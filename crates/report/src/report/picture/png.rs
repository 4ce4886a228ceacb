//! A drawing as PNG.

use super::font;
use super::shapes::{Color, Drawing, Shape, Text};
use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use std::io::{self, Write as _};
use zeno::{Cap, Command, Fill, Join, Mask, PathBuilder as _, Stroke, Style};

pub(super) fn write(drawing: &Drawing) -> Vec<u8> {
    let [width, height] =
        [drawing.width, drawing.height].map(|length| length.ceil().max(1.0) as usize);
    let mut pixels = Pixels { width, all: vec![[u8::MAX; 3]; width * height] };
    for shape in &drawing.shapes {
        self::shape(shape, &mut pixels);
    }
    pixels.file().expect("writing to memory does not fail")
}

/// Rows of pixels, from the top: red, green, blue.
struct Pixels {
    width: usize,
    all: Vec<[u8; 3]>,
}

impl Pixels {
    /// Paints the inside of a path, or its stroke.
    fn paint<'a>(&mut self, path: &[Command], style: impl Into<Style<'a>>, color: Color) {
        self.glaze(path, style, color, 1.0);
    }

    /// The same, but only partly opaque.
    fn glaze<'a>(
        &mut self,
        path: &[Command],
        style: impl Into<Style<'a>>,
        Color(red, green, blue): Color,
        hides: f64,
    ) {
        let (mask, place) = Mask::new(path).style(style).render();
        for (at, share) in mask.into_iter().enumerate().filter(|(_, share)| *share > 0) {
            let (x, y) = (at % place.width as usize, at / place.width as usize);
            let x = x.checked_add_signed(place.left as isize);
            let y = y.checked_add_signed(place.top as isize);
            let (Some(x), Some(y)) = (x, y) else { continue };
            let pixel = self.all.get_mut(y * self.width + x).filter(|_| x < self.width);
            for (old, new) in pixel.into_iter().flatten().zip([red, green, blue]) {
                let share = f64::from(share) / 255.0 * hides;
                *old = (f64::from(*old) * (1.0 - share) + f64::from(new) * share).round() as u8;
            }
        }
    }

    /// The chunks of a PNG file: head, pixels, end (ISO/IEC 15948, 11.2).
    fn file(&self) -> io::Result<Vec<u8>> {
        let mut rows = ZlibEncoder::new(Vec::new(), Compression::default());
        for row in self.all.chunks_exact(self.width) {
            // No filter.
            rows.write_all(&[0])?;
            rows.write_all(row.as_flattened())?;
        }
        let size =
            [self.width, self.all.len() / self.width].map(|side| (side as u32).to_be_bytes());
        // Eight bits each for red, green and blue.
        let head = [size.as_flattened(), &[8, 2, 0, 0, 0]].concat();
        let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
        for (name, data) in [(b"IHDR", head), (b"IDAT", rows.finish()?), (b"IEND", Vec::new())] {
            let mut sum = Crc::new();
            sum.update(name);
            sum.update(&data);
            let parts = [(data.len() as u32).to_be_bytes(), *name, sum.sum().to_be_bytes()];
            file.write_all(parts[..2].as_flattened())?;
            file.write_all(&data)?;
            file.write_all(&parts[2])?;
        }
        Ok(file)
    }
}

fn shape(shape: &Shape, pixels: &mut Pixels) {
    let mut path = Vec::new();
    let point = |(x, y): (f64, f64)| [x as f32, y as f32];
    match shape {
        Shape::Boxes(color, hides, boxes) => {
            for &[left, top, width, height] in boxes {
                path.clear();
                path.add_rect(point((left, top)), width as f32, height as f32);
                pixels.glaze(&path, Fill::NonZero, *color, *hides);
            }
        }
        Shape::Lines { color, width, dash, lines } => {
            for line in lines {
                for (at, &to) in line.iter().enumerate() {
                    if at == 0 {
                        path.move_to(point(to))
                    } else {
                        path.line_to(point(to))
                    };
                }
            }
            let dash: Vec<_> = dash.iter().map(|&length| length as f32).collect();
            let mut stroke = Stroke::new(*width as f32);
            stroke.join(Join::Round).cap(Cap::Butt).dash(&dash, 0.0);
            pixels.paint(&path, stroke, *color);
        }
        Shape::Dots(color, radius, dots) => {
            for &dot in dots {
                path.add_circle(point(dot), *radius as f32);
            }
            pixels.paint(&path, Fill::NonZero, *color);
        }
        Shape::Text(text) => {
            let Text { at, size, color, .. } = text;
            let letters = font::outlines(&text.words, *size, (text.left(), at.1));
            pixels.paint(&letters, Fill::NonZero, *color);
        }
    }
}
