//! A list of requests, however long. What requests have in common is kept once, so that a million
//! of them take little more than their paths; clones share it.

use super::RequestPlan;
use crate::values::Pieces;
use serde::ser::SerializeSeq as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::path::PathBuf;
use std::sync::Arc;

/// How many kinds are compared, from the last one back, before a request gets a new kind.
const MOST_COMPARED: usize = 16;

/// Requests in order.
#[derive(Clone, Debug, Default)]
pub struct Requests(Arc<List>);

#[derive(Debug, Clone, Default)]
struct List {
    /// What requests have besides their paths; the whole request if its path is not sent as
    /// written.
    kinds: Vec<RequestPlan>,
    /// The paths, one after the other.
    paths: String,
    entries: Vec<Entry>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    kind: u32,
    /// Where its path ends.
    end: usize,
}

/// One request of a list.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'a> {
    /// The whole request, except its path if that is sent as written.
    pub common: &'a RequestPlan,
    path: &'a str,
}

impl Listed<'_> {
    /// Path and query, as written.
    pub fn path(&self) -> &str {
        if self.path.is_empty() { &self.common.path } else { self.path }
    }

    /// The whole request.
    pub fn whole(&self) -> RequestPlan {
        let mut whole = self.common.clone();
        if !self.path.is_empty() {
            self.path.clone_into(&mut whole.path);
            whole.text.target.bytes(self.path.as_bytes());
        }
        whole
    }
}

impl Requests {
    /// The most requests that records store: with more than this, the file has them.
    pub const MOST_STORED: usize = 1_000;

    /// Appends one.
    pub fn push(&mut self, mut request: RequestPlan) {
        let list = Arc::make_mut(&mut self.0);
        let kind = if request.text.target.is_only(request.path.as_bytes()) {
            list.paths.push_str(&std::mem::take(&mut request.path));
            request.text.target = Pieces::default();
            let last = list.kinds.iter().enumerate().rev().take(MOST_COMPARED);
            last.into_iter().find(|(_, kind)| **kind == request).map(|(kind, _)| kind)
        } else {
            None
        };
        let kind = kind.unwrap_or_else(|| {
            list.kinds.push(request);
            list.kinds.len() - 1
        });
        // A list of 4 G requests does not fit into memory.
        let (kind, end) = (u32::try_from(kind).unwrap_or(u32::MAX), list.paths.len());
        list.entries.push(Entry { kind, end });
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.entries.is_empty()
    }

    /// The request in this place.
    pub fn get(&self, place: usize) -> Option<Listed<'_>> {
        let Entry { kind, end } = *self.0.entries.get(place)?;
        let start = place.checked_sub(1).map_or(0, |last| self.0.entries[last].end);
        Some(Listed { common: &self.0.kinds[kind as usize], path: &self.0.paths[start..end] })
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Listed<'_>> {
        (0..self.len()).filter_map(|place| self.get(place))
    }

    /// What requests have besides their paths, in no particular order.
    pub fn kinds(&self) -> &[RequestPlan] {
        &self.0.kinds
    }

    /// The same, for changing what does not depend on the path.
    pub fn kinds_mut(&mut self) -> &mut [RequestPlan] {
        &mut Arc::make_mut(&mut self.0).kinds
    }

    /// The number of the kind of the request in this place, and its path if that is sent as
    /// written.
    pub(super) fn parts(&self, place: usize) -> Option<(usize, &str)> {
        let listed = self.get(place)?;
        Some((self.0.entries[place].kind as usize, listed.path))
    }

    /// All of them as JSON, however many there are.
    pub(super) fn all(&self) -> serde_json::Value {
        let value = |it: Listed<'_>| serde_json::to_value(it.whole()).unwrap_or_default();
        self.iter().map(value).collect()
    }
}

impl PartialEq for Requests {
    /// Equal lists may divide their requests into kinds differently.
    fn eq(&self, other: &Self) -> bool {
        let pairs = || self.iter().zip(other.iter());
        let same = Arc::ptr_eq(&self.0, &other.0);
        same || self.len() == other.len()
            && pairs().all(|(one, other)| one.whole() == other.whole())
    }
}

impl Eq for Requests {}

impl FromIterator<RequestPlan> for Requests {
    fn from_iter<I: IntoIterator<Item = RequestPlan>>(all: I) -> Self {
        let mut requests = Self::default();
        all.into_iter().for_each(|request| requests.push(request));
        requests
    }
}

impl Serialize for Requests {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let stored = if self.len() > Self::MOST_STORED { Self::MOST_STORED } else { self.len() };
        let mut sequence = to.serialize_seq(Some(stored))?;
        self.iter().take(stored).try_for_each(|it| sequence.serialize_element(&it.whole()))?;
        sequence.end()
    }
}

impl<'de> Deserialize<'de> for Requests {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Vec::<RequestPlan>::deserialize(from).map(Self::from_iter)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Requests {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Requests".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Vec::<RequestPlan>::json_schema(generator)
    }
}

/// A list that is longer than the part stored in records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LongList {
    /// The number of requests.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub requests: usize,
    /// The file that contains them; `None` if they did not all come from one file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The SHA-256 hash of the file's content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The method of requests that specify none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The content type of bodies that specify none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Whether placeholders are sent as written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub literal: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(path: &str, method: &str) -> RequestPlan {
        let mut request = RequestPlan {
            method: method.to_owned(),
            server: "http://localhost:1".to_owned(),
            path: path.to_owned(),
            ..RequestPlan::default()
        };
        request.text.target.bytes(path.replace(' ', "%20").as_bytes());
        request
    }

    #[test]
    fn what_requests_have_in_common_is_kept_once() {
        let paths = ["/a", "/", "/b c", "/a"];
        let all: Vec<_> = paths.iter().map(|path| request(path, "GET")).collect();
        let all: Vec<_> = all.into_iter().chain([request("/a", "HEAD")]).collect();
        let requests: Requests = all.iter().cloned().collect();
        assert_eq!((requests.len(), requests.kinds().len()), (5, 3));
        let whole: Vec<_> = requests.iter().map(|it| it.whole()).collect();
        assert_eq!(whole, all);
        let found: Vec<_> = requests.iter().map(|it| it.path().to_owned()).collect();
        assert_eq!(found, ["/a", "/", "/b c", "/a", "/a"]);
        assert_eq!(requests.parts(3), Some((0, "/a")));
        assert_eq!(requests.parts(2), Some((1, "")));
        assert!(requests.get(5).is_none());
    }

    #[test]
    fn records_have_no_more_than_the_beginning_of_a_long_list() {
        for (count, stored) in [(1_000, 1_000), (1_001, 1_000), (5_000, 1_000)] {
            let all = (0..count).map(|number| request(&format!("/{number}"), "GET"));
            let requests: Requests = all.collect();
            let json = serde_json::to_value(&requests).expect("plain data");
            assert_eq!(json.as_array().map(Vec::len), Some(stored));
            assert_eq!(json[999]["path"], "/999");
            assert_eq!(requests.all().as_array().map(Vec::len), Some(count));
        }
    }
}
