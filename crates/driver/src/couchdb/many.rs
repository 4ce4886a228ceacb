//! The paths of requests: below one database, or below those over which a load is spread; and
//! which of these this run has made.

use super::encode_segment;
use crate::Spread;
use crate::op::{Failure, Key, OpKind};
use crate::spread::joint;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// The digits of a database's number.
const DIGITS: usize = 5;
/// As many databases as CouchDB reports on in one answer.
const PAGE: u32 = 100;

/// What is known about a database: this run has not created it ...
const NOT_MADE: u8 = 0;
/// ... or has requested it, but got no answer, so that it may exist or may still appear ...
const ASKED: u8 = 1;
/// ... or has created it.
const MADE: u8 = 2;

/// Where the documents of a run are.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    /// `/name/`, percent-encoded; with many databases, the part before their numbers.
    start: Arc<[u8]>,
    /// `/name` of the only database, or of the first, percent-encoded.
    pub(super) first: Arc<str>,
    pub(super) many: Option<Arc<Many>>,
}

impl Paths {
    pub(super) fn one(name: &str) -> Self {
        let first = format!("/{}", encode_segment(name));
        Self { start: format!("{first}/").into_bytes().into(), first: first.into(), many: None }
    }

    pub(super) fn of(many: Many) -> Self {
        let first = many.path(0);
        let start = first.as_bytes()[..first.len() - DIGITS].into();
        Self { start, first: first.into(), many: Some(Arc::new(many)) }
    }

    /// `/name/` of the only database.
    pub(super) fn alone(&self) -> &[u8] {
        &self.start
    }

    /// Whether the database with this name is the only one, or one of many.
    pub(super) fn has(&self, name: &str) -> bool {
        match &self.many {
            None => self.first[1..] == encode_segment(name),
            Some(many) => many.number(name).is_some(),
        }
    }

    /// Appends `/name/` of the database that has the document with this key.
    #[inline]
    pub(super) fn write(&self, key: Key, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.start);
        if let Some(many) = &self.many {
            write_number(many.spread.database(key), out);
            out.push(b'/');
        }
    }

    /// Appends the rest of the request target that creates or removes the database with this
    /// number.
    pub(super) fn write_database(&self, kind: OpKind, number: Key, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.start);
        let Some(many) = &self.many else { return };
        write_number(number as u32, out);
        if kind == OpKind::DatabaseCreate {
            out.extend_from_slice(many.query.as_bytes());
        }
    }
}

/// Databases over which a load is spread.
#[derive(Debug)]
pub(super) struct Many {
    pub(super) spread: Spread,
    /// The part of all names before the numbers.
    start: String,
    /// Whether these are springload's own.
    pub(super) own_names: bool,
    /// What follows the path in the request that creates one.
    query: String,
    /// What is known about each.
    made: Box<[AtomicU8]>,
    /// The server's answer about one of them.
    pub(super) one: Value,
}

impl Many {
    /// Databases called `name`, each with its number, that are created with the parameters
    /// `query`.
    pub(super) fn new(name: &str, spread: Spread, query: String) -> Self {
        Self {
            spread,
            start: format!("{name}{}", joint(name)),
            own_names: false,
            query,
            made: (0..spread.count).map(|_| AtomicU8::new(NOT_MADE)).collect(),
            one: Value::Null,
        }
    }

    /// Sets whether their names are springload's own.
    pub(super) fn with_own_names(self, own_names: bool) -> Self {
        Self { own_names, ..self }
    }

    /// The name of the database with this number.
    pub(super) fn name(&self, number: u32) -> String {
        format!("{}{number:0DIGITS$}", self.start)
    }

    /// Its path, percent-encoded.
    pub(super) fn path(&self, number: u32) -> String {
        format!("/{}", encode_segment(&self.name(number)))
    }

    /// The target of the request that creates it.
    pub(super) fn made_by(&self, number: u32) -> String {
        format!("{}{}", self.path(number), self.query)
    }

    /// The number of the database with this name, if it is one of these.
    pub(super) fn number(&self, name: &str) -> Option<u32> {
        let number = name.strip_prefix(&self.start)?.parse().ok()?;
        (number < self.spread.count && self.name(number) == name).then_some(number)
    }

    /// How many requests it takes to ask about all of them.
    pub(super) fn pages(&self) -> u32 {
        self.spread.count.div_ceil(PAGE)
    }

