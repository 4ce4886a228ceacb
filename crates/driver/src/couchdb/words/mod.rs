//! CouchDB's own words for the operations of a plan: a file for each, and a line in the list.

mod answer;
mod query;
mod whole;

pub(super) use answer::{Counted, any as count_any, lists};
pub(super) use whole::whole;

use super::view_name::ViewName;
use crate::op::{ByKind, Failure};
use crate::values::{Holes, Pieces};
use crate::words::{Expect, OperationPlan, SavedFrom, Word, Wrong, flag_of, malformed, word_of};
use crate::{TargetError, mistake::Invalid};

macro_rules! words {
    ($($module:ident,)*) => {
        $(mod $module;)*

        const WORDS: &[CouchWord] = &[$($module::WORD),*];
        /// What the driver's card says about them.
        pub(super) const CARDS: &[Word] = &[$($module::WORD.word),*];
    };
}

words! {
    get,
    bulk_get,
    all_docs,
    view,
    find,
    changes,
    attachment,
    conflict,
    purge,
    local,
    request,
}

/// The words whose answers have rows of documents.
const LISTING: [&str; 3] = ["all_docs", "view", "find"];

/// A word, and how it becomes a request.
#[derive(Clone, Copy)]
struct CouchWord {
    word: Word,
    spell: fn(&OperationPlan) -> Result<SpelledRequest, Wrong>,
}

impl AsRef<Word> for CouchWord {
    fn as_ref(&self) -> &Word {
        &self.word
    }
}

/// A request, cut into pieces.
#[derive(Clone, Debug)]
pub(super) struct SpelledRequest {
    pub(super) method: String,
    /// What follows the database in its address.
    pub(super) path: Pieces,
    /// Headers besides the usual ones, each with its line end.
    pub(super) headers: String,
    pub(super) body: Option<Pieces>,
    pub(super) holes: Holes,
    /// Whether it changes nothing, so that it may be sent twice.
    pub(super) reads: bool,
    /// Counts the rows of a complete answer.
    pub(super) count: fn(&[u8]) -> Result<Counted, Failure>,
    pub(super) expect: Expect,
    /// What is saved of it, in the order of the names.
    pub(super) save: Vec<SavedFrom>,
    /// The index of the hole with the document that must be among the rows, if there is one.
    pub(super) document: Option<usize>,
    /// Whether it may return older versions of documents.
    pub(super) partial: bool,
    /// The index of the hole with the document that is chosen first, if it has one.
    pub(super) key: Option<usize>,
    /// Whether it queries an index as it is, without waiting for the last writes.
    pub(super) as_it_is: bool,
    /// The view that it queries, with its design document.
    pub(super) view: Option<ViewName>,
}

impl SpelledRequest {
    fn changing(method: &str, count: fn(&[u8]) -> Result<Counted, Failure>) -> Self {
        Self { reads: false, ..Self::reading(method, count) }
    }

    /// Appends a text with holes to the path.
    ///
    /// # Errors
    /// Fails if a hole has no end.
    fn at(&mut self, path: &str) -> Result<(), Wrong> {
        self.path.plain(path, false, &mut self.holes).map_err(|error| malformed(&error))
    }

    fn reading(method: &str, count: fn(&[u8]) -> Result<Counted, Failure>) -> Self {
        Self {
            method: method.to_owned(),
            path: Pieces::default(),
            headers: String::new(),
            body: None,
            holes: Holes::default(),
            reads: true,
            count,
            expect: Expect::default(),
            save: Vec::new(),
            document: None,
            partial: false,
            key: None,
            as_it_is: false,
            view: None,
        }
    }
}

/// The operations of a plan, ready for sessions.
pub(super) type Operations = ByKind<Option<SpelledRequest>>;

