//! The places in an answer whose values later requests use.

use crate::http1::header_values;
use crate::op::Saved;
use crate::values::json_at;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A path in the JSON of a response, such as `id` or `rows.0.id`, or `header NAME`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct SavedFrom(String);

impl SavedFrom {
    /// The value there, if there is one. `head` has the headers of the answer.
    pub fn take(&self, head: &[u8], body: &[u8]) -> Option<Saved> {
        if let Some(name) = self.0.strip_prefix("header ") {
            let values = header_values(head, &name.trim().to_ascii_lowercase());
            return Some(Saved { bytes: values.first()?.to_vec(), is_text: true });
        }
        let json = json_at(body, &self.0)?;
        let text = serde_json::from_slice::<String>(json);
        let is_text = text.is_ok();
        let bytes = text.map_or_else(|_| json.to_vec(), String::into_bytes);
        Some(Saved { bytes, is_text })
    }
}

impl From<&str> for SavedFrom {
    fn from(place: &str) -> Self {
        Self(place.to_owned())
    }
}

impl fmt::Display for SavedFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Saves the values at these places of an answer.
///
/// # Errors
/// Fails if one is missing, with the place and the beginning of the answer.
pub fn save(places: &[SavedFrom], head: &[u8], body: &[u8]) -> Result<Vec<Saved>, String> {
    let missing = |from| with_sample(format!("nothing to save at {from}"), body);
    places.iter().map(|from| from.take(head, body).ok_or_else(|| missing(from))).collect()
}

/// A message about an answer, followed by the beginning of the answer if that is text.
#[cold]
pub fn with_sample(words: String, body: &[u8]) -> String {
    let sample = &body[..body.len().min(120)];
    // The last character may be cut off.
    let text = match std::str::from_utf8(sample) {
        Ok(text) => text,
        Err(error) if error.error_len().is_some() => "",
        Err(error) => std::str::from_utf8(&sample[..error.valid_up_to()]).unwrap_or_default(),
    };
    if text.is_empty() { words } else { format!("{words}: {text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_comes_from_a_place_in_the_body_or_from_a_header() {
        let head = b"HTTP/1.1 201 Created\r\nETag: \"1-a\"\r\n\r\n";
        let body = br#"{"id":"a\"b","rows":[{"n":7}],"none":null}"#;
        let saved = |place: &str| {
            let saved = SavedFrom(place.to_owned()).take(head, body)?;
            Some((String::from_utf8(saved.bytes).unwrap(), saved.is_text))
        };
        let some = |text: &str, is_text| Some((text.to_owned(), is_text));
        assert_eq!(saved("id"), some("a\"b", true));
        assert_eq!(saved("rows.0.n"), some("7", false));
        assert_eq!(saved("rows.0"), some("{\"n\":7}", false));
        assert_eq!(saved("none"), some("null", false));
        assert_eq!(saved("header etag"), some("\"1-a\"", true));
        assert_eq!(saved("header ETag"), some("\"1-a\"", true));
        assert_eq!([saved("rows.1"), saved("other"), saved("header Server")], [None, None, None]);
    }
}
