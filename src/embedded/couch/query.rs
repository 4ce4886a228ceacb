//! The query of a request's target.

use super::reply::Refusal;

/// Decoded pairs in the order they were sent.
#[derive(Debug, Default)]
pub(in crate::embedded) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads the part after the question mark.
    pub(in crate::embedded) fn parse(text: Option<&str>) -> Self {
        let Some(text) = text else { return Self::default() };
        Self(url::form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    /// All pairs.
    pub(in crate::embedded) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The first value of this name.
    pub(in crate::embedded) fn get(&self, name: &str) -> Option<&str> {
        self.pairs().find_map(|(key, value)| (key == name).then_some(value))
    }

    /// Whether this name has the value `value`.
    pub(in crate::embedded) fn is(&self, name: &str, value: &str) -> bool {
        self.get(name) == Some(value)
    }

    /// A whole number, if there is one.
    ///
    /// # Errors
    /// When it is not a whole number.
    pub(in crate::embedded) fn number(&self, name: &str) -> Result<Option<u64>, Refusal> {
        self.get(name).map(|text| text.parse().map_err(|_| Refusal::BAD_PARAMETER)).transpose()
    }
}
