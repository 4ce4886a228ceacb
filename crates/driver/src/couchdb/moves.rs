//! How a session moves among the nodes of a cluster: to one that answers, and back to its own.

use super::head::looks_up;
use super::{CouchPen, CouchSession};
use crate::clock::Nanos;
use crate::measure::Probe;
use crate::net::Stream;
use crate::op::Op;

impl CouchSession {
    /// Connects to its own node if that answers, otherwise to another one. Returns when it began to
    /// connect, if it had to.
    pub(super) async fn settle_down(&mut self) -> Option<Nanos> {
        let place = self.place.as_mut()?;
        if let Some(stream) = place.way_home().await {
            let home = place.home;
            self.turn_to(home, Some(stream));
        }
        let mut since = None;
        for _ in 0..self.place.as_ref()?.nodes.all.len() {
            let place = self.place.as_ref()?;
            let better = place.best().filter(|&best| best != place.at);
            if let Some(node) = better.filter(|_| !self.connection.is_open()) {
                self.turn_to(node, None);
            }
            let began = self.connection.ready().await;
            since = since.or(began);
            // After a pause, the next request connects.
            let own = || self.connection.trouble().is_some_and(|it| it.own);
            if self.connection.is_open() || began.is_none() || own() {
                break;
            }
            let place = self.place.as_ref()?;
            place.nodes.lose(place.at);
        }
        since
    }

    /// To be called before an operation is sent: if its connection was closed since it was
    /// prepared, and its node is gone, the operation is sent to another node.
    pub(super) async fn leave_closed(&mut self, op: &Op, pen: &mut CouchPen, probe: &mut Probe) {
        self.connection.look();
        let is_open = self.connection.is_open();
        if !self.place.as_ref().is_some_and(|place| place.is_restless(is_open)) {
            return;
        }
        let before = self.at();
        self.settle_down().await;
        probe.mark_send();
        if before != self.at() && !looks_up(op) {
            pen.payload.strip_head();
            self.encode(op, pen);
        }
    }

    /// The number of its current node.
    pub(super) fn at(&self) -> Option<usize> {
        self.place.as_ref().map(|place| place.at)
    }

    fn turn_to(&mut self, node: usize, stream: Option<Stream>) {
        let Some(place) = &mut self.place else { return };
        place.turn_to(node);
        let node = place.node().clone();
        self.connection.turn_to(node.way, stream);
        (self.credentials, self.renewal) = (node.credentials, node.renewal);
        (self.common, self.lines) = (node.common, node.lines);
    }
}
