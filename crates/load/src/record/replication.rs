//! The outcome of replication: its warnings, and what makes a run fail.

use super::code::{Code, DATA_WRONG, Warning};
use super::{RunRecord, StageRecord};
use crate::measure::{LinkEnd, ReplicaPlace, Replication, ReplicationLink};
use crate::op::grouped;
use crate::plan::Purpose;

impl RunRecord {
    /// The stage without replication and the one with it, if both were measured.
    pub fn replicated_pair(&self) -> Option<(&StageRecord, &StageRecord)> {
        let with = self.stages.iter().position(StageRecord::is_replicated)?;
        let is_main = |stage: &&StageRecord| stage.purpose() == Purpose::Main;
        let without = self.stages[..with].iter().rfind(is_main)?;
        Some((without, &self.stages[with]))
    }

    /// Names the first link that ended like this.
    pub(super) fn link_ended(&self, end: LinkEnd) -> Option<String> {
        let replication = self.replication.as_ref()?;
        let link = replication.links.iter().find(|link| link.end == end)?;
        words(replication, link)
    }

    /// Names something that was created for replication and could not be removed.
    pub(super) fn left_of_replication(&self) -> Option<String> {
        let first = self.replication.as_ref()?.left.first()?;
        Some(format!("not removed: {first}"))
    }
}

/// The name of a database of a run with replication: its server, and which of several databases on
/// it.
pub fn place_name(replication: &Replication, place: usize) -> String {
    let Some(ReplicaPlace { server, .. }) = replication.places.get(place) else {
        return format!("database {}", place.saturating_add(1));
    };
    let host = server.split_once("://").map_or(&server[..], |(_, host)| host);
    let same = replication.places.iter().filter(|it| it.server == *server).count();
    if same == 1 {
        return host.to_owned();
    }
    let before = replication.places[..place].iter().filter(|it| it.server == *server).count();
    format!("{host} #{}", before + 1)
}

/// A link in words, such as `a:5984 → b:5984`.
pub fn link_name(replication: &Replication, link: &ReplicationLink) -> String {
    let name = |place| place_name(replication, place);
    format!("{} → {}", name(link.source), name(link.target))
}

/// Says what went wrong with a link in the end; `None`: nothing did, or nothing is known.
fn words(replication: &Replication, link: &ReplicationLink) -> Option<String> {
    let name = link_name(replication, link);
    let found = link.comparison.as_ref();
    let missing = found.map(|it| {
        let of = format!("of {} documents", grouped(it.documents));
        let missing = (it.missing > 0).then(|| format!("{} {of} are missing", grouped(it.missing)));
        let different =
            (it.different > 0).then(|| format!("{} {of} differ", grouped(it.different)));
        missing.into_iter().chain(different).collect::<Vec<_>>().join(", ")
    });
    let examples = found.map(|it| it.examples.join(", ")).filter(|it| !it.is_empty());
    let examples = examples.map_or_else(String::new, |it| format!(": {it}"));
    let reason = link.reason.as_ref().map_or_else(String::new, |it| format!(" ({it})"));
    let state = link.state.as_ref().map_or_else(String::new, |it| format!("; it is {it}"));
    let missing = missing.filter(|it| !it.is_empty()).unwrap_or_else(|| "not compared".to_owned());
    match link.end {
        LinkEnd::Unknown | LinkEnd::Converged => None,
        LinkEnd::Lost => Some(format!("replication {name}: at the target, {missing}{examples}")),
        LinkEnd::Behind => Some(format!(
            "replication {name} did not catch up: at the target, {missing}{state}{reason}"
        )),
        LinkEnd::Gone => Some(format!(
            "replication {name}: a server no longer answers in time, so {missing}{reason}"
        )),
    }
}

