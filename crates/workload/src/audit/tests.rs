//! What an audit concludes from the notes and from what it finds.

use super::*;
use crate::audit::AuditPlan;
use crate::journal::{Act, Fate, JournalEntry};
use crate::schema::{DEFAULT, Documents, Template};
use crate::{FromSchemas, StageWork as _};

const KEY: Key = 17;

fn documents() -> Documents {
    Documents::new(1, vec![(Template::parse(DEFAULT).unwrap(), 1)])
}

fn token(number: u32) -> Token {
    Token { number, rest: [number as u8; 16] }
}

fn stored(version: u32) -> Vec<u8> {
    let mut out = Vec::new();
    documents().write(KEY, version, br#""_id":"17","_rev":"1-a""#, &mut out);
    out
}

fn entry(act: Act, fate: Fate, version: u32) -> JournalEntry {
    JournalEntry { key: KEY, act, fate, version, token: token(version + 1) }
}

fn write(fate: Fate, version: u32) -> JournalEntry {
    entry(Act::Write, fate, version)
}

fn delete(fate: Fate, version: u32) -> JournalEntry {
    JournalEntry { token: token(version + 2), ..entry(Act::Delete, fate, version) }
}

/// An audit of one document, given these notes.
fn lane(entries: &[JournalEntry], shared: bool) -> Audit {
    let mut ledger = Ledger::default();
    for entry in entries {
        ledger.add(entry, shared);
    }
    let pages = ledger.part(0, 1);
    let original = Box::new(FromSchemas::new(Arc::new(documents())));
    Audit::new(original, true, Arc::new(ledger), pages)
}

/// The verdict on a document, given these notes. It is found with this revision and version, or not
/// at all.
fn judged(entries: &[JournalEntry], found: Option<(u32, u32)>) -> Result<(), Failure> {
    judge(lane(entries, false), found)
}

fn judge(mut lane: Audit, found: Option<(u32, u32)>) -> Result<(), Failure> {
    let op = lane.next(&mut crate::op::Draft::default()).op().expect("a document to look for");
    let document = found.map(|(_, version)| stored(version));
    let result = match found {
        Some((revision, _)) => Ok(Reply { token: Some(token(revision)), ..Reply::default() }),
        None => Err(Failure::NotFound),
    };
    let answered = Answered { document: document.as_deref(), ..Answered::default() };
    let Check::Checked(judged) = lane.observe(&op, result, &answered) else { panic!("unchecked") };
    assert_eq!(judged.err(), lane.finding().map(|it| it.class));
    assert_eq!(lane.next(&mut crate::op::Draft::default()), Next::End);
    judged
}

#[test]
fn rows_of_an_index_are_read_only_if_one_is_named() {
    let does = |indexes: &[&str]| {
        let indexes = indexes.iter().map(|&name| name.to_owned()).collect();
        let plan = AuditPlan { indexes, ..AuditPlan::default() };
        [OpKind::Read, OpKind::Verify, OpKind::IndexAudit, OpKind::BulkInsert]
            .map(|kind| plan.does(kind))
    };
    assert_eq!(does(&[]), [true, true, false, false]);
    assert_eq!(does(&["by_city"]), [true, true, true, false]);
}

use Fate::{Acknowledged, Failed, Refused, Sent};

#[test]
fn what_was_acknowledged_last_must_be_there() {
    let writes = [write(Sent, 0), write(Acknowledged, 0), write(Sent, 1), write(Acknowledged, 1)];
    assert_eq!(judged(&writes, Some((2, 1))), Ok(()));
    assert_eq!(judged(&writes, None), Err(Failure::Lost));
    assert_eq!(judged(&writes, Some((1, 0))), Err(Failure::Stale));
    assert_eq!(judged(&writes, Some((2, 0))), Err(Failure::WrongBody));
    assert_eq!(judged(&writes, Some((3, 2))), Err(Failure::UnknownRevision));
}

#[test]
fn another_document_is_wrong_whatever_is_owed() {
    for entries in [[write(Sent, 0), write(Acknowledged, 0)], [write(Sent, 0), write(Sent, 1)]] {
        let mut lane = lane(&entries, false);
        let op = lane.next(&mut crate::op::Draft::default()).op().expect("a document");
        let other = Err(Failure::WrongDocument);
        let check = lane.observe(&op, other, &Answered::default());
        assert_eq!(check, Check::Checked(Err(Failure::WrongDocument)));
        assert_eq!(lane.finding().map(|it| it.found), Some("another one".to_owned()));
    }
}

#[test]
fn what_was_deleted_must_be_gone() {
    let deleted = [write(Acknowledged, 0), delete(Sent, 0), delete(Acknowledged, 0)];
    assert_eq!(judged(&deleted, None), Ok(()));
    assert_eq!(judged(&deleted, Some((1, 0))), Err(Failure::Resurrected));
}

/// Not every database has documents, or revisions.
#[test]
fn findings_have_words_that_are_right_in_any_database() {
    let found = |entries: &[JournalEntry], result, document: Option<&[u8]>| {
        let mut lane = lane(entries, false);
        let op = lane.next(&mut crate::op::Draft::default()).op().expect("something to look for");
        lane.observe(&op, result, &Answered { document, ..Answered::default() });
        lane.finding().expect("a finding").found
    };
    let deleted = [write(Acknowledged, 0), delete(Acknowledged, 0)];
    assert_eq!(found(&deleted, Ok(Reply::default()), Some(stored(0).as_slice())), "there");
    assert_eq!(found(&deleted[..1], Err(Failure::NotFound), None), "missing");
    assert_eq!(found(&deleted, Err(Failure::WrongDocument), None), "another one");
}

#[test]
fn what_had_no_answer_may_be_there_or_not() {
    let update = [write(Acknowledged, 0), write(Sent, 1)];
    assert_eq!(judged(&update, Some((1, 0))), Ok(()));
    assert_eq!(judged(&update, Some((2, 1))), Ok(()));
    assert_eq!(judged(&update, Some((1, 1))), Err(Failure::WrongBody), "an update has a revision");
    assert_eq!(judged(&update, None), Err(Failure::Lost));
    let delete = [write(Acknowledged, 0), delete(Sent, 0)];
    assert_eq!(judged(&delete, Some((1, 0))), Ok(()));
    assert_eq!(judged(&delete, None), Ok(()));
    let create = [write(Sent, 0)];
    assert_eq!(judged(&create, Some((1, 0))), Ok(()));
    assert_eq!(judged(&create, None), Ok(()));
    assert_eq!(judged(&create, Some((1, 5))), Err(Failure::WrongBody));
}

#[test]
fn what_was_refused_is_not_there() {
    let refused = [write(Acknowledged, 0), write(Sent, 1), write(Refused, 1)];
    assert_eq!(judged(&refused, Some((1, 0))), Ok(()));
    assert_eq!(judged(&refused, Some((2, 1))), Err(Failure::UnknownRevision));
    let deletion = [write(Acknowledged, 0), delete(Sent, 0), delete(Refused, 0)];
    assert_eq!(judged(&deletion, None), Err(Failure::Lost));
    let create = [write(Sent, 0), write(Refused, 0)];
    assert_eq!(judged(&create, None), Ok(()));
    assert_eq!(judged(&create, Some((1, 0))), Err(Failure::Extra));
    // Unless it may have been there before.
    let among_others = Audit { alone: false, ..lane(&create, false) };
    assert_eq!(judge(among_others, Some((1, 5))), Ok(()));
    // An earlier write without an answer may be the reason why this one was refused.
    let twice = [write(Acknowledged, 0), write(Sent, 1), write(Sent, 1), write(Refused, 1)];
    assert_eq!(judged(&twice, Some((2, 1))), Ok(()));
    let twice = [write(Acknowledged, 0), delete(Sent, 0), delete(Sent, 0), delete(Refused, 0)];
    assert_eq!(judged(&twice, None), Ok(()));
    let twice = [write(Sent, 0), write(Sent, 0), write(Refused, 0)];
    assert_eq!((judged(&twice, Some((1, 0))), judged(&twice, None)), (Ok(()), Ok(())));
}

/// What happens to a document in a batch that a fill sends, and sends again if there is no answer.
#[derive(Clone, Copy, Debug)]
enum Sending {
    /// It is not sent, because there is no connection.
    Not,
    /// There is no answer; it was carried out or not.
    Lost(bool),
    /// The server reports a failure; it was carried out or not.
    Failed(bool),
    /// There is an answer: stored, or a conflict if the document existed.
    Answered,
    /// A conflict that turns out to be due to an earlier request.
    Settled,
}

/// The notes about these requests until the document is acknowledged, after which it is not sent
/// again; whether the document exists; and whether it was acknowledged.
fn sent_again(all: &[Sending]) -> (Vec<JournalEntry>, bool, bool) {
    let (mut notes, mut there, mut acknowledged) = (Vec::new(), false, false);
    for sending in all {
        let fate = match *sending {
            Sending::Not => Some(Refused),
            Sending::Lost(_) => None,
            Sending::Failed(_) => Some(Failed),
            Sending::Answered if there => Some(Refused),
            Sending::Answered | Sending::Settled => Some(Acknowledged),
        };
        notes.push(write(Sent, 0));
        notes.extend(fate.map(|fate| write(fate, 0)));
        there |= !matches!(sending, Sending::Not | Sending::Lost(false) | Sending::Failed(false));
        if fate == Some(Acknowledged) {
            acknowledged = true;
            break;
        }
    }
    (notes, there, acknowledged)
}

proptest::proptest! {
    /// However often the batch is sent, and whatever becomes of each request: an honest server is
    /// never accused; one that loses what it acknowledged always is; and so is one that has what
    /// was never carried out, unless another request may have stored it.
    #[test]
    fn a_batch_that_is_sent_again_leaves_its_doubts(
        all in proptest::collection::vec(proptest::sample::select(vec![
            Sending::Not,
            Sending::Lost(true),
            Sending::Lost(false),
            Sending::Failed(true),
            Sending::Failed(false),
            Sending::Answered,
            Sending::Settled,
        ]), 1..8)
    ) {
        let (notes, there, acknowledged) = sent_again(&all);
        let honest = judged(&notes, there.then_some((1, 0)));
        proptest::prop_assert_eq!(honest, Ok(()), "{:?}", all);
        if acknowledged {
            proptest::prop_assert_eq!(judged(&notes, None), Err(Failure::Lost), "{:?}", all);
        } else if all.iter().all(|it| matches!(it, Sending::Not)) {
            proptest::prop_assert_eq!(judged(&notes, Some((1, 0))), Err(Failure::Extra));
        }
    }
}

/// What became of the write of a document that was neither acknowledged nor refused.
fn became(entries: &[JournalEntry], found: Option<(u32, u32)>) -> Option<(bool, bool)> {
    let mut lane = lane(entries, false);
    let op = lane.next(&mut crate::op::Draft::default()).op().expect("a document to look for");
    let document = found.map(|(_, version)| stored(version));
    let result = match found {
        Some((revision, _)) => Ok(Reply { token: Some(token(revision)), ..Reply::default() }),
        None => Err(Failure::NotFound),
    };
    let answered = Answered { document: document.as_deref(), ..Answered::default() };
    assert_eq!(lane.observe(&op, result, &answered), Check::Checked(Ok(())));
    let unconfirmed = lane.unconfirmed()?;
    assert_eq!(lane.unconfirmed(), None, "told once");
    let Unconfirmed::Doubtful { failed, done } = unconfirmed else { return None };
    Some((failed, done))
}

/// Like a write without an answer, but reported separately.
#[test]
fn what_the_server_failed_may_be_there_or_not() {
    let (done, not) = (Some((true, true)), Some((true, false)));
    let create = [write(Sent, 0), write(Failed, 0)];
    assert_eq!(became(&create, Some((1, 0))), done);
    assert_eq!(became(&create, None), not);
    assert_eq!(judged(&create, Some((1, 5))), Err(Failure::WrongBody));
    let update = [write(Acknowledged, 0), write(Sent, 1), write(Failed, 1)];
    assert_eq!(became(&update, Some((1, 0))), not);
    assert_eq!(became(&update, Some((2, 1))), done);
    assert_eq!(judged(&update, None), Err(Failure::Lost));
    assert_eq!(judged(&update, Some((2, 5))), Err(Failure::UnknownRevision));
    let deletion = [write(Acknowledged, 0), delete(Sent, 0), delete(Failed, 0)];
    assert_eq!(became(&deletion, Some((1, 0))), not);
    assert_eq!(became(&deletion, None), done);
    // Sent again, and refused because the first one was carried out.
    let again = [&update[..], &[write(Sent, 1), write(Refused, 1)]].concat();
    assert_eq!(became(&again, Some((2, 1))), done);
    let again = [&deletion[..], &[delete(Sent, 0), delete(Refused, 0)]].concat();
    assert_eq!(became(&again, None), done);
    // Acknowledged later, so no longer in doubt.
    let mended = [&update[..], &[write(Sent, 2), write(Acknowledged, 2)]].concat();
    assert_eq!(became(&mended, Some((3, 2))), None);
    assert_eq!(judged(&mended, Some((2, 1))), Err(Failure::Stale));
    // Writes without an answer, alone and together with failed ones.
    assert_eq!(became(&[write(Sent, 0)], None), Some((false, false)));
    let both = [write(Acknowledged, 0), write(Sent, 1), write(Sent, 2), write(Failed, 2)];
    assert_eq!(became(&both, Some((2, 1))), Some((false, true)));
    assert_eq!(became(&both, Some((3, 2))), done);
    assert_eq!(became(&both, Some((1, 0))), not);
}

/// If versions cannot be distinguished, nothing is reported about the fate of a write.
#[test]
fn what_cannot_be_told_apart_is_not_counted() {
    let plain = |entry: JournalEntry| JournalEntry { token: Token::default(), version: 0, ..entry };
    let same = [plain(write(Acknowledged, 0)), plain(write(Sent, 0)), plain(write(Failed, 0))];
    assert_eq!(became(&same, Some((0, 0))), None);
    // An update that gave a member the value that it already had.
    let is_alike = |version: &u32| stored(*version) == stored(version - 1);
    let alike = (1..500).find(is_alike).expect("one of them");
    let updates = [write(Acknowledged, alike - 1), write(Sent, alike), write(Failed, alike)];
    let without = updates.map(|entry| JournalEntry { token: Token::default(), ..entry });
    assert_eq!(became(&without, Some((0, alike))), None);
    assert_eq!(became(&updates, Some((alike + 1, alike))), Some((true, true)), "by its revision");
    // Created and deleted, or never created.
    assert_eq!(became(&[write(Sent, 0), delete(Sent, 0)], None), None);
    // A deletion that was acknowledged, either before the others or after them.
    let mut ledger = Ledger::default();
    for entry in [write(Acknowledged, 0), delete(Sent, 0), delete(Acknowledged, 0)].map(plain) {
        ledger.add(&entry, true);
    }
    let owed = ledger.at(KEY).expect("it is known");
    assert!(owed.doubts.any(Act::Delete) && owed.doubts.not_done().is_none());
}

#[test]
fn a_revision_that_does_not_follow_tells_of_a_loss_in_between() {
    let again = JournalEntry { token: token(2), ..write(Acknowledged, 2) };
    let undone = [write(Acknowledged, 0), write(Acknowledged, 1), again];
    assert_eq!(judged(&undone, Some((2, 2))), Err(Failure::Lost));
    let follows = [write(Acknowledged, 0), write(Acknowledged, 1), write(Acknowledged, 2)];
    assert_eq!(judged(&follows, Some((3, 2))), Ok(()));
}

/// The verdict, given these notes of several connections, in any order.
fn judged_shared(entries: &[JournalEntry], found: Option<(u32, u32)>) -> Result<(), Failure> {
    let forth = judge(lane(entries, true), found);
    let reversed: Vec<JournalEntry> = entries.iter().rev().copied().collect();
    let back = judge(lane(&reversed, true), found);
    // In one of the two orders, a write without an answer comes before an acknowledged one.
    if entries.iter().all(|it| it.fate == Acknowledged) {
        assert_eq!(forth, back);
    }
    forth
}

#[test]
fn the_highest_revision_counts_where_several_write() {
    let acknowledged = |version| JournalEntry { version: 0, ..write(Acknowledged, version) };
    let both = [acknowledged(5), acknowledged(3)];
    assert_eq!(judged_shared(&both, Some((6, 0))), Ok(()));
    assert_eq!(judged_shared(&both, Some((5, 0))), Err(Failure::Stale));
    assert_eq!(judged_shared(&both, Some((7, 0))), Err(Failure::UnknownRevision));
    assert_eq!(judged_shared(&both, None), Err(Failure::Lost));
    // Another write has no answer.
    let doubt = [JournalEntry { version: 0, ..write(Sent, 6) }, acknowledged(3), acknowledged(5)];
    let doubt = [doubt[0], doubt[0], doubt[1], doubt[2], doubt[0]];
    assert_eq!(judged_shared(&doubt, Some((7, 0))), Ok(()));
    assert_eq!(judged_shared(&doubt, Some((5, 0))), Err(Failure::Stale));
    // A deletion is also a revision.
    let gone = [delete(Acknowledged, 6), acknowledged(5)];
    assert_eq!(judged_shared(&gone, None), Ok(()));
    assert_eq!(judged_shared(&gone, Some((6, 0))), Err(Failure::Resurrected));
    assert_eq!(judged_shared(&[acknowledged(8), gone[0], gone[1]], Some((9, 0))), Ok(()));
    // Two writes of one revision: one of them is lost.
    let other = JournalEntry { token: Token { number: 6, rest: [99; 16] }, ..acknowledged(5) };
    assert_eq!(judged_shared(&[acknowledged(5), other], Some((6, 0))), Err(Failure::Lost));
}

#[test]
fn without_revisions_only_what_must_be_there_is_owed() {
    let plain = |entry: JournalEntry| JournalEntry { token: Token::default(), version: 0, ..entry };
    let (write, delete) = (plain(write(Acknowledged, 0)), plain(delete(Acknowledged, 0)));
    assert_eq!(judged_shared(&[write, write], Some((1, 0))), Ok(()));
    assert_eq!(judged_shared(&[write, write], None), Err(Failure::Lost));
    assert_eq!(judged_shared(&[write, delete], Some((1, 0))), Ok(()));
}

#[test]
fn what_has_no_answer_is_asked_for_again() {
    let mut lane = lane(&[write(Acknowledged, 0)], false);
    for tried in 1..=TRIES {
        let op = lane.next(&mut crate::op::Draft::default()).op().expect("it is asked for again");
        let check = lane.observe(&op, Err(Failure::Timeout), &Answered::default());
        let last = tried == TRIES;
        let expected = if last { Check::Checked(Err(Failure::Timeout)) } else { Check::Unchecked };
        assert_eq!(check, expected);
        if !last {
            assert_eq!(lane.next(&mut crate::op::Draft::default()), Next::Wait(PAUSE_NS));
        }
    }
    assert_eq!((lane.next(&mut crate::op::Draft::default()), lane.finding()), (Next::End, None));
}

/// The document with this key in its first version, as written.
fn stored_as(key: Key) -> Vec<u8> {
    let mut out = Vec::new();
    documents().write(key, 0, br#""_id":"x","_rev":"1-a""#, &mut out);
    out
}

/// An audit of documents 3 to 6 that requests them all at once.
fn several() -> Audit {
    let mut ledger = Ledger::default();
    for key in 3..7 {
        let note = |fate| JournalEntry { key, act: Act::Write, fate, version: 0, token: token(1) };
        ledger.add(&note(Sent), false);
        ledger.add(&note(Acknowledged), false);
    }
    let pages = ledger.part(0, 1);
    let original = Box::new(FromSchemas::new(Arc::new(documents())));
    Audit::new(original, true, Arc::new(ledger), pages).several(true, None)
}

fn next(lane: &mut Audit) -> Option<(Key, u32)> {
    let op = lane.next(&mut crate::op::Draft::default()).op()?;
    Some((op.key, op.documents))
}

#[test]
fn a_page_is_asked_for_at_once_and_what_is_not_answered_by_itself() {
    let mut lane = several();
    let op = lane.next(&mut crate::op::Draft::default()).op().expect("a page");
    assert_eq!((op.key, op.documents), (3, 4));
    // As written; another client's document; no answer; missing.
    let (text, right) = ([stored_as(3), stored_as(9)].concat(), stored_as(3).len());
    let places = [0..right, right..text.len(), 0..0, 0..0];
    let rows = [Ok(token(1)), Ok(token(1)), Err(Failure::ServerError), Err(Failure::NotFound)];
    let document = Some(&text[..]);
    let answered = Answered { rows: &rows, document, places: &places, ..Answered::default() };
    assert_eq!(lane.observe(&op, Ok(Reply::default()), &answered), Check::Several);
    assert_eq!((lane.compared(), lane.finding()), (Some(Ok(())), None));
    for (key, class) in [("4", Failure::WrongBody), ("6", Failure::Lost)] {
        assert_eq!(lane.compared(), Some(Err(class)));
        let finding = lane.finding().expect("a finding");
        assert_eq!((finding.id.as_str(), finding.class), (key, class));
    }
    assert_eq!(lane.compared(), None);
    assert_eq!(next(&mut lane), Some((5, 1)));
}

#[test]
fn documents_of_several_places_are_asked_for_place_by_place() {
    let mut lane = several().several(true, Some(Places::new(|key| (key % 2) as u32)));
    // 4 and 6, then 3 and 5: sorted by place.
    let op = lane.next(&mut crate::op::Draft::default()).op().expect("two of a page");
    assert_eq!((op.key, op.documents), (4, 2));
    let (text, right) = (stored_as(4), stored_as(4).len());
    let places = [0..right, 0..0];
    // One as written; the other without an answer, so it is requested alone.
    let rows = [Ok(token(1)), Err(Failure::ServerError)];
    let document = Some(&text[..]);
    let answered = Answered { rows: &rows, document, places: &places, ..Answered::default() };
    assert_eq!(lane.observe(&op, Ok(Reply::default()), &answered), Check::Several);
    assert_eq!((lane.compared(), lane.compared()), (Some(Ok(())), None));
    let one = lane.next(&mut crate::op::Draft::default()).op().expect("a document");
    assert_eq!((one.key, one.documents), (6, 1));
    let text = stored_as(6);
    let answered = Answered { document: Some(&text), ..Answered::default() };
    let reply = Reply { token: Some(token(1)), ..Reply::default() };
    assert_eq!(lane.observe(&one, Ok(reply), &answered), Check::Checked(Ok(())));
    // The remaining documents are in the other place, and are again requested at once.
    assert_eq!(next(&mut lane), Some((3, 2)));
}

#[test]
fn where_a_server_cannot_answer_for_several_each_is_asked_for() {
    for (failure, later) in [(Failure::NotFound, false), (Failure::Timeout, true)] {
        let mut lane = several();
        let op = lane.next(&mut crate::op::Draft::default()).op().expect("a page");
        assert_eq!(lane.observe(&op, Err(failure), &Answered::default()), Check::Several);
        assert_eq!((lane.compared(), lane.several), (None, later));
        for key in 3..7 {
            let one = lane.next(&mut crate::op::Draft::default()).op().expect("a document");
            assert_eq!((one.key, one.documents), (key, 1));
            let text = stored_as(key);
            let answered = Answered { document: Some(&text), ..Answered::default() };
            let reply = Reply { token: Some(token(1)), ..Reply::default() };
            assert_eq!(lane.observe(&one, Ok(reply), &answered), Check::Checked(Ok(())));
        }
        assert_eq!(next(&mut lane), None);
    }
}

#[path = "finding_tests.rs"]
mod finding_tests;
