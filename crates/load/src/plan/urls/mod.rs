//! Lists of requests in siege's syntax: one per line, and variables.
//!
//! `[http://][user:password@]host[:port][/path][?query] [METHOD [-T type] [body | < file]]`, with a
//! name and a colon in front if the request has its own row in reports. Lines that siege would read
//! differently from how they look are refused, with file and line. Sequences of requests are an
//! extension: siege has none.

mod line;
mod sequence;
mod spell;
mod variables;

pub(super) use spell::values;
pub use variables::{expand, within};

use super::schemas::{SchemaPlan, SchemaSource};
use crate::driver::{BodyPlan, RequestPlan, Requests, strike_secrets};
use crate::files;
use crate::mistake::Invalid;
use crate::values::Data;
use line::{address, named, split_method, split_type, split_url, unquote};
use ring::digest::{SHA256, digest};
use sequence::{Line, Open};
use std::collections::BTreeMap;
use std::path::PathBuf;
use variables::assignment;

/// The methods of entries.
pub const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// Where requests come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UrlSource {
    /// A file of them.
    File {
        /// The flag that it was given with.
        flag: &'static str,
        /// Its path.
        path: PathBuf,
    },
    /// One request.
    Line {
        /// Where it was given, for messages.
        place: String,
        /// Its text.
        text: String,
    },
}

/// Reads requests, and collects what they share.
#[derive(Debug, Default)]
pub(super) struct UrlReader {
    /// The content type of bodies without one.
    pub(super) content_type: Option<String>,
    pub(super) default_method: Option<&'static str>,
    /// The body of requests without one, or `@` and the file with it.
    pub(super) default_body: Option<String>,
    /// Whether placeholders such as `{{seq}}` are plain text.
    pub(super) literal: bool,
    /// The lists that values come from.
    pub(super) data: Data,
    /// The schemas that bodies are made from.
    pub(super) schemas: Vec<SchemaPlan>,
    pub(super) mistakes: Vec<Invalid>,
    /// The SHA-256 of the file that was read last.
    pub(super) sha256: Option<String>,
}

/// What is wrong with a line, and the cure.
type Wrong = (String, String);

fn wrong(problem: impl Into<String>, cure: impl Into<String>) -> Wrong {
    (problem.into(), cure.into())
}

impl UrlReader {
    /// The requests of all sources, in order.
    pub(super) fn read(&mut self, sources: &[UrlSource]) -> Requests {
        let mut requests = Requests::default();
        for source in sources {
            match source {
                UrlSource::Line { place, text } => match self.alone(text.trim()) {
                    Ok(request) => requests.push(request),
                    Err((problem, cure)) => self.mistakes.push(Invalid::new(place, problem, cure)),
                },
                UrlSource::File { flag, path } => {
                    let name = path.display().to_string();
                    match files::read_text(path, files::DATA) {
                        Ok(text) => {
                            self.sha256 = Some(sha256(text.as_bytes()));
                            self.list(&name, &text, &mut requests);
                        }
                        Err(error) => {
                            let name = strike_secrets(&name);
                            let problem = format!("cannot read {name}: {error}");
                            let cure = "give a readable file of URLs";
                            self.mistakes.push(Invalid::new(*flag, problem, cure));
                        }
                    }
                }
            }
        }
        requests
    }

    /// The requests in a file called `name`.
    #[cfg(test)]
    fn text(&mut self, name: &str, text: &str) -> Vec<RequestPlan> {
        let mut requests = Requests::default();
        self.list(name, text, &mut requests);
        requests.iter().map(|request| request.whole()).collect()
    }

