//! Hadoop's configuration files, such as `hbase-site.xml`: names and values in XML. Knows nothing
//! about their meaning.
//!
//! Source: the documentation of `org.apache.hadoop.conf.Configuration`, Hadoop 3.3.

use super::Properties;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use std::borrow::Cow;

/// How many `${...}` are replaced in one value, as in Hadoop.
const MOST_REPLACED: usize = 20;
/// The longest value after its `${...}` have been replaced, in bytes.
const LONGEST: usize = 1 << 16;
/// The most characters of a message.
const MOST_SHOWN: usize = 200;

/// The `wanted` properties of a configuration file. In their values, `${name}` refers to another
/// property of the file; a name that the file does not define is left as is. Only XML's own
/// entities are resolved, and no other file is read.
///
/// # Errors
/// Returns a message with the line that cannot be read.
pub fn parse(bytes: &[u8], wanted: &[&str]) -> Result<Properties, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not in UTF-8".to_owned())?;
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let mut file = ConfigurationFile::default();
    loop {
        let event = reader.read_event();
        let at = (reader.buffer_position().max(reader.error_position()) as usize).min(text.len());
        let lined = |problem: String| {
            let line = memchr::memchr_iter(b'\n', &text.as_bytes()[..at]).count() + 1;
            format!("line {line}: {}", shown(&problem))
        };
        match event.map_err(|error| lined(error.to_string()))? {
            Event::Eof if file.depth > 0 => return Err(lined("it ends too early".to_owned())),
            Event::Eof if !file.rooted => return Err("it has no <configuration>".to_owned()),
            Event::Eof => break,
            event => file.take(&event).map_err(lined)?,
        }
    }
    let mut found = Properties::default();
    for name in wanted {
        if let Some(value) = file.all.get(name) {
            found.set(*name, replaced(&file.all, value));
        }
    }
    Ok(found)
}

