//! Escaping of text for the page.

use std::borrow::Cow;
use std::fmt::{self, Display};

/// Markup, made of constants and escaped text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Html(Cow<'static, str>);

impl Html {
    /// Trusted markup, unescaped.
    pub(super) fn raw(markup: impl Into<Cow<'static, str>>) -> Self {
        Self(markup.into())
    }

    /// Untrusted text, escaped.
    pub(super) fn text(text: impl Display) -> Self {
        let mut out = String::new();
        for sign in text.to_string().chars() {
            match sign {
                '&' => out.push_str("&amp;"),
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '"' => out.push_str("&quot;"),
                '\'' => out.push_str("&#39;"),
                sign => out.push(sign),
            }
        }
        Self(out.into())
    }

    /// Builds `<name attributes>inside</name>`.
    pub(super) fn element(opening: &str, inside: &Self) -> Self {
        let name = opening.split(' ').next().unwrap_or(opening);
        Self(format!("<{opening}>{}</{name}>", inside.0).into())
    }

    /// The same around untrusted text.
    pub(super) fn tag(opening: &str, text: impl Display) -> Self {
        Self::element(opening, &Self::text(text))
    }

    pub(super) fn push(&mut self, other: &Self) {
        self.0.to_mut().push_str(&other.0);
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromIterator<Html> for Html {
    fn from_iter<I: IntoIterator<Item = Html>>(parts: I) -> Self {
        Self(parts.into_iter().map(|part| part.0).collect::<String>().into())
    }
}

impl Display for Html {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// JSON for a `script` element: nothing in it can end the element or open a comment. In JSON, `<`
/// occurs only inside strings.
pub(super) fn json_in_html(json: &str) -> Html {
    Html(json.replace('<', "\\u003c").into())
}