pub(super) fn warnings(record: &RunRecord, warnings: &mut Vec<Warning>) {
    let Some(replication) = &record.replication else { return };
    let mut warn = |code, message| {
        warnings.push(Warning { code, stage: None, message });
    };
    for link in &replication.links {
        let name = link_name(replication, link);
        if let Some(words) = words(replication, link) {
            match link.end {
                LinkEnd::Lost => warn(Code::DataWrong, format!("{DATA_WRONG}{words}")),
                _ => warn(Code::NotReplicated, words),
            }
        }
        if link.failed && link.end == LinkEnd::Converged {
            // In a mesh, everything may have come by another way.
            let state = link.state.as_deref().unwrap_or("failed");
            let reason = link.reason.as_ref().map_or_else(String::new, |it| format!(": {it}"));
            let message = format!(
                "replication {name}: the target has everything, but its server calls the \
                 replication {state}{reason}"
            );
            warn(Code::NotReplicated, message);
        }
        if let Some(refused @ 1..) = link.write_failures {
            let (count, s) = (grouped(refused), if refused == 1 { "" } else { "s" });
            let message = format!("replication {name}: the target refused {count} write{s}");
            warn(Code::NotReplicated, message);
        }
        let markers = &link.markers;
        let because = markers.reason.as_ref().map_or_else(String::new, |it| format!(": {it}"));
        if markers.unseen > 0 {
            let (unseen, written) = (grouped(markers.unseen), grouped(markers.written));
            let were = if link.end == LinkEnd::Unknown {
                "were not seen at the target before the run was stopped"
            } else {
                "were never seen at the target"
            };
            let message = format!(
                "replication {name}: {unseen} of {written} acknowledged markers {were}{because}"
            );
            warn(Code::NotVisible, message);
        }
        if markers.written == 0 && link.end != LinkEnd::Unknown {
            let message = format!("replication {name}: no marker was acknowledged{because}");
            warn(Code::ProbesFailed, message);
        }
    }
    if replication.markers_left > 0 {
        let left = grouped(replication.markers_left);
        let message = format!(
            "{left} marker documents may remain in the databases: their names begin with \
             springload:"
        );
        warn(Code::NotRemoved, message);
    }
    for left in &replication.left {
        warn(Code::NotRemoved, format!("not removed: {left}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Comparison, Markers};
    use crate::plan::REPLICATED;
    use crate::record::fixture;

    /// A run with one replication that ended like this.
    fn run(link: ReplicationLink) -> RunRecord {
        let place = |server: &str| ReplicaPlace { server: server.to_owned(), ..<_>::default() };
        let mut record = fixture::without_failures(&[]);
        record.replication = Some(Replication {
            places: vec![place("http://a:1"), place("http://b:2")],
            links: vec![ReplicationLink { target: 1, ..link }],
            ..Replication::default()
        });
        record.conclude();
        record
    }

    fn link(end: LinkEnd, missing: u64) -> ReplicationLink {
        let examples = if missing > 0 { vec!["doc7".to_owned()] } else { Vec::new() };
        let comparison = Comparison { documents: 100, missing, examples, ..Comparison::default() };
        let markers = Markers { written: 5, ..Markers::default() };
        ReplicationLink { end, markers, comparison: Some(comparison), ..<_>::default() }
    }

    fn codes(record: &RunRecord) -> Vec<Code> {
        let of_replication = |it: &&Warning| it.message.contains("replication");
        record.warnings.iter().filter(of_replication).map(|it| it.code).collect()
    }

    #[test]
    fn what_is_lost_is_wrong_data_and_what_is_late_or_unreachable_is_not() {
        let lost = run(link(LinkEnd::Lost, 1));
        assert_eq!(codes(&lost), [Code::DataWrong]);
        let reason = lost.result().reason.unwrap_or_default();
        assert!(reason.contains("1 of 100 documents are missing: doc7"), "{reason}");
        assert_eq!(lost.result().exit_status, 6);
        let behind = run(link(LinkEnd::Behind, 9));
        assert_eq!((codes(&behind), behind.result().exit_status), (vec![Code::NotReplicated], 4));
        let gone = run(link(LinkEnd::Gone, 0));
        assert_eq!((codes(&gone), gone.result().exit_status), (vec![Code::NotReplicated], 3));
        // No fault: everything arrived, or nothing was checked because the run ended.
        for end in [LinkEnd::Converged, LinkEnd::Unknown] {
            let fine = run(link(end, 0));
            assert_eq!((codes(&fine), fine.result().exit_status), (vec![], 0), "{end:?}");
        }
    }

    /// In a run that was stopped, nobody looked for them any more.
    #[test]
    fn a_marker_was_never_seen_only_if_it_was_looked_for_until_the_end() {
        for (end, words) in [
            (LinkEnd::Converged, "were never seen at the target: busy"),
            (LinkEnd::Behind, "were never seen at the target: busy"),
            (LinkEnd::Unknown, "were not seen at the target before the run was stopped: busy"),
        ] {
            let mut link = link(end, 0);
            (link.markers.unseen, link.markers.reason) = (2, Some("busy".to_owned()));
            let found = fixture::messages_of(&run(link), Code::NotVisible);
            let words = format!("replication a:1 → b:2: 2 of 5 acknowledged markers {words}");
            assert_eq!(found, [words], "{end:?}");
        }
    }

    #[test]
    fn places_on_one_server_are_told_apart_and_unknown_ones_do_no_harm() {
        let place = |server: &str| ReplicaPlace { server: server.to_owned(), ..<_>::default() };
        let places = vec![place("http://a:1"), place("http://b:2"), place("http://a:1")];
        let replication = Replication { places, ..Replication::default() };
        let name = |source, target| {
            link_name(&replication, &ReplicationLink { source, target, ..<_>::default() })
        };
        assert_eq!(name(0, 2), "a:1 #1 → a:1 #2");
        assert_eq!(name(0, 1), "a:1 #1 → b:2");
        assert_eq!(name(1, usize::MAX), format!("b:2 → database {}", usize::MAX));
    }

    #[test]
    fn each_place_on_a_server_has_a_number_of_its_own() {
        let place = |server: &str| ReplicaPlace { server: server.to_owned(), ..<_>::default() };
        let places = vec![place("http://a:1"), place("http://a:1"), place("http://b:2")];
        let replication = Replication { places, ..Replication::default() };
        let names = [0, 1, 2].map(|at| place_name(&replication, at));
        assert_eq!(names, ["a:1 #1", "a:1 #2", "b:2"]);
    }

    #[test]
    fn only_what_is_missing_or_differs_is_counted() {
        for (missing, different, words) in [
            (0, 2, "2 of 9 documents differ"),
            (1, 0, "1 of 9 documents are missing"),
            (0, 0, "not compared"),
        ] {
            let comparison = Comparison { documents: 9, missing, different, ..<_>::default() };
            let lost = run(ReplicationLink {
                end: LinkEnd::Lost,
                comparison: Some(comparison),
                ..ReplicationLink::default()
            });
            let expected = format!("replication a:1 → b:2: at the target, {words}");
            assert_eq!(lost.link_ended(LinkEnd::Lost), Some(expected));
        }
    }

    #[test]
    fn the_stages_without_and_with_replication_make_a_pair() {
        let mut record = run(ReplicationLink::default());
        assert!(record.replicated_pair().is_none());
        record.stages.push(fixture::stage(REPLICATED, Vec::new()));
        let pair = record.replicated_pair().map(|(one, other)| (&one.name[..], &other.name[..]));
        assert_eq!(pair, Some(("crud", REPLICATED)));
        record.stages.remove(2);
        assert!(record.replicated_pair().is_none(), "no main stage came before");
    }

    #[test]
    fn what_replication_could_not_remove_makes_the_run_fail() {
        let mut record = run(ReplicationLink::default());
        assert_eq!(record.left_of_replication(), None);
        let left = ["the database x".to_owned(), "the database y".to_owned()];
        record.replication.as_mut().expect("one").left = left.into();
        record.conclude();
        let result = record.result();
        assert_eq!(result.reason.as_deref(), Some("not removed: the database x"));
        assert_eq!(result.exit_status, 3);
    }
}
