//! Notes can be read back, and missing ones are reported.

use super::*;
use proptest::prelude::*;
use std::fs::OpenOptions;

fn entry(key: Key) -> JournalEntry {
    let token = Token { number: 7, rest: [9; 16] };
    JournalEntry { key, act: Act::Write, fate: Fate::Acknowledged, version: 3, token }
}

fn read(journal: &Journal) -> io::Result<Vec<Key>> {
    let mut keys = Vec::new();
    journal.read(false, |entry| keys.push(entry.key)).map(|()| keys)
}

proptest! {
    #[test]
    fn an_entry_is_read_as_it_was_written(
        key: u64, number: u32, rest: [u8; 16], version in 0..=JournalEntry::MOST_VERSION,
        delete: bool, fate in 0..4usize,
    ) {
        let act = if delete { Act::Delete } else { Act::Write };
        let (fate, token) = (Fate::ALL[fate], Token { number, rest });
        let entry = JournalEntry { key, act, fate, version, token };
        prop_assert_eq!(JournalEntry::parse(&entry.bytes()), entry);
    }
}

#[test]
fn stages_come_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("journal");
    let journal = Journal::create(&place).unwrap();
    for (stage, shard, key) in [(1, 0, 30), (0, 1, 20), (0, 0, 10)] {
        let mut writer = journal.writer(stage, shard);
        writer.add(&entry(key));
        writer.add(&entry(key + 1));
    }
    assert_eq!(read(&journal).unwrap(), [10, 11, 20, 21, 30, 31]);
    assert!(Journal::create(&place).is_err(), "another run's is not added to");
    assert!(journal.exists() && !Journal::open(folder.path()).exists());
    journal.close().unwrap();
    assert_eq!(read(&Journal::open(&place)).unwrap(), [10, 11, 20, 21, 30, 31]);
    fs::write(place.join("else"), "x").unwrap();
    journal.remove().unwrap();
    assert_eq!(fs::read_dir(&place).unwrap().count(), 1, "only what is not of the journal");
}

/// How many notes are read from a journal, and why some are missing.
fn found_in(journal: &Journal) -> (Result<usize, String>, String) {
    let count = read(journal).map(|keys| keys.len()).map_err(|error| error.to_string());
    (count, journal.broken().unwrap_or_default())
}

/// A journal that is read after a kill, and the damage that is detected then.
#[test]
fn what_may_be_missing_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let journal = noted(folder.path(), 0..4);
    let first = folder.path().join("0000-0000.journal");
    // Killed: everything is in the system's cache, for as long as the system is up.
    assert_eq!(found_in(&Journal::open(folder.path())), (Ok(4), String::new()));
    let began = folder.path().join("began");
    let same = fs::read(&began).unwrap();
    for other in [Some("another uptime"), Some(""), None] {
        match other {
            Some(text) => fs::write(&began, text).unwrap(),
            None => fs::remove_file(&began).unwrap(),
        }
        let (count, why) = found_in(&Journal::open(folder.path()));
        assert!(count == Ok(0) && why.contains("started again since"), "{other:?}: {why}");
    }
    fs::write(&began, same).unwrap();
    let whole = fs::read(&first).unwrap();
    for (damaged, why) in [
        (&whole[..whole.len() - 1], "0000-0000.journal has 71 of 72 bytes"),
        (&[], "0000-0000.journal has 0 of 72 bytes"),
        (&[0; 72], "0000-0000.journal is not as it was written"),
    ] {
        fs::write(&first, damaged).unwrap();
        assert_eq!(found_in(&Journal::open(folder.path())), (Ok(0), why.to_owned()));
    }
    fs::remove_file(&first).unwrap();
    let missing = (Ok(0), "0000-0000.journal is missing".to_owned());
    assert_eq!(found_in(&Journal::open(folder.path())), missing);
    // A process that only reads the journal does not close it.
    Journal::open(folder.path()).close().unwrap();
    assert!(!folder.path().join("closed").exists());
    // Closed: changes are detected, no matter during which uptime they were made.
    fs::write(&first, &whole).unwrap();
    journal.close().unwrap();
    fs::remove_file(&began).unwrap();
    assert_eq!(found_in(&Journal::open(folder.path())), (Ok(4), String::new()));
    let closed = folder.path().join("closed");
    let sums = fs::read(&closed).unwrap();
    let mut flipped = sums.clone();
    // The last digit of a checksum.
    flipped[sums.len() - 2] ^= 0x80;
    fs::write(&closed, flipped).unwrap();
    let (count, why) = found_in(&Journal::open(folder.path()));
    assert!(count == Ok(0) && why.contains("the list of its files is damaged"), "{why}");
    fs::write(&closed, sums).unwrap();
    fs::write(folder.path().join("0009-0000.journal"), "").unwrap();
    let (count, why) = found_in(&Journal::open(folder.path()));
    assert!(count == Ok(0) && why.contains("0009-0000.journal was added"), "{why}");
    // A journal that has lost notes is not closed as if it were complete.
    let place = folder.path().join("open");
    let full = noted(&place, 0..4);
    drop(full.writer(0, 0));
    assert!(full.broken().is_some(), "there is such a file already");
    full.close().unwrap();
    assert!(!place.join("closed").exists());
    let (count, why) = found_in(&Journal::open(&place));
    assert!(count == Ok(0) && why.contains("could not note all its writes"), "{why}");
}

