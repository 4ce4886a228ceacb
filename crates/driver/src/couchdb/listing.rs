//! All rows of a view, for an audit.

use super::pen::CouchPen;
use super::session::CouchSession;
use super::{answer, encode_segment};
use crate::Outcome;
use crate::measure::{BodyBytes, Probe, Wire};
use crate::op::{Failure, Op, Reply};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Rows of one request.
const PAGE: usize = 10_000;

/// A page of a view.
#[derive(Deserialize)]
struct ViewPage<'a> {
    #[serde(borrow)]
    rows: Vec<ViewRow<'a>>,
    #[serde(default)]
    error: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct ViewRow<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    key: &'a RawValue,
}

/// Where the next page begins: the key and the document of the last row, and how many rows with
/// both of these have been read.
struct PageStart {
    key: String,
    id: String,
    seen: usize,
}

impl PageStart {
    /// The position after these rows, which follow others that ended at `before`. Rows are sorted:
    /// if the last one is like that before them, all are.
    fn after(rows: &[ViewRow<'_>], before: Option<&Self>) -> Option<Self> {
        let last = rows.last()?;
        let is_same = |row: &&ViewRow<'_>| row.id == last.id && row.key.get() == last.key.get();
        let seen = rows.iter().rev().take_while(is_same).count();
        let earlier = before.filter(|before| before.id == last.id && before.key == last.key.get());
        let seen = seen + earlier.map_or(0, |before| before.seen);
        Some(Self { key: last.key.get().to_owned(), id: last.id.clone().into_owned(), seen })
    }

    /// The parameters of the page that begins there.
    fn query(&self) -> String {
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let Self { key, id, seen } = self;
        format!("&startkey={}&startkey_docid={}&skip={seen}", encoded(key), encoded(id))
    }
}

impl CouchSession {
    /// Lists the documents of all rows of a view.
    pub(super) async fn list_view(
        &mut self,
        op: &Op,
        pen: &mut CouchPen,
        probe: &mut Probe,
    ) -> Outcome {
        probe.mark_send_at_once();
        let listed = self.listed_view(op, pen).await;
        probe.mark_received();
        let result = listed.and_then(|ids| {
            let rows = u32::try_from(ids.len()).unwrap_or(u32::MAX);
            self.listed = serde_json::to_vec(&ids).map_err(|_| Failure::Protocol)?;
            Ok(Reply { rows, ..Reply::default() })
        });
        Outcome { result, bytes: BodyBytes::default(), wire: Wire::default() }
    }

    async fn listed_view(&mut self, op: &Op, pen: &mut CouchPen) -> Result<Vec<String>, Failure> {
        let views = self.audit_views.clone();
        let name = views.get(op.key as usize).ok_or(Failure::Protocol)?;
        let (design, view) = (encode_segment(&name.design), encode_segment(&name.view));
        let info = format!("_design/{design}/_info");
        let all = format!("_design/{design}/_view/{view}?reduce=false&limit={PAGE}");
        let (mut ids, mut place) = (Vec::new(), None::<PageStart>);
        loop {
            let page = format!("{all}{}", place.as_ref().map(PageStart::query).unwrap_or_default());
            self.ask_patiently("GET", &page, b"", &info, pen).await?;
            let body = self.connection.body();
            let page: ViewPage<'_> = serde_json::from_slice(body).map_err(|_| Failure::Protocol)?;
            if page.error.is_some() {
                return Err(answer::failure(500, body));
            }
            ids.extend(page.rows.iter().map(|row| row.id.clone().into_owned()));
            if page.rows.len() < PAGE {
                return Ok(ids);
            }
            place = PageStart::after(&page.rows, place.as_ref());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> ViewPage<'_> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn the_next_page_begins_after_all_rows_that_were_there() {
        let first =
            rows(r#"{"rows":[{"id":"a","key":1},{"id":"b","key":["x"]},{"id":"b","key":["x"]}]}"#);
        let place = PageStart::after(&first.rows, None).unwrap();
        assert_eq!(place.query(), "&startkey=%5B%22x%22%5D&startkey_docid=b&skip=2");
        // A full page of the same document and key is continued.
        let more = rows(r#"{"rows":[{"id":"b","key":["x"]},{"id":"b","key":["x"]}]}"#);
        let again = PageStart::after(&more.rows, Some(&place)).unwrap();
        assert!(again.query().ends_with("&skip=4"));
        let other = rows(r#"{"rows":[{"id":"b","key":["y"]}]}"#);
        assert!(PageStart::after(&other.rows, Some(&again)).unwrap().query().ends_with("&skip=1"));
        assert!(PageStart::after(&[], None).is_none());
    }
}
