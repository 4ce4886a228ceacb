//! `springload schema`: sample documents.

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Trouble};
use crate::cli::flags::schema_source;
use crate::cli::print::unwritten;
use crate::files;
use crate::op::Key;
use crate::plan::{self, Invalid, SchemaSource, TlsOptions};
use crate::schema::{DEFAULT, Documents, Template, decode};
use std::io::{self, Write as _};

/// `springload schema`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Schema {
    /// A JSON or XML file, or the URL of a stored document [default: the built-in schema]
    #[arg(id = "schema", value_name = "SCHEMA")]
    source: Option<String>,
    /// Number of documents to print
    #[arg(long, alias = "documents", value_name = "N", default_value = "1")]
    #[arg(value_parser = plan::count)]
    docs: u64,
    /// Seed of the documents
    #[arg(long, value_name = "N", default_value = "42")]
    seed: u64,
    /// Print the documents as they are after N updates
    #[arg(long, value_name = "N", default_value = "0")]
    update: u32,
}

impl Verb for Schema {
    const NAME: &'static str = "schema";
    const ABOUT: &'static str = "Print sample documents of a schema";
    const FAMILY: Family = Family::Tools;
    const EXAMPLES: [Example; 3] = [
        ("A document of the built-in schema", "schema"),
        ("Five documents of your own schema", "schema examples/schemas/example.json --docs 5"),
        (
            "The same document after three updates",
            "schema examples/schemas/example.json --update 3",
        ),
    ];

    fn carry_out(self, _call: &Call<'_>) -> Result<Exit, Trouble> {
        let text = match &self.source {
            None => Ok(DEFAULT.to_owned()),
            Some(place) => match schema_source::read(place, &TlsOptions::default()) {
                Ok((SchemaSource::Text { text, .. }, _)) => Ok(text),
                Ok((SchemaSource::File(path), _)) => files::read(&path, files::DATA)
                    .map_err(|error| format!("cannot read {}: {error}", path.display()))
                    .and_then(|bytes| decode(&bytes).map_err(|error| error.to_string())),
                Err(mistake) => return Err(mistake.under("SCHEMA").into()),
            },
        };
        let template =
            text.and_then(|text| Template::parse(&text).map_err(|error| error.to_string()));
        let template = template
            .map_err(|problem| Invalid::new("SCHEMA", problem, "give a JSON object or XML"))?;
        let documents = Documents::new(self.seed, vec![(template, 1)]);
        let mut line = Vec::new();
        for key in 0..self.docs as Key {
            line.clear();
            documents.write(key, self.update, b"", &mut line);
            line.push(b'\n');
            if let Err(error) = io::stdout().write_all(&line) {
                unwritten(&error);
                break;
            }
        }
        Ok(Exit::Passed)
    }
}
