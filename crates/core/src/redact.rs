//! The secrets that this process has been given, by value. Everything the process writes is
//! searched for them here, and they are struck out.
//!
//! Redaction by name, as in `password=…`, only works where the secret was given. A server may
//! repeat it anywhere (in an error, a cookie, a page), where it can only be recognized by its
//! value. Anything shorter than [`LEAST`], numbers, and words that springload itself uses cannot be
//! distinguished from ordinary text, and are not struck out.

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};

/// The replacement for a secret.
pub const STRUCK: &str = "***";
/// Shorter secrets are not struck out by their value. In characters.
pub const LEAST: usize = 6;
/// The most secrets that are known; beyond that, the oldest are forgotten. Sessions that log in
/// again and again keep getting new cookies.
const MOST: usize = 4_096;
/// The longest text that is searched for secrets.
const MOST_TEXT: usize = 1 << 20;

/// Words of at least [`LEAST`] letters that records, plans and messages are made of. A password
/// that is one of them is no secret, and striking it out would make a record unreadable.
const ORDINARY: &str = include_str!("redact_ordinary.txt");

/// What a percent-encoded URL may leave as it is (RFC 3986, 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Parts of names that mark a setting, header, parameter or member as secret.
const SECRET: [&str; 11] = [
    "pass",
    "pwd",
    "secret",
    "token",
    "credential",
    "accesskey",
    "apikey",
    "privatekey",
    "sessionid",
    "authsession",
    "signature",
];

/// More names of parameters, members and lists that are secret; as flags, they are not.
const PARAMETERS: [&str; 3] = ["sig", "jwt", "auth"];

/// The most backslashes of one escape: text in JSON may be quoted in JSON again.
const MOST_SLASHES: usize = 8;

/// Headers whose values do not identify the client; the values of all others are secrets.
const HARMLESS: [&str; 22] = [
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "connection",
    "content-encoding",
    "content-language",
    "content-type",
    "destination",
    "expect",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "origin",
    "pragma",
    "prefer",
    "range",
    "referer",
    "te",
    "user-agent",
];

static KNOWN: RwLock<KnownSecrets> = RwLock::new(KnownSecrets::new());

/// The secrets, and the automaton that finds them.
struct KnownSecrets {
    values: VecDeque<String>,
    finder: Option<Arc<Finder>>,
}

/// Finds all spellings of all secrets.
struct Finder {
    spellings: AhoCorasick,
    /// For each spelling: whether it only counts as a whole word.
    words: Vec<bool>,
}

impl KnownSecrets {
    const fn new() -> Self {
        Self { values: VecDeque::new(), finder: None }
    }

    fn learn(&mut self, value: &str) {
        if self.values.iter().any(|it| it == value) {
            return;
        }
        if self.values.len() == MOST {
            self.values.pop_front();
        }
        self.values.push_back(value.to_owned());
        self.finder = None;
    }

    fn finder(&mut self) -> Option<Arc<Finder>> {
        if self.finder.is_none() && !self.values.is_empty() {
            self.finder = Finder::of(&self.values).map(Arc::new);
        }
        self.finder.clone()
    }
}

impl Finder {
    /// Returns `None` if there are too many secrets for one automaton.
    fn of(values: &VecDeque<String>) -> Option<Self> {
        let spelled = values.iter().flat_map(|value| {
            let word = value.bytes().all(|byte| byte.is_ascii_alphabetic());
            spellings(value).into_iter().map(move |it| (it, word))
        });
        let (all, words): (Vec<_>, Vec<_>) = spelled.unzip();
        let mut builder = AhoCorasick::builder();
        builder.match_kind(MatchKind::LeftmostLongest).ascii_case_insensitive(true);
        let spellings = builder.build(all).ok()?;
        Some(Self { spellings, words })
    }

    fn strike<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match unescaped(text) {
            Some((plain, places)) => self.strike_as(text, &plain, |at| places[at]),
            None => self.strike_as(text, text, |at| at),
        }
    }

    /// Strikes out of `text` what is found in `plain`; `place` finds a byte of that in `text`.
    fn strike_as<'t>(
        &self,
        text: &'t str,
        plain: &str,
        place: impl Fn(usize) -> usize,
    ) -> Cow<'t, str> {
        let (mut out, mut from) = (String::new(), 0);
        for found in self.spellings.find_iter(plain) {
            let whole = || {
                let before = plain[..found.start()].chars().next_back();
                let after = plain[found.end()..].chars().next();
                !before.into_iter().chain(after).any(char::is_alphanumeric)
            };
            if self.words[found.pattern().as_usize()] && !whole() {
                continue;
            }
            out.push_str(&text[from..place(found.start())]);
            out.push_str(STRUCK);
            from = place(found.end());
        }
        if from == 0 {
            return text.into();
        }
        out.push_str(&text[from..]);
        out.into()
    }
}

