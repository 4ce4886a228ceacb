//! The kinds of documents in a run.

use crate::driver::strike_secrets;
use crate::files;
use crate::mistake::Invalid;
use crate::schema::{DEFAULT, Documents, Template, decode};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Where a schema comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaSource {
    /// A file, JSON or XML by content.
    File(PathBuf),
    /// Text that was already fetched from `name`.
    Text {
        /// Where it was fetched from.
        name: String,
        /// The text.
        text: String,
    },
}

/// One kind of document. Includes the text of its schema, so that the plan can be run elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SchemaPlan {
    /// Where the schema came from.
    pub source: String,
    /// Its share of the documents, relative to the other schemas' weights.
    pub weight: u32,
    /// Its text.
    pub text: String,
}

impl SchemaPlan {
    /// The default schema.
    pub fn built_in() -> Self {
        Self { source: "built-in".to_owned(), weight: 1, text: DEFAULT.to_owned() }
    }

    /// Reads and checks a schema given with `flag`.
    pub(super) fn load(flag: &str, source: &SchemaSource, weight: u32) -> Result<Self, Invalid> {
        let (source, text) = match source {
            SchemaSource::File(path) => {
                let name = path.display().to_string();
                match files::read(path, files::DATA) {
                    Ok(bytes) => {
                        let text = decode(&bytes).map_err(|error| {
                            let cure = "give JSON or XML as in docs/schemas.md";
                            Invalid::new(flag, format!("{name}: {error}"), cure)
                        })?;
                        (name, text)
                    }
                    Err(error) => {
                        let problem = format!("cannot read {}: {error}", strike_secrets(&name));
                        return Err(Invalid::new(flag, problem, "give a readable file"));
                    }
                }
            }
            SchemaSource::Text { name, text } => (name.clone(), text.clone()),
        };
        let wrong = |problem: String| {
            let cure =
                "give a JSON object (any stored document will do) or XML as in docs/schemas.md";
            Invalid::new(flag, format!("{source}: {problem}"), cure)
        };
        let template = Template::parse(&text).map_err(|error| wrong(error.to_string()))?;
        if template.entries().is_empty() {
            return Err(wrong("the schema has no members".to_owned()));
        }
        Ok(Self { source, weight, text })
    }

    /// The maker of all documents of a run.
    ///
    /// # Errors
    /// Returns an error if a schema is invalid, which cannot happen in a checked plan.
    pub fn documents(seed: u64, schemas: &[Self]) -> Result<Documents, crate::schema::SchemaError> {
        let templates = schemas
            .iter()
            .map(|schema| Ok((Template::parse(&schema.text)?, schema.weight)))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Documents::new(seed, templates))
    }
}