/// What tells how much was noted can be damaged as well.
#[test]
fn notes_of_unknown_length_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    noted(folder.path(), 0..4);
    let found = || found_in(&Journal::open(folder.path()));
    let at = |name: &str| folder.path().join(name);
    let began = fs::read_to_string(at("began")).unwrap();
    let lines = |count| began.split_inclusive('\n').take(count).collect::<String>().into_bytes();
    assert_eq!(began.lines().count(), 3, "{began}");
    for (name, damaged, why) in [
        ("0000-0001.noted", vec![0; 16], "the length of 0000-0001.journal is damaged"),
        ("0000-0001.noted", Vec::new(), "the length of 0000-0001.journal is damaged"),
        ("began", lines(1), "0000-0000.journal is not in the list of its files"),
        ("began", lines(2), "0000-0001.journal is not in the list of its files"),
    ] {
        let whole = fs::read(at(name)).unwrap();
        fs::write(at(name), damaged).unwrap();
        assert_eq!(found(), (Ok(0), why.to_owned()));
        fs::write(at(name), whole).unwrap();
    }
    // Killed before the file was listed: nothing is in it yet.
    fs::write(at("0001-0000.journal"), "").unwrap();
    assert_eq!(found(), (Ok(4), String::new()));
    fs::write(at("0001-0000.journal"), MAGIC).unwrap();
    let why = "0001-0000.journal is not in the list of its files";
    assert_eq!(found(), (Ok(0), why.to_owned()));
    fs::remove_file(at("0001-0000.journal")).unwrap();
    let gone = (Ok(0), "the length of 0000-0001.journal is missing".to_owned());
    for name in ["0000-0001.noted", "0000-0001.journal"] {
        fs::remove_file(at(name)).unwrap();
        assert_eq!(found(), gone);
    }
}

/// A kill between notes and their length: they are about a request that was not sent.
#[test]
fn notes_of_an_unfinished_flush_do_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::create(folder.path()).unwrap();
    let [notes, length] = [ENDING, NOTED].map(|ending| journal.path(0, 0, ending));
    let found = || found_in(&Journal::open(folder.path()));
    let whole = |count| (Ok(count), String::new());
    let mut writer = journal.writer(0, 0);
    assert_eq!(found(), whole(0));
    writer.add(&entry(1));
    writer.flush();
    let before = fs::read(&length).unwrap();
    writer.add(&entry(2));
    writer.flush();
    assert_eq!(found(), whole(2));
    fs::write(&length, before).unwrap();
    let all = fs::read(&notes).unwrap();
    for end in 40..=all.len() {
        let mut left = all[..end].to_vec();
        fs::write(&notes, &left).unwrap();
        assert_eq!(found(), whole(1), "{end}");
        left.resize(all.len(), 0);
        fs::write(&notes, left).unwrap();
        assert_eq!(found(), whole(1), "{end}, then zeros");
    }
    fs::write(&notes, &all[..39]).unwrap();
    assert_eq!(found(), (Ok(0), "0000-0000.journal has 39 of 40 bytes".to_owned()));
}

