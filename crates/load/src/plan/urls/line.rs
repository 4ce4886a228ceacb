//! The parts of a line: a name, an address, a method, the type of a body.

use super::sequence::name_of;
use super::{METHODS, Wrong, wrong};
use crate::op::OpKind;
use percent_encoding::percent_decode_str;
use url::Url;

/// Splits `NAME: URL` into the name, if there is one, and the rest of the line.
pub(super) fn named(line: &str) -> Result<(Option<OpKind>, &str), Wrong> {
    let named = line.split_once(": ").filter(|(name, _)| !name.contains(['/', ' ', '.']));
    let Some((name, rest)) = named else { return Ok((None, line)) };
    let cure = "write NAME: URL, such as login: http://localhost:8080/login";
    let kind = name_of(name, false, cure)?;
    Ok((Some(kind), rest.trim_start()))
}

/// A URL, except the encoding of its path.
pub(super) struct Address {
    pub(super) server: String,
    pub(super) target: String,
    pub(super) user: Option<(String, String)>,
}

pub(super) fn address(text: &str) -> Result<Address, Wrong> {
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
pub(super) fn split_url(line: &str) -> Result<(&str, &str), Wrong> {
    for quote in ['"', '\''] {
        if let Some(quoted) = line.strip_prefix(quote) {
            let (url, rest) = quoted
                .split_once(quote)
                .ok_or_else(|| wrong("a quotation mark that is not closed", "close it"))?;
            return Ok((url.trim(), rest.trim_start()));
        }
    }
    // The spaces of a value such as {{int 1 5}} belong to it.
    let mut end = 0;
    while let Some(at) = line[end..].find(|c: char| c.is_whitespace() || c == '{') {
        end += at;
        let value = line[end..].strip_prefix("{{").and_then(|inside| inside.find("}}"));
        match value {
            Some(inside) => end += inside + 4,
            None if line[end..].starts_with('{') => end += 1,
            None => return Ok((&line[..end], line[end..].trim_start())),
        }
    }
    Ok((line, ""))
}

pub(super) fn split_method(rest: &str) -> Result<(&'static str, &str), Wrong> {
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

/// Splits off the content type that applies to this request only.
pub(super) fn split_type(rest: &str) -> (Option<&str>, &str) {
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
pub(super) fn unquote(text: &str) -> &str {
    let inside = |quote| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    inside('"').or_else(|| inside('\'')).unwrap_or(text)
}
