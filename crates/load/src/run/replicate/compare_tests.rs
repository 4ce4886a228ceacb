//! Which documents of a source count as missing or different at its target.

use super::super::beside::tests::{Fake, on_thread};
use super::{Compared, MayShow, compare};
use crate::driver::Replicated;
use crate::measure::Comparison;

fn compared(source: &Fake, target: &Fake, may_show: MayShow) -> Compared {
    let (mut source, mut target) = (source.connect(), target.connect());
    on_thread(compare(&mut *source, &mut *target, Compared::by(may_show))).unwrap()
}

fn written(id: &str) -> Replicated {
    Replicated { id: id.to_owned(), rev: "1-a".to_owned(), deleted: false }
}

fn again(it: &mut Compared, source: &Fake, target: &Fake) {
    on_thread(it.again(&mut *source.connect(), &mut *target.connect())).unwrap();
}

/// The number of documents that were compared, and how many were missing, different, overruled.
fn numbers(found: &Comparison) -> [u64; 4] {
    [found.documents, found.missing, found.different, found.overruled]
}

#[test]
fn documents_are_compared_by_their_revisions() {
    let source = Fake::with(&[
        ("a", "1-a"),
        ("b", "2-b"),
        ("c", "3-c"),
        ("d", "1-d"),
        ("e", "1-e"),
        ("f", "1-f"),
        ("g", "1-g"),
        ("h", "1-h"),
    ]);
    let target = Fake::with(&[("a", "1-a"), ("b", "1-x"), ("c", "4-y")]);
    target.0.borrow_mut().hidden = vec!["3-c".to_owned()];
    assert_eq!(numbers(&compared(&source, &target, MayShow::Same).found), [8, 5, 2, 0]);
    let mut it = compared(&source, &target, MayShow::Preferred);
    assert_eq!(numbers(&it.found), [8, 5, 1, 1]);
    assert_eq!(it.found.examples, ["d", "e", "f", "g", "h"], "no more are named");
    assert_eq!(it.wrong.len(), 6);
    // What was wrong is looked for again, and nothing else.
    target.put("d", "1-d");
    target.put("e", "2-z");
    target.0.borrow_mut().hidden.push("1-e".to_owned());
    target.0.borrow_mut().looks.clear();
    again(&mut it, &source, &target);
    assert_eq!(numbers(&it.found), [8, 3, 1, 2]);
    assert_eq!(target.0.borrow().looks, [["b", "d", "e", "f", "g", "h"]]);
    target.refuse(Some("it is down"));
    assert!(on_thread(it.again(&mut *source.connect(), &mut *target.connect())).is_err());
}

/// A server lists documents in the order of their changes, and a cluster in none.
#[test]
fn wrong_documents_are_named_in_order_and_missing_ones_first() {
    let documents = |ids: &[&str]| ids.iter().map(|id| written(id)).collect::<Vec<_>>();
    let target = Fake::with(&[("a", "1-x"), ("b", "1-x")]);
    let mut it = Compared::by(MayShow::Same);
    for page in [&["b", "h", "e"][..], &["g", "a", "c"]] {
        on_thread(it.look(&mut *target.connect(), documents(page))).unwrap();
    }
    assert_eq!(it.found.examples, ["c", "e", "g", "h", "a"]);
    let order: Vec<_> = it.wrong.iter().map(|it| &it.id[..]).collect();
    assert_eq!(order, ["h", "e", "b", "g", "c", "a"], "all are looked for again");
}

/// A write that a proxy held back passes after the source was read, and reaches the target.
#[test]
fn what_is_written_late_is_compared_in_its_new_revision() {
    let source = Fake::with(&[("a", "1-a"), ("b", "1-b"), ("c", "1-c")]);
    let target = Fake::with(&[("a", "2-x"), ("b", "2-x")]);
    let mut it = compared(&source, &target, MayShow::Same);
    assert_eq!(numbers(&it.found), [3, 1, 2, 0]);
    source.put("a", "2-x");
    source.delete("c", "2-d");
    target.delete("c", "2-d");
    again(&mut it, &source, &target);
    assert_eq!(numbers(&it.found), [3, 0, 1, 0], "nobody changed b at the source");
    assert_eq!(it.found.examples, ["b"]);
}

/// A source to which others write is ahead whenever it is asked.
#[test]
fn a_document_that_its_source_keeps_changing_has_arrived_with_a_later_revision() {
    // The revision that the target shows, whether it knows the one that was wanted first, and
    // whether it counts as different.
    for (shown, knows, differs) in [
        ("1-a", true, true),
        ("2-b", true, false),
        ("5-e", true, false),
        ("5-e", false, true),
        ("9-i", true, false),
    ] {
        let (source, target) = (Fake::with(&[("a", "2-b")]), Fake::with(&[("a", "1-a")]));
        let mut it = compared(&source, &target, MayShow::Same);
        source.put("a", "9-i");
        target.put("a", shown);
        target.0.borrow_mut().hidden = if knows { vec!["2-b".to_owned()] } else { Vec::new() };
        again(&mut it, &source, &target);
        assert_eq!(it.found.wrong(), u64::from(differs), "{shown}, {knows}");
    }
}

#[test]
fn what_the_source_no_longer_has_is_not_missing() {
    let (source, target) = (Fake::with(&[("a", "1-a"), ("b", "1-b")]), Fake::default());
    let mut it = compared(&source, &target, MayShow::Same);
    source.0.borrow_mut().documents.remove("b");
    again(&mut it, &source, &target);
    assert_eq!(numbers(&it.found), [1, 1, 0, 0]);
    assert_eq!(it.found.examples, ["a"]);
}

/// A target that has an old revision of a document does not have the newer one, whatever it says.
#[test]
fn only_a_revision_that_can_be_right_is_one_because_the_target_knows_the_other() {
    use MayShow::{Newer, Preferred, Same};
    let document = |rev: &str| {
        let (rev, deleted) = rev.strip_suffix(" gone").map_or((rev, false), |rev| (rev, true));
        Replicated { id: "a".to_owned(), rev: rev.to_owned(), deleted }
    };
    let shows = |document: Replicated| {
        let fake = Fake::default();
        let put = if document.deleted { Fake::delete } else { Fake::put };
        put(&fake, &document.id, &document.rev);
        fake
    };
    // What the source shows, what the target shows, and whether that is right for each.
    for (wanted, shown, right) in [
        ("2-m", "2-m", [true, true, true]),
        ("2-m", "1-m", [false, false, false]),
        ("2-m", "3-m", [false, true, true]),
        ("2-m", "3-m gone", [false, true, true]),
        // Of two that are in conflict, the one with the higher hash is shown, ...
        ("2-m", "2-n", [false, false, true]),
        ("2-m", "2-l", [false, false, false]),
        // ... and a deleted one only if there is no other.
        ("2-m gone", "1-m", [false, false, true]),
        ("2-m", "2-n gone", [false, false, false]),
    ] {
        let (source, target) = (shows(document(wanted)), shows(document(shown)));
        target.0.borrow_mut().hidden = vec!["2-m".to_owned()];
        for (may_show, is_right) in [Same, Newer, Preferred].into_iter().zip(right) {
            let found = compared(&source, &target, may_show).found;
            assert_eq!(found.wrong() == 0, is_right, "{shown} for {wanted}: {may_show:?}");
        }
    }
    // It must also know the other.
    let (source, target) = (shows(document("2-m")), shows(document("3-m")));
    assert_eq!(compared(&source, &target, Preferred).found.different, 1);
}