    /// Appends the requests in a file called `name`.
    fn list(&mut self, name: &str, text: &str, requests: &mut Requests) {
        // The steps of the last sequence, or a single request: lines below may add to it.
        let (mut last, mut variables) = (Vec::new(), BTreeMap::new());
        let none = requests.len();
        let (before, mut grown, mut open) = (self.mistakes.len(), 0_usize, None);
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let at = |number: usize| format!("{name}:{number}");
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let read = expand(line, &variables).and_then(|filled| {
                grown += filled.len().saturating_sub(line.len());
                within(grown).map(|()| filled)
            });
            let read = read.and_then(|line| {
                if let Some((variable, value)) = assignment(&line) {
                    variables.insert(variable.to_owned(), value.to_owned());
                    return Ok(());
                }
                match sequence::line(&line)? {
                    Some(line) => self.part(line, number, &mut open, &mut last),
                    None => self.entry(&line).and_then(|request| {
                        let request = sequence::step(request, open.as_mut());
                        if !request.follows {
                            last.drain(..).for_each(|request| requests.push(request));
                        }
                        self.check(&request, &last)?;
                        last.push(request);
                        Ok(())
                    }),
                }
            });
            if let Err((problem, cure)) = read {
                self.mistakes.push(Invalid::new(at(number), problem, cure));
            }
            if within(grown).is_err() {
                break;
            }
        }
        for request in last {
            requests.push(request);
        }
        if let Some(Open { kind, number, .. }) = open {
            let problem = format!("the sequence {kind} has no end");
            self.mistakes.push(Invalid::new(at(number), problem, "close it with a line }"));
        }
        if requests.len() == none && self.mistakes.len() == before {
            let cure = "write one per line, such as http://localhost:5984/db POST < doc.json";
            self.mistakes.push(Invalid::new(name, "it has no URLs", cure));
        }
    }

    /// Handles a line that adds to the requests around it.
    fn part(
        &self,
        line: Line,
        number: usize,
        open: &mut Option<Open>,
        requests: &mut [RequestPlan],
    ) -> Result<(), Wrong> {
        let Some(line) = sequence::frame(line, number, open)? else { return Ok(()) };
        let Some((request, before)) = requests.split_last_mut() else {
            return Err(wrong("there is no request above it", "write it below its request"));
        };
        sequence::add(line, request)?;
        spell::spell(request, self.literal, &self.data);
        self.check(request, before)
    }

    /// Refuses a request whose values do not exist. `before` are the requests in front of it.
    fn check(&self, request: &RequestPlan, before: &[RequestPlan]) -> Result<(), Wrong> {
        let values = values(request, &self.data)?;
        sequence::check(request, &values, before)
    }

    /// Reads a request that is not a step of a sequence.
    fn alone(&mut self, line: &str) -> Result<RequestPlan, Wrong> {
        let request = self.entry(line)?;
        self.check(&request, &[])?;
        Ok(request)
    }

    /// Reads one request.
    fn entry(&mut self, line: &str) -> Result<RequestPlan, Wrong> {
        let (name, line) = named(line)?;
        let (url, rest) = split_url(line)?;
        let (own_method, rest) = match rest {
            "" => (None, rest),
            rest => split_method(rest).map(|(method, rest)| (Some(method), rest))?,
        };
        let (own_type, rest) = split_type(rest);
        let body = match (rest, self.default_body.clone()) {
            ("", None) => None,
            ("", Some(text)) => Some(match text.strip_prefix('@') {
                Some(file) => self.body(&format!("< {file}"))?,
                None => inline(&text),
            }),
            (rest, _) => Some(self.body(rest)?),
        };
        let method = own_method.or(self.default_method);
        let method = method.unwrap_or(if body.is_some() { "POST" } else { "GET" });
        let address = address(url)?;
        if body.is_some() && matches!(method, "GET" | "HEAD") {
            let cure = "write POST, PUT or PATCH before it";
            return Err(wrong(format!("a {method} cannot have a body"), cure));
        }
        let given = own_type.map(str::to_owned).or_else(|| self.content_type.clone());
        let content_type = match (&body, given) {
            _ if matches!(method, "GET" | "HEAD") => None,
            (_, Some(given)) => Some(given),
            (Some(body), None) => Some(spell::guess_type(body, &self.data).to_owned()),
            (None, None) => None,
        };
        if content_type.as_ref().is_some_and(|it| it.chars().any(char::is_control)) {
            return Err(wrong("a content type with a control character", "leave it out"));
        }
        let mut request = RequestPlan {
            name,
            method: method.to_owned(),
            server: address.server,
            path: address.target,
            content_type,
            literal: self.literal && spell::has_holes(line.as_bytes(), body.as_ref(), &self.data),
            body,
            user: address.user,
            ..RequestPlan::default()
        };
        spell::spell(&mut request, self.literal, &self.data);
        Ok(request)
    }

    fn body(&mut self, text: &str) -> Result<BodyPlan, Wrong> {
        let Some(file) = text.strip_prefix('<').map(|file| unquote(file.trim())) else {
            return Ok(inline(text));
        };
        if file.is_empty() {
            return Err(wrong("a < without a file name", "write < FILE"));
        }
        if let Some(path) = file.strip_prefix("schema:") {
            let source = SchemaSource::File(PathBuf::from(path));
            let schema = SchemaPlan::load("schema", &source, 1)
                .map_err(|mistake| wrong(mistake.to_string(), "see docs/schemas.md"))?;
            self.schemas.push(schema);
            let schema = Some(self.schemas.len() - 1);
            return Ok(BodyPlan { source: file.to_owned(), text: Vec::new(), schema });
        }
        let bytes = files::read(file, files::DATA).map_err(|error| {
            wrong(format!("cannot read the body {file}: {error}"), "give a readable file")
        })?;
        Ok(BodyPlan { source: file.to_owned(), text: bytes, schema: None })
    }
}

/// The SHA-256 of a file's contents, in hexadecimal digits.
fn sha256(bytes: &[u8]) -> String {
    let digest = digest(&SHA256, bytes);
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

fn inline(text: &str) -> BodyPlan {
    BodyPlan { source: "inline".to_owned(), text: text.as_bytes().to_vec(), schema: None }
}

/// Completes a stored request, or returns what is wrong with it; `before` are those in front of it.
pub(super) fn restore(
    request: &mut RequestPlan,
    before: &[RequestPlan],
    schemas: usize,
    data: &Data,
) -> Result<(), Wrong> {
    let cure = "make the plan again, from its command line";
    if !METHODS.contains(&&*request.method) {
        return Err(wrong(format!("{:?} is not a method", request.method), cure));
    }
    let whole = address(&request.server)?;
    if whole.server != request.server || whole.target != "/" || whole.user.is_some() {
        return Err(wrong(format!("{:?} is not the address of a server", whole.server), cure));
    }
    if !request.path.starts_with('/') {
        return Err(wrong("the path does not begin with a slash", cure));
    }
    if request.content_type.as_ref().is_some_and(|it| it.chars().any(char::is_control)) {
        return Err(wrong("a content type with a control character", "leave it out"));
    }
    if let Some(body) = &request.body {
        if matches!(&*request.method, "GET" | "HEAD") {
            return Err(wrong(format!("a {} cannot have a body", request.method), cure));
        }
        match body.schema {
            Some(place) if place >= schemas => return Err(wrong("its schema is missing", cure)),
            None if body.text.is_empty() => {
                let problem = format!("the text of its body ({}) is not stored", body.source);
                let cure = "use the output of --dry-run, which has texts, or the command";
                return Err(wrong(problem, cure));
            }
            _ => {}
        }
    }
    sequence::restore(request, before)?;
    spell::spell(request, request.literal, data);
    sequence::check(request, &values(request, data)?, before)
}

#[cfg(test)]
mod tests;
