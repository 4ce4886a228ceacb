//! What is said about a document that is not as it should be, or about its rows in an index; and
//! about one that was never written.

use super::*;

/// What should be there, and what is, given these notes.
fn said(entries: &[JournalEntry], found: Option<(u32, u32)>) -> [String; 2] {
    let mut lane = lane(entries, false);
    let op = lane.next(&mut crate::op::Draft::default()).op().expect("a document to look for");
    let document = found.map(|(_, version)| stored(version));
    let result = match found {
        Some((revision, _)) => Ok(Reply { token: Some(token(revision)), ..Reply::default() }),
        None => Err(Failure::NotFound),
    };
    lane.observe(&op, result, &Answered { document: document.as_deref(), ..Answered::default() });
    let Finding { expected, found, .. } = lane.finding().expect("a finding");
    [expected, found]
}

#[test]
fn a_finding_has_the_version_and_the_revision_that_should_be_there() {
    let revision = |number: u8| format!("revision {number}-{}", format!("{number:02x}").repeat(16));
    let updates = [write(Acknowledged, 0), write(Acknowledged, 1)];
    let second = format!("version 1, {}", revision(2));
    assert_eq!(said(&updates, None), [&*second, "missing"]);
    assert_eq!(said(&updates, Some((1, 0))), [&*second, &*revision(1)]);
    // The content of the first version under the revision of the second.
    let [expected, found] = said(&updates, Some((2, 0)));
    assert_eq!(expected, second);
    assert!(found.starts_with(&revision(2)) && found.contains(" instead of "), "{found}");
    // Not every database has revisions.
    let plain = JournalEntry { token: Token::default(), ..write(Acknowledged, 3) };
    assert_eq!(said(&[plain], None), ["version 3", "missing"]);
    let deleted = [write(Acknowledged, 0), delete(Acknowledged, 0)];
    assert_eq!(said(&deleted, Some((1, 0))), ["deleted, as acknowledged", &*revision(1)]);
    let refused = [write(Sent, 0), write(Refused, 0)];
    assert_eq!(said(&refused, Some((1, 0))), ["absent, or as it was sent", &*revision(1)]);
    // The first revision was acknowledged again, so the second was lost in between.
    let again = JournalEntry { token: token(1), ..write(Acknowledged, 2) };
    let [expected, found] = said(&[updates[0], updates[1], again], Some((1, 2)));
    assert_eq!(expected, format!("acknowledged as {}", revision(2)));
    assert_eq!(found, format!("followed by {}, which does not come after it", revision(1)));
}

#[test]
fn a_refusal_is_of_the_write_that_it_names() {
    let two = [write(Acknowledged, 0), write(Sent, 1), write(Sent, 2), write(Refused, 1)];
    assert_eq!(judged(&two, Some((2, 2))), Ok(()));
    assert_eq!(judged(&two, Some((2, 1))), Err(Failure::UnknownRevision));
    let both = [write(Sent, 0), delete(Sent, 0), write(Refused, 0)];
    assert_eq!(judged(&both, Some((1, 0))), Err(Failure::Extra));
    // A deletion stores no version by which it could be recognized.
    let deletion = [write(Acknowledged, 0), delete(Sent, 0), delete(Refused, 3)];
    assert_eq!(judged(&deletion, None), Err(Failure::Lost));
}

#[test]
fn of_several_documents_the_revision_of_each_is_compared() {
    let mut lane = several();
    let op = lane.next(&mut crate::op::Draft::default()).op().expect("a page");
    // As many copies must agree as the server usually asks, whatever the run's reads ask for.
    assert_eq!((op.kind, op.copies), (OpKind::Read, ReadCopies::Usual));
    let texts = [3, 4, 5, 6].map(stored_as);
    let mut end = 0;
    let places = texts.each_ref().map(|text| {
        end += text.len();
        end - text.len()..end
    });
    let (text, rows) = (texts.concat(), [1, 2, 1, 1].map(|number| Ok(token(number))));
    let document = Some(&text[..]);
    let answered = Answered { rows: &rows, document, places: &places, ..Answered::default() };
    assert_eq!(lane.observe(&op, Ok(Reply::default()), &answered), Check::Several);
    let compared = [(); 5].map(|()| lane.compared());
    let unknown = Some(Err(Failure::UnknownRevision));
    assert_eq!(compared, [Some(Ok(())), unknown, Some(Ok(())), Some(Ok(())), None]);
}

