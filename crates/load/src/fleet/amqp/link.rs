//! One end of a channel: sends what is posted, hands over what arrives, notices when the other end
//! is gone, and reconnects when the broker returns.

use super::connect::{is_nonsense, lost};
use super::post::{Inbox, Posted};
use super::{GLANCE, Names, Seat, take_seat};
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::fleet::guard::{OVERHEAD, too_large};
use crate::fleet::{Arrived, Broker, LARGEST, To, Weight, nonce};
use futures_core::Stream;
use lapin::message::{BasicReturnMessage, Delivery};
use lapin::options::{BasicAckOptions, BasicPublishOptions};
use lapin::protocol::BasicProperties;
use lapin::{Confirmation, Consumer, Error, PublisherConfirm};
use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::future::poll_fn;
use std::ops::Bound;
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

/// How often to check that the other side is present.
const PROBE: Duration = Duration::from_secs(1);
/// How many agents are checked at once.
const PROBED: usize = 256;
/// The most messages of a coordinator that may wait for the broker's confirmation.
const UNCONFIRMED: usize = 512;
/// The weight of messages that a broker may send ahead of their reader: more than RabbitMQ sends
/// once it has been given a limit.
const AHEAD: usize = 16 * LARGEST;
/// How soon a message is resent if the coordinator's queue had no room for it.
const AGAIN: Duration = Duration::from_millis(50);
/// How long leaving may take.
const LEAVING: Duration = Duration::from_secs(2);
/// How many agents connect within ...
const BLOCK: usize = 50;
/// ... this time.
const BLOCK_WITHIN: Duration = Duration::from_millis(250);
/// A broker that took this long and then did not let an agent in may be busy with others ...
const BUSY_NS: Nanos = 5 * SECOND_NS;
/// ... and is asked again within this many milliseconds, unless it has been asked for this long in
/// total.
const AGAIN_WITHIN_MS: u64 = 10_000;
const ASKED_NS: Nanos = 40 * SECOND_NS;
/// Marks the last message of one end.
const BYE: &str = "bye";

/// One end of a channel.
pub(super) struct BrokerLink {
    broker: Broker,
    names: Names,
    /// The agent's number; `None` at the coordinator.
    agent: Option<usize>,
    seat: Seat,
    weight: Weight,
    /// What the broker has sent and has not been read.
    unread: Weight,
    /// The agents that the coordinator has heard from and not missed since.
    heard: RefCell<BTreeSet<usize>>,
}

/// The reason an end does not go on.
enum End {
    /// Its user no longer needs it.
    Left,
    /// The broker is gone, and may return.
    Cut(String),
    /// The coordinator is gone, and may return.
    Away(String),
    /// Something went wrong for good.
    Lost(String),
}

/// A message that the broker has not confirmed.
struct Unconfirmed {
    to: To,
    message: Vec<u8>,
    confirm: PublisherConfirm,
    weighs: Weighs,
}

/// The weight of a message, counted until this is dropped.
struct Weighs(Weight, usize);

impl Drop for Weighs {
    fn drop(&mut self) {
        self.0.remove(self.1);
    }
}

/// Takes the place of the coordinator or of an agent. A hundred agents connecting at once can keep
/// a broker busy for longer than it allows each of them.
async fn be_seated(
    broker: &Broker,
    names: &Names,
    agent: Option<usize>,
    unread: Weight,
) -> Result<Seat, String> {
    let clock = Clock::system();
    let first = clock.now();
    loop {
        let began = clock.now();
        let seated = take_seat(broker, names, agent, unread.clone()).await;
        let now = clock.now();
        let busy = now - began >= BUSY_NS && now - first < ASKED_NS;
        if seated.is_ok() || agent.is_none() || !busy {
            return seated;
        }
        tokio::time::sleep(Duration::from_millis(nonce() % AGAIN_WITHIN_MS)).await;
    }
}