/// A message that quotes the file: short, and without control characters for a terminal.
fn shown(problem: &str) -> String {
    let plain = problem.chars().take(MOST_SHOWN);
    plain.map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// The state of the parser.
#[derive(Default)]
struct ConfigurationFile {
    all: Properties,
    /// The number of open elements.
    depth: usize,
    /// Whether the root has been read.
    rooted: bool,
    /// Whether the parser is inside a `<property>`.
    within: bool,
    /// The part of the property that text is added to.
    part: Option<Element>,
    name: String,
    value: Option<String>,
}

#[derive(Clone, Copy)]
enum Element {
    Name,
    Value,
}

impl ConfigurationFile {
    fn take(&mut self, event: &Event<'_>) -> Result<(), String> {
        match event {
            Event::Start(start) => self.open(start),
            Event::End(_) => {
                self.close();
                Ok(())
            }
            Event::Text(text) => self.text(&text.xml10_content()),
            Event::CData(text) => self.text(&text.xml10_content()),
            Event::GeneralRef(reference) => self.text(&resolved(reference)?),
            _ => Ok(()),
        }
    }

    fn open(&mut self, start: &BytesStart<'_>) -> Result<(), String> {
        let name = start.local_name();
        let tag: &str = name.as_ref();
        self.depth += 1;
        match (self.depth, tag) {
            (1, "configuration") if !self.rooted => self.rooted = true,
            (1, _) => return Err(format!("<{tag}> is not the one <configuration>")),
            (_, "include") => {
                return Err("it includes another file, which is not read; copy its contents".into());
            }
            (2, "property") => {
                self.within = true;
                self.name = attribute(start, "name")?.unwrap_or_default();
                self.value = attribute(start, "value")?;
            }
            (3, "name") if self.within => {
                self.part = Some(Element::Name);
                self.name.clear();
            }
            (3, "value") if self.within => {
                self.part = Some(Element::Value);
                self.value = Some(String::new());
            }
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self) {
        match self.depth {
            2 => {
                let (name, value) = (std::mem::take(&mut self.name), self.value.take());
                if let Some(value) = value.filter(|_| self.within && !name.trim().is_empty()) {
                    self.all.set(name.trim(), value.trim());
                }
                self.within = false;
            }
            3 => self.part = None,
            _ => {}
        }
        self.depth = self.depth.saturating_sub(1);
    }

    fn text(&mut self, text: &str) -> Result<(), String> {
        match (self.depth, self.part) {
            (0, _) if !text.trim().is_empty() => Err("there is text outside of it".to_owned()),
            (3, Some(Element::Name)) => {
                self.name.push_str(text);
                Ok(())
            }
            (3, Some(Element::Value)) => {
                self.value.get_or_insert_default().push_str(text);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn attribute(start: &BytesStart<'_>, name: &str) -> Result<Option<String>, String> {
    let found = start.try_get_attribute(name).map_err(|error| error.to_string())?;
    let value = found.map(|it| it.normalized_value(XmlVersion::Implicit1_0).map(Cow::into_owned));
    value.transpose().map_err(|error| error.to_string())
}

/// Resolves `&amp;` and the like, and numeric character references.
fn resolved(reference: &BytesRef<'_>) -> Result<String, String> {
    let numbered = reference.resolve_char_ref().map_err(|error| error.to_string())?;
    if let Some(c) = numbered {
        return Ok(c.to_string());
    }
    let name: &str = reference;
    let text = resolve_predefined_entity(name);
    text.map(str::to_owned).ok_or_else(|| format!("&{name}; is not resolved: write what it means"))
}

/// A value with its `${...}` replaced.
fn replaced(all: &Properties, value: &str) -> String {
    let mut text = value.to_owned();
    for _ in 0..MOST_REPLACED {
        // The innermost one, which may be part of another one's name.
        let Some(end) = text.find('}') else { break };
        let Some(start) = text[..end].rfind("${") else { break };
        let Some(other) = all.get(&text[start + 2..end]) else { break };
        if text.len() + other.len() > LONGEST {
            break;
        }
        text.replace_range(start..=end, other);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(text: &str, wanted: &[&str]) -> Result<Vec<(String, String)>, String> {
        let properties = parse(text.as_bytes(), wanted)?;
        Ok(properties.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    fn one(value: &str) -> Vec<(String, String)> {
        vec![("a".to_owned(), value.to_owned())]
    }

    #[test]
    fn what_is_wanted_is_found_among_everything_else() {
        let text = "<?xml version=\"1.0\"?>\n<!DOCTYPE x>\n<!-- c -->\n<configuration>\n\
            <property><name> b </name><value>1</value><final>true</final></property>\n\
            <property>\n<name>a</name>\n<value>\n x&amp;y&#44;<![CDATA[<z>]]>\n</value>\n\
            <description>it has <name>b</name></description></property>\n\
            <property><name>none</name></property>\n</configuration>\n";
        assert_eq!(found(text, &["a", "none", "missing"]), Ok(one("x&y,<z>")));
        assert_eq!(found(text, &["b"]).unwrap(), [("b".to_owned(), "1".to_owned())]);
        let attributes = "<configuration><property name=\"a\" value=\"1\"/></configuration>";
        assert_eq!(found(attributes, &["a"]), Ok(one("1")));
        let twice = "<configuration><property><name>a</name><value>1</value></property>\
            <property><name>a</name><value>2</value></property></configuration>";
        assert_eq!(found(twice, &["a"]), Ok(one("2")));
        let bom = "\u{feff}<configuration/>";
        assert_eq!(found(bom, &["a"]), Ok(vec![]));
    }

    fn with(pairs: &[(&str, &str)]) -> String {
        let all = pairs.iter().map(|(name, value)| {
            format!("<property><name>{name}</name><value>{value}</value></property>")
        });
        format!("<configuration>{}</configuration>", all.collect::<String>())
    }

    #[test]
    fn values_refer_to_others_without_end_to_the_harm() {
        let text = with(&[("a", "${b}:${c}"), ("b", "h${c}"), ("c", "1"), ("n", "b")]);
        assert_eq!(found(&text, &["a"]), Ok(one("h1:1")));
        assert_eq!(found(&with(&[("a", "x${env.HOME}")]), &["a"]), Ok(one("x${env.HOME}")));
        assert_eq!(found(&with(&[("a", "${${n}}"), ("n", "b"), ("b", "7")]), &["a"]), Ok(one("7")));
        assert_eq!(found(&with(&[("a", "${a}")]), &["a"]), Ok(one("${a}")));
        let long = "x".repeat(LONGEST / 2);
        let laughs = format!("{long}${{a}}{long}");
        assert!(found(&with(&[("a", &laughs)]), &["a"]).unwrap()[0].1.len() <= 2 * LONGEST);
        let grows = found(&with(&[("a", "${a}${a}")]), &["a"]).unwrap();
        assert!(grows[0].1.len() <= LONGEST);
    }

    #[test]
    fn what_cannot_be_read_is_reported_with_its_line() {
        for (text, message) in [
            ("", "no <configuration>"),
            ("{\"a\": 1}", "line 1: there is text outside"),
            ("\n<html></html>", "line 2: <html> is not"),
            ("<configuration>\n<property>", "line 2"),
            ("<configuration>\n\n</property>", "line 3"),
            ("<configuration/><configuration/>", "not the one"),
            ("<configuration><name>&passwd;</name></configuration>", "&passwd; is not resolved"),
            ("<configuration><xi:include href=\"/etc/passwd\"/></configuration>", "includes"),
        ] {
            let error = found(text, &["a"]).unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
        let message = found(&format!("<\u{1b}[2J{}>", "x".repeat(9_000)), &[]).unwrap_err();
        assert!(message.len() < 300 && message.contains("<\u{fffd}[2Jxx"), "{message}");
        let latin = parse(b"<configuration>\xe9</configuration>", &[]);
        assert!(latin.unwrap_err().contains("UTF-8"));
        let entities = "<!DOCTYPE x [<!ENTITY e SYSTEM \"file:///etc/passwd\">]>\n\
            <configuration><property><name>a</name><value>&e;</value></property></configuration>";
        assert!(found(entities, &["a"]).unwrap_err().contains("line 2: &e; is not resolved"));
        // Elements are counted without recursion, so depth costs nothing.
        let deep = format!("<configuration>{}", "<property>".repeat(100_000));
        assert!(found(&deep, &["a"]).unwrap_err().contains("it ends too early"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes, &["a"]);
        }

        #[test]
        fn any_tags_are_read_or_refused(parts in proptest::collection::vec(0usize..12, 0..60)) {
            const PARTS: [&str; 12] = [
                "<configuration>", "</configuration>", "<property>", "</property>", "<name>",
                "</name>", "<value>", "</value>", "a", "${a}", "<!--", "<![CDATA[",
            ];
            let text: String = parts.into_iter().map(|part| PARTS[part]).collect();
            if let Ok(found) = parse(text.as_bytes(), &["a"]) {
                prop_assert!(text.contains("<configuration>"));
                prop_assert!(found.iter().count() <= 1);
            }
        }
    }
}
