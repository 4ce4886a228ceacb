//! Markers and comparisons, with databases that are lists and servers that copy when a test does.

use super::*;
use crate::clock::SECOND_NS;
use crate::driver::{
    DocumentCount, Local, ReplicaEnd, Replicated, ReplicatedPage, ReplicationState, TargetError,
};
use crate::measure::LinkEnd;
use std::collections::BTreeMap;

const MS: Nanos = 1_000_000;

/// What a database has, and what it was asked.
#[derive(Default)]
pub(in crate::run::replicate) struct Database {
    pub(in crate::run::replicate) documents: BTreeMap<String, Replicated>,
    /// Revisions that it has and does not show.
    pub(in crate::run::replicate) hidden: Vec<String>,
    /// Documents that its list of changes leaves out.
    pub(in crate::run::replicate) unlisted: Vec<String>,
    /// Documents that it does not show in its first looks.
    pub(in crate::run::replicate) late: BTreeMap<String, usize>,
    refusal: Option<&'static str>,
    /// What its server says about replications to it.
    pub(in crate::run::replicate) state: ReplicationState,
    pub(in crate::run::replicate) hangs: bool,
    /// The documents of each look.
    pub(in crate::run::replicate) looks: Vec<Vec<String>>,
    pub(in crate::run::replicate) counts: u32,
    asked: u32,
}

#[derive(Clone, Default)]
pub(in crate::run::replicate) struct Fake(pub(in crate::run::replicate) Rc<RefCell<Database>>);

impl Fake {
    pub(in crate::run::replicate) fn with(documents: &[(&str, &str)]) -> Self {
        let fake = Self::default();
        for (id, rev) in documents {
            fake.put(id, rev);
        }
        fake
    }

    pub(in crate::run::replicate) fn put(&self, id: &str, rev: &str) {
        let it = Replicated { id: id.to_owned(), rev: rev.to_owned(), deleted: false };
        self.0.borrow_mut().documents.insert(id.to_owned(), it);
    }

    pub(in crate::run::replicate) fn delete(&self, id: &str, rev: &str) {
        let it = Replicated { id: id.to_owned(), rev: rev.to_owned(), deleted: true };
        self.0.borrow_mut().documents.insert(id.to_owned(), it);
    }

    /// Copies all documents to the other database.
    fn copy_to(&self, other: &Self) {
        let all = self.0.borrow().documents.clone();
        other.0.borrow_mut().documents.extend(all);
    }

    pub(in crate::run::replicate) fn refuse(&self, why: Option<&'static str>) {
        self.0.borrow_mut().refusal = why;
    }

    pub(in crate::run::replicate) fn connect(&self) -> Box<dyn Replicator> {
        Box::new(self.clone())
    }

    fn answer<'a, T: 'a>(
        &self,
        what: impl FnOnce(&mut Database) -> T + 'a,
    ) -> Local<'a, Result<T, TargetError>> {
        let database = self.0.clone();
        Box::pin(async move {
            database.borrow_mut().asked += 1;
            if database.borrow().hangs {
                std::future::pending::<()>().await;
            }
            tokio::task::yield_now().await;
            let mut database = database.borrow_mut();
            match database.refusal {
                Some(why) => Err(TargetError(why.to_owned())),
                None => Ok(what(&mut database)),
            }
        })
    }
}

impl Replicator for Fake {
    fn end(&self) -> ReplicaEnd {
        unreachable!("nobody asks for it beside the load")
    }

