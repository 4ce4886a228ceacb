//! What follows the `?` in the URL of an exporter: it may be a token, under any name, so only the
//! values of names that exporters are known to use are shown and stored.

use super::secrets::{STRUCK, Secret};
use crate::mistake::strike_password;
use url::Url;

/// Names whose values only select what is returned.
const HARMLESS: [&str; 14] = [
    "collect[]",
    "exclude[]",
    "family",
    "filter",
    "format",
    "match[]",
    "module",
    "name[]",
    "names",
    "prefix",
    "scope",
    "service",
    "target",
    "vhost",
];

/// Strikes what may be secret from the query of `url`. Returns the query as it was, if anything was
/// struck.
pub(super) fn strike(url: &mut Url) -> Option<Secret> {
    let query = url.query()?.to_owned();
    let parts: Vec<String> = query.split('&').map(struck).collect();
    let shown = parts.join("&");
    if shown == query {
        return None;
    }
    url.set_query(Some(&shown));
    Some(query.into())
}

/// A part of a query, `name=value`, as it is shown.
fn struck(part: &str) -> String {
    let Some((name, value)) = part.split_once('=') else {
        // A token needs no name.
        return if part.is_empty() { String::new() } else { STRUCK.to_owned() };
    };
    let decoded = url::form_urlencoded::parse(name.as_bytes()).next();
    let is_harmless = decoded.is_some_and(|(name, _)| HARMLESS.contains(&&*name));
    let shown = if is_harmless { strike_target(value) } else { STRUCK.to_owned() };
    format!("{name}={shown}")
}

/// A value without the password of a URL in it, whose `:` and `@` may be spelled `%3A` and `%40`.
fn strike_target(value: &str) -> String {
    let decoded = url::form_urlencoded::parse(value.as_bytes()).next();
    let has_password = decoded.is_some_and(|(text, _)| strike_password(&text) != text);
    // It may have been struck already.
    if has_password || value.contains(STRUCK) { STRUCK.to_owned() } else { value.to_owned() }
}

/// Whether something was struck from the query of a URL.
pub(super) fn is_struck(url: &Url) -> bool {
    let parts = url.query().into_iter().flat_map(|query| query.split('&'));
    parts.map(|part| part.split_once('=').map_or(part, |(_, value)| value)).any(|it| it == STRUCK)
}

/// The query of a URL without the parts from which something was struck.
pub(super) fn left(url: &Url) -> String {
    let parts = url.query().unwrap_or_default().split('&');
    let whole = parts.filter(|part| *part != STRUCK && !part.ends_with(&format!("={STRUCK}")));
    whole.collect::<Vec<_>>().join("&")
}

/// `NAME=URL` as typed, without anything that may be secret; it need not be a valid URL.
pub fn strike_observed(text: &str) -> String {
    let text = strike_password(text);
    let Some((address, query)) = text.split_once('?') else { return text };
    let (query, fragment) = query.split_once('#').map_or((query, None), |it| (it.0, Some(it.1)));
    let shown = query.split('&').map(struck).collect::<Vec<_>>().join("&");
    let fragment = fragment.map_or_else(String::new, |_| format!("#{STRUCK}"));
    format!("{address}?{shown}{fragment}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_exporters_are_known_to_be_asked_is_shown() {
        for (query, shown) in [
            ("collect[]=cpu&collect[]=disk", "collect[]=cpu&collect[]=disk"),
            ("collect%5B%5D=cpu", "collect%5B%5D=cpu"),
            ("format=prometheus", "format=prometheus"),
            ("token=s3cret", "token=***"),
            ("k=s3cret&format=x", "k=***&format=x"),
            ("s3cret", "***"),
            ("s3cret&&a=s3cret=s3cret", "***&&a=***"),
            ("target=mysql://ann:s3cret@h/d", "target=***"),
            ("target=mysql%3A%2F%2Fann%3As3cret%40h", "target=***"),
            ("target=h:3306&module=mysql", "target=h:3306&module=mysql"),
        ] {
            let mut url = Url::parse(&format!("http://h/metrics?{query}")).unwrap();
            let left_out = strike(&mut url);
            assert_eq!(url.query(), Some(shown));
            assert_eq!(left_out.is_some(), is_struck(&url), "{query}");
            assert_eq!(left_out.is_some(), query.contains("s3cret"), "{query}");
            let typed = strike_observed(&format!("a=http://h/metrics?{query}"));
            assert_eq!(typed, format!("a=http://h/metrics?{shown}"));
            assert!(!left(&url).contains(STRUCK), "{query}");
        }
        assert_eq!(strike_observed("a=x?s3cret#s3cret"), "a=x?***#***");
        assert_eq!(strike_observed("a=http://u:s3cret@h/?x=s3cret"), "a=http://u:***@h/?x=***");
    }
}