impl BrokerLink {
    /// Connects. An agent then waits until the coordinator is present.
    pub(super) async fn new(
        broker: Broker,
        names: Names,
        agent: Option<usize>,
        weight: Weight,
        patience: Duration,
    ) -> Result<Self, String> {
        if let Some(agent) = agent {
            tokio::time::sleep(delay(agent, nonce())).await;
        }
        let unread = Weight::up_to(AHEAD);
        let seat = be_seated(&broker, &names, agent, unread.clone()).await?;
        let heard = RefCell::default();
        let link = Self { broker, names, agent, seat, weight, unread, heard };
        if agent.is_some() {
            let found = tokio::time::timeout(patience, link.find_coordinator());
            found.await.unwrap_or_else(|_| Err(link.no_coordinator(patience)))?;
        }
        Ok(link)
    }

    async fn find_coordinator(&self) -> Result<(), String> {
        let lost = |error: Error| lost(&self.broker, &error);
        loop {
            let sent = self.publish(To::All, Vec::new(), "").await.map_err(lost)?;
            let confirmed = sent.confirm.await.map_err(lost)?;
            if self.returned(confirmed).is_none() {
                return Ok(());
            }
            tokio::time::sleep(GLANCE).await;
        }
    }

    fn no_coordinator(&self, patience: Duration) -> String {
        let (broker, run, waited) = (&self.broker, &self.names.0, patience.as_secs_f64());
        format!(
            "no coordinator of the run {run} joined the broker {broker} within {waited} s; start \
             it with --broker and --run-id {run}"
        )
    }

    /// Works until its user no longer needs it, or the broker cannot be used. If the broker is
    /// gone, waits for it.
    pub(super) async fn serve(mut self, mut posted: mpsc::Receiver<Posted>, inbox: Inbox) {
        loop {
            // The library closes the queue along with its consumer, which must not happen before
            // the end.
            let mut consumer = self.seat.consumer.clone();
            let end = tokio::select! {
                end = self.send_all(&mut posted, &inbox) => end,
                end = self.receive(&mut consumer, &inbox) => end,
            };
            let (why, away) = match end {
                End::Left => return self.leave().await,
                End::Lost(why) => {
                    tokio::join!(self.close(), inbox.put(Arrived::Closed(why)));
                    return;
                }
                End::Away(why) => (why, true),
                End::Cut(why) => (why, false),
            };
            let read = inbox.put(Arrived::Cut(To::All, why)).await;
            let left = async {
                while !posted.is_closed() {
                    tokio::time::sleep(GLANCE).await;
                }
            };
            let back = tokio::select! {
                () = self.come_back(away), if read => true,
                () = left => false,
            };
            if !back {
                return;
            }
        }
    }

    /// Takes the same place again as soon as possible; an agent then waits for the coordinator.
    /// `away`: only the coordinator is gone, not the broker.
    async fn come_back(&mut self, away: bool) {
        if away && self.find_coordinator().await.is_ok() {
            return;
        }
        self.close().await;
        loop {
            tokio::time::sleep(GLANCE).await;
            let unread = Weight::up_to(AHEAD);
            let seat = take_seat(&self.broker, &self.names, self.agent, unread.clone()).await;
            let Ok(seat) = seat else { continue };
            (self.seat, self.unread) = (seat, unread);
            if self.agent.is_none() || self.find_coordinator().await.is_ok() {
                return;
            }
        }
    }

    /// Informs the other side, and closes the connection.
    async fn leave(&mut self) {
        let bye = async { self.publish(To::All, Vec::new(), BYE).await?.confirm.await };
        // A receiver that misses it will notice that this end is gone.
        let _ = tokio::time::timeout(LEAVING, bye).await;
        self.close().await;
    }

    async fn close(&self) {
        let close = self.seat.connection.close(200, "OK".into());
        // What cannot be closed is lost anyway.
        let _ = tokio::time::timeout(LEAVING, close).await;
    }

    async fn publish(&self, to: To, message: Vec<u8>, kind: &str) -> Result<Unconfirmed, Error> {
        let weighs = Weighs(self.weight.clone(), message.len());
        self.publish_weighed(to, message, kind, weighs).await
    }

