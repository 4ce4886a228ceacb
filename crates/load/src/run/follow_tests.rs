//! What followers find out, with feeds that deliver what a test says.

use super::*;
use crate::measure::Change;
use std::cell::Cell;

/// What a feed does each time it is opened.
#[derive(Clone, Copy)]
enum Feed {
    /// Delivers changes of these documents, and goes on without any more.
    Delivers(&'static [u64]),
    /// Delivers some, and ends.
    Ends(&'static [u64]),
    /// Breaks off.
    Breaks(&'static str),
}

struct Fake {
    node: Option<&'static str>,
    feeds: Vec<Feed>,
    /// What is left at the end, or why it cannot be read.
    rest: Vec<Result<&'static [u64], &'static str>>,
    opened: Rc<Cell<usize>>,
    refused: bool,
}

fn change(document: u64, at: Option<Nanos>) -> Change {
    Change { document, number: 1, at }
}

impl Follower for Fake {
    fn node(&self) -> Option<String> {
        self.node.map(str::to_owned)
    }

    async fn begin(&mut self) -> Result<(), TargetError> {
        if self.refused { Err(TargetError("no feed".to_owned())) } else { Ok(()) }
    }

    async fn follow(&mut self, mut each: impl FnMut(Change)) -> Result<(), TargetError> {
        let feed = self.feeds[self.opened.get().min(self.feeds.len() - 1)];
        self.opened.set(self.opened.get() + 1);
        let now = Some(Clock::system().now());
        match feed {
            Feed::Delivers(documents) => {
                for it in documents {
                    each(change(*it, now));
                }
                std::future::pending().await
            }
            Feed::Ends(documents) => {
                for it in documents {
                    each(change(*it, now));
                }
                Ok(())
            }
            Feed::Breaks(why) => Err(TargetError(why.to_owned())),
        }
    }

    async fn rest(&mut self, mut each: impl FnMut(Change)) -> Result<(), TargetError> {
        let rest = if self.rest.len() > 1 { self.rest.remove(0) } else { self.rest[0] };
        let documents = rest.map_err(|why| TargetError(why.to_owned()))?;
        for it in documents {
            each(change(*it, None));
        }
        Ok(())
    }
}

fn follower(feeds: &[Feed]) -> Fake {
    let (feeds, rest) = (feeds.to_vec(), vec![Ok(&[][..])]);
    Fake { node: None, feeds, rest, opened: Rc::default(), refused: false }
}

/// What these found about writes of the documents 1 to 3, which are acknowledged after 50 ms.
fn followed(followers: Vec<Fake>) -> (Following, Result<(), TargetError>) {
    let plan = FollowPlan {
        followers: followers.len() as u32,
        feed: crate::driver::FeedKind::default(),
        filter: None,
    };
    let over = Arc::new(AtomicBool::new(false));
    let (acks, source) = unbounded_channel();
    let (started, ready) = mpsc::sync_channel(1);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let found = LocalSet::new().block_on(&runtime, async {
        let work = spawn_local(carry_out(followers, plan, source, started, over.clone()));
        tokio::time::sleep(Duration::from_millis(50)).await;
        let done = Clock::system().now();
        let ack = |document| Ack { document, number: 1, done };
        let _ = acks.send([1, 2, 3].map(ack).to_vec());
        tokio::time::sleep(Duration::from_millis(50)).await;
        over.store(true, Ordering::Relaxed);
        work.await.unwrap()
    });
    (found, ready.recv().unwrap())
}

#[test]
fn what_followers_received_is_added_up_by_node() {
    let mut others = [Feed::Delivers(&[1, 2, 3]); 3].map(|feed| follower(&[feed]));
    others[0].node = Some("a");
    others[1].node = Some("a");
    others[2].node = Some("b");
    let (found, ready) = followed(others.into());
    assert!(ready.is_ok());
    assert_eq!((found.acknowledged, found.documents), (3, 3));
    let sums = found.by.iter().map(|it| (it.node.as_deref(), it.followers, it.changes));
    assert_eq!(sums.collect::<Vec<_>>(), [(Some("a"), 2, 6), (Some("b"), 1, 3)]);
    for by in &found.by {
        assert_eq!((by.missing, by.resumed, by.undelivered), (Some(0), 0, 0), "{by:?}");
        assert_eq!(by.early, by.changes, "they came before their writes were acknowledged");
    }
    assert!(!found.own_delay.histogram.is_empty());
}

#[test]
fn a_feed_that_breaks_off_is_continued_and_counted() {
    let broken =
        follower(&[Feed::Breaks("reset"), Feed::Breaks("gone"), Feed::Delivers(&[1, 2, 3])]);
    let ended = follower(&[Feed::Ends(&[1]), Feed::Ends(&[2, 3]), Feed::Delivers(&[])]);
    for (follower, resumed, reason) in [(broken, 2, Some("reset")), (ended, 0, None)] {
        let opened = follower.opened.clone();
        let (found, _) = followed(vec![follower]);
        let by = &found.by[0];
        assert_eq!((by.changes, by.missing, by.resumed), (3, Some(0), resumed), "{by:?}");
        assert_eq!(by.reason.as_deref(), reason);
        assert_eq!(opened.get(), 3);
    }
}

/// What a feed has not delivered is asked for at the end, a few times if that fails.
#[test]
fn what_is_left_is_read_at_the_end() {
    let read = |rest: &[Result<&'static [u64], &'static str>]| {
        let follower = Fake { rest: rest.to_vec(), ..follower(&[]) };
        let shared = Rc::new(RefCell::new(Follows::new(1, false)));
        let ack = |document| Ack { document, number: 1, done: 1 };
        shared.borrow_mut().acknowledge(&[1, 2, 3].map(ack));
        let (resumed, reason, to_the_end) = (0, None, false);
        let mut lane = FollowerLane { number: 0, follower, resumed, reason, to_the_end };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(lane.read_rest(&shared));
        shared.borrow_mut().compare(2);
        let found = summed(&shared.borrow(), &[lane], Latency::default());
        let by = &found.by[0];
        (by.changes, by.undelivered, by.missing, by.reason.clone())
    };
    let busy = || Some("busy".to_owned());
    assert_eq!(read(&[Ok(&[1, 2, 3])]), (3, 3, Some(0), None));
    assert_eq!(read(&[Ok(&[3])]), (1, 1, Some(2), None));
    assert_eq!(read(&[Err("busy"), Err("full"), Ok(&[1, 2, 3])]), (3, 3, Some(0), busy()));
    assert_eq!(read(&[Err("busy")]), (0, 0, None, busy()), "nobody knows what is missing");
}

#[test]
fn a_follower_that_cannot_begin_is_reported_at_once() {
    let mut refused = follower(&[Feed::Delivers(&[])]);
    refused.refused = true;
    let (found, ready) = followed(vec![follower(&[Feed::Delivers(&[])]), refused]);
    assert_eq!(ready.unwrap_err().to_string(), "no feed");
    assert_eq!(found, Following::default());
}

#[test]
fn a_few_begin_at_once_and_all_in_order() {
    let (at_once, most) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let work = |n: usize| {
        let (at_once, most) = (at_once.clone(), most.clone());
        async move {
            at_once.set(at_once.get() + 1);
            most.set(most.get().max(at_once.get()));
            tokio::task::yield_now().await;
            at_once.set(at_once.get() - 1);
            n
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let done = LocalSet::new().block_on(&runtime, in_turn((0..40).collect(), work));
    assert_eq!(done, (0..40).collect::<Vec<_>>());
    assert_eq!(most.get(), AT_ONCE);
}

#[test]
fn changes_are_waited_for_until_all_have_come_or_patience_ends() {
    for (after_ns, least_ns, is_complete, enough) in [
        (0, 0, true, true),
        (0, 0, false, false),
        (5 * SECOND_NS, 0, false, false),
        (0, SETTLE_NS, true, false),
        (SETTLE_NS, SETTLE_NS, true, true),
        (SETTLE_NS, SETTLE_NS, false, false),
        (PATIENCE_NS, 0, false, false),
        (PATIENCE_NS + 1, 0, false, true),
    ] {
        let found = is_enough(after_ns, least_ns, is_complete);
        assert_eq!(found, enough, "{after_ns} {least_ns} {is_complete}");
    }
}

/// A server that ends each feed at once is not asked without a pause.
#[test]
fn feeds_that_end_at_once_are_opened_ever_more_rarely() {
    let follower = follower(&[Feed::Ends(&[1, 2, 3]), Feed::Ends(&[])]);
    let opened = follower.opened.clone();
    let (found, _) = followed(vec![follower]);
    assert_eq!((found.by[0].changes, found.by[0].missing), (3, Some(0)));
    // 10, 20, 40, 80 ms and so on: a dozen in 6 s.
    assert!((3..100).contains(&opened.get()), "{}", opened.get());
}

/// The time that passes while nothing is late is no delay.
#[tokio::test(start_paused = true)]
async fn only_what_is_late_is_a_delay() {
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let ending = async {
        tokio::time::sleep(LOOK_EVERY * 50).await;
        stop.send(true).unwrap();
    };
    let (late, ()) = tokio::join!(delays(stopped), ending);
    assert!(late.len() >= 40 && late.min() < 5_000_000, "{} {}", late.len(), late.min());
}
