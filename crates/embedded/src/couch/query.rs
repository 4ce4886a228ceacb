//! The query of a request's target.

use super::reply::Refusal;

/// Decoded pairs, in the order in which they were sent.
#[derive(Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Parses the part after the question mark.
    pub(crate) fn parse(text: Option<&str>) -> Self {
        let Some(text) = text else { return Self::default() };
        Self(url::form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The first value with this name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.pairs().find_map(|(key, value)| (key == name).then_some(value))
    }

    /// Whether this name has the value `value`.
    pub(crate) fn is(&self, name: &str, value: &str) -> bool {
        self.get(name) == Some(value)
    }

    /// A whole number, if there is one.
    ///
    /// # Errors
    /// Returns an error if it is not a whole number.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, Refusal> {
        self.get(name).map(|text| text.parse().map_err(|_| Refusal::BAD_PARAMETER)).transpose()
    }
}