    fn ready(&mut self) -> Local<'_, Result<(), TargetError>> {
        unreachable!("nobody asks for it beside the load")
    }

    fn start<'a>(
        &'a mut self,
        _: &'a str,
        _: &'a ReplicaEnd,
        _: &'a ReplicaEnd,
    ) -> Local<'a, Result<(), TargetError>> {
        unreachable!("nobody asks for it beside the load")
    }

    fn state<'a>(&'a mut self, _: &'a str) -> Local<'a, Result<ReplicationState, TargetError>> {
        self.answer(|it| it.state.clone())
    }

    fn stop<'a>(&'a mut self, _: &'a str) -> Local<'a, Result<(), TargetError>> {
        unreachable!("nobody asks for it beside the load")
    }

    fn store<'a>(&'a mut self, id: &'a str) -> Local<'a, Result<String, TargetError>> {
        let (fake, id) = (self.clone(), id.to_owned());
        Box::pin(async move {
            fake.answer(|_| ()).await?;
            fake.put(&id, "1-m");
            Ok("1-m".to_owned())
        })
    }

    fn remove<'a>(&'a mut self, _: &'a [(String, String)]) -> Local<'a, Result<u64, TargetError>> {
        unreachable!("nobody asks for it beside the load")
    }

    fn find<'a>(
        &'a mut self,
        ids: &'a [String],
    ) -> Local<'a, Result<Vec<Option<Replicated>>, TargetError>> {
        self.answer(|it| {
            it.looks.push(ids.to_vec());
            let looks = it.looks.len();
            let is_late = |id: &String| it.late.get(id).is_some_and(|first| looks <= *first);
            let shown = |id: &String| it.documents.get(id).filter(|_| !is_late(id)).cloned();
            ids.iter().map(shown).collect()
        })
    }

    fn unknown<'a>(
        &'a mut self,
        documents: &'a [Replicated],
    ) -> Local<'a, Result<Vec<usize>, TargetError>> {
        self.answer(|it| {
            let all = documents.iter().enumerate();
            all.filter(|(_, one)| !it.hidden.contains(&one.rev)).map(|(place, _)| place).collect()
        })
    }

    fn count(&mut self) -> Local<'_, Result<DocumentCount, TargetError>> {
        self.answer(|it| {
            it.counts += 1;
            DocumentCount { documents: it.documents.len() as u64, deleted: 0 }
        })
    }

    /// Two on a page.
    fn changed<'a>(&'a mut self, after: &'a str) -> Local<'a, Result<ReplicatedPage, TargetError>> {
        self.answer(|it| {
            let begin: usize = after.parse().unwrap_or(0);
            let listed = it.documents.values().filter(|one| !it.unlisted.contains(&one.id));
            let documents: Vec<_> = listed.skip(begin).take(2).cloned().collect();
            ReplicatedPage { next: (begin + documents.len()).to_string(), documents }
        })
    }
}

pub(in crate::run::replicate) const NO_TIME: Limits =
    Limits { every_ns: 5 * MS, converge_ns: 900 * MS, patience_ns: 200 * MS, quiet_ns: 9_000 * MS };

pub(in crate::run::replicate) fn notices() -> Arc<Notices> {
    Arc::new(Notices { over_at: AtomicU64::new(NOT_OVER), abandoned: AtomicBool::new(false) })
}

impl Notices {
    pub(in crate::run::replicate) fn end(&self) {
        self.over_at.store(Clock::system().now(), Ordering::Release);
    }

    fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
    }
}

pub(in crate::run::replicate) fn on_thread<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, work)
}

