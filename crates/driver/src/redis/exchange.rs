//! Sends the commands of an operation, each to the node that has its key, and gathers the answers.

use super::Pipe;
use super::Seat;
use super::cluster::redirected;
use super::commands::Commands;
use super::group::Group;
use super::trouble::NodeRedirect;
use crate::call::CallError;
use crate::measure::{Probe, Wire};
use crate::op::Failure;
use crate::pipe::Answers;
use crate::pipe::{Waiting, all_ended};
use std::rc::Rc;
use std::sync::Arc;

/// How often a command is redirected to another node, at most.
const MOST_REDIRECTED: usize = 5;

#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) group: Rc<Group>,
    pub(super) answers: Answers,
    pub(super) wire: Wire,
    /// Whether anything of the operation was sent.
    pub(super) is_sent: bool,
    waiting: Rc<Waiting>,
}

type Sent = crate::pipe::Sent<super::answer::Scan>;

/// A command on its way to a node.
struct CommandLeg {
    command: usize,
    node: Arc<str>,
    /// Whether `ASKING` must be sent first, so that the node accepts the command.
    asks: bool,
}

impl Exchange {
    pub(super) fn new(group: Rc<Group>) -> Self {
        let (answers, wire, waiting) = Default::default();
        Self { group, answers, wire, is_sent: false, waiting }
    }

    /// Begins another operation.
    pub(super) fn clear(&mut self) {
        self.wire = Wire { requests: Some(0), ..Wire::default() };
        self.is_sent = false;
    }

    /// Sends the commands and waits for all answers.
    ///
    /// # Errors
    /// Fails if there are no answers at all. If only some are missing, the answers say so.
    pub(super) async fn send(
        &mut self,
        commands: &Commands,
        probe: &mut Probe,
    ) -> Result<(), CallError> {
        self.answers.clear();
        self.wire.requests = self.wire.requests.map(|sent| sent + 1);
        if !self.group.is_clustered() {
            let seat = self.group.server().clone();
            return self.send_all(&seat, commands, probe).await;
        }
        let hub = self.group.hub.clone();
        let first = hub.node(commands.get(0).1);
        let together = (1..commands.len()).all(|at| hub.node(commands.get(at).1) == first);
        let mut legs = Vec::new();
        if let Some(node) = first.filter(|_| together) {
            let seat = match self.group.known(&node) {
                Some(seat) => seat,
                None => Box::pin(self.group.node(&node)).await?,
            };
            self.send_all(&seat, commands, probe).await?;
            for command in 0..commands.len() {
                legs.extend(self.redirection(command, commands, &node));
            }
            self.wire.relocated += u64::from(!legs.is_empty());
        } else {
            self.answers.expect(commands.len());
            for command in 0..commands.len() {
                let node = hub.node(commands.get(command).1);
                legs.extend(node.map(|node| CommandLeg { command, node, asks: false }));
            }
            if legs.len() < commands.len() {
                hub.refresh();
                return Err(CallError::new(Failure::NotReady, "no node has this slot"));
            }
        }
        if legs.is_empty() { Ok(()) } else { Box::pin(self.follow(legs, commands, probe)).await }
    }

    async fn send_all(
        &mut self,
        seat: &Seat,
        commands: &Commands,
        probe: &mut Probe,
    ) -> Result<(), CallError> {
        let pipe = if let Some(pipe) = seat.pipe() {
            probe.mark_send_at_once();
            pipe
        } else {
            let pipe = Box::pin(self.group.pipe(seat)).await?;
            probe.mark_send();
            pipe
        };
        if !self.waiting.is_over() {
            // The old connection still expects the answers that were given up.
            self.waiting = Rc::default();
        }
        self.is_sent = true;
        let ended = pipe.send(commands.bytes(), commands.len() as u32, &self.waiting).await;
        self.waiting.times().mark(probe);
        ended?;
        self.waiting.swap(&mut self.answers);
        Ok(())
    }

    /// The redirection of a command, if its answer from `node` is one.
    fn redirection(
        &mut self,
        command: usize,
        commands: &Commands,
        node: &str,
    ) -> Option<CommandLeg> {
        let NodeRedirect { to, asks } = NodeRedirect::of(self.answers.get(command).ok()?)?;
        let node: Arc<str> = redirected(&to, node)?.into();
        self.answers.forget(command);
        if !asks {
            self.group.hub.moved(commands.get(command).1, &node);
        }
        Some(CommandLeg { command, node, asks })
    }

    /// Sends each command to its node, and follows redirections to others.
    async fn follow(
        &mut self,
        mut legs: Vec<CommandLeg>,
        commands: &Commands,
        probe: &mut Probe,
    ) -> Result<(), CallError> {
        for _ in 0..=MOST_REDIRECTED {
            let mut reached = Vec::new();
            let mut nodes: Vec<Arc<str>> = legs.iter().map(|leg| leg.node.clone()).collect();
            nodes.sort_unstable();
            nodes.dedup();
            for node in nodes {
                let (own, others) = legs.into_iter().partition(|leg| leg.node == node);
                legs = others;
                reached.push((self.reach(&node).await, node, own));
            }
            // Nothing is in flight while a node is still being reached.
            let mut sent: Vec<(Arc<str>, Vec<usize>, Sent)> = Vec::new();
            for (pipe, node, own) in reached {
                probe.mark_send();
                self.is_sent |= pipe.is_ok();
                let (numbers, wait) = start(pipe, own, commands);
                sent.push((node, numbers, wait));
            }
            all_ended(sent.iter_mut().map(|(_, _, sent)| sent)).await;
            legs = Vec::new();
            for (node, numbers, wait) in sent {
                match wait.ended() {
                    Ok(waiting) => {
                        waiting.times().mark(probe);
                        let mut answers = Answers::default();
                        waiting.swap(&mut answers);
                        for (number, answer) in numbers.into_iter().zip(answers.iter()) {
                            // `ASKING` itself has no number.
                            if number < usize::MAX {
                                self.answers.put(number, answer);
                                legs.extend(self.redirection(number, commands, &node));
                            }
                        }
                    }
                    Err(lost) => {
                        self.group.hub.refresh();
                        self.answers.lose(lost);
                    }
                }
            }
            if legs.is_empty() {
                return self.answers.all_lost().cloned().map_or(Ok(()), Err);
            }
            self.wire.relocated += 1;
        }
        Err(CallError::new(Failure::ServerError, "sent on from one node to another, without end"))
    }

    async fn reach(&self, node: &Arc<str>) -> Result<Rc<Pipe>, CallError> {
        let seat = self.group.node(node).await?;
        self.group.pipe(&seat).await
    }
}

/// Sends the commands of these legs to their node. Returns the number of the command that each
/// answer belongs to.
fn start(
    pipe: Result<Rc<Pipe>, CallError>,
    legs: Vec<CommandLeg>,
    commands: &Commands,
) -> (Vec<usize>, Sent) {
    let (mut numbers, mut bytes) = (Vec::new(), Vec::new());
    for leg in legs {
        if leg.asks {
            bytes.extend_from_slice(b"*1\r\n$6\r\nASKING\r\n");
            numbers.push(usize::MAX);
        }
        bytes.extend_from_slice(commands.get(leg.command).0);
        numbers.push(leg.command);
    }
    let sent = match pipe {
        Ok(pipe) => {
            let waiting = Rc::<Waiting>::default();
            let wait = pipe.send(&bytes, numbers.len() as u32, &waiting);
            Sent::Waits(wait, waiting, None)
        }
        Err(lost) => Sent::Not(lost),
    };
    (numbers, sent)
}
