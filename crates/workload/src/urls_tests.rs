//! Which requests of a list a user makes, with which values, and how sequences work.

use super::*;
use crate::op::Draft;
use crate::values::{Data, DataPlan, source};
use std::collections::HashSet;

fn entry(holes: &[&str]) -> UrlEntry {
    let list = DataPlan::parse(r#"{"one-of": ["a", "b", "c"], "order": "once"}"#).unwrap();
    let data = Data::from([("user".to_owned(), list)]);
    UrlEntry {
        kind: OpKind::Request,
        sequence: None,
        follows: false,
        values: holes.iter().map(|hole| source(hole, &data).unwrap()).collect(),
        documents: None,
        saves: Vec::new(),
    }
}

fn entries(count: usize) -> Vec<UrlEntry> {
    (0..count).map(|_| entry(&["seq", "uuid", "int 0 9"])).collect()
}

/// Three steps, the first of which saves what the others use, and a single request.
fn sequence() -> Vec<UrlEntry> {
    let sequence = Some(OpKind::of_name("buy").unwrap());
    let step = |follows: bool, holes: &[&str]| UrlEntry { sequence, follows, ..entry(holes) };
    let first = UrlEntry { saves: vec!["id".to_owned()], ..step(false, &["user"]) };
    vec![first, step(true, &["saved id", "user"]), step(true, &["saved id"]), entry(&[])]
}

fn list(entries: Vec<UrlEntry>, order: UrlOrder) -> Arc<UrlList> {
    Arc::new(UrlList::new(entries.into(), order, Arc::new(Documents::new(1, Vec::new()))))
}

fn user(entries: Vec<UrlEntry>, order: UrlOrder, user: (u64, u64), seed: u64) -> Urls {
    let list = list(entries, order);
    let numbers = Numbers::Own(Counters::new(user, &list));
    Urls::new(list, user, numbers, seed)
}

/// The index of each request's entry, and the values; `answer` is what comes back.
fn made(urls: &mut Urls, answer: impl Fn(u64) -> (bool, &'static str)) -> Vec<(u64, String)> {
    let mut made = Vec::new();
    loop {
        let mut draft = Draft::default();
        let Next::Op(op) = urls.next(&mut draft) else { return made };
        assert_eq!(op.key, draft.entry as u64);
        let (fails, text) = answer(op.key);
        let saved = [Saved { bytes: text.into(), is_text: true }];
        let result = if fails { Err(Failure::Conflict) } else { Ok(Reply::default()) };
        let saved = if fails { &[][..] } else { &saved };
        urls.observe(&op, result, &Answered { saved, ..Answered::default() });
        let values = String::from_utf8(draft.values).unwrap();
        made.push((op.key, values.trim_end_matches('\0').replace('\0', " ")));
    }
}

fn all(urls: Urls, left: u64) -> Vec<(u64, String)> {
    made(&mut urls.with_left(Some(left)), |_| (false, ""))
}

fn keys(order: UrlOrder, length: usize, k: (u64, u64), left: u64) -> Vec<u64> {
    all(user(entries(length), order, k, 1), left).into_iter().map(|(key, _)| key).collect()
}

#[test]
fn users_begin_where_siege_lets_them_and_walk_on() {
    assert_eq!(keys(UrlOrder::Sequential, 10, (1, 2), 7), [5, 6, 7, 8, 9, 0, 1]);
    assert_eq!(keys(UrlOrder::Sequential, 10, (0, 2), 3), [0, 1, 2]);
    assert_eq!([0, 1, 2].map(|k| UrlOrder::Sequential.start(10, k, 3)), [0, 3, 6]);
    assert_eq!(keys(UrlOrder::Sequential, 2, (4, 5), 3), [0, 1, 0]);
}

#[test]
fn once_begins_with_the_first_for_every_user() {
    for k in 0..3 {
        assert_eq!(keys(UrlOrder::Once, 10, (k, 3), 10), (0..10).collect::<Vec<_>>());
    }
}

#[test]
fn users_that_come_later_begin_where_others_did_and_number_their_requests_with_them() {
    let list = list(entries(10), UrlOrder::Sequential);
    let numbers = [0, 1].map(|shard| Arc::new(Counters::new((shard, 2), &list)));
    let requests = [0, 1, 4, 7].map(|k: u64| {
        let numbers = Numbers::Shared(numbers[k as usize % 2].clone());
        all(Urls::new(list.clone(), (k, 4), numbers, 1), 3)
    });
    let first = |of: usize| requests[of][0].0;
    assert_eq!([0, 1, 2, 3].map(first), [0, 2, 0, 6]);
    let made: Vec<(u64, &str)> = requests
        .iter()
        .flatten()
        .map(|(_, values)| values.split_once(' ').unwrap())
        .map(|(number, rest)| (number.parse().unwrap(), rest))
        .collect();
    let own: HashSet<&str> = made.iter().map(|(_, rest)| *rest).collect();
    assert_eq!(own.len(), 12, "each has values of its own");
    let mut numbers: Vec<u64> = made.iter().map(|(number, _)| *number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=12).collect::<Vec<_>>());
}

#[test]
fn random_picks_are_even() {
    let mut counts = [0u32; 4];
    for key in keys(UrlOrder::Random, 4, (0, 1), 40_000) {
        counts[key as usize] += 1;
    }
    // Four standard deviations of a binomial with p = 1/4: 4 * sqrt(7,500) = 346.
    assert!(counts.iter().all(|count| count.abs_diff(10_000) < 346), "{counts:?}");
}

#[test]
fn numbers_and_identifiers_never_repeat_and_come_again_with_the_seed() {
    let run = |k| all(user(entries(1), UrlOrder::Sequential, k, 9), 500);
    let both: Vec<_> = [run((0, 2)), run((1, 2))].concat();
    let distinct = |place: usize| {
        let value = |made: &'_ (u64, String)| made.1.split(' ').nth(place).unwrap().to_owned();
        both.iter().map(value).collect::<HashSet<_>>().len()
    };
    assert_eq!((distinct(0), distinct(1)), (1000, 1000));
    assert_eq!(run((0, 2)), run((0, 2)));
    assert_ne!(run((0, 2)), run((1, 2)));
}

#[test]
fn a_sequence_is_one_of_those_asked_for_and_its_steps_take_what_was_saved() {
    let mut urls = user(sequence(), UrlOrder::Sequential, (0, 1), 1).with_left(Some(3));
    let made = made(&mut urls, |place| (false, ["x", "y", "z", ""][place as usize]));
    let step = |place, values: &str| (place, values.to_owned());
    let first = [step(0, "a"), step(1, "x a"), step(2, "x"), step(3, "")];
    assert_eq!(made, [&first[..], &[step(0, "b"), step(1, "x b"), step(2, "x")]].concat());
}

#[test]
fn a_step_that_fails_ends_the_sequence_and_nothing_of_it_is_left() {
    for (failing, places) in [(0, [0, 3, 0, 3].as_slice()), (1, &[0, 1, 3, 0, 1, 3])] {
        let mut urls = user(sequence(), UrlOrder::Sequential, (0, 1), 1).with_left(Some(4));
        let made = made(&mut urls, |place| (place == failing, "x"));
        assert_eq!(made.iter().map(|(place, _)| *place).collect::<Vec<_>>(), places);
        assert!(urls.under_way.is_none(), "a sequence is under way");
    }
}

#[test]
fn parts_and_the_whole_are_those_of_the_list() {
    let mut urls = user(sequence(), UrlOrder::Sequential, (0, 1), 1).with_left(Some(2));
    let mut parts = Vec::new();
    while let Next::Op(op) = urls.next(&mut Draft::default()) {
        parts.push((op.part, op.whole.name()));
        urls.observe(&op, Ok(Reply::default()), &Answered::default());
    }
    let alone = Op::single(OpKind::Request, 0, None).whole.name();
    let buy = [Part::First, Part::Middle, Part::Last].map(|part| (part, "buy"));
    assert_eq!(parts, [&buy[..], &[(Part::Whole, alone)]].concat());
}

#[test]
fn what_was_begun_and_not_sent_is_not_gone_on_with() {
    let mut urls = user(sequence(), UrlOrder::Sequential, (0, 1), 1).with_left(Some(9));
    assert!(matches!(urls.next(&mut Draft::default()), Next::Op(_)));
    let places = |urls| all(urls, 1).into_iter().map(|(place, _)| place).collect::<Vec<_>>();
    assert_eq!(places(urls), [3]);
}

#[test]
fn a_list_used_once_ends_what_takes_it_for_all_users_together() {
    for order in [UrlOrder::Sequential, UrlOrder::Random] {
        let mut taken = Vec::new();
        for k in 0..2 {
            let mut list = sequence();
            list.truncate(3);
            let mut urls = user(list, order, (k, 2), 1).with_left(Some(9));
            taken.extend(made(&mut urls, |_| (false, "x")));
        }
        let mut rows: Vec<_> =
            taken.iter().filter(|it| it.0 == 0).map(|it| it.1.as_str()).collect();
        rows.sort_unstable();
        assert_eq!(rows, ["a", "b", "c"], "{order:?}");
        assert_eq!(taken.len(), 9, "{order:?}");
    }
    // Entries that need none of the saved values continue.
    let made = all(user(sequence(), UrlOrder::Random, (0, 1), 1), 20);
    assert_eq!(made.iter().filter(|(place, _)| *place == 3).count(), 17);
}
