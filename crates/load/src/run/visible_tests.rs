//! What visibility probes store, look for and remove, with a database that is a list.

use super::*;
use crate::driver::TargetError;
use crate::run::stage::tests::nobody;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// What is stored, and what was requested.
#[derive(Default)]
struct Database {
    stored: BTreeMap<String, usize>,
    cleared: Vec<Way>,
    looks: Vec<Result<bool, TargetError>>,
    /// The stage is over when this document is stored.
    last: Option<u64>,
    over: Arc<AtomicBool>,
    /// The requests that are refused, each by its name and the document.
    refused: Vec<&'static str>,
}

/// A node of the database.
#[derive(Clone)]
struct Fake {
    database: Rc<RefCell<Database>>,
    node: usize,
}

impl Fake {
    fn new() -> Self {
        Self { database: Rc::default(), node: 0 }
    }

    fn refuses(&self, what: &str) -> Result<(), TargetError> {
        let refused = self.database.borrow().refused.contains(&what);
        if refused { Err(refusal(what)) } else { Ok(()) }
    }
}

fn refusal(what: &str) -> TargetError {
    TargetError(what.to_owned())
}

impl Prober for Fake {
    fn node(&self) -> Option<String> {
        Some(self.node.to_string())
    }

    async fn prepare(&mut self, _: Way) -> Result<(), TargetError> {
        if self.refuses("prepare in time").is_err() {
            std::future::pending::<()>().await;
        }
        self.refuses("prepare")
    }

    async fn store(&mut self, n: u64) -> Result<Stored, TargetError> {
        let id = n.to_string();
        if self.database.borrow().last == Some(n) {
            self.database.borrow().over.store(true, Ordering::Relaxed);
        }
        self.refuses(&format!("store {id}"))?;
        self.database.borrow_mut().stored.insert(id.clone(), self.node);
        Ok(Stored { id, rev: String::new(), since: String::new() })
    }

    async fn sees(&mut self, _: Way, _: &Stored) -> Result<bool, TargetError> {
        self.database.borrow_mut().looks.remove(0)
    }

    async fn remove(&mut self, it: &Stored) -> Result<(), TargetError> {
        self.refuses(&format!("remove {}", it.id))?;
        self.database.borrow_mut().stored.remove(&it.id);
        Ok(())
    }

