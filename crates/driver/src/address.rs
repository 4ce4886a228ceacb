//! The text of addresses.

use super::{Card, TargetAsked};
use crate::mistake::Invalid;
use percent_encoding::percent_decode_str;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::borrow::Cow;

/// Everything but the unreserved characters of RFC 3986, 2.3, and also the dot, which separates the
/// names of databases and collections.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'~');

pub(super) fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// An address, taken apart. Unlike a URL it may have several hosts.
#[derive(Debug)]
pub(super) struct AddressParts<'a> {
    /// Spelled as on the driver's card.
    pub(super) scheme: &'static str,
    /// What precedes the `@`.
    pub(super) login: Option<&'a str>,
    /// Separated by commas.
    pub(super) hosts: &'a str,
    /// Without the slashes around it.
    pub(super) path: &'a str,
    /// What follows the `?`.
    pub(super) query: &'a str,
}

/// A parameter of an address.
pub(super) struct Parameter<'a> {
    /// All of it: `name=value`.
    #[cfg_attr(
        not(feature = "mongodb"),
        allow(dead_code, reason = "only MongoDB's driver passes it on")
    )]
    pub(super) text: &'a str,
    pub(super) name: &'a str,
    pub(super) value: &'a str,
}

impl<'a> AddressParts<'a> {
    /// Splits the requested address.
    pub(super) fn of(asked: &'a TargetAsked, card: &Card) -> Result<Self, Invalid> {
        let address = asked.address.as_deref().unwrap_or_default();
        let known = |(given, rest): (&str, &'a str)| {
            let scheme = card.schemes.iter().find(|it| it.eq_ignore_ascii_case(given))?;
            Some((*scheme, rest))
        };
        let parts = address.split_once("://").and_then(known);
        let (scheme, rest) =
            parts.ok_or_else(|| asked.wrong(card, &format!("no {}://", card.schemes[0])))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, hosts) = match authority.rsplit_once('@') {
            Some((login, hosts)) => (Some(login), hosts),
            None => (None, authority),
        };
        Ok(Self { scheme, login, hosts, path: path.trim_matches('/'), query })
    }

    pub(super) fn parameters(&self) -> impl Iterator<Item = Parameter<'a>> {
        let texts = self.query.split('&').filter(|text| !text.is_empty());
        texts.map(|text| {
            let (name, value) = text.split_once('=').unwrap_or((text, ""));
            Parameter { text, name, value }
        })
    }
}

/// Whether a host has a port; the colons of an IPv6 address are inside brackets.
pub(super) fn has_port(host: &str) -> bool {
    host.rsplit_once(']').map_or(host, |(_, rest)| rest).contains(':')
}

/// Whether this is a host, possibly with a port.
pub(super) fn is_host(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if has_port(text) => (host, Some(port)),
        _ => (text, None),
    };
    let valid = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    url::Host::parse(host).is_ok() && port.is_none_or(valid)
}

/// Completes an address without a scheme to an HTTP one, if it has a port or is localhost.
pub fn with_scheme(address: &str) -> Cow<'_, str> {
    let end = address.find(['/', '?', '#']).unwrap_or(address.len());
    let authority = &address[..end];
    let place = authority.rsplit('@').next().unwrap_or_default();
    let (host, port) = place.rsplit_once(':').unwrap_or((place, ""));
    let has_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let is_host = !host.is_empty() && !host.contains(char::is_whitespace);
    if is_host && (has_port || place == "localhost") && !address.contains("://") {
        return format!("http://{address}").into();
    }
    address.into()
}
