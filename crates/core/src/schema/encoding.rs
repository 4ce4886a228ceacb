//! The text of a schema file, in any of four encodings.
//!
//! JSON is UTF-8 (RFC 8259). XML states its encoding by a byte order mark or in its declaration, by
//! the rules of the XML Recommendation, appendix F. UTF-8, UTF-16, ISO-8859-1 and US-ASCII are
//! supported: these take a few lines, while a library for all encodings would add half a megabyte.

use super::shape::SchemaError;

/// How far into the text a declaration is searched for.
const DECLARATION: usize = 200;

/// Decodes `bytes` to text.
///
/// # Errors
/// Returns an error if the encoding is not supported, or the bytes are invalid in it.
pub fn decode(bytes: &[u8]) -> Result<String, SchemaError> {
    let wide = |bytes: &[u8], unit: fn([u8; 2]) -> u16, name: &'static str| {
        let (pairs, rest) = bytes.as_chunks();
        let units = pairs.iter().map(|&pair| unit(pair));
        let text: Result<String, _> = char::decode_utf16(units).collect();
        text.ok().filter(|_| rest.is_empty()).ok_or_else(|| SchemaError::NotOf(name.to_owned()))
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => return wide(rest, u16::from_le_bytes, "UTF-16"),
        [0xfe, 0xff, rest @ ..] => return wide(rest, u16::from_be_bytes, "UTF-16"),
        // `<?` in UTF-16 without a byte order mark.
        [b'<', 0, b'?', 0, ..] => return wide(bytes, u16::from_le_bytes, "UTF-16"),
        [0, b'<', 0, b'?', ..] => return wide(bytes, u16::from_be_bytes, "UTF-16"),
        _ => {}
    }
    let unmarked = bytes.strip_prefix(b"\xef\xbb\xbf");
    let declared = declared(unmarked.unwrap_or(bytes));
    let declared = declared.as_deref().unwrap_or("UTF-8");
    let utf8 = || {
        let text = str::from_utf8(bytes).map(str::to_owned);
        text.map_err(|_| SchemaError::NotOf(declared.to_owned()))
    };
    if unmarked.is_some() {
        return utf8();
    }
    match declared.to_ascii_lowercase().as_str() {
        "utf-8" | "utf8" => utf8(),
        "us-ascii" | "ascii" if bytes.is_ascii() => utf8(),
        "us-ascii" | "ascii" => Err(SchemaError::NotOf(declared.to_owned())),
        // Each byte is the character with the same number.
        "iso-8859-1" | "iso8859-1" | "iso_8859-1" | "latin1" | "latin-1" => {
            Ok(bytes.iter().map(|&byte| char::from(byte)).collect())
        }
        _ => Err(SchemaError::Encoding(declared.to_owned())),
    }
}

/// The encoding in the XML declaration at the start, if there is one.
fn declared(bytes: &[u8]) -> Option<String> {
    let start = &bytes[..bytes.len().min(DECLARATION)];
    let text: String = start.iter().map(|&byte| char::from(byte)).collect();
    let (declaration, _) = text.strip_prefix("<?xml")?.split_once("?>")?;
    let (_, value) = declaration.split_once("encoding")?;
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|it| matches!(it, '"' | '\''))?;
    Some(value[1..].split_once(quote)?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Shape, Template};

    const BODY: &str =
        "<object><entry><name>Größe</name><value><integer/></value></entry></object>";

    fn names(bytes: &[u8]) -> Vec<String> {
        let template = Template::parse(&decode(bytes).unwrap()).unwrap();
        assert!(template.entries().iter().all(|(_, shape)| *shape == Shape::Integer));
        template.entries().iter().map(|(name, _)| name.clone()).collect()
    }

    fn latin(text: &str) -> Vec<u8> {
        text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect()
    }

    #[test]
    fn a_name_is_the_same_in_every_encoding() {
        let wide = |text: &str, bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
            text.encode_utf16().flat_map(bytes).collect()
        };
        let declared = |name: &str| format!("<?xml version='1.0' encoding=\"{name}\"?>\n{BODY}");
        let utf16 = declared("UTF-16");
        for bytes in [
            BODY.as_bytes().to_vec(),
            declared("utf-8").into_bytes(),
            format!("\u{feff}{}", declared("UTF-8")).into_bytes(),
            latin(&declared("ISO-8859-1")),
            latin(&format!("<?xml version='1.0' encoding = 'iso-8859-1' standalone='yes'?>{BODY}")),
            wide(&format!("\u{feff}{utf16}"), u16::to_le_bytes),
            wide(&format!("\u{feff}{utf16}"), u16::to_be_bytes),
            wide(&format!("\u{feff}{BODY}"), u16::to_le_bytes),
            wide(&utf16, u16::to_le_bytes),
            wide(&utf16, u16::to_be_bytes),
        ] {
            assert_eq!(names(&bytes), ["Größe"], "{bytes:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_says_which_encoding() {
        let says = |bytes: &[u8]| decode(bytes).unwrap_err().to_string();
        assert!(says(b"<?xml version='1.0' encoding='EBCDIC-X'?><object/>").contains("EBCDIC-X"));
        assert!(says(b"<?xml version='1.0' encoding='ascii'?><a>\xe4</a>").contains("not ascii"));
        assert!(says(&latin(BODY)).contains("not UTF-8"));
        assert!(says(b"\xff\xfe<").contains("not UTF-16"));
        assert!(says(b"\xfe\xff\xd8\x00").contains("not UTF-16"));
    }
}
