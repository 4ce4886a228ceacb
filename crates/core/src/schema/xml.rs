//! Templates written as XML, in Iron Cushion's grammar.
//!
//! ```text
//! document := object
//! object   := <object> entry* </object>
//! entry    := <entry> <name>TEXT</name> <value> TYPE </value> </entry>
//! array    := <array> ( <element> TYPE </element> )* </array>
//! TYPE     := object | array | <boolean/> | <integer/> | <float/> | <string/> | <null/>
//! ```
//!
//! Iron Cushion's README reserves attributes for future bounds. Here they are implemented:
//! `<integer min="0" max="9"/>` and `<string one-of="red green"/>`.
//!
//! Stricter than the original, which accepted any tag as an entry or an element: a mistake is
//! reported as an error with its position. White space around TEXT is ignored, and a name may be
//! empty.

use super::bounded::{MOST_BYTES, quoted};
use super::shape::{Collected, Entries, MAX_DEPTH, Position, SchemaError, Shape};
use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};

const TYPES: &str =
    "<object>, <array>, <boolean/>, <integer/>, <float/>, <string/> or <null/> belongs here";

/// White space as defined by XML: <https://www.w3.org/TR/xml/#NT-S>.
const SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

/// Reads the entries of the object that is the root of `text`.
pub(super) fn parse(text: &str) -> Result<Entries, SchemaError> {
    let mut inner = quick_xml::Reader::from_str(text);
    inner.config_mut().expand_empty_elements = true;
    let mut reader = XmlReader { text, inner, at: 0, bounds: Vec::new() };
    let Some(root) = reader.child("the document")? else {
        return Err(reader.wrong("nothing but comments: write <object>...</object>"));
    };
    if root != "object" {
        return Err(reader.wrong(&format!("the root is {}: make it <object>", tag(&root))));
    }
    let entries = reader.object(1)?;
    match reader.child("the document")? {
        None => Ok(entries),
        Some(_) => Err(reader.wrong("more follows the root </object>: a schema has one root")),
    }
}

/// A tag's name, and its attributes' names and values.
type Tag = (String, Vec<(String, String)>);

enum XmlToken {
    Open(String),
    Close,
    Text(String),
    End,
}

struct XmlReader<'a> {
    text: &'a str,
    inner: quick_xml::Reader<&'a [u8]>,
    /// The byte offset of the latest token.
    at: u64,
    /// Names and values of the latest tag's attributes.
    bounds: Vec<(String, String)>,
}

