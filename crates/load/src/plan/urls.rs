//! Lists of requests in siege's syntax: one per line, and variables.
//!
//! `[http://][user:password@]host[:port][/path][?query] [METHOD [-T type] [body | < file]]`, after a
//! name and a colon if the request has a row of its own. Lines that siege would read differently
//! from how they look are refused, with file and line.

use super::quantity::Metric;
use super::schemas::{SchemaPlan, SchemaSource};
use crate::driver::{BodyPlan, RequestPlan, strike_secrets};
use crate::files;
use crate::mistake::Invalid;
use crate::op::OpKind;
use crate::schema::{Pattern, Values};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, percent_encode};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use url::Url;

/// The methods of entries.
pub const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// Content types by file name extension.
const EXTENSIONS: [(&str, &str); 8] = [
    ("json", "application/json"),
    ("xml", "application/xml"),
    ("txt", "text/plain"),
    ("csv", "text/csv"),
    ("html", "text/html"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("pdf", "application/pdf"),
];

/// The default type of a body, that of HTML forms.
const FORM: &str = "application/x-www-form-urlencoded";

/// Characters that must be encoded in a path and query (RFC 3986); a `%` is taken to be part of an
/// encoded one.
const TARGET: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

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
    /// The type of every body without one.
    pub(super) content_type: Option<String>,
    /// The method of every request without one.
    pub(super) default_method: Option<&'static str>,
    /// The body of every request without one, or @ and the file with it.
    pub(super) default_body: Option<String>,
    /// Whether placeholders such as `{{seq}}` are plain text.
    pub(super) literal: bool,
    /// The schemas that bodies are made from.
    pub(super) schemas: Vec<SchemaPlan>,
    /// The mistakes found.
    pub(super) mistakes: Vec<Invalid>,
}

/// Why a line cannot be read, and the cure.
type Wrong = (String, String);

fn wrong(problem: impl Into<String>, cure: impl Into<String>) -> Wrong {
    (problem.into(), cure.into())
}

impl UrlReader {
    /// The requests of all sources, in order.
    pub(super) fn read(&mut self, sources: &[UrlSource]) -> Vec<RequestPlan> {
        let mut requests = Vec::new();
        for source in sources {
            match source {
                UrlSource::Line { place, text } => match self.entry(text.trim()) {
                    Ok(request) => requests.push(request),
                    Err((problem, cure)) => self.mistakes.push(Invalid::new(place, problem, cure)),
                },
                UrlSource::File { flag, path } => {
                    let name = path.display().to_string();
                    match files::read_text(path, files::DATA) {
                        Ok(text) => requests.extend(self.text(&name, &text)),
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
    fn text(&mut self, name: &str, text: &str) -> Vec<RequestPlan> {
        let (mut requests, mut variables) = (Vec::new(), BTreeMap::new());
        let (before, mut grown) = (self.mistakes.len(), 0_usize);
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
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
                    Ok(None)
                } else {
                    self.entry(&line).map(Some)
                }
            });
            match read {
                Ok(request) => requests.extend(request),
                Err((problem, cure)) => {
                    self.mistakes.push(Invalid::new(format!("{name}:{number}"), problem, cure));
                }
            }
            if within(grown).is_err() {
                break;
            }
        }
        if requests.is_empty() && self.mistakes.len() == before {
            let cure = "write one per line, such as http://localhost:5984/db POST < doc.json";
            self.mistakes.push(Invalid::new(name, "it has no URLs", cure));
        }
        requests
    }

    /// One request.
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
                None => self.inline(&text)?,
            }),
            (rest, _) => Some(self.body(rest)?),
        };
        let method = own_method.or(self.default_method);
        let method = method.unwrap_or(if body.is_some() { "POST" } else { "GET" });
        let address = address(url)?;
        let target = self.target(&address.target)?;
        if body.is_some() && matches!(method, "GET" | "HEAD") {
            let cure = "write POST, PUT or PATCH before it";
            return Err(wrong(format!("a {method} cannot have a body"), cure));
        }
        let told = own_type.map(str::to_owned).or_else(|| self.content_type.clone());
        let content_type = match (&body, told) {
            _ if matches!(method, "GET" | "HEAD") => None,
            (_, Some(told)) => Some(told),
            (Some(body), None) => Some(guess_type(body).to_owned()),
            (None, None) => None,
        };
        if content_type.as_ref().is_some_and(|it| it.chars().any(char::is_control)) {
            return Err(wrong("a content type with a control character", "leave it out"));
        }
        Ok(RequestPlan {
            name,
            method: method.to_owned(),
            server: address.server,
            path: address.target,
            content_type,
            literal: self.literal && has_places(line.as_bytes(), body.as_ref()),
            body,
            target,
            user: address.user,
        })
    }

    /// Path and query as sent.
    fn target(&self, path: &str) -> Result<Pattern, Wrong> {
        let target = self.pattern(path.as_bytes())?;
        Ok(target.map_text(|text| percent_encode(text, TARGET).to_string().into_bytes()))
    }

    fn pattern(&self, text: &[u8]) -> Result<Pattern, Wrong> {
        if self.literal {
            return Ok(Pattern::literal(text));
        }
        Pattern::parse(text).map_err(|error| {
            wrong(error.to_string(), "write one of these, or give --literal to send it as it is")
        })
    }

    /// A body that is written out.
    fn inline(&self, text: &str) -> Result<BodyPlan, Wrong> {
        let pattern = self.pattern(text.as_bytes())?;
        Ok(BodyPlan { source: "inline".to_owned(), pattern, schema: None })
    }

    fn body(&mut self, text: &str) -> Result<BodyPlan, Wrong> {
        let Some(file) = text.strip_prefix('<').map(|file| unquote(file.trim())) else {
            return self.inline(text);
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
            return Ok(BodyPlan { source: file.to_owned(), pattern: Pattern::default(), schema });
        }
        let bytes = files::read(file, files::DATA).map_err(|error| {
            wrong(format!("cannot read the body {file}: {error}"), "give a readable file")
        })?;
        let pattern = self
            .pattern(&bytes)
            .map_err(|(problem, cure)| wrong(format!("{file}: {problem}"), cure))?;
        Ok(BodyPlan { source: file.to_owned(), pattern, schema: None })
    }
}