    /// The body of the request that asks about those on one page.
    pub(super) fn page(&self, page: u32) -> Vec<u8> {
        let numbers = page * PAGE..((page + 1) * PAGE).min(self.spread.count);
        let names: Vec<_> = numbers.map(|number| self.name(number)).collect();
        json!({ "keys": names }).to_string().into_bytes()
    }

    fn state(&self, number: Key) -> Option<&AtomicU8> {
        self.made.get(usize::try_from(number).ok()?)
    }

    /// Notes that a database is being requested. Returns whether it was requested before, without
    /// an answer.
    pub(super) fn ask(&self, number: Key) -> bool {
        let state = self.state(number);
        state.is_some_and(|state| state.swap(ASKED, Ordering::Relaxed) == ASKED)
    }

    /// Notes how that ended; `before` is whether it had been requested before.
    pub(super) fn asked(&self, number: Key, before: bool, result: Result<(), Failure>) {
        let known = match result {
            Ok(()) => MADE,
            Err(failure) if failure.refuses() && !before => NOT_MADE,
            Err(_) => ASKED,
        };
        if let Some(state) = self.state(number) {
            state.store(known, Ordering::Relaxed);
        }
    }

    pub(super) fn removed(&self, number: Key) {
        if let Some(state) = self.state(number) {
            state.store(NOT_MADE, Ordering::Relaxed);
        }
    }

    /// Whether a database is this run's own: either its name is one that only springload gives, or
    /// the run has requested it and it did not exist before.
    pub(super) fn is_own(&self, number: Key) -> bool {
        let state = self.state(number);
        state.is_some_and(|state| self.own_names || state.load(Ordering::Relaxed) != NOT_MADE)
    }
}

/// Appends a number with all of its digits.
#[inline]
fn write_number(number: u32, out: &mut Vec<u8>) {
    let (mut digits, mut rest) = ([b'0'; DIGITS], number);
    for digit in digits.iter_mut().rev() {
        *digit += (rest % 10) as u8;
        rest /= 10;
    }
    out.extend_from_slice(&digits);
}

/// The servers' answers about many databases, combined as if there were only one.
#[derive(Debug, Default)]
pub(super) struct Sum {
    /// How many databases exist.
    pub(super) there: u32,
    /// The names of those that do not.
    pub(super) missing: Vec<String>,
    documents: Option<u64>,
    file: Option<u64>,
    active: Option<u64>,
    /// Whether one of them is being compacted.
    pub(super) compacting: bool,
}

impl Sum {
    /// Adds an answer of `_dbs_info`. `None` if it is not such an answer.
    pub(super) fn add(&mut self, answer: &Value) -> Option<()> {
        for row in answer.as_array()? {
            let name = row["key"].as_str()?;
            match row.get("info").filter(|info| info.is_object()) {
                Some(info) => self.add_one(info),
                None => self.missing.push(name.to_owned()),
            }
        }
        Some(())
    }

    /// Adds an answer to `GET /{db}`.
    pub(super) fn add_one(&mut self, info: &Value) {
        let sizes = &info["sizes"];
        for (sum, value) in [
            (&mut self.documents, &info["doc_count"]),
            (&mut self.file, &sizes["file"]),
            (&mut self.active, &sizes["active"]),
        ] {
            // If one of them lacks a value, there is no sum.
            let before = if self.there == 0 { Some(0) } else { *sum };
            *sum = before.zip(value.as_u64()).map(|(before, value)| before + value);
        }
        self.there += 1;
        self.compacting |= info["compact_running"] == true;
    }