/// `text` without JSON's escapes of characters by their number (RFC 8259, 7), and where each byte
/// of that, and its end, is in `text`; `None` if it has no such escapes.
fn unescaped(text: &str) -> Option<(String, Vec<usize>)> {
    if !text.contains("\\u") {
        return None;
    }
    let (mut plain, mut places, mut at) = (String::new(), Vec::new(), 0);
    while let Some(next) = text[at..].chars().next() {
        let (char, length) = escape(&text[at..]).unwrap_or((next, next.len_utf8()));
        plain.push(char);
        places.resize(plain.len(), at);
        at += length;
    }
    places.push(at);
    Some((plain, places))
}

/// The character that is escaped at the beginning of `text`, and the length of the escape.
fn escape(text: &str) -> Option<(char, usize)> {
    let slashes = text.bytes().take(MOST_SLASHES).take_while(|byte| *byte == b'\\').count();
    let digits = text[slashes..].strip_prefix('u')?.get(..4)?;
    let number = u32::from_str_radix(digits, 16).ok()?;
    let char = char::from_u32(number).filter(|_| slashes > 0)?;
    Some((char, slashes + 5))
}

/// A secret as it is, and as it is escaped in JSON, in pages and in URLs.
fn spellings(value: &str) -> Vec<String> {
    let json = serde_json::to_string(value).unwrap_or_default();
    let page = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let quoted = page.replace('"', "&quot;").replace('\'', "&#39;");
    let strict = utf8_percent_encode(value, NON_ALPHANUMERIC).to_string();
    let usual = utf8_percent_encode(value, RESERVED).to_string();
    let json = json.trim_matches('"').to_owned();
    let mut all = vec![
        value.to_owned(),
        json.replace('/', "\\/"),
        json,
        page,
        quoted,
        usual.replace("%20", "+"),
        strict,
        usual,
    ];
    all.retain(|it| it.chars().count() >= LEAST);
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether striking this out would hit ordinary text: it is too short, a number, or a word that
/// springload uses.
pub fn is_ordinary(value: &str) -> bool {
    let number = |c: char| c.is_ascii_digit() || ".,:-+_ ".contains(c);
    value.chars().count() < LEAST
        || value.chars().all(number)
        || ORDINARY.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case(value))
}

/// Strikes out a secret from now on.
pub fn learn(value: &str) {
    let value = value.trim();
    if !is_ordinary(value) && value != STRUCK {
        KNOWN.write().unwrap_or_else(PoisonError::into_inner).learn(value);
    }
}

/// Learns a password, alone and as encoded in Basic authentication (RFC 7617).
pub fn learn_login(user: &str, password: &str) {
    if password.is_empty() || password == STRUCK {
        return;
    }
    learn(password);
    let pair = format!("{user}:{password}");
    for spelled in [STANDARD.encode(&pair), URL_SAFE.encode(&pair)] {
        learn(&spelled);
    }
}

/// Learns the value of a header, `Name: value`, unless its name shows that it is no secret.
pub fn learn_header(line: &str) {
    let Some((name, value)) = line.split_once(':') else { return };
    let name = name.trim().to_ascii_lowercase();
    if HARMLESS.contains(&&*name) || name.starts_with("x-forwarded-") {
        return;
    }
    let value = value.trim();
    learn(value);
    if name == "cookie" || name == "set-cookie" {
        learn_cookies(value);
    } else if let Some((scheme, proof)) = value.split_once(' ') {
        let proof = proof.trim();
        learn(proof);
        let basic = scheme.eq_ignore_ascii_case("basic").then(|| STANDARD.decode(proof).ok());
        let pair = basic.flatten().and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some((user, password)) = pair.as_deref().and_then(|pair| pair.split_once(':')) {
            learn_login(user, password);
        }
    }
}

/// Learns the values of cookies, `a=b; c=d`.
pub fn learn_cookies(text: &str) {
    for pair in text.split(';') {
        if let Some((_, value)) = pair.split_once('=') {
            learn(value.trim().trim_matches('"'));
        }
    }
}

/// Learns the values of parameters and members whose names are secret: `api_key=…` in a URL or a
/// form, `"password": "…"` in JSON.
pub fn learn_text(text: &str) {
    let end = text.char_indices().nth(MOST_TEXT).map_or(text.len(), |(at, _)| at);
    let text = &text[..end];
    for (at, sign) in text.match_indices(['=', ':']) {
        let before = text[..at].trim_end().trim_end_matches(['"', '\'', '\\']);
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        let start = before.rfind(|c| !plain(c)).map_or(0, |at| at + 1);
        let Some(name) = before.get(start..) else { continue };
        if !is_secret_parameter(name) {
            continue;
        }
        let rest = text[at + 1..].trim_start();
        let rest = rest.trim_start_matches('\\');
        let value = match rest.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                rest[1..].split(quote).next().unwrap_or_default().trim_end_matches('\\')
            }
            // After a colon, only quoted text is a value: ordinary words follow colons, too.
            _ if sign == ":" => continue,
            _ => rest.split(['&', ';', ' ', '"', '\'', '#', '\n']).next().unwrap_or_default(),
        };
        learn(value);
        if value.contains('%') || value.contains('+') {
            learn(&percent_decode_str(&value.replace('+', " ")).decode_utf8_lossy());
        }
    }
}