/// The name before a request, `NAME: URL`, and the rest of the line.
fn named(line: &str) -> Result<(Option<OpKind>, &str), Wrong> {
    let named = line.split_once(": ").filter(|(name, _)| !name.contains(['/', ' ', '.']));
    let Some((name, rest)) = named else { return Ok((None, line)) };
    let cure = "write NAME: URL, such as login: http://localhost:8080/login";
    let kind = OpKind::of_name(name).map_err(|error| wrong(error.to_string(), cure))?;
    if !kind.is_own() || Metric::is_word(name) {
        return Err(wrong(format!("{name} means something else already"), "give another name"));
    }
    kind.define(false).map_err(|problem| wrong(problem, "give it another name"))?;
    Ok((Some(kind), rest.trim_start()))
}

/// Whether something in a line or its body would be filled in.
fn has_places(line: &[u8], body: Option<&BodyPlan>) -> bool {
    let filled = |text: &[u8]| !Pattern::parse(text).is_ok_and(|it| it.is_literal());
    filled(line) || body.is_some_and(|body| filled(&body.pattern.source()))
}

/// Completes a stored request, and says what is wrong with it.
pub(super) fn restore(request: &mut RequestPlan, schemas: usize) -> Result<(), Wrong> {
    let cure = "make the plan again, from its command line";
    let reader = UrlReader { literal: request.literal, ..UrlReader::default() };
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
    request.target = reader.target(&request.path)?;
    if request.content_type.as_ref().is_some_and(|it| it.chars().any(char::is_control)) {
        return Err(wrong("a content type with a control character", "leave it out"));
    }
    let Some(body) = &mut request.body else { return Ok(()) };
    if matches!(&*request.method, "GET" | "HEAD") {
        return Err(wrong(format!("a {} cannot have a body", request.method), cure));
    }
    match body.schema {
        Some(place) if place >= schemas => Err(wrong("its schema is missing", cure)),
        Some(_) => Ok(()),
        None if body.pattern.is_empty() => {
            let problem = format!("the text of its body ({}) is not stored", body.source);
            Err(wrong(problem, "use the output of --dry-run, which has texts, or the command"))
        }
        None => {
            body.pattern = reader.pattern(&body.pattern.source())?;
            Ok(())
        }
    }
}

/// A URL, except the encoding of its path.
struct Address {
    server: String,
    target: String,
    user: Option<(String, String)>,
}

fn address(text: &str) -> Result<Address, Wrong> {
    let cure = "write http://host:port/path or https://host:port/path";
    let scheme_end = text
        .find("://")
        .filter(|&end| end > 0 && text[..end].bytes().all(|byte| byte.is_ascii_alphanumeric()));
    let (scheme, rest) = scheme_end.map_or(("http", text), |end| (&text[..end], &text[end + 3..]));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, target) = rest.split_at(end);
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return Err(wrong(format!("{scheme} is not supported"), cure));
    }
    if authority.contains("{{") {
        return Err(wrong("a placeholder in a host name", "write it in the path, query or body"));
    }
    let mut server = Url::parse(&format!("{scheme}://{authority}/"))
        .map_err(|error| wrong(format!("{:?} is not a host: {error}", host_of(authority)), cure))?;
    let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let user = (!server.username().is_empty())
        .then(|| (decode(server.username()), decode(server.password().unwrap_or_default())));
    let _ = server.set_username("");
    let _ = server.set_password(None);
    let target = target.split('#').next().unwrap_or_default();
    let slash = if target.starts_with('/') { "" } else { "/" };
    Ok(Address {
        server: server.as_str().trim_end_matches('/').to_owned(),
        target: format!("{slash}{target}"),
        user,
    })
}

/// An authority without user and password.
fn host_of(authority: &str) -> &str {
    let host = authority.rsplit('@').next().unwrap_or_default();
    // Without a port, it may be user and password.
    let port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match host.split_once(':') {
        Some((name, rest)) if !host.starts_with('[') && !port(rest) => name,
        _ => host,
    }
}