async fn sleep_ms(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

pub(in crate::run::replicate) fn lookout(
    ends: Ends,
    queue: &Rc<Queue>,
    notices: &Arc<Notices>,
    limits: Limits,
) -> MarkerLookout {
    MarkerLookout::new(ends, queue.clone(), notices.clone(), limits, Clock::system().now())
}

pub(in crate::run::replicate) fn ends(source: &Fake, target: &Fake) -> Ends {
    let (source, target) = (source.connect(), target.connect());
    let (counted, may_show) = (Vec::new(), MayShow::Same);
    Ends { source, target, counted, may_show, refusals: None, cut: None }
}

/// Stores markers at the source, and reports them to the link that looks for them.
fn push(queue: &Queue, source: &Fake, numbers: std::ops::Range<u64>, is_last: bool) {
    let last = numbers.end - 1;
    for number in numbers {
        let id = format!("m_{number:05}");
        source.put(&id, "1-m");
        let acknowledged = Clock::system().now();
        queue.push(SentMarker { id, number, acknowledged, is_last: is_last && number == last });
    }
}

#[test]
fn markers_are_written_until_the_load_is_over_and_then_one_more() {
    let (source, notices, limits) = (Fake::default(), notices(), NO_TIME);
    let queues = vec![Rc::new(Queue::default()), Rc::new(Queue::default())];
    let (connection, mark) = (source.connect(), "m".to_owned());
    let writer =
        Writer { connection, mark, queues: queues.clone(), notices: notices.clone(), limits };
    let written = on_thread(async {
        let writing = spawn_local(writer.go_on());
        while source.0.borrow().documents.len() < 3 {
            sleep_ms(1).await;
        }
        source.refuse(Some("it is full"));
        let asked = source.0.borrow().asked;
        while source.0.borrow().asked < asked + 2 {
            sleep_ms(1).await;
        }
        source.refuse(None);
        while source.0.borrow().documents.len() < 5 {
            sleep_ms(1).await;
        }
        notices.end();
        writing.await.unwrap()
    });
    let names: Vec<_> = (0..written.len()).map(|number| format!("m_{number}")).collect();
    assert_eq!(written.iter().map(|it| it.0.clone()).collect::<Vec<_>>(), names);
    let stored: Vec<_> = written.iter().filter(|it| it.1.is_some()).collect();
    assert_eq!(stored.len(), source.0.borrow().documents.len());
    assert!(stored.len() < written.len(), "some were refused: {written:?}");
    for queue in queues {
        let queued = queue.take();
        let ids: Vec<_> = queued.sent.iter().map(|it| &it.id).collect();
        assert_eq!(ids, stored.iter().map(|it| &it.0).collect::<Vec<_>>());
        let last: Vec<_> = queued.sent.iter().rev().map(|it| it.is_last).collect();
        assert!(last[0] && !last[1..].contains(&true), "{last:?}");
        assert_eq!(queued.failures, (written.len() - stored.len()) as u64);
        assert_eq!(queued.reason.as_deref(), Some("it is full"));
        let numbered = queued.sent.iter().all(|it| it.id == format!("m_{}", it.number));
        assert!(numbered && queued.sent.iter().all(|it| it.acknowledged > 0));
    }
}

/// A writer gives up if it cannot write the last marker, and at once if all is abandoned.
#[test]
fn a_writer_does_not_wait_for_ever() {
    for abandons in [false, true] {
        let (source, notices) = (Fake::default(), notices());
        source.refuse(Some("it is gone"));
        source.0.borrow_mut().hangs = abandons;
        let (connection, queues) = (source.connect(), vec![Rc::new(Queue::default())]);
        let limits = NO_TIME;
        let writer =
            Writer { connection, mark: "m".to_owned(), queues, notices: notices.clone(), limits };
        let clock = Clock::system();
        let (written, took_ns) = on_thread(async {
            let writing = spawn_local(writer.go_on());
            while source.0.borrow().asked == 0 {
                sleep_ms(1).await;
            }
            let ended = clock.now();
            if abandons {
                notices.abandon();
            } else {
                notices.end();
            }
            let written = writing.await.unwrap();
            (written, clock.now() - ended)
        });
        assert!(written.iter().all(|it| it.1.is_none()) && !written.is_empty(), "{written:?}");
        assert!(took_ns < 30 * SECOND_NS, "{took_ns}");
        assert_eq!(took_ns >= NO_TIME.patience_ns, !abandons, "{took_ns}");
    }
}

#[test]
fn a_target_has_converged_once_it_has_every_document() {
    for counts in [false, true] {
        let (source, target, notices) =
            (Fake::with(&[("a", "1-a"), ("b", "2-b")]), Fake::default(), notices());
        let queue = Rc::new(Queue::default());
        let mut ends = ends(&source, &target);
        ends.counted = Some(source.connect()).filter(|_| counts).into_iter().collect();
        let limits = Limits { converge_ns: 60 * SECOND_NS, ..NO_TIME };
        let lookout = lookout(ends, &queue, &notices, limits);
        let is_ended = Rc::new(Cell::new(false));
        let upstream = is_ended.clone();
        let found = on_thread(async {
            let looking = spawn_local(lookout.go_on(move || upstream.get()));
            push(&queue, &source, 0..2, false);
            sleep_ms(30).await;
            source.copy_to(&target);
            sleep_ms(30).await;
            push(&queue, &source, 2..3, true);
            queue.fail("one was refused");
            notices.end();
            source.copy_to(&target);
            target.0.borrow_mut().documents.remove("b");
            sleep_ms(100).await;
            assert_eq!(target.0.borrow().counts, 0, "what comes before goes on");
            is_ended.set(true);
            sleep_ms(100).await;
            source.copy_to(&target);
            looking.await.unwrap()
        });
        assert_eq!(found.end, LinkEnd::Converged);
        let converged_s = found.converged_s.unwrap();
        assert!((0.15..60.0).contains(&converged_s), "{converged_s}");
        let markers = found.markers;
        assert_eq!((markers.written, markers.unseen, markers.write_failures), (3, 0, 1));
        assert_eq!(
            (markers.look_failures, markers.reason.as_deref()),
            (0, Some("one was refused"))
        );
        assert_eq!(markers.lag.histogram.len(), 3);
        assert!(markers.lag.histogram.max() >= 29 * MS, "{:?}", markers.lag.histogram.max());
        let comparison = found.comparison.unwrap();
        assert_eq!((comparison.documents, comparison.wrong()), (5, 0));
        assert_eq!(target.0.borrow().counts > 0, counts);
    }
}

#[test]
fn what_a_target_lacks_in_the_end_is_reported() {
    // The limits, whether the last marker comes, whether the target answers, and how that ends.
    let patient = Limits { converge_ns: 60 * SECOND_NS, ..NO_TIME };
    let quiet = Limits { converge_ns: 30 * SECOND_NS, quiet_ns: 1_500 * MS, ..NO_TIME };
    let hasty = Limits { converge_ns: 100 * MS, patience_ns: 60 * SECOND_NS, ..NO_TIME };
    for (limits, comes, answers, end) in [
        (quiet, true, true, LinkEnd::Lost),
        (hasty, false, true, LinkEnd::Behind),
        (hasty, true, false, LinkEnd::Gone),
        (patient, true, false, LinkEnd::Gone),
    ] {
        let (source, target, notices) =
            (Fake::with(&[("a", "1-a"), ("b", "2-b")]), Fake::default(), notices());
        let queue = Rc::new(Queue::default());
        let lookout = lookout(ends(&source, &target), &queue, &notices, limits);
        let clock = Clock::system();
        let (found, took_ns) = on_thread(async {
            push(&queue, &source, 0..1, true);
            if comes {
                source.copy_to(&target);
            }
            target.put("a", "2-x");
            target.0.borrow_mut().documents.remove("b");
            target.refuse(if answers { None } else { Some("it is down") });
            let began = clock.now();
            notices.end();
            let found = lookout.go_on(|| true).await;
            (found, clock.now() - began)
        });
        assert_eq!(found.end, end, "{limits:?}");
        assert_eq!(found.converged_s, None);
        let unseen = u64::from(!comes || !answers);
        assert_eq!((found.markers.written, found.markers.unseen), (1, unseen), "{end:?}");
        let comparison = found.comparison;
        let wrong = comparison.as_ref().map(|it| (it.missing, it.different));
        match end {
            LinkEnd::Lost => {
                assert_eq!(wrong, Some((1, 1)));
                assert_eq!(comparison.unwrap().examples, ["b", "a"], "what is missing comes first");
                assert!(took_ns >= quiet.quiet_ns, "{took_ns}");
            }
            LinkEnd::Behind => assert_eq!(wrong, Some((2, 1))),
            _ => {
                assert_eq!((wrong, found.reason.as_deref()), (None, Some("it is down")));
                assert!(found.markers.look_failures > 0);
                let least_ns = limits.patience_ns.min(limits.converge_ns);
                assert!(took_ns >= least_ns && took_ns < 30 * SECOND_NS, "{took_ns}");
            }
        }
    }
}

#[test]
fn one_that_is_given_up_tells_what_it_has_seen_so_far() {
    let (source, target, notices) = (Fake::default(), Fake::default(), notices());
    let queue = Rc::new(Queue::default());
    let looking =
        |notices: &Arc<Notices>| lookout(ends(&source, &target), &queue, notices, NO_TIME);
    let found = on_thread(async {
        let looking = spawn_local(looking(&notices).go_on(|| true));
        push(&queue, &source, 0..2, false);
        target.put("m_00000", "1-m");
        while target.0.borrow().looks.len() < 2 {
            sleep_ms(1).await;
        }
        notices.abandon();
        looking.await.unwrap()
    });
    assert_eq!((found.end, found.comparison), (LinkEnd::Unknown, None));
    assert_eq!((found.markers.written, found.markers.unseen), (2, 1));
}

/// Along a chain, only markers are looked for, until the last is seen or all links have ended.
#[test]
fn the_way_along_a_chain_ends_with_its_last_marker_or_with_the_links() {
    for sees in [true, false] {
        let (source, target, notices) = (Fake::default(), Fake::default(), notices());
        let queue = Rc::new(Queue::default());
        let lookout = lookout(ends(&source, &target), &queue, &notices, NO_TIME);
        let is_ended = Rc::new(Cell::new(false));
        let links = is_ended.clone();
        let markers = on_thread(async {
            let watching = spawn_local(lookout.watch(move || links.get()));
            push(&queue, &source, 0..2, false);
            source.copy_to(&target);
            sleep_ms(50).await;
            push(&queue, &source, 2..3, true);
            sleep_ms(50).await;
            assert!(!watching.is_finished(), "the last one has not come");
            if sees {
                source.copy_to(&target);
            } else {
                is_ended.set(true);
            }
            watching.await.unwrap()
        });
        assert_eq!((markers.written, markers.unseen), (3, u64::from(!sees)));
        assert_eq!(target.0.borrow().counts, 0);
    }
}

/// Of many that are awaited, the oldest and the newest are looked for.
#[test]
fn a_look_is_for_a_thousand_markers_at_most() {
    for (count, first, then) in [(700, 0..500, 500..700), (1_200, 0..500, 700..1_200)] {
        let (source, target, notices) = (Fake::default(), Fake::default(), notices());
        let queue = Rc::new(Queue::default());
        let lookout = lookout(ends(&source, &target), &queue, &notices, NO_TIME);
        on_thread(async {
            push(&queue, &source, 0..count, false);
            let looking = spawn_local(lookout.go_on(|| true));
            while target.0.borrow().looks.is_empty() {
                sleep_ms(1).await;
            }
            notices.abandon();
            looking.await.unwrap();
        });
        let wanted: Vec<_> = first.chain(then).map(|number| format!("m_{number:05}")).collect();
        assert_eq!(target.0.borrow().looks[0], wanted, "of {count}");
    }
}
