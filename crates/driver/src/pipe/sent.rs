//! Requests to several servers at once.

use super::{Protocol, Wait, Waiting};
use crate::call::CallError;
use crate::op::Failure;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// The requests to one server, or the reason why they were not sent.
#[derive(Debug)]
pub(crate) enum Sent<P: Protocol> {
    /// They were sent; the last field is how that ended.
    Waits(Wait<P>, Rc<Waiting>, Option<Result<(), CallError>>),
    /// They were not sent.
    Not(CallError),
}

impl<P: Protocol> Sent<P> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Self::Waits(wait, _, ended @ None) = self {
            match Pin::new(wait).poll(context) {
                Poll::Ready(result) => *ended = Some(result),
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(())
    }

    /// The answers, or why there are none.
    pub(crate) fn ended(self) -> Result<Rc<Waiting>, CallError> {
        match self {
            Self::Waits(_, waiting, Some(Ok(()))) => Ok(waiting),
            Self::Waits(_, _, Some(Err(lost))) | Self::Not(lost) => Err(lost),
            Self::Waits(_, _, None) => Err(Failure::Protocol.into()),
        }
    }
}

/// Waits until all have ended, in whatever order.
pub(crate) async fn all_ended<'a, P: Protocol + 'a>(sent: impl Iterator<Item = &'a mut Sent<P>>) {
    let mut sent: Vec<_> = sent.collect();
    poll_fn(|context| {
        let mut pending = false;
        for each in &mut sent {
            pending |= each.poll(context).is_pending();
        }
        if pending { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
}