/// Whether a setting with this name may be secret.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['_', '-', '.'], "");
    SECRET.iter().any(|part| name.contains(part))
}

/// Whether a parameter of a URL, a member or a list with this name may be secret.
pub fn is_secret_parameter(name: &str) -> bool {
    is_secret(name) || PARAMETERS.iter().any(|own| name.eq_ignore_ascii_case(own))
}

/// Whether any secret is known.
pub fn any() -> bool {
    !KNOWN.read().unwrap_or_else(PoisonError::into_inner).values.is_empty()
}

/// `text` with each known secret replaced by [`STRUCK`].
pub fn strike(text: &str) -> Cow<'_, str> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    if known.values.is_empty() {
        return text.into();
    }
    let finder = known.finder.clone();
    drop(known);
    let finder = finder.or_else(|| KNOWN.write().unwrap_or_else(PoisonError::into_inner).finder());
    finder.map_or_else(|| text.into(), |finder| finder.strike(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn struck(values: &[&str], text: &str) -> String {
        let mut known = KnownSecrets::new();
        for value in values {
            known.learn(value);
        }
        known.finder().map_or_else(|| text.to_owned(), |it| it.strike(text).into_owned())
    }

    #[test]
    fn a_secret_is_struck_out_however_it_is_spelled() {
        let secret = "s3cret/@ <\"x";
        let text = "a s3cret/@ <\"x b s3cret%2F%40%20%3C%22x s3cret%2f%40%20%3c%22x \
                    s3cret%2F%40+%3C%22x s3cret/@ <\\\"x s3cret/@ &lt;&quot;x c";
        assert_eq!(struck(&[secret], text), "a *** b *** *** *** *** *** c");
        // The longest of several with the same beginning.
        assert_eq!(struck(&["abcdef1", "abcdef1234"], "abcdef1234 abcdef12"), "*** ***2");
        assert_eq!(struck(&[], "abc"), "abc");
    }

    #[test]
    fn another_case_and_escapes_of_plain_characters_are_spellings_too() {
        let text = "PL4NTED/q Pl4nted%2Fq pl4nted\\/q pl4nted\\u002fq \\u0070l4nted\\\\\\u002Fq ü";
        assert_eq!(struck(&["pl4nted/q"], text), "*** *** *** *** *** ü");
        assert_eq!(struck(&["größer"], "\\u00fc gr\\u00f6\\u00dfer größer"), "\\u00fc *** ***");
        for text in ["caf\\u00e9 \\u002f \\u", "\\user\\u00g1 pl4nted\\u002d", "pl4nted u002fq", ""]
        {
            assert_eq!(struck(&["pl4nted/q"], text), text);
        }
        // The other letters of a word alone do not make it one.
        assert_eq!(struck(&["dragon"], "DRAGON Dragons"), "*** Dragons");
    }

    #[test]
    fn what_is_ordinary_stays() {
        for value in ["", "admin", "12345678", "1.5", "couchdb", "Password"] {
            assert!(is_ordinary(value), "{value}");
        }
        for value in ["hunter2x", "dragons", "123-abc", "s3cret"] {
            assert!(!is_ordinary(value), "{value}");
        }
        // A word is only struck out where it stands alone.
        assert_eq!(struck(&["dragon"], "dragonfly dragon, undragon"), "dragonfly ***, undragon");
    }

    #[test]
    fn the_oldest_of_too_many_are_forgotten() {
        let mut known = KnownSecrets::new();
        (0..=MOST).for_each(|number| known.learn(&format!("cookie-{number}")));
        assert_eq!((known.values.len(), &known.values[0][..]), (MOST, "cookie-1"));
    }

    #[test]
    fn secrets_are_found_where_they_are_written() {
        learn_header("Authorization: Basic YW5uOmh1bnRlci1iYXNpYw==");
        learn_header("X-Api-Key: hunter-header");
        learn_header("Accept: text/hunter-accept");
        learn_header("Cookie: a=hunter-cookie; b=\"hunter-other\"");
        learn_text("http://h/?page=hunter-page&api_key=hunter%2Dquery&x=1");
        learn_text("{\"user\":\"hunter-user\", \"password\" : \"hunter-member\"}");
        learn_text("the password: hunter-prose");
        for value in ["basic", "header", "cookie", "other", "query", "member"] {
            assert_eq!(strike(&format!("<hunter-{value}>")), "<***>", "{value}");
        }
        for value in ["text/hunter-accept", "hunter-page", "hunter-user", "hunter-prose"] {
            assert_eq!(strike(value), value);
        }
        assert!(any());
        for name in ["sig", "JWT", "auth", "api_key"] {
            assert!(is_secret_parameter(name), "{name}");
        }
        for name in ["code", "key", "design", "author", "--auth", "signal"] {
            assert!(!is_secret_parameter(name), "{name}");
        }
        assert!(is_secret("s3.accessKey") && is_secret("X-Api-Key") && !is_secret("keyspace"));
    }
}