    async fn publish_weighed(
        &self,
        to: To,
        message: Vec<u8>,
        kind: &str,
        weighs: Weighs,
    ) -> Result<Unconfirmed, Error> {
        let (exchange, queue) = match (self.agent, to) {
            (Some(_), _) => (String::new(), self.names.up()),
            (None, To::All) => (self.names.down(), String::new()),
            (None, To::Agent(agent)) => (String::new(), self.names.agent(agent)),
        };
        let from = self.agent.map_or_else(String::new, |agent| agent.to_string());
        let properties = BasicProperties::default().with_app_id(from.into()).with_type(kind.into());
        // A message that reaches no queue is returned.
        let options = BasicPublishOptions { mandatory: true, immediate: false };
        let (exchange, queue) = (exchange.into(), queue.into());
        let channel = &self.seat.channel;
        let sent = channel.basic_publish(exchange, queue, options, &message, properties);
        Ok(Unconfirmed { to, confirm: sent.await?, message, weighs })
    }

    /// Sends what is posted, in order, until there is no more.
    async fn send_all(&self, posted: &mut mpsc::Receiver<Posted>, inbox: &Inbox) -> End {
        // An agent's message may have to be resent before the next one.
        let most = if self.agent.is_some() { 1 } else { UNCONFIRMED };
        let mut unconfirmed = VecDeque::new();
        let mut probes = tokio::time::interval(PROBE);
        probes.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut done, mut last_probed) = (false, None);
        while !done || !unconfirmed.is_empty() {
            let room = unconfirmed.len() < most;
            let step = tokio::select! {
                confirmed = confirmation(&mut unconfirmed) => {
                    self.confirmed(confirmed, &mut unconfirmed, inbox).await
                }
                next = posted.recv(), if room && !done => match next {
                    Some(Posted::Message(to, message)) => {
                        if self.agent.is_some() {
                            probes.reset();
                        }
                        self.publish(to, message, "").await.map(|sent| unconfirmed.push_back(sent))
                            .map_err(|error| self.ended(&error))
                    }
                    Some(Posted::TooLarge(bytes)) => Err(End::Lost(too_large(bytes as u64))),
                    None => {
                        done = true;
                        Ok(())
                    }
                },
                _ = probes.tick(), if room && !done => {
                    let probed = self.probe(&mut last_probed, &mut unconfirmed).await;
                    probed.map_err(|error| self.ended(&error))
                }
            };
            if let Err(end) = step {
                return end;
            }
        }
        End::Left
    }

    /// Sends an empty message, to see whether it is accepted.
    async fn probe(
        &self,
        last: &mut Option<usize>,
        unconfirmed: &mut VecDeque<Unconfirmed>,
    ) -> Result<(), Error> {
        if self.agent.is_some() {
            unconfirmed.push_back(self.publish(To::All, Vec::new(), "").await?);
            return Ok(());
        }
        let next: Vec<_> = {
            let heard = self.heard.borrow();
            let after = last.map_or(Bound::Unbounded, Bound::Excluded);
            heard.range((after, Bound::Unbounded)).take(PROBED).copied().collect()
        };
        // After the last agent, the first one follows.
        *last = next.last().copied().filter(|_| next.len() == PROBED);
        for agent in next {
            unconfirmed.push_back(self.publish(To::Agent(agent), Vec::new(), "").await?);
        }
        Ok(())
    }

    /// Handles the broker's response to the oldest message.
    async fn confirmed(
        &self,
        confirmed: Result<Confirmation, Error>,
        unconfirmed: &mut VecDeque<Unconfirmed>,
        inbox: &Inbox,
    ) -> Result<(), End> {
        let Some(sent) = unconfirmed.pop_front() else { return Ok(()) };
        let confirmed = confirmed.map_err(|error| self.ended(&error))?;
        if confirmed.is_nack() {
            if self.agent.is_none() {
                return Err(End::Lost(format!("the broker {} has lost a message", self.broker)));
            }
            // The coordinator is slow. Nothing else is sent until it has caught up.
            tokio::time::sleep(AGAIN).await;
            let again = self.publish_weighed(sent.to, sent.message, "", sent.weighs).await;
            unconfirmed.push_front(again.map_err(|error| self.ended(&error))?);
            return Ok(());
        }
        drop(sent);
        let Some(returned) = self.returned(confirmed) else { return Ok(()) };
        if self.agent.is_some() {
            return Err(End::Away(format!("the coordinator of the run {} is gone", self.names.0)));
        }
        // The library hands over a returned message with whichever message is confirmed next: only
        // the address on it tells who it was for.
        let address = returned.delivery.routing_key.as_str();
        let agent = address.strip_prefix(&self.names.agents()).and_then(|it| it.parse().ok());
        if let Some(agent) = agent
            && self.heard.borrow_mut().remove(&agent)
        {
            let why = "its connection to the broker is gone".to_owned();
            inbox.put(Arrived::Cut(To::Agent(agent), why)).await;
        }
        Ok(())
    }

    /// The message that was returned along with a confirmation, if there is one.
    fn returned(&self, confirmed: Confirmation) -> Option<BasicReturnMessage> {
        let returned = confirmed.take_message()?;
        self.unread.remove(returned.delivery.data.len() + OVERHEAD);
        Some(returned)
    }

    /// Hands over what arrives, until nothing more can arrive.
    async fn receive(&self, consumer: &mut Consumer, inbox: &Inbox) -> End {
        loop {
            let delivery =
                match poll_fn(|context| Pin::new(&mut *consumer).poll_next(context)).await {
                    Some(Ok(delivery)) => delivery,
                    Some(Err(error)) => return self.ended(&error),
                    None => return End::Lost(format!("the broker {} lost its queue", self.broker)),
                };
            let (acker, bytes) = (delivery.acker.clone(), delivery.data.len());
            let arrived = match self.arrived(delivery) {
                Err(why) => return End::Lost(why),
                Ok(arrived) => arrived,
            };
            if let Some(arrived) = arrived
                && !inbox.put(arrived).await
            {
                return End::Left;
            }
            self.unread.remove(bytes + OVERHEAD);
            if let Err(error) = acker.ack(BasicAckOptions::default()).await {
                return self.ended(&error);
            }
        }
    }

    /// What a delivery means to the user of this end.
    fn arrived(&self, delivery: Delivery) -> Result<Option<Arrived>, String> {
        let Delivery { properties, data, .. } = delivery;
        let bye = properties.kind().as_ref().is_some_and(|kind| kind.as_str() == BYE);
        let from = properties.app_id().as_ref().and_then(|id| id.as_str().parse().ok());
        match (self.agent, from) {
            (Some(_), _) if bye => {
                return Err(format!("the coordinator of the run {} has left", self.names.0));
            }
            (None, Some(agent)) if bye => {
                let new = self.heard.borrow_mut().remove(&agent);
                let gone = || Arrived::AgentGone(agent, "it has left".to_owned());
                return Ok(new.then(gone));
            }
            (None, Some(agent)) => {
                self.heard.borrow_mut().insert(agent);
            }
            _ => {}
        }
        Ok(Some(data).filter(|data| !data.is_empty()).map(Arrived::Message))
    }

    fn ended(&self, error: &Error) -> End {
        let why = lost(&self.broker, error);
        if is_nonsense(error) { End::Lost(why) } else { End::Cut(why) }
    }
}

/// The broker's response to the oldest message; never returns if there is no message.
async fn confirmation(unconfirmed: &mut VecDeque<Unconfirmed>) -> Result<Confirmation, Error> {
    match unconfirmed.front_mut() {
        Some(sent) => (&mut sent.confirm).await,
        None => std::future::pending().await,
    }
}

/// How long an agent waits before it connects: a random time. A broker that gets all connections at
/// once keeps some waiting too long, so the agents of a large run connect block by block.
fn delay(agent: usize, random: u64) -> Duration {
    BLOCK_WITHIN * u32::try_from(agent / BLOCK).unwrap_or(u32::MAX)
        + BLOCK_WITHIN.mul_f64(random as f64 / u64::MAX as f64)
}