    async fn clear(&mut self, way: Way) -> Result<(), TargetError> {
        self.database.borrow_mut().cleared.push(way);
        self.refuses("clear")
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Stores documents until `last`, and returns the results and the documents kept.
fn written(fake: &Fake, last: u64, eyes: &[Eye]) -> (Visibility, Vec<Rc<Stored>>) {
    let over = Arc::<AtomicBool>::default();
    {
        let mut database = fake.database.borrow_mut();
        (database.last, database.over) = (Some(last), over.clone());
    }
    let plan = ProbePlan { visible: vec![Way::Get], every_ns: 1_000_000 };
    let probes = Probes { plan, start: Arc::new(Start::made(0)), over, runtime: runtime() };
    let mut nodes = [0, 1].map(|node| Fake { node, ..fake.clone() });
    let (mut found, mut kept) = Default::default();
    probes.runtime.block_on(probes.write(&mut nodes, eyes, &mut found, &mut kept));
    (found, kept)
}

fn ids(kept: &[Rc<Stored>]) -> Vec<&str> {
    kept.iter().map(|it| it.id.as_str()).collect()
}

#[test]
fn what_nobody_looks_for_is_removed_at_once() {
    let fake = Fake::new();
    let (found, kept) = written(&fake, 5, &[]);
    assert!(found.written >= 6, "{found:?}");
    assert_eq!((found.write_failures, found.reason), (0, None));
    assert_eq!(ids(&kept), [""; 0]);
    assert!(fake.database.borrow().stored.is_empty());
}

#[test]
fn nodes_take_turns_and_what_fails_is_counted() {
    let fake = Fake::new();
    fake.database.borrow_mut().refused =
        vec!["store 1", "store 4", "remove 0", "remove 2", "remove 3"];
    let (found, kept) = written(&fake, 4, &[]);
    // The end of the stage is noticed a little later: more may have been stored by then.
    assert_eq!(found.write_failures, 2);
    assert_eq!(found.reason.as_deref(), Some(refusal("remove 0").to_string().as_str()));
    assert!(["0", "2", "3"].iter().all(|id| ids(&kept).contains(id)), "{kept:?}");
    let stored = fake.database.borrow().stored.clone();
    assert!(stored.iter().all(|(id, node)| id.parse::<usize>().unwrap() % 2 == *node));
    assert_eq!(stored.len(), kept.len());
}

#[test]
fn only_an_eye_that_is_idle_gets_a_document_and_holds_it() {
    let fake = Fake::new();
    let eye = |idle| {
        let (sender, source) = channel(1);
        (Eye { sender, idle: Rc::new(Cell::new(idle)) }, source)
    };
    let ((idle, mut first), (busy, mut second)) = (eye(true), eye(false));
    let eyes = [idle, busy];
    let (found, kept) = written(&fake, 3, &eyes);
    let (stored, acknowledged) = first.try_recv().unwrap();
    assert_eq!(stored.id, "0");
    assert!(acknowledged <= Clock::system().now());
    assert!(first.try_recv().is_err() && second.try_recv().is_err(), "it is busy from then on");
    assert!(!eyes[0].idle.get());
    assert_eq!(ids(&kept), ["0"], "{found:?}");
}

/// The results of looks with these responses.
fn looked(looks: Vec<Result<bool, TargetError>>) -> VisibleBy {
    looked_by(Fake::new(), looks, 0, false)
}

/// The same for a document that was acknowledged `ago_ns` before, in a stage that is `over` or not.
fn looked_by(
    fake: Fake,
    looks: Vec<Result<bool, TargetError>>,
    ago_ns: Nanos,
    over: bool,
) -> VisibleBy {
    let over = Arc::new(AtomicBool::new(over));
    fake.database.borrow_mut().looks = looks;
    let (sender, source) = channel(1);
    let stored = Stored { id: "0".to_owned(), rev: String::new(), since: String::new() };
    let acknowledged = Clock::system().now().saturating_sub(ago_ns);
    sender.try_send((Rc::new(stored), acknowledged)).unwrap();
    drop(sender);
    let idle = Rc::new(Cell::new(false));
    let found = Sightings::new(Way::View, fake.node());
    let lookout = DocumentLookout { way: Way::View, prober: fake, idle: idle.clone(), over, found };
    let by = runtime().block_on(lookout.look(source));
    assert!(idle.get(), "ready for the next one");
    by
}

#[test]
fn a_document_is_looked_for_until_it_is_seen() {
    let at_once = looked(vec![Ok(true)]);
    assert_eq!((at_once.probes, at_once.stale_first, at_once.unseen), (1, 0, 0));
    assert_eq!((at_once.time.samples, at_once.node.as_deref()), (1, Some("0")));
    let looks = vec![Ok(false), Err(refusal("busy")), Ok(false), Ok(true)];
    let later = looked(looks);
    assert_eq!((later.probes, later.stale_first, later.unseen, later.failures), (1, 1, 0, 1));
    assert_eq!(later.reason.as_deref(), Some(refusal("busy").to_string().as_str()));
    // Two pauses of at least a millisecond precede the look that found it.
    assert!(later.time.max_us >= 2_000.0, "{:?}", later.time);
    // Later ones are longer: a tenth of the two seconds since it was stored.
    let much_later =
        looked_by(Fake::new(), vec![Ok(false), Ok(false), Ok(true)], 2 * SECOND_NS, false);
    assert!(much_later.time.max_us >= 2_390_000.0, "{:?}", much_later.time);
}

#[test]
fn an_index_that_is_not_ready_before_the_end_is_reported() {
    let fake = Fake::new();
    fake.database.borrow_mut().refused = vec!["prepare in time"];
    let by = looked_by(fake, vec![Ok(true)], 0, true);
    assert_eq!(by.reason.as_deref(), Some("it was not ready before the end"));
    assert_eq!(looked(vec![Ok(true)]).reason, None);
}

#[test]
fn probes_begin_with_their_stage_and_end_with_it_if_it_never_begins() {
    let plan = ProbePlan { visible: vec![Way::Get], every_ns: 1_000_000 };
    let probes = |start| Visible::probe(nobody(), plan.clone(), Arc::new(start)).unwrap();
    // With this target, there is nothing to be done once the stage has begun.
    let begun = probes(Start::made(0));
    let until = Clock::system().now() + 10 * SECOND_NS;
    while !begun.thread.is_finished() && Clock::system().now() < until {
        std::thread::sleep(STEP);
    }
    assert!(begun.thread.is_finished(), "it waits for the start no longer");
    assert_eq!(begun.finish(), Visibility::default());
    let waiting = probes(Start::new(1));
    std::thread::sleep(10 * STEP);
    assert!(!waiting.thread.is_finished(), "it waits for the start");
    assert_eq!(waiting.finish(), Visibility::default());
}

#[test]
fn all_that_was_made_for_probes_is_removed() {
    let fake = Fake::new();
    fake.database.borrow_mut().refused = vec!["remove 1", "clear"];
    let stored = |n: u64| {
        runtime().block_on(fake.clone().store(n)).map(Rc::new).expect("nothing is refused")
    };
    let mut kept: Vec<Rc<Stored>> = (0..3).map(stored).collect();
    let mut found = Visibility::default();
    let ways = [Way::Find, Way::View];
    let mut writer = fake.clone();
    runtime().block_on(clear(&mut writer, &ways, &mut found, &mut kept));
    assert_eq!(fake.database.borrow().cleared, ways);
    assert_eq!(ids(&kept), ["1"]);
    assert_eq!(fake.database.borrow().stored.keys().collect::<Vec<_>>(), ["1"]);
    assert_eq!(found.reason.as_deref(), Some(refusal("clear").to_string().as_str()));
}
