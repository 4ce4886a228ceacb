//! The name of a view, as it is written and stored.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A view of a design document: `design/view`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
#[serde(try_from = "String", into = "String")]
pub struct ViewName {
    pub(super) design: String,
    pub(super) view: String,
}

impl TryFrom<String> for ViewName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parts = text
            .split_once('/')
            .filter(|(design, view)| !design.is_empty() && !view.is_empty() && !view.contains('/'));
        let (design, view) =
            parts.ok_or_else(|| format!("{text:?} is not a design document and its view"))?;
        Ok(Self { design: design.to_owned(), view: view.to_owned() })
    }
}

impl From<ViewName> for String {
    fn from(name: ViewName) -> Self {
        name.to_string()
    }
}

impl fmt::Display for ViewName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.design, self.view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_has_a_design_document_and_a_name() {
        let name = |text: &str| ViewName::try_from(text.to_owned()).map(|it| it.to_string());
        assert_eq!(name("app/by_born").as_deref(), Ok("app/by_born"));
        let stored = serde_json::json!("app/by_born");
        let read: ViewName = serde_json::from_value(stored.clone()).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), stored);
        for wrong in ["app", "/by", "app/", "a/b/c"] {
            assert!(name(wrong).unwrap_err().contains("is not a design document and its view"));
        }
    }
}