#[test]
fn each_document_has_one_row_in_an_index() {
    // The documents are 3 to 6; the audit of the index comes after that of their pages.
    let lane = Audit { pages: Vec::new(), ..several() };
    let mut lane = lane.and_indexes(vec![(0, "app/by".to_owned())]);
    let op = lane.next(&mut crate::op::Draft::default()).op().expect("an index");
    assert_eq!((op.kind, op.key), (OpKind::IndexAudit, 0));
    let document = Some(&br#"["3","4","4","6"]"#[..]);
    let answered = Answered { document, ..Answered::default() };
    assert_eq!(lane.observe(&op, Ok(Reply::default()), &answered), Check::Several);
    assert_eq!((lane.compared(), lane.finding()), (Some(Ok(())), None));
    for (id, class, found) in [("4", Failure::Extra, "2 rows"), ("5", Failure::Lost, "none")] {
        assert_eq!(lane.compared(), Some(Err(class)));
        let finding = lane.finding().expect("a finding");
        assert_eq!((finding.id.as_str(), finding.class), (id, class));
        assert_eq!([&*finding.expected, &*finding.found], ["one row in app/by", found]);
    }
    assert_eq!((lane.compared(), lane.compared()), (Some(Ok(())), None));
    assert_eq!(lane.next(&mut crate::op::Draft::default()), Next::End);
}

/// Whether a document is reported as never written, if it is not there.
fn is_never_written(mut lane: Audit) -> bool {
    let op = lane.next(&mut crate::op::Draft::default()).op().expect("a document to look for");
    lane.observe(&op, Err(Failure::NotFound), &Answered::default());
    lane.unconfirmed() == Some(Unconfirmed::NeverWritten)
}

#[test]
fn what_was_refused_or_not_sent_after_all_was_never_written() {
    let refused = [write(Sent, 0), write(Refused, 0)];
    let twice = [refused, refused].concat();
    for entries in [&refused[..], &twice[..]] {
        assert!(is_never_written(lane(entries, false)) && is_never_written(lane(entries, true)));
    }
    // What may have been done, or was; also if it is gone since, as it should be, or was lost.
    let deleted = [write(Acknowledged, 0), delete(Acknowledged, 0)];
    for entries in [
        &[write(Sent, 0)][..],
        &[write(Sent, 0), write(Failed, 0)][..],
        &[write(Sent, 0), write(Sent, 0), write(Refused, 0)][..],
        &[write(Acknowledged, 0)][..],
        &[write(Acknowledged, 0), write(Sent, 1), write(Refused, 1)][..],
        &deleted[..],
    ] {
        assert!(!is_never_written(lane(entries, false)), "{entries:?}");
    }
    // It is there nevertheless: from another client, or contrary to what was said.
    for (alone, judged) in [(false, Ok(())), (true, Err(Failure::Extra))] {
        let mut lane = Audit { alone, ..lane(&refused, false) };
        let op = lane.next(&mut crate::op::Draft::default()).op().expect("a document");
        let (document, reply) = (stored(0), Reply { token: Some(token(1)), ..Reply::default() });
        let answered = Answered { document: Some(&document), ..Answered::default() };
        assert_eq!(lane.observe(&op, Ok(reply), &answered), Check::Checked(judged));
        let never = judged.is_ok().then_some(Unconfirmed::NeverWritten);
        assert_eq!(lane.unconfirmed(), never);
    }
}

/// Of documents that are requested at once, what is reported of each stays with it.
#[test]
fn of_several_documents_each_that_was_never_written_is_reported() {
    let mut ledger = Ledger::default();
    for (key, fate) in [(3, Acknowledged), (4, Refused), (5, Acknowledged)] {
        let note = |fate| JournalEntry { key, act: Act::Write, fate, version: 0, token: token(1) };
        ledger.add(&note(Sent), false);
        ledger.add(&note(fate), false);
    }
    let pages = ledger.part(0, 1);
    let original = Box::new(FromSchemas::new(Arc::new(documents())));
    let mut lane = Audit::new(original, true, Arc::new(ledger), pages).several(true, None);
    let op = lane.next(&mut crate::op::Draft::default()).op().expect("a page");
    assert_eq!((op.key, op.documents), (3, 3));
    let (text, first) = ([stored_as(3), stored_as(5)].concat(), stored_as(3).len());
    let places = [0..first, 0..0, first..text.len()];
    let rows = [Ok(token(1)), Err(Failure::NotFound), Ok(token(1))];
    let document = Some(&text[..]);
    let answered = Answered { rows: &rows, document, places: &places, ..Answered::default() };
    assert_eq!(lane.observe(&op, Ok(Reply::default()), &answered), Check::Several);
    for never in [None, Some(Unconfirmed::NeverWritten), None] {
        assert_eq!((lane.compared(), lane.unconfirmed()), (Some(Ok(())), never));
    }
    assert_eq!(lane.compared(), None);
}

#[test]
fn what_was_never_written_is_reported_of_an_index_unless_its_rows_are_wrong() {
    let (refused, written) = ([write(Sent, 0), write(Refused, 0)], [write(Acknowledged, 0)]);
    let never = Some(Unconfirmed::NeverWritten);
    for (entries, listed, judged, unconfirmed) in [
        (&refused[..], "[]", Ok(()), never),
        (&refused[..], r#"["17","17"]"#, Err(Failure::Extra), None),
        (&written[..], r#"["17"]"#, Ok(()), None),
        (&written[..], "[]", Err(Failure::Lost), None),
    ] {
        let lane = Audit { pages: Vec::new(), ..lane(entries, false) };
        let mut lane = lane.and_indexes(vec![(0, "app/by".to_owned())]);
        let op = lane.next(&mut crate::op::Draft::default()).op().expect("an index");
        let document = Some(listed.as_bytes());
        let answered = Answered { document, ..Answered::default() };
        assert_eq!(lane.observe(&op, Ok(Reply::default()), &answered), Check::Several);
        let found = (lane.compared(), lane.unconfirmed());
        assert_eq!(found, (Some(judged), unconfirmed), "{entries:?} {listed}");
    }
}