/// One that has neither a list of its files nor their lengths.
#[test]
fn a_journal_of_an_earlier_version_is_read_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    noted(folder.path(), 0..4);
    let at = |name: &str| folder.path().join(name);
    let found = || found_in(&Journal::open(folder.path()));
    let began = fs::read_to_string(at("began")).unwrap();
    fs::write(at("began"), began.split_inclusive('\n').next().unwrap()).unwrap();
    for name in ["0000-0000.noted", "0000-0001.noted"] {
        fs::remove_file(at(name)).unwrap();
    }
    assert_eq!(found(), (Ok(4), String::new()));
    // Killed while writing a note, before the request that the note is about.
    let first = at("0000-0000.journal");
    let whole = fs::read(&first).unwrap();
    fs::write(&first, &whole[..whole.len() - 1]).unwrap();
    assert_eq!(found(), (Ok(3), String::new()));
    // Created, and nothing written yet.
    fs::write(&first, "").unwrap();
    assert_eq!(found(), (Ok(2), String::new()));
    fs::write(&first, [7; 8 + ENTRY_BYTES]).unwrap();
    assert!(found().0.unwrap_err().contains("is not a journal of this version"));
}

/// Notes of an agent are missing, and those that are there are damaged.
#[test]
fn what_is_there_beside_missing_notes_is_looked_at_too() {
    let folder = tempfile::tempdir().unwrap();
    let run = Journal::create(folder.path()).unwrap();
    for agent in 0..2 {
        let journal = noted(&folder.path().join(format!("a{agent}")), 0..4);
        deliver(&journal, &run, agent, |_| ()).unwrap();
    }
    let _missing = run.expect(0, 2).unwrap();
    run.break_off("notes of agent 2 have not arrived");
    run.close().unwrap();
    assert_eq!(read(&Journal::open(folder.path())).unwrap().len(), 8);
    fs::remove_file(folder.path().join("0000-0001.journal")).unwrap();
    let cut = Journal::open(folder.path());
    assert!(read(&cut).unwrap().is_empty());
    assert!(cut.broken().unwrap().contains("0000-0001.journal is missing"));
}

#[test]
fn what_is_flushed_is_there_while_more_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::create(folder.path()).unwrap();
    let mut writer = journal.writer(0, 0);
    writer.add(&entry(1));
    writer.flush();
    assert_eq!(read(&journal).unwrap(), [1]);
    assert_eq!(journal.broken(), None);
}

#[test]
fn notes_of_agents_that_are_lost_after_a_kill_are_missed() {
    let folder = tempfile::tempdir().unwrap();
    let run = Journal::create(folder.path()).unwrap();
    for agent in 0..2 {
        let journal = noted(&folder.path().join(format!("a{agent}")), 0..4);
        deliver(&journal, &run, agent, |_| ()).unwrap();
    }
    let _missing = run.expect(0, 2).unwrap();
    let found = || found_in(&Journal::open(folder.path()));
    assert_eq!(found(), (Ok(8), "notes of agent 2 have not arrived".to_owned()));
    let awaited = folder.path().join("0000-0002.awaited");
    fs::remove_file(&awaited).unwrap();
    assert_eq!(found(), (Ok(0), "the length of 0000-0002.journal is missing".to_owned()));
    fs::write(&awaited, "").unwrap();
    fs::remove_file(folder.path().join("0000-0001.journal")).unwrap();
    assert_eq!(found(), (Ok(0), "0000-0001.journal is missing".to_owned()));
}

/// Pieces of notes, each with the number of bytes before it.
type Pieces = Vec<(u64, Vec<u8>)>;
type Harm = fn(&mut Pieces);

/// Sends the notes of a stage from one journal to another as those of agent `agent`, damaging them
/// on the way. Returns why some are missing.
fn deliver(from: &Journal, to: &Journal, agent: usize, harm: Harm) -> Result<(), String> {
    let mut delivery = to.expect(0, agent).unwrap();
    let mut pieces = Vec::new();
    let sent = from.hand_over(0, |before, piece| pieces.push((before, piece.to_vec())));
    harm(&mut pieces);
    for (before, piece) in pieces {
        delivery.add(before, &piece);
    }
    sent.and_then(|bytes| delivery.complete(bytes)).map_err(|error| error.to_string())
}