/// Spells the request of an operation.
///
/// # Errors
/// Fails if the operation is invalid.
pub(super) fn spell(operation: &OperationPlan) -> Result<SpelledRequest, Invalid> {
    let word = word_of(operation, WORDS, "CouchDB")?;
    let flag = flag_of(operation.name.name());
    let spelled = (word.spell)(operation);
    let spelled = spelled.map_err(|(problem, cure)| {
        Invalid::new(&flag, format!("{}: {problem}", word.word.name), cure)
    })?;
    let (expect, save) = (operation.expect.clone(), operation.save.values().cloned().collect());
    let is_key = |hole: &String| ["key", "key#1"].contains(&hole.split(' ').next().unwrap_or(""));
    let key = spelled.holes.0.iter().position(is_key);
    let mut spelled = SpelledRequest { expect, save, key, ..spelled };
    if operation.expect.wants_document() {
        if !LISTING.contains(&word.word.name) {
            let problem =
                format!("expect: answers to {} have no rows of documents", word.word.name);
            return Err(Invalid::new(&flag, problem, "leave document out"));
        }
        spelled.document = Some(spelled.holes.place("key"));
    }
    Ok(spelled)
}

/// The requests of a plan's operations.
///
/// # Errors
/// Fails if one is misspelt, which cannot happen in a checked plan.
pub(super) fn prepared(operations: &[OperationPlan]) -> Result<Operations, TargetError> {
    let mut prepared = Operations::new();
    for operation in operations.iter().filter(|it| !it.is_sequence()) {
        let spelled = spell(operation).map_err(|mistake| TargetError(mistake.to_string()))?;
        *prepared.of(operation.name) = Some(spelled);
    }
    Ok(prepared)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Values;

    /// The request line, the headers and the body, with `x` for each value.
    fn spelled(text: &str) -> Result<String, String> {
        let plan = OperationPlan::parse(&format!("own-spelled={text}")).unwrap();
        let spelled = spell(&plan).map_err(|mistake| mistake.to_string())?;
        let (mut values, mut scratch, mut out) = (Values::default(), Vec::new(), Vec::new());
        spelled.holes.0.iter().for_each(|_| {
            values.push(|out| {
                out.push(b'x');
                true
            });
        });
        out.extend_from_slice(format!("{} ", spelled.method).as_bytes());
        spelled.path.join(&values, &mut scratch, &mut out);
        out.extend_from_slice(b" ");
        if let Some(body) = &spelled.body {
            body.join(&values, &mut scratch, &mut out);
        }
        let holes = spelled.holes.0.join(" ");
        Ok(format!("{} [{holes}] {:?}", String::from_utf8(out).unwrap(), spelled.headers))
    }

    #[test]
    fn every_example_is_a_request() {
        for word in CARDS {
            let text = spelled(&format!("{} {}", word.name, word.example));
            assert!(text.is_ok(), "{}: {text:?}", word.name);
        }
    }

    #[test]
    fn words_become_the_requests_that_couchdb_documents() {
        let json = r#""Content-Type: application/json\r\n""#;
        let accept = r#""Accept: application/json\r\n""#;
        let losers = r#"{"_id":"x","_rev":"1-00000000000000000000000000000001","_deleted":true}"#;
        for (text, wanted) in [
            ("get", format!("GET x  [key] {accept}")),
            ("get {{key}}?r=2&revs=true", format!("GET x?r=2&revs=true  [key] {accept}")),
            (
                r#"all_docs partition={{partition}}&keys=["{{key}}","a"]"#,
                format!(
                    r#"POST _partition/x/_all_docs {{"keys":["x","a"]}} [partition key] {json}"#
                ),
            ),
            (
                "view a/b?partition=p1&reduce=false",
                r#"GET _partition/p1/_design/a/_view/b?reduce=false  [] """#.to_owned(),
            ),
            (
                r#"find {"selector":{},"partition":"p1"}"#,
                format!(r#"POST _partition/p1/_find {{"selector":{{}}}} [] {json}"#),
            ),
            (
                r#"changes doc_ids=["{{key}}"]&limit=1"#,
                format!(
                    r#"POST _changes?limit=1&filter=_doc_ids {{"doc_ids":["x"]}} [key] {json}"#
                ),
            ),
            (
                "attachment put 5k",
                r#"PUT x/data x [new bytes 5k] "Content-Type: application/octet-stream\r\n""#
                    .to_owned(),
            ),
            (
                "attachment put 5k text/plain",
                r#"PUT x/data x [new text 5k] "Content-Type: text/plain\r\n""#.to_owned(),
            ),
            (
                "attachment get up 0-99",
                r#"GET x/data  [made up] "Range: bytes=0-99\r\n""#.to_owned(),
            ),
            ("conflict read a", r#"GET x?conflicts=true  [made a] """#.to_owned()),
            (
                "conflict resolve a",
                format!(r#"POST _bulk_docs {{"docs":[{losers}]}} [taken a] {json}"#),
            ),
            (
                "purge a 1",
                format!(
                    r#"POST _purge {{"x":["1-00000000000000000000000000000001"]}} [taken a] {json}"#
                ),
            ),
            ("local put 10", format!(r#"PUT _local/x {{"text":"x"}} [new text 10] {json}"#)),
            (
                "view a/b?key={{key}}&startkey=\"c\"&stable=true",
                r#"GET _design/a/_view/b?key=%22x%22&startkey=%22c%22&stable=true  [key] """#
                    .to_owned(),
            ),
            (
                "view a/b?keys={{keys}}",
                format!(r#"POST _design/a/_view/b {{"keys":"x"}} [keys] {json}"#),
            ),
        ] {
            assert_eq!(spelled(text).as_deref(), Ok(wanted.as_str()), "{text}");
        }
    }

    /// Whatever changes something must not be sent twice.
    #[test]
    fn only_what_changes_nothing_may_be_sent_again() {
        for (text, reads) in [
            ("get", true),
            ("bulk_get 20", true),
            ("all_docs", true),
            ("view a/b", true),
            (r#"find {"selector":{}}"#, true),
            ("changes", true),
            ("attachment get up", true),
            ("attachment put 5k", false),
            ("conflict read a", true),
            ("conflict make", false),
            ("conflict resolve a", false),
            ("purge a", false),
            ("local get put", true),
            ("local put 10", false),
            ("request GET a", true),
            ("request POST a", false),
            ("request PUT a", false),
            ("request DELETE a", false),
        ] {
            let plan = OperationPlan::parse(&format!("own-spelled={text}")).unwrap();
            assert_eq!(spell(&plan).unwrap().reads, reads, "{text}");
        }
    }

    #[test]
    fn a_view_may_be_asked_as_it_is() {
        for (text, is) in [
            ("view a/b?update=false", true),
            ("view a/b?update=lazy", true),
            ("view a/b?stale=ok", true),
            ("view a/b?stale=false", false),
            (r#"{"view":"a/b","params":{"update":false}}"#, true),
            ("view a/b?update=true&limit=1", false),
            ("view a/b", false),
        ] {
            let plan = OperationPlan::parse(&format!("own-spelled={text}")).unwrap();
            assert_eq!(spell(&plan).unwrap().as_it_is, is, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_a_request_is_refused_in_words() {
        for (text, says) in [
            ("get {{key", "has no end"),
            (
                "changes feed=eventsource",
                "feed=\"eventsource\" has no end; give normal or longpoll",
            ),
            ("attachment", "is neither put nor get; write it like put 20k image/png"),
            ("attachment put 5k png", "\"png\" is not a type of contents"),
            ("attachment get up 9-1", "\"9-1\" is not a range of bytes"),
            ("conflict make 0", "\"0\" is not a number of revisions"),
            ("conflict mend a", "is neither make, read nor resolve"),
            ("purge", "is not the name of an operation"),
            ("local get", "is neither put nor get"),
            (r#"all_docs={"a":1}"#, "is not a word of CouchDB"),
            (r#"{"all_docs":"","params":{"partition":1}}"#, "partition is not a text"),
            ("view a/b?keys=17", "keys is not a list; write it like"),
            ("view a/b?key={{key}}{{key}}", "is not JSON"),
            (r#"{"get":"","expect":{"document":true}}"#, "get have no rows of documents"),
        ] {
            let message = spelled(text).unwrap_err();
            assert!(message.contains(says), "{text}: {message}");
        }
    }
}
