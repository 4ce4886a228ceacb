//! Connections whose answers are read without asking the kernel first which ones are readable.
//!
//! A shard that naps until the next operation is due mostly has one or two answers to read when it
//! wakes, and knows which connections they belong to. Trying to read from these costs less than
//! `epoll_wait`, which is then only needed occasionally, for everything else.

use std::cell::RefCell;
use std::task::{Context, Waker};

/// With more connections, asking the kernel once is cheaper than trying each.
const MOST_TRIED: usize = 4;

/// The connections of a shard that are waiting for an answer.
#[derive(Debug, Default)]
pub(super) struct Unread {
    waiting: RefCell<Vec<Waiting>>,
}

#[derive(Debug)]
struct Waiting {
    /// The descriptor of the connection's socket.
    socket: i32,
    waker: Waker,
    called: bool,
}

impl Unread {
    /// Called when the connection with this socket is polled. Returns whether it was woken by
    /// [`call`](Self::call), and should try to read regardless of what the runtime knows.
    pub(super) fn polled(&self, socket: i32) -> bool {
        let mut waiting = self.waiting.borrow_mut();
        let at = waiting.iter().position(|it| it.socket == socket);
        at.is_some_and(|at| waiting.swap_remove(at).called)
    }

    /// Called when the connection with this socket starts waiting for an answer.
    pub(super) fn wait(&self, socket: i32, context: &Context<'_>) {
        let mut waiting = self.waiting.borrow_mut();
        // One more than are tried, to show that there are more.
        if waiting.len() <= MOST_TRIED {
            waiting.push(Waiting { socket, waker: context.waker().clone(), called: false });
        }
    }

    /// Wakes all that are waiting, if there are `expected` of them and not too many. Otherwise
    /// returns `false`: the kernel has to be asked.
    pub(super) fn call(&self, expected: u64) -> bool {
        let mut waiting = self.waiting.borrow_mut();
        let few = waiting.len() <= MOST_TRIED && waiting.len() as u64 == expected;
        if few {
            for it in &mut *waiting {
                it.called = true;
                it.waker.wake_by_ref();
            }
        } else {
            // Entries of closed connections would stay for ever; the others will be added again.
            waiting.clear();
        }
        few
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{Context, MOST_TRIED, Unread, Waker};
    use crate::clock::{Clock, SECOND_NS};
    use crate::net::{Endpoint, ShardContext, Stream, TlsOptions};
    use std::io::Write as _;
    use std::task::Poll;

    #[test]
    fn only_the_expected_connections_are_called_and_only_few() {
        let context = Context::from_waker(Waker::noop());
        let unread = Unread::default();
        assert!(unread.call(0), "nobody waits, and nobody is expected");
        unread.wait(3, &context);
        assert!(!unread.polled(3), "nobody called it");
        unread.wait(3, &context);
        unread.wait(4, &context);
        assert!(!unread.call(1), "one of them has been closed");
        assert!(!unread.call(2), "none is known any more");
        unread.wait(3, &context);
        assert!(unread.call(1));
        assert!(!unread.polled(4) && unread.polled(3) && !unread.polled(3));
        for many in [MOST_TRIED, MOST_TRIED + 1, MOST_TRIED + 9] {
            let sockets = 0..i32::try_from(many).unwrap();
            sockets.clone().for_each(|socket| unread.wait(socket, &context));
            assert_eq!(unread.call(many as u64), many == MOST_TRIED, "{many}");
            sockets.for_each(|socket| _ = unread.polled(socket));
        }
    }

    /// The runtime never notices the answer, because it never asks the kernel.
    #[tokio::test]
    async fn a_connection_that_is_called_reads_what_the_runtime_has_not_seen() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let endpoint = Endpoint::resolve(&url, &TlsOptions::default()).unwrap();
        let shard = ShardContext::with_timestamps(Clock::system(), SECOND_NS);
        let timestamps = shard.timestamps().unwrap();
        let mut stream = Stream::connect(&endpoint, 0, true).await.unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let mut context = Context::from_waker(Waker::noop());
        let mut buffer = [0; 64];
        let mut poll = || {
            let poll = stream.poll_read(&mut context, &mut buffer, Some(&timestamps));
            match poll {
                Poll::Ready(read) => Some(read.unwrap().0),
                Poll::Pending => None,
            }
        };
        assert_eq!(poll(), None);
        server.write_all(b"answer").unwrap();
        assert_eq!(poll(), None, "nobody has asked the kernel");
        assert!(!shard.call_unread(2), "one waits");
        assert_eq!(poll(), None, "and was forgotten");
        assert!(shard.call_unread(1));
        // On loopback, what was written has already arrived.
        assert_eq!(poll(), Some(6));
        assert!(shard.call_unread(0), "nobody waits any more");
        assert_eq!(poll(), None);
        assert!(shard.call_unread(1));
        assert_eq!(poll(), None, "nothing came");
        drop(server);
        assert!(shard.call_unread(1));
        assert_eq!(poll(), Some(0), "the end");
    }
}
