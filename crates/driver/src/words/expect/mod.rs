//! What a plan expects of the answers to an operation: a file for each expectation, and a line in
//! the list.

mod document;
mod expectation;
mod max_bytes;
mod member;
mod rows;
mod status;

pub use expectation::{Expectation, JudgedAnswer};

use serde::{Deserialize, Serialize};

macro_rules! expectations {
    ($($(#[$doc:meta])* $name:ident: $Type:ty,)*) => {
        /// What is expected of the responses to an operation. Those that do not meet it count as
        /// failed, with the class `unexpected`.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(default, deny_unknown_fields)]
        pub struct Expect {
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")]
            pub $name: Option<$Type>,)*
        }

        impl Expect {
            /// Whether nothing is expected.
            pub fn is_empty(&self) -> bool {
                *self == Self::default()
            }

            /// The names of the expectations.
            pub fn names(&self) -> Vec<&'static str> {
                let names = [$(self.$name.as_ref().map(|_| stringify!($name))),*];
                names.into_iter().flatten().collect()
            }

            /// Whether an answer is as expected.
            pub fn is_met(&self, found: &JudgedAnswer<'_>) -> bool {
                $(self.$name.as_ref().is_none_or(|it| it.is_met(found)))&&*
            }

            /// What was expected and what was found, for the first expectation that is not met.
            pub fn unmet(&self, found: &JudgedAnswer<'_>) -> Option<String> {
                $(if let Some(it) = self.$name.as_ref().filter(|it| !it.is_met(found)) {
                    return Some(it.words(found));
                })*
                None
            }
        }
    };
}

expectations! {
    /// The number of rows: `20`, or `1..20` with both ends included.
    rows: rows::Rows,
    /// The HTTP status; absent if any status that means success will do.
    status: status::Status,
    /// The maximum size of a body in bytes.
    max_bytes: max_bytes::MaxBytes,
    /// Expected values by their path in the JSON body, such as `ok` or `rows.0.id`.
    member: member::Members,
    /// Whether one of the rows must be for the document with the key `{{key}}`.
    document: document::Document,
}

impl Expect {
    /// Whether the document that the request is about must be among the rows.
    pub fn wants_document(&self) -> bool {
        self.document.is_some_and(document::Document::is_expected)
    }

    /// Whether an answer with this status is looked at, even if the status means an error.
    pub fn takes(&self, status: u16) -> bool {
        self.status.as_ref().is_some_and(|it| it.0 == status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_expectation_is_held_against_what_came() {
        const BODY: &[u8] = br#"{"ok":true}{"#;
        let expect = |text: &str| serde_json::from_str::<Expect>(text).unwrap();
        let found = |status, rows, bytes| JudgedAnswer {
            status,
            rows,
            has_document: None,
            body: &BODY[..bytes],
        };
        for (text, met, unmet, words) in [
            (r#"{"rows":3}"#, found(200, 3, 9), found(200, 2, 9), "3 rows expected, 2 came"),
            (
                r#"{"rows":"1..3"}"#,
                found(200, 1, 9),
                found(200, 0, 9),
                "1..3 rows expected, 0 came",
            ),
            (
                r#"{"rows":"1..3"}"#,
                found(200, 3, 9),
                found(200, 4, 9),
                "1..3 rows expected, 4 came",
            ),
            (
                r#"{"status":201}"#,
                found(201, 0, 9),
                found(200, 0, 9),
                "status 201 expected, 200 came",
            ),
            (
                r#"{"max_bytes":9}"#,
                found(200, 0, 9),
                found(200, 0, 10),
                "at most 9 bytes expected, 10 came",
            ),
            (
                r#"{"member":{"ok":true}}"#,
                found(200, 0, 11),
                found(200, 0, 10),
                "true expected at ok, nothing came",
            ),
            (
                r#"{"member":{"rows.1":{"id":"a"}}}"#,
                JudgedAnswer { body: br#"{"rows":[1, {"id": "a"}]}"#, ..found(200, 0, 0) },
                JudgedAnswer { body: br#"{"rows":[1, {"id": "b"}]}"#, ..found(200, 0, 0) },
                r#"{"id":"a"} expected at rows.1, {"id": "b"} came"#,
            ),
            (
                r#"{"document":true}"#,
                JudgedAnswer { has_document: Some(true), ..found(200, 1, 0) },
                JudgedAnswer { has_document: Some(false), ..found(200, 2, 0) },
                "a row of the document expected, 2 others came",
            ),
        ] {
            let expect = expect(text);
            assert!(expect.is_met(&met) && !expect.is_met(&unmet), "{text}");
            assert_eq!((expect.unmet(&met), expect.unmet(&unmet).as_deref()), (None, Some(words)));
            assert_eq!(serde_json::to_string(&expect).unwrap(), text);
        }
        assert!(Expect::default().is_empty() && Expect::default().is_met(&found(200, 0, 0)));
        for wrong in [r#"{"rows":"3..1"}"#, r#"{"rows":"x"}"#, r#"{"rows":-1}"#, r#"{"status":99}"#]
        {
            assert!(serde_json::from_str::<Expect>(wrong).is_err(), "{wrong}");
        }
    }
}
