//! How a read is evaluated, given what is known about the document.

use super::*;
use crate::schema::{DEFAULT, Documents, Template};
use std::sync::Arc;

const KEY: u64 = 17;

fn documents() -> Documents {
    Documents::new(1, vec![(Template::parse(DEFAULT).unwrap(), 1)])
}

fn token(number: u32, rest: u8) -> Token {
    Token { number, rest: [rest; 16] }
}

/// What a server would return for this version, formatted as CouchDB does.
fn stored(version: u32) -> Vec<u8> {
    let mut out = Vec::new();
    documents().write(KEY, version, br#""_id":"17","_rev":"1-a""#, &mut out);
    out
}

/// A document that this connection knows in version 3, stored as revision 4.
fn known(doubt: Doubt) -> Live {
    let mut live = Live::default();
    live.add(LiveEntry::new(KEY, 3, Some(token(4, 4))));
    if doubt != Doubt::None {
        live.lose(0, doubt);
    }
    live
}

fn look(
    live: &Live,
    result: Result<Option<Token>, Failure>,
    document: &[u8],
) -> (Verified, Option<Finding>) {
    let mut verifier = Verifier::new(FromSchemas::new(Arc::new(documents())));
    let result = result.map(|token| Reply { token, ..Reply::default() });
    let answered = Answered { document: Some(document), ..Answered::default() };
    let verified = verifier.look(live.at(0), live.doubt(0), OpKind::Read, result, &answered);
    (verified, verifier.finding())
}

/// The failure class of a read, or the version that it found.
fn class(doubt: Doubt, token: Option<Token>, document: &[u8]) -> Result<u32, Failure> {
    let (verified, finding) = look(&known(doubt), Ok(token), document);
    let Check::Checked(result) = verified.check else { panic!("unchecked") };
    assert_eq!(result.err(), finding.map(|it| it.class));
    result.map(|()| verified.version.expect("the version that was found"))
}

#[test]
fn the_known_version_holds_and_others_have_their_names() {
    use Failure::{Stale, UnknownRevision, WrongBody};
    let (none, ours) = (Doubt::None, Some(token(4, 4)));
    assert_eq!(class(none, ours, &stored(3)), Ok(3));
    assert_eq!(class(none, ours, &stored(2)), Err(WrongBody), "our revision, other content");
    assert_eq!(class(none, ours, b"{}"), Err(WrongBody));
    assert_eq!(class(none, Some(token(3, 3)), &stored(2)), Err(Stale));
    assert_eq!(class(none, Some(token(1, 1)), &stored(0)), Err(Stale));
    assert_eq!(class(none, Some(token(3, 3)), b"{}"), Err(Stale), "an older revision of others");
    assert_eq!(class(none, Some(token(4, 5)), &stored(3)), Err(UnknownRevision));
    assert_eq!(class(none, Some(token(5, 5)), &stored(4)), Err(UnknownRevision));
}

#[test]
fn another_document_is_wrong_whatever_may_have_become_of_this_one() {
    for doubt in [Doubt::None, Doubt::Update] {
        let (verified, finding) = look(&known(doubt), Err(Failure::WrongDocument), b"");
        assert_eq!(verified.check, Check::Checked(Err(Failure::WrongDocument)));
        assert_eq!(finding.map(|it| it.found), Some("another one".to_owned()));
    }
}

#[test]
fn without_tokens_only_the_content_tells() {
    assert_eq!(class(Doubt::None, None, &stored(3)), Ok(3));
    assert_eq!(class(Doubt::None, None, &stored(1)), Err(Failure::Stale));
    assert_eq!(class(Doubt::None, None, &stored(4)), Err(Failure::WrongBody));
    assert_eq!(class(Doubt::Update, None, &stored(4)), Ok(4));
    assert_eq!(class(Doubt::Update, None, &stored(3)), Ok(3));
}

#[test]
fn an_update_without_an_answer_may_have_been_carried_out() {
    let (update, next) = (Doubt::Update, Some(token(5, 5)));
    assert_eq!(class(update, Some(token(4, 4)), &stored(3)), Ok(3));
    assert_eq!(class(update, next, &stored(4)), Ok(4));
    assert_eq!(class(update, next, &stored(3)), Err(Failure::WrongBody));
    assert_eq!(class(update, Some(token(6, 6)), &stored(4)), Err(Failure::UnknownRevision));
    assert_eq!(class(update, Some(token(3, 3)), &stored(2)), Err(Failure::Stale));
    // A deletion does not change the content.
    assert_eq!(class(Doubt::Delete, next, &stored(4)), Err(Failure::UnknownRevision));
}

#[test]
fn a_document_is_lost_unless_it_may_have_been_deleted() {
    let gone = |doubt| look(&known(doubt), Err(Failure::NotFound), b"").0.check;
    assert_eq!(gone(Doubt::None), Check::Checked(Err(Failure::Lost)));
    assert_eq!(gone(Doubt::Update), Check::Checked(Err(Failure::Lost)));
    assert_eq!(gone(Doubt::Delete), Check::Checked(Ok(())));
    let (_, finding) = look(&known(Doubt::None), Err(Failure::NotFound), b"");
    assert_eq!(finding.map(|it| it.found), Some("missing".to_owned()));
    let other = look(&known(Doubt::None), Err(Failure::Timeout), b"");
    assert_eq!(other, (Verified::UNCHECKED, None));
}

#[test]
fn a_finding_says_what_should_have_been_there() {
    let (_, finding) = look(&known(Doubt::None), Ok(Some(token(3, 0xab))), &stored(2));
    let Finding { id, expected, found, .. } = finding.unwrap();
    assert_eq!(id, "17");
    assert_eq!(expected, format!("version 3, revision 4-{}", "04".repeat(16)));
    assert_eq!(found, format!("revision 3-{}, the content of version 2", "ab".repeat(16)));
}