    /// The sum in the form of an answer about one database.
    pub(super) fn info(&self) -> Value {
        let sizes = json!({ "file": self.file, "active": self.active });
        json!({ "doc_count": self.documents, "sizes": sizes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn many(name: &str) -> Many {
        let spread = Spread { count: 250, documents: 1_000, batch: 10 };
        Many::new(name, spread, "?q=1".to_owned())
    }

    #[test]
    fn names_have_numbers_and_only_these_are_known() {
        let users = many("us/ers");
        assert_eq!(
            (users.name(42), users.path(42)),
            ("us/ers-00042".into(), "/us%2Fers-00042".into())
        );
        assert_eq!(users.made_by(7), "/us%2Fers-00007?q=1");
        for (name, number) in [
            ("us/ers-00249", Some(249)),
            ("us/ers-00250", None),
            ("us/ers-0", None),
            ("us/ers-+0001", None),
            ("us/ers-00001x", None),
            ("other-00001", None),
        ] {
            assert_eq!(users.number(name), number, "{name}");
        }
        let scratch = many("springload_1795000000_1_2");
        assert_eq!(scratch.name(3), "springload_1795000000_1_2_00003");
    }

    #[test]
    fn a_document_has_its_database_in_its_path() {
        let paths = Paths::of(many("users"));
        let spread = paths.many.as_ref().unwrap().spread;
        for key in [0, 9, 10, 999, 1_000, 123_456] {
            let mut path = Vec::new();
            paths.write(key, &mut path);
            let wanted = format!("/users-{:05}/", spread.database(key));
            assert_eq!(String::from_utf8(path).unwrap(), wanted);
        }
        let mut path = Vec::new();
        paths.write_database(OpKind::DatabaseCreate, 17, &mut path);
        paths.write_database(OpKind::DatabaseDelete, 18, &mut path);
        assert_eq!(path, b"/users-00017?q=1/users-00018");
        let mut path = Vec::new();
        Paths::one("a b").write(99, &mut path);
        assert_eq!((path, &*Paths::one("a b").first), (b"/a%20b/".to_vec(), "/a%20b"));
    }

    #[test]
    fn databases_are_known_by_their_whole_names() {
        let (one, all) = (Paths::one("a/b"), Paths::of(many("a/b")));
        assert!(one.has("a/b") && all.has("a/b-00007"));
        for other in ["a/b2", "a/", "b", "a%2Fb", "a/b-00250", ""] {
            assert!(!one.has(other) && !all.has(other), "{other}");
        }
    }

    #[test]
    fn only_what_the_run_has_asked_for_is_its_own() {
        let users = many("users");
        assert!(!users.is_own(1) && !users.is_own(250));
        for (result, own) in [
            (Ok(()), true),
            (Err(Failure::PreconditionFailed), false),
            (Err(Failure::Connect), false),
            (Err(Failure::Unanswered), true),
            (Err(Failure::ServerError), true),
        ] {
            let before = users.ask(1);
            users.asked(1, before, result);
            assert_eq!(users.is_own(1), own, "{result:?}");
            users.removed(1);
            assert!(!users.is_own(1));
        }
        // It was requested without an answer, and turns out to exist.
        let first = users.ask(2);
        users.asked(2, first, Err(Failure::Unanswered));
        let again = users.ask(2);
        users.asked(2, again, Err(Failure::Connect));
        assert!(!first && again && users.is_own(2), "it may still come");
        let scratch = many("springload_1795000000_1_2").with_own_names(true);
        assert!(scratch.is_own(249) && !scratch.is_own(250), "whoever has made them");
    }

    #[test]
    fn a_hundred_are_asked_about_at_a_time_and_all_are_added_up() {
        let users = many("users");
        assert_eq!(users.pages(), 3);
        let last: Value = serde_json::from_slice(&users.page(2)).unwrap();
        let names = last["keys"].as_array().unwrap();
        assert_eq!((names.len(), &names[49]), (50, &json!("users-00249")));
        let info = |documents: u64, file: u64| json!({"doc_count": documents, "sizes": {"file": file, "active": file - 1}});
        let mut sum = Sum::default();
        let rows = json!([
            {"key": "users-00000", "info": info(3, 10)},
            {"key": "users-00001", "error": "not_found"},
            {"key": "users-00002", "info": info(4, 20)},
        ]);
        assert_eq!(sum.add(&rows), Some(()));
        assert_eq!((sum.there, &sum.missing[..]), (2, &["users-00001".to_owned()][..]));
        let wanted = json!({"doc_count": 7, "sizes": {"file": 30, "active": 28}});
        assert_eq!(sum.info(), wanted);
        sum.add_one(&json!({"doc_count": 1}));
        assert_eq!(sum.info()["sizes"]["file"], Value::Null, "one does not say");
        sum.add_one(&info(1, 1));
        assert_eq!(
            (&sum.info()["doc_count"], &sum.info()["sizes"]["file"]),
            (&json!(9), &Value::Null)
        );
        assert_eq!(sum.add(&json!({"error": "x"})), None);
    }
}
