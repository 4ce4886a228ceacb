//! Failures in words: how many of each class, and the reason given by the server or the system.

use super::number::grouped;
use crate::measure::OperationSummary;
use crate::op::{Failure, OpKind, Reason};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failed {
    pub(super) class: Failure,
    /// Documents that failed this way.
    pub(super) count: u64,
    /// The kinds of operations, those that failed most first.
    pub(super) kinds: Vec<OpKind>,
    /// The reason of the first one, if there was one.
    pub(super) reason: Option<Reason>,
}

/// The failures of each kind, and the reason of the first one.
type Counted<'a> = (Vec<(u64, OpKind)>, Option<&'a Reason>);

/// The classes of failures over `operations`, most frequent first.
pub(super) fn failures<'a>(
    operations: impl IntoIterator<Item = &'a OperationSummary>,
) -> Vec<Failed> {
    let mut classes: BTreeMap<Failure, Counted<'_>> = BTreeMap::new();
    for operation in operations {
        for (&class, &count) in &operation.failures {
            let (counts, reason) = classes.entry(class).or_default();
            counts.push((count, operation.kind));
            *reason = reason.or_else(|| operation.reasons.get(&class));
        }
    }
    let failed = |(class, (mut counts, reason)): (_, Counted<'_>)| {
        counts.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        Failed {
            class,
            count: counts.iter().map(|(count, _)| count).sum(),
            kinds: counts.into_iter().map(|(_, kind)| kind).collect(),
            reason: reason.cloned(),
        }
    };
    let mut failed: Vec<Failed> = classes.into_iter().map(failed).collect();
    failed.sort_by_key(|it| std::cmp::Reverse(it.count));
    failed
}

impl Failed {
    /// What went wrong: the status and reason of the server, the system's error, or else the
    /// class.
    pub(super) fn why(&self) -> String {
        match &self.reason {
            None => self.class.words(),
            Some(Reason { status: None, reason }) if reason.is_empty() => self.class.words(),
            Some(Reason { status: Some(status), reason }) if reason.is_empty() => {
                format!("{}, status {status}", self.class.words())
            }
            Some(Reason { status: Some(status), reason }) => format!("{status} {reason}"),
            Some(Reason { status: None, reason }) => system_words(reason),
        }
    }

    /// Such as `120 update: conflict (409 Document update conflict)`.
    pub(super) fn words(&self) -> String {
        let kinds: Vec<&str> = self.kinds.iter().map(|kind| kind.name()).collect();
        let (class, why) = (self.class.words(), self.why());
        let said = if why.starts_with(&class) { why } else { format!("{class} ({why})") };
        format!("{} {}: {said}", grouped(self.count), kinds.join(", "))
    }
}

/// An error of the operating system without its number: `connection refused`.
fn system_words(text: &str) -> String {
    let text = text.split(" (os error ").next().unwrap_or(text);
    let mut letters = text.chars();
    match letters.next() {
        // The first word is not an abbreviation or a name with capitals.
        Some(first) if letters.clone().next().is_some_and(char::is_lowercase) => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::KindInterval;
    use crate::record::fixture;

    /// Failures of a kind: the class, how many, and the reason given.
    type Part<'a> = (OpKind, Failure, u64, Option<(Option<u16>, &'a str)>);

    fn lines_of(parts: &[Part<'_>]) -> Vec<String> {
        let part = |&(kind, class, count, said): &Part<'_>| {
            let mut part = KindInterval { requests: count, ..KindInterval::default() };
            part.failures[class.index()] = count;
            let reason = said.map(|(status, text)| (class, Reason::new(status, text)));
            part.reasons.extend(reason);
            (0, kind, part)
        };
        let stage = fixture::stage("crud", parts.iter().map(part).collect());
        failures(stage.requests()).iter().map(Failed::words).collect()
    }

    #[test]
    fn most_frequent_first_with_what_was_said() {
        let refused = Some((None, "Connection refused (os error 111)"));
        let conflict = Some((Some(409), "conflict: Document update conflict."));
        let lines = lines_of(&[
            (OpKind::Create, Failure::Conflict, 20, conflict),
            (OpKind::Read, Failure::Connect, 1_300, refused),
            (OpKind::Update, Failure::NotFound, 3, Some((Some(404), ""))),
            (OpKind::Delete, Failure::Timeout, 2, None),
            (OpKind::Scan, Failure::Protocol, 1, Some((None, ""))),
        ]);
        let expected = [
            "1,300 read: connection refused",
            "20 create: conflict (409 conflict: Document update conflict.)",
            "3 update: not found, status 404",
            "2 delete: timeout",
            "1 scan: protocol",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn kinds_that_fail_alike_have_one_line() {
        let mut stage = fixture::stage("crud", Vec::new());
        for (kind, count) in [(OpKind::Read, 5), (OpKind::Update, 70)] {
            let mut part = KindInterval { requests: count, ..KindInterval::default() };
            part.failures[Failure::Reset.index()] = count;
            stage.operations.extend(fixture::stage("x", vec![(0, kind, part)]).operations);
        }
        let lines: Vec<_> = failures(stage.requests()).iter().map(Failed::words).collect();
        assert_eq!(lines, ["75 update, read: reset"]);
    }
}
