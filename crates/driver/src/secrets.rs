//! What plans are stored without: passwords, and settings that may be secret.
//!
//! Serializing a plan never writes them, so no caller has to remember to hide them. Code that needs
//! them puts them back by name: see [`with_left_out`].

use crate::mistake::strike_password;
pub(super) use crate::redact::STRUCK;
pub use crate::redact::is_secret;
use crate::redact::{is_secret_parameter, learn};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use std::fmt;

/// A secret in a plan. It can be read from JSON, but is neither written nor printed, and is struck
/// out of whatever leaves this process.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub struct Secret(String);

impl Secret {
    /// The secret itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        learn(&text);
        Self(text)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(STRUCK)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(STRUCK)
    }
}

/// Members that a plan is stored without, under their JSON pointers.
pub type LeftOut = Map<String, Value>;

/// `plan` as JSON, including the members it is stored without; their pointers begin at the member
/// `under`.
///
/// # Errors
/// Fails if the plan cannot be serialized.
pub fn with_left_out(
    plan: &impl Serialize,
    under: &str,
    left_out: LeftOut,
) -> serde_json::Result<Value> {
    let mut stored = serde_json::to_value(plan)?;
    for (pointer, value) in left_out {
        let pointer = format!("{under}{pointer}");
        let (owner, name) = pointer.rsplit_once('/').unwrap_or_default();
        if let Some(Value::Object(members)) = stored.pointer_mut(owner) {
            members.insert(name.to_owned(), value);
        }
    }
    Ok(stored)
}

/// `text` without anything that may be secret: the password of a URL, and values of settings, such
/// as `url?password=value`.
pub fn strike_secrets(text: &str) -> String {
    let mut out = String::new();
    for part in strike_password(text).split_inclusive(['?', '&', ';', ' ']) {
        let (pair, end) = match part.char_indices().next_back() {
            Some((at, '?' | '&' | ';' | ' ')) => part.split_at(at),
            _ => (part, ""),
        };
        match pair.split_once('=') {
            Some((name, _)) if is_secret_parameter(name) => out.extend([name, "=", STRUCK]),
            _ => out.push_str(&strike_password(pair)),
        }
        out.push_str(end);
    }
    out
}

/// A URL without its password.
pub(super) fn redact(text: &str) -> String {
    match url::Url::parse(text) {
        Ok(mut url) if url.password().is_some() => {
            let _ = url.set_password(Some("***"));
            url.to_string()
        }
        Err(_) if text.contains('@') => {
            let after = text.rsplit('@').next().unwrap_or_default();
            format!("***@{after}")
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CARDS, TargetAsked, TargetPlan};

    #[test]
    fn passwords_are_struck_out_wherever_they_are() {
        for (text, struck) in [
            ("", ""),
            ("http://a:b c@h/?x=1", "http://a:***@h/?x=1"),
            ("http://a:b?c@h/?x=1", "http://a:***@h/?x=1"),
            ("jdbc.passwd=a=b", "jdbc.passwd=***"),
            ("jdbc:mysql://h/d?user=a&password=b&x=c", "jdbc:mysql://h/d?user=a&password=***&x=c"),
            ("jdbc:sqlserver://h;passWord=b;x=c", "jdbc:sqlserver://h;passWord=***;x=c"),
            ("mongodb.url=mongodb://a:b:c@h1,h2/d@e", "mongodb.url=mongodb://a:***@h1,h2/d@e"),
            ("cp=/a:/b/*&hosts=a@b", "cp=/a:/b/*&hosts=a@b"),
            ("table=t&aws.secretKey=x y", "table=t&aws.secretKey=*** y"),
        ] {
            assert_eq!(strike_secrets(text), struck);
        }
    }

    /// A plan of each driver that has secrets, with `s3cret` as the secret.
    fn plans() -> Vec<TargetPlan> {
        let plan = |address: &str| {
            let mut asked = TargetAsked::at(address);
            if address.starts_with("http") {
                asked.headers.push("X-Key: s3cret".to_owned());
                asked.nodes.push("http://bob:s3cret@h:2".to_owned());
            }
            TargetPlan::check(&asked).unwrap()
        };
        let addresses = CARDS.iter().filter_map(|card| match (card.name, card.schemes.first()?) {
            ("hbase" | "line", _) => None,
            ("ycsb_java", scheme) => Some(format!("{scheme}:a.B?db.passwd=s3cret")),
            (_, scheme) => Some(format!("{scheme}://ann:s3cret@h:1")),
        });
        addresses.map(|address| plan(&address)).collect()
    }

    #[test]
    fn nothing_that_is_serialized_has_a_secret_whatever_was_serialized_before() {
        for plan in plans() {
            let stored = || serde_json::to_string(&plan).unwrap();
            let before = stored();
            assert!(!before.contains("s3cret"), "{before}");
            let complete = with_left_out(&plan, "", plan.secrets()).unwrap();
            assert!(complete.to_string().contains("s3cret"), "{complete}");
            assert_eq!(serde_json::from_value::<TargetPlan>(complete).unwrap(), plan);
            let elsewhere = std::thread::scope(|scope| {
                let completing = scope.spawn(|| with_left_out(&plan, "", plan.secrets()).unwrap());
                let elsewhere = scope.spawn(stored).join().unwrap();
                completing.join().unwrap();
                elsewhere
            });
            assert_eq!((elsewhere, stored()), (before.clone(), before));
        }
    }

    #[test]
    fn a_secret_is_struck_out_even_where_nobody_leaves_it_out() {
        let secret = Secret::from("s3cret".to_owned());
        assert_eq!(serde_json::to_string(&secret).unwrap(), "\"***\"");
        assert_eq!(format!("{secret:?}"), "***");
        assert_eq!(serde_json::from_str::<Secret>("\"s3cret\"").unwrap(), secret);
    }
}
