//! One request of a list as planned, and headers without what is secret in them.

use crate::op::OpKind;
use crate::values::{Holes, Pieces};
use crate::words::SavedFrom;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// Headers whose values are secrets.
const SECRET: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];

/// One request of the list. Stored without its password or the text of its body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestPlan {
    /// The row in reports that it is counted in, if it has one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<OpKind>,
    /// The sequence that it is a step of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<OpKind>,
    /// Whether it continues the sequence of the preceding request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follows: bool,
    /// `GET`, `POST` and so on.
    pub method: String,
    /// The server's address without path, user or password.
    pub server: String,
    /// Path and query, as written.
    pub path: String,
    /// Headers sent with this request only, as `Name: value`; stored without the values.
    #[serde(default, skip_serializing_if = "Vec::is_empty", serialize_with = "masked")]
    pub headers: Vec<String>,
    /// The content type of the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// The body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<BodyPlan>,
    /// Values that are saved from its responses for later steps, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub save: BTreeMap<String, SavedFrom>,
    /// Whether placeholders are sent as written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub literal: bool,
    /// What is sent.
    #[serde(skip)]
    pub text: RequestText,
    /// User and password, which [`HttpPlan::secrets`](super::HttpPlan::secrets) has.
    #[cfg_attr(feature = "schema", schemars(skip))]
    #[serde(default, skip_serializing)]
    pub user: Option<(String, String)>,
}

/// What a request sends besides the parts that are always the same, with holes for values. Empty
/// parts may be written by a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestText {
    /// Path and query.
    pub target: Pieces,
    /// The lines of its own headers.
    pub headers: Pieces,
    /// The body.
    pub body: Pieces,
    /// The contents of the holes.
    pub holes: Holes,
}

/// The body of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BodyPlan {
    /// `inline`, or the file that it came from.
    pub source: String,
    /// The index in the plan of the schema that it is generated from; absent if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<usize>,
    /// Its text, which [`HttpPlan::bodies`](super::HttpPlan::bodies) has.
    #[cfg_attr(feature = "schema", schemars(skip))]
    #[serde(default, skip_serializing, deserialize_with = "from_text")]
    pub text: Vec<u8>,
}

fn from_text<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    String::deserialize(from).map(String::into_bytes)
}

/// Writes headers without their values.
///
/// # Errors
/// Fails if the serializer does.
pub fn masked<S: Serializer>(headers: &[String], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(headers.iter().map(|header| mask(header)))
}

/// `Name: value` without the value.
pub fn mask(header: &str) -> String {
    header
        .split_once(':')
        .map_or_else(|| "***".to_owned(), |(name, _)| format!("{}: ***", name.trim()))
}

/// `Name: value`, without the value if it is secret.
pub fn strike_secret(header: &str) -> String {
    let name = header.split(':').next().unwrap_or_default().trim();
    let secret = SECRET.iter().any(|secret| name.eq_ignore_ascii_case(secret));
    if secret { format!("{name}: ***") } else { header.to_owned() }
}