/// The URL at the beginning of a line, which may be in quotation marks, and the rest.
fn split_url(line: &str) -> Result<(&str, &str), Wrong> {
    for quote in ['"', '\''] {
        if let Some(quoted) = line.strip_prefix(quote) {
            let (url, rest) = quoted
                .split_once(quote)
                .ok_or_else(|| wrong("a quotation mark that is not closed", "close it"))?;
            return Ok((url.trim(), rest.trim_start()));
        }
    }
    let end = line.find(char::is_whitespace).unwrap_or(line.len());
    Ok((&line[..end], line[end..].trim_start()))
}

/// The method, and what follows it.
fn split_method(rest: &str) -> Result<(&'static str, &str), Wrong> {
    let end = rest.find(|c: char| c.is_whitespace() || c == '<').unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    let method = METHODS.into_iter().find(|method| *method == word).ok_or_else(|| {
        let cure = format!("write nothing after the URL, or one of {}", METHODS.join(", "));
        // What follows a space may be the rest of an address with a password.
        let shown = word.rsplit_once('@').map_or(word, |(_, host)| host);
        wrong(format!("{shown:?} is not a method"), cure)
    })?;
    Ok((method, after.trim_start()))
}

/// The content type of this request only, and what follows it.
fn split_type(rest: &str) -> (Option<&str>, &str) {
    let Some(after) = rest.strip_prefix("-T").filter(|it| it.starts_with(char::is_whitespace))
    else {
        return (None, rest);
    };
    let after = after.trim_start();
    let end = after.find(char::is_whitespace).unwrap_or(after.len());
    let (word, body) = after.split_at(end);
    (Some(word.trim_end_matches(';')), body.trim_start())
}

/// A name without the quotation marks around it.
fn unquote(text: &str) -> &str {
    let inside = |quote| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    inside('"').or_else(|| inside('\'')).unwrap_or(text)
}

/// `NAME = value`.
fn assignment(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(plain)).then(|| (name, value.trim()))
}

/// No line is longer with its variables filled in: each may double those before it.
const LONGEST_LINE: usize = 1 << 20;

/// No file grows by more bytes with its variables filled in.
const MOST_GROWTH: usize = 64 << 20;

/// Whether a file may grow this much.
///
/// # Errors
/// If not, and the cure.
pub fn within(grown: usize) -> Result<(), Wrong> {
    if grown <= MOST_GROWTH {
        return Ok(());
    }
    let problem = format!("the variables add more than {MOST_GROWTH} bytes to the file");
    Err(wrong(problem, "use shorter variables, or fewer lines with them"))
}

/// Replaces variables: `$(NAME)` or `${NAME}`, from the file or the environment. `\$` is a dollar
/// sign.
///
/// # Errors
/// What is wrong, and the cure.
pub fn expand(line: &str, variables: &BTreeMap<String, String>) -> Result<String, Wrong> {
    let (mut out, mut rest) = (String::with_capacity(line.len()), line);
    while let Some(at) = rest.find('$') {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        let close = match after.chars().next() {
            _ if before.ends_with('\\') => {
                out.push_str(&before[..at - 1]);
                out.push('$');
                rest = after;
                continue;
            }
            Some('(') => ')',
            Some('{') => '}',
            _ => {
                out.push_str(&rest[..=at]);
                rest = after;
                continue;
            }
        };
        out.push_str(before);
        let cure = "write NAME = value above it, or \\$ for a dollar sign";
        let (name, left) = after[1..]
            .split_once(close)
            .ok_or_else(|| wrong(format!("a variable without a closing {close}"), cure))?;
        let value = variables.get(name).cloned().or_else(|| std::env::var(name).ok());
        let value = value.ok_or_else(|| wrong(format!("unknown variable {name:?}"), cure))?;
        out.push_str(&value);
        if out.len() > LONGEST_LINE {
            let problem = format!("longer than {LONGEST_LINE} bytes with its variables filled in");
            return Err(wrong(problem, "make the variables shorter"));
        }
        rest = left;
    }
    out.push_str(rest);
    Ok(out)
}

/// The content type of a body without one: by the file's name, or JSON if it is JSON.
fn guess_type(body: &BodyPlan) -> &'static str {
    if body.schema.is_some() {
        return "application/json";
    }
    let extension = Path::new(&body.source).extension().and_then(|it| it.to_str());
    let by_name = EXTENSIONS
        .iter()
        .find(|(known, _)| extension.is_some_and(|it| it.eq_ignore_ascii_case(known)));
    if let Some((_, content_type)) = by_name.filter(|_| body.source != "inline") {
        return content_type;
    }
    let mut filled = Vec::new();
    body.pattern.write(&Values { seq: 1, random: [0; 16], int: 1 }, &mut filled);
    let opens = matches!(filled.trim_ascii_start().first(), Some(b'{' | b'['));
    let json = opens && serde_json::from_slice::<serde::de::IgnoredAny>(&filled).is_ok();
    if json { "application/json" } else { FORM }
}

#[cfg(test)]
#[path = "urls_tests.rs"]
mod tests;