/// The journal of an agent that has noted writes of these documents, on two threads.
fn noted(folder: &Path, keys: std::ops::Range<Key>) -> Journal {
    let journal = Journal::create(folder).unwrap();
    for shard in 0..2 {
        let mut writer = journal.writer(0, shard);
        keys.clone().filter(|key| key % 2 == shard as u64).for_each(|it| writer.add(&entry(it)));
    }
    journal
}

#[test]
fn notes_of_an_agent_are_read_once_all_have_arrived() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let run = Journal::create(&at("run")).unwrap();
    // A stage of two pieces and a bit, then one without a write.
    let journal = noted(&at("a"), 0..20_000);
    assert_eq!(deliver(&journal, &run, 0, |it| assert_eq!(it.len(), 4)), Ok(()));
    drop(journal.writer(1, 0));
    assert_eq!(journal.hand_over(1, |_, _| ()).unwrap(), 8);
    assert!(!journal.exists(), "they are kept once");
    let mut keys = read(&run).unwrap();
    keys.sort_unstable();
    assert_eq!(keys, (0..20_000).collect::<Vec<_>>());
    // Nothing is read of agents 1 to 3, whose notes are incomplete, and the reason is given.
    let harms: [(usize, Harm); 3] =
        [(1, |it| drop(it.remove(0))), (2, |it| drop(it.pop())), (3, |it| it.swap(0, 1))];
    for (agent, harm) in harms {
        let journal = noted(&at(&format!("b{agent}")), 20_000..40_000);
        let why = deliver(&journal, &run, agent, harm).unwrap_err();
        assert!(why.contains("is missing") || why.contains("bytes of its notes came"), "{why}");
    }
    assert_eq!(run.broken(), None);
    assert_eq!(read(&run).unwrap().len(), 20_000);
    let missing = Some("notes of agents 1, 2, 3 have not arrived".to_owned());
    assert_eq!(run.broken(), missing);
    // Nor is anything read of documents that any of them may have written, or of their other
    // stages.
    run.read(true, |entry| panic!("{entry:?}")).unwrap();
    run.expect(1, 0).unwrap();
    assert_eq!(read(&run).unwrap().len(), 0);
}

#[test]
fn notes_that_are_gone_are_not_handed_over() {
    let folder = tempfile::tempdir().unwrap();
    let journal = noted(&folder.path().join("a"), 0..10);
    fs::remove_file(folder.path().join("a/0000-0001.journal")).unwrap();
    let why = journal.hand_over(0, |_, _| ()).unwrap_err().to_string();
    assert_eq!(why, "168 of 336 bytes of its notes are left");
    let journal = noted(&folder.path().join("b"), 0..10);
    journal.break_off("full");
    assert_eq!(journal.hand_over(0, |_, _| ()).unwrap_err().to_string(), "full");
    assert!(read(&journal).unwrap().is_empty(), "nobody knows what is missing");
}

#[test]
fn a_full_disk_is_reported_and_ends_the_writing() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/dev/full", folder.path().join("0000-0000.journal")).unwrap();
    let journal = Journal::open(folder.path());
    // The file exists already and is not overwritten.
    journal.writer(0, 0).add(&entry(1));
    assert!(journal.broken().is_some());
    let journal = Journal::open(folder.path());
    let file = OpenOptions::new().write(true).open("/dev/full").ok();
    let mut writer = Journal::open(Path::new("nowhere")).writer(0, 0);
    (writer.file, writer.broken) = (file, Arc::clone(&journal.broken));
    writer.add(&entry(1));
    assert_eq!(journal.broken(), None);
    writer.flush();
    assert!(journal.broken().unwrap().contains("No space left"));
    // Nor may the length of the notes be missing.
    let place = folder.path().join("full");
    let journal = Journal::create(&place).unwrap();
    let mut writer = journal.writer(0, 0);
    writer.noted = OpenOptions::new().write(true).open("/dev/full").ok();
    writer.add(&entry(1));
    writer.flush();
    assert!(journal.broken().unwrap().contains("No space left"));
    assert!(!place.join("began").exists());
}
