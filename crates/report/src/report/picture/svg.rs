//! A drawing as SVG.

use super::font::FAMILIES;
use super::shapes::{Anchor, Color, Drawing, Shape, Text};
use std::fmt::Write as _;

/// The drawing as the text of an SVG file.
pub(super) fn write(drawing: &Drawing) -> String {
    let Drawing { width, height, words, shapes } = drawing;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" font-family=\"{FAMILIES}\">\n\
         <title>{}</title>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n",
        escaped(words)
    );
    for shape in shapes {
        // Writing to memory does not fail.
        let _ = self::shape(shape, &mut out);
    }
    out.push_str("</svg>\n");
    out
}

fn shape(shape: &Shape, out: &mut String) -> std::fmt::Result {
    match shape {
        Shape::Boxes(color, hides, boxes) => {
            let mut path = String::new();
            for [left, top, width, height] in boxes {
                let [left, top] = [left, top].map(|it| number(*it));
                let [width, height] = [width, height].map(|it| number(*it));
                write!(path, "M{left} {top}h{width}v{height}h-{width}z")?;
            }
            let opacity =
                if *hides < 1.0 { format!(" fill-opacity=\"{hides}\"") } else { String::new() };
            writeln!(out, "<path fill=\"{}\"{opacity} d=\"{path}\"/>", hex(*color))
        }
        Shape::Lines { color, width, dash, lines } => {
            let mut path = String::new();
            for line in lines {
                for (at, (x, y)) in line.iter().enumerate() {
                    let step = if at == 0 { 'M' } else { 'L' };
                    write!(path, "{step}{} {}", number(*x), number(*y))?;
                }
            }
            let dash = dash.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
            let dash = if dash.is_empty() { dash } else { format!(" stroke-dasharray=\"{dash}\"") };
            let color = hex(*color);
            writeln!(
                out,
                "<path fill=\"none\" stroke=\"{color}\" stroke-width=\"{width}\"{dash} \
                 stroke-linejoin=\"round\" d=\"{path}\"/>"
            )
        }
        Shape::Dots(color, radius, dots) => {
            writeln!(out, "<g fill=\"{}\">", hex(*color))?;
            for (x, y) in dots {
                let (x, y) = (number(*x), number(*y));
                writeln!(out, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>")?;
            }
            writeln!(out, "</g>")
        }
        Shape::Text(Text { at, size, color, anchor, words }) => {
            let anchor = match anchor {
                Anchor::Start => "",
                Anchor::Middle => " text-anchor=\"middle\"",
                Anchor::End => " text-anchor=\"end\"",
            };
            let (x, y) = (number(at.0), number(at.1));
            let (color, text) = (hex(*color), escaped(words));
            writeln!(
                out,
                "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{color}\"{anchor}>{text}\
                 </text>"
            )
        }
    }
}

fn hex(Color(red, green, blue): Color) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// A tenth of a pixel is finer than anyone can see.
fn number(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// `text` with its markup escaped. XML does not allow control characters, not even escaped ones.
fn escaped(text: &str) -> String {
    let plain: String = text.chars().filter(|sign| !sign.is_control()).collect();
    quick_xml::escape::escape(plain).into_owned()
}