impl XmlReader<'_> {
    /// The entries up to `</object>`; `depth` counts nesting levels.
    fn object(&mut self, depth: usize) -> Result<Entries, SchemaError> {
        self.check_depth(depth)?;
        let mut collected = Collected::default();
        while let Some(found) = self.child("<object>")? {
            self.expect(&found, "entry", "an <object> holds only <entry>")?;
            let (name, shape) = self.entry(depth)?;
            collected.put(name, shape);
        }
        Ok(collected.into_entries())
    }

    fn entry(&mut self, depth: usize) -> Result<(String, Shape), SchemaError> {
        const CURE: &str = "an <entry> holds one <name>, then one <value>";
        let found = self.required("<entry>", CURE)?;
        self.expect(&found, "name", CURE)?;
        let name = self.name()?;
        let found = self.required("<entry>", CURE)?;
        self.expect(&found, "value", CURE)?;
        let shape = self.holder("<value>", depth)?;
        self.closed("<entry>", CURE)?;
        Ok((name, shape))
    }

    fn array(&mut self, depth: usize) -> Result<Vec<Shape>, SchemaError> {
        self.check_depth(depth)?;
        let mut elements = Vec::new();
        while let Some(found) = self.child("<array>")? {
            self.expect(&found, "element", "an <array> holds only <element>")?;
            elements.push(self.holder("<element>", depth)?);
        }
        Ok(elements)
    }

    /// The single type in a `<value>` or `<element>`, up to its closing tag.
    fn holder(&mut self, parent: &str, depth: usize) -> Result<Shape, SchemaError> {
        let found = self.required(parent, TYPES)?;
        let shape = match found.as_str() {
            "object" => Shape::Object(self.object(depth + 1)?),
            "array" => Shape::Array(self.array(depth + 1)?),
            "boolean" => self.leaf(Shape::Boolean)?,
            "integer" => {
                let shape = self.integer()?;
                self.leaf(shape)?
            }
            "float" => self.leaf(Shape::Float)?,
            "string" => {
                let shape = self.string()?;
                self.leaf(shape)?
            }
            "null" => self.leaf(Shape::Null)?,
            _ => return Err(self.wrong(&format!("{} is not a type: {TYPES}", tag(&found)))),
        };
        self.closed(parent, "it holds exactly one type")?;
        Ok(shape)
    }

    fn integer(&mut self) -> Result<Shape, SchemaError> {
        let bounds = std::mem::take(&mut self.bounds);
        if bounds.is_empty() {
            return Ok(Shape::Integer);
        }
        let bound = |name: &str, default: i64| -> Result<i64, SchemaError> {
            let Some((_, text)) = bounds.iter().find(|it| it.0 == name) else { return Ok(default) };
            text.trim().parse().map_err(|_| {
                let text = short(text);
                self.wrong(&format!("{name}=\"{text}\": give a whole number of 64 bits"))
            })
        };
        // The default range of an integer.
        let (least, most) = (bound("min", i32::MIN.into())?, bound("max", i32::MAX.into())?);
        if least > most {
            return Err(self.wrong(&format!("min {least} is above max {most}: swap them")));
        }
        Ok(Shape::Range(least, most))
    }

    fn string(&mut self) -> Result<Shape, SchemaError> {
        let Some((_, texts)) = self.bounds.pop() else { return Ok(Shape::String) };
        let texts: Vec<String> = texts.split_whitespace().map(str::to_owned).collect();
        if texts.is_empty() || texts.iter().any(|text| quoted(text).len() > MOST_BYTES) {
            let cure = format!("give words of at most {MOST_BYTES} bytes, between spaces");
            return Err(self.wrong(&format!("one-of has no word, or a longer one: {cure}")));
        }
        Ok(Shape::OneOf(texts))
    }

    fn leaf(&mut self, shape: Shape) -> Result<Shape, SchemaError> {
        self.closed("this type", "only its tag counts, so leave it empty")?;
        Ok(shape)
    }

    /// The text up to `</name>`, trimmed.
    fn name(&mut self) -> Result<String, SchemaError> {
        let mut name = String::new();
        loop {
            match self.next()? {
                XmlToken::Text(text) => name.push_str(&text),
                XmlToken::Close => return Ok(name.trim_matches(SPACE).to_owned()),
                XmlToken::Open(found) => {
                    let found = tag(&found);
                    return Err(self.wrong(&format!(
                        "{found} inside <name>: a <name> holds only text, write < as &lt;"
                    )));
                }
                XmlToken::End => return Err(self.wrong("the text ends inside <name>: close it")),
            }
        }
    }

    /// The next tag inside `parent`, or `None` at the end of `parent` (outside the root, at the end
    /// of the text).
    fn child(&mut self, parent: &str) -> Result<Option<String>, SchemaError> {
        loop {
            match self.next()? {
                XmlToken::Open(found) => return Ok(Some(found)),
                XmlToken::End if parent.starts_with('<') => {
                    return Err(self.wrong(&format!("the text ends inside {parent}: close it")));
                }
                XmlToken::Close | XmlToken::End => return Ok(None),
                XmlToken::Text(text) if text.trim_matches(SPACE).is_empty() => {}
                XmlToken::Text(_) => {
                    return Err(self.wrong(&format!(
                        "text in {parent}: only a <name> holds text, so remove it"
                    )));
                }
            }
        }
    }

    fn required(&mut self, parent: &str, cure: &str) -> Result<String, SchemaError> {
        self.child(parent)?.ok_or_else(|| self.wrong(&format!("{parent} ends too early: {cure}")))
    }

    fn closed(&mut self, parent: &str, cure: &str) -> Result<(), SchemaError> {
        match self.child(if parent.starts_with('<') { parent } else { "<type>" })? {
            None => Ok(()),
            Some(found) => {
                Err(self.wrong(&format!("{} is too much for {parent}: {cure}", tag(&found))))
            }
        }
    }

    fn expect(&self, found: &str, wanted: &str, cure: &str) -> Result<(), SchemaError> {
        if found == wanted {
            return Ok(());
        }
        Err(self.wrong(&format!("{} instead of <{wanted}>: {cure}", tag(found))))
    }

    fn check_depth(&self, depth: usize) -> Result<(), SchemaError> {
        if depth <= MAX_DEPTH {
            return Ok(());
        }
        Err(SchemaError::TooDeep { position: self.position(self.at) })
    }

    /// The next token, skipping comments and declarations.
    fn next(&mut self) -> Result<XmlToken, SchemaError> {
        loop {
            self.at = self.inner.buffer_position();
            let event = self.inner.read_event().map_err(|error| SchemaError::Xml {
                position: self.position(self.inner.error_position()),
                reason: one_line(&error.to_string()),
            })?;
            return Ok(match event {
                Event::Start(start) => {
                    let (name, bounds) = self.opened(&start)?;
                    self.bounds = bounds;
                    XmlToken::Open(name)
                }
                Event::End(_) => XmlToken::Close,
                Event::Eof => XmlToken::End,
                Event::Text(text) => XmlToken::Text(text.xml10_content().into_owned()),
                Event::CData(text) => XmlToken::Text(text.xml10_content().into_owned()),
                Event::GeneralRef(reference) => XmlToken::Text(self.resolved(&reference)?),
                Event::Empty(_)
                | Event::Comment(_)
                | Event::Decl(_)
                | Event::PI(_)
                | Event::DocType(_) => continue,
            });
        }
    }

    /// The name of a tag and its attributes.
    fn opened(&self, start: &BytesStart<'_>) -> Result<Tag, SchemaError> {
        let name: String = AsRef::<str>::as_ref(&start.name()).to_owned();
        let known: &[&str] = match name.as_str() {
            "integer" => &["min", "max"],
            "string" => &["one-of"],
            _ => &[],
        };
        let mut bounds = Vec::new();
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|error| self.wrong(&one_line(&error.to_string())))?;
            let key: String = AsRef::<str>::as_ref(&attribute.key).to_owned();
            if !known.contains(&key.as_str()) {
                let (name, known) = (tag(&name), known.join(" and "));
                let cure = if known.is_empty() {
                    "none is known, so remove them".to_owned()
                } else {
                    format!("{known} are known, {} is not", short(&key))
                };
                return Err(self.wrong(&format!("attributes on {name}: {cure}")));
            }
            let value = attribute.normalized_value(XmlVersion::Implicit1_0);
            let value = value.map_err(|error| self.wrong(&one_line(&error.to_string())))?;
            bounds.push((key, value.into_owned()));
        }
        Ok((name, bounds))
    }

    fn resolved(&self, reference: &BytesRef<'_>) -> Result<String, SchemaError> {
        if let Ok(Some(character)) = reference.resolve_char_ref() {
            return Ok(character.to_string());
        }
        let name: &str = reference;
        resolve_predefined_entity(name).map(str::to_owned).ok_or_else(|| {
            let name = short(name);
            self.wrong(&format!("&{name}; is unknown: write the character itself"))
        })
    }

    fn wrong(&self, reason: &str) -> SchemaError {
        SchemaError::Xml { position: self.position(self.at), reason: reason.to_owned() }
    }

    fn position(&self, offset: u64) -> Position {
        Position::of(self.text, usize::try_from(offset).unwrap_or(usize::MAX))
    }
}

/// A tag as shown in an error message.
fn tag(name: &str) -> String {
    format!("<{}>", short(name))
}

/// At most forty characters, without line breaks.
fn short(name: &str) -> String {
    name.chars().take(40).flat_map(char::escape_debug).collect()
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
