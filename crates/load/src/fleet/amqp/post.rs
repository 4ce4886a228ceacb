//! The queues between a channel's thread and its users, bounded in both directions.

use crate::fleet::{Arrived, Full, LARGEST, Outbox, To, WAITING, Weight};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError};
use std::time::Duration;
use tokio::sync::mpsc;

/// How long messages may take to be sent when the outbox is dropped.
const LEAVING: Duration = Duration::from_secs(5);
/// How often to retry a full inbox.
const GLANCE: Duration = Duration::from_millis(5);

pub(super) enum Posted {
    Message(To, Vec<u8>),
    /// A message that was too large, by its number of bytes.
    TooLarge(usize),
}

/// The outbox. Dropping it waits until messages have been sent, within bounds.
pub(super) struct Post {
    /// `None` once it is dropped.
    messages: Option<mpsc::Sender<Posted>>,
    /// The weight of messages that the broker has not confirmed. A single one is never too much.
    weight: Weight,
    /// Disconnects when the thread has ended.
    ended: Receiver<()>,
}

impl Post {
    /// Creates an outbox for a thread that keeps the other end of `ended`, and takes from `weight`
    /// what the broker has confirmed.
    pub(super) fn new(ended: Receiver<()>, weight: Weight) -> (Self, mpsc::Receiver<Posted>) {
        let (sender, posted) = mpsc::channel(WAITING);
        (Self { messages: Some(sender), weight, ended }, posted)
    }
}

impl Outbox for Post {
    fn send(&mut self, to: To, message: Vec<u8>) -> Result<(), Full> {
        let Some(messages) = &self.messages else { return Ok(()) };
        let bytes = message.len();
        let (posted, weight) = if bytes > LARGEST {
            // Ends the channel, with this as the reason.
            (Posted::TooLarge(bytes), 0)
        } else {
            (Posted::Message(to, message), bytes)
        };
        if !self.weight.add(weight) {
            return Err(Full::Channel);
        }
        match messages.try_send(posted) {
            Err(mpsc::error::TrySendError::Full(_)) => {
                self.weight.remove(weight);
                Err(Full::Channel)
            }
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => Ok(()),
        }
    }
}

impl Drop for Post {
    fn drop(&mut self) {
        self.messages = None;
        // What is not sent in time is dropped.
        let _ = self.ended.recv_timeout(LEAVING);
    }
}

/// Where the thread puts what arrives.
pub(super) struct Inbox(pub(super) SyncSender<Arrived>);

impl Inbox {
    /// Waits until there is room. Returns whether there is still a reader.
    pub(super) async fn put(&self, mut arrived: Arrived) -> bool {
        loop {
            arrived = match self.0.try_send(arrived) {
                Ok(()) => return true,
                Err(TrySendError::Disconnected(_)) => return false,
                Err(TrySendError::Full(arrived)) => arrived,
            };
            // Blocking would hold up heartbeats.
            tokio::time::sleep(GLANCE).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{channel, sync_channel};

    #[test]
    fn an_outbox_takes_so_many_messages_and_so_many_bytes() {
        let (alive, ended) = channel();
        let weight = Weight::up_to(LARGEST);
        let (mut post, mut posted) = Post::new(ended, weight.clone());
        for _ in 0..WAITING {
            assert!(post.send(To::All, Vec::new()).is_ok());
        }
        assert!(post.send(To::All, Vec::new()).is_err(), "so many messages");
        posted.try_recv().unwrap();
        assert!(post.send(To::All, vec![0; LARGEST]).is_ok());
        posted.try_recv().unwrap();
        assert!(post.send(To::All, vec![0]).is_err(), "so many bytes, as none are confirmed");
        assert!(post.send(To::All, Vec::new()).is_ok());
        posted.try_recv().unwrap();
        weight.remove(LARGEST);
        assert!(post.send(To::All, vec![0]).is_ok());
        posted.try_recv().unwrap();
        assert!(post.send(To::All, vec![0; LARGEST + 1]).is_ok(), "ends the channel");
        let last = std::iter::from_fn(|| posted.try_recv().ok()).last();
        assert!(matches!(last, Some(Posted::TooLarge(bytes)) if bytes == LARGEST + 1));
        drop(posted);
        assert!(post.send(To::All, Vec::new()).is_ok(), "the channel is closed");
        drop(alive);
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_inbox_holds_up_who_fills_it() {
        let (sender, read) = sync_channel(1);
        let inbox = Inbox(sender);
        let arrived = || Arrived::Message(vec![1]);
        assert!(inbox.put(arrived()).await);
        let put = tokio::time::timeout(Duration::from_secs(60), inbox.put(arrived()));
        assert!(put.await.is_err());
        read.recv().unwrap();
        assert!(inbox.put(arrived()).await);
        drop(read);
        assert!(!inbox.put(arrived()).await);
    }
}
