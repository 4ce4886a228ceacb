//! Channels over RabbitMQ, each with its own thread and connection.
//!
//! A run has these names at the broker, all gone when it ends, however it ends:
//!
//! | name | is |
//! |---|---|
//! | `springload.RUN.up` | the coordinator's queue, which no second coordinator can have |
//! | `springload.RUN.agent.I` | the queue of agent number I, likewise |
//! | `springload.RUN.down` | a fanout exchange to the queues of all agents |
//! | `springload.RUN.hold` | the coordinator's hold on that exchange: a queue that keeps nothing |
//!
//! A lost connection is made anew as soon as the broker is back; messages may be missing then.
//! Nothing here knows the contents of messages.

mod connect;
mod link;
mod post;
mod wire;

use super::{Broker, Channel, LARGEST, WAITING, Weight};
use connect::{connect, refused};
use lapin::options::{
    BasicConsumeOptions, BasicQosOptions, ConfirmSelectOptions, ExchangeDeclareOptions,
    QueueBindOptions, QueueDeclareOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Connection, Consumer, ExchangeKind};
use link::BrokerLink;
use post::{Inbox, Post};
use std::sync::mpsc;
use std::time::Duration;

/// If there is no sign of life for two heartbeats, 4 to 5 s, the other side is gone. Both sides
/// check this.
const HEARTBEAT_S: u16 = 2;
/// Messages that the broker may send an agent ahead of their acknowledgement ...
const AHEAD: u16 = 32;
/// ... and the coordinator: with a round trip of 200 ms, more than 1,000 a second.
const AHEAD_OF_ALL: u16 = 256;
/// How often an agent checks whether the coordinator is present.
const GLANCE: Duration = Duration::from_millis(250);
/// How long a broker may take to declare the names of an agent, in ten steps.
const SEATING: Duration = Duration::from_secs(30);
/// The longest ID of a run: the broker's names have at most 255 bytes.
const LONGEST_ID: usize = 128;

/// The names of a run at the broker.
struct Names(String);

impl Names {
    fn up(&self) -> String {
        format!("springload.{}.up", self.0)
    }

    fn down(&self) -> String {
        format!("springload.{}.down", self.0)
    }

    fn hold(&self) -> String {
        format!("springload.{}.hold", self.0)
    }

    fn agent(&self, agent: usize) -> String {
        format!("{}{agent}", self.agents())
    }

    /// The prefix of the names of the agents' queues.
    fn agents(&self) -> String {
        format!("springload.{}.agent.", self.0)
    }
}

/// The coordinator's end.
pub(super) fn open(broker: &Broker, run: &str) -> Result<Channel, String> {
    start(broker, run, None, Duration::ZERO)
}

/// An agent's end.
pub(super) fn join(
    broker: &Broker,
    run: &str,
    agent: usize,
    patience: Duration,
) -> Result<Channel, String> {
    start(broker, run, Some(agent), patience)
}

/// Starts the thread of one end, and waits until it is connected.
fn start(
    broker: &Broker,
    run: &str,
    agent: Option<usize>,
    patience: Duration,
) -> Result<Channel, String> {
    if run.is_empty() || run.len() > LONGEST_ID {
        return Err(format!("the ID of the run has {} bytes; give 1 to {LONGEST_ID}", run.len()));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start the broker's thread: {error}"))?;
    let (ended_tx, ended) = mpsc::channel();
    let (begun_tx, begun) = mpsc::channel();
    let (inbox_tx, inbox) = mpsc::sync_channel(WAITING);
    let weight = Weight::up_to(LARGEST);
    let (post, posted) = Post::new(ended, weight.clone());
    let (broker, names) = (broker.clone(), Names(run.to_owned()));
    let work = move || {
        // Disconnects when this thread has ended.
        let _ended = ended_tx;
        runtime.block_on(async {
            match BrokerLink::new(broker, names, agent, weight, patience).await {
                Ok(link) => {
                    let _ = begun_tx.send(Ok(()));
                    link.serve(posted, Inbox(inbox_tx)).await;
                }
                // The receiver of this may be gone.
                Err(why) => drop(begun_tx.send(Err(why))),
            }
        });
        // A name lookup may still be in progress.
        runtime.shutdown_background();
    };
    let thread = std::thread::Builder::new().name("springload-broker".to_owned()).spawn(work);
    thread.map_err(|error| format!("cannot start the broker's thread: {error}"))?;
    begun.recv().unwrap_or_else(|_| Err("the thread for the broker has ended".to_owned()))?;
    Ok(Channel { outbox: Box::new(post), inbox, lossy: true })
}

/// A connection with its queue.
struct Seat {
    connection: Connection,
    channel: lapin::Channel,
    consumer: Consumer,
}

/// Connects, and takes the place of the coordinator or of an agent.
async fn take_seat(
    broker: &Broker,
    names: &Names,
    agent: Option<usize>,
    unread: Weight,
) -> Result<Seat, String> {
    let run = &names.0;
    let (queue, taken) = match agent {
        None => {
            (names.up(), format!("the run {run} has a coordinator already; give another --run-id"))
        }
        Some(agent) => (
            names.agent(agent),
            format!("the run {run} has an agent {agent} already; give each its own --index"),
        ),
    };
    let connection = connect(broker, &queue, unread).await?;
    let seat = tokio::time::timeout(SEATING, declare_all(connection, names, agent, queue)).await;
    seat.map_err(|_| {
        let waited_s = SEATING.as_secs();
        format!("the broker {broker} did not finish its answers within {waited_s} s; try again")
    })?
    .map_err(|error| refused(broker, &error, &taken))
}

/// Declares the names of the coordinator or of an agent, and reads from its queue.
async fn declare_all(
    connection: Connection,
    names: &Names,
    agent: Option<usize>,
    queue: String,
) -> lapin::Result<Seat> {
    let channel = connection.create_channel().await?;
    // Nothing from agents may be dropped; they are notified, and try again. Messages that agents do
    // not take are out of date: these agents have been stopped.
    let overflow = if agent.is_none() { "reject-publish" } else { "drop-head" };
    // A queue must have room for the largest message.
    let most = i64::try_from(2 * LARGEST).unwrap_or(i64::MAX);
    declare(&channel, &queue, "x-max-length-bytes", most, overflow).await?;
    let down = names.down();
    let kind = ExchangeDeclareOptions { auto_delete: true, ..Default::default() };
    let (fanout, none) = (ExchangeKind::Fanout, FieldTable::default);
    channel.exchange_declare(down.clone().into(), fanout, kind, none()).await?;
    let mut bound = queue.clone();
    if agent.is_none() {
        // The exchange is deleted along with the last queue bound to it, but not before the first
        // one is.
        bound = names.hold();
        declare(&channel, &bound, "x-max-length", 0, "drop-head").await?;
    }
    let bind = QueueBindOptions::default();
    channel.queue_bind(bound.into(), down.into(), "".into(), bind, none()).await?;
    channel.confirm_select(ConfirmSelectOptions::default()).await?;
    let ahead = if agent.is_some() { AHEAD } else { AHEAD_OF_ALL };
    channel.basic_qos(ahead, BasicQosOptions::default()).await?;
    let consume = BasicConsumeOptions { exclusive: true, ..Default::default() };
    let consumer = channel.basic_consume(queue.into(), "".into(), consume, none()).await?;
    Ok(Seat { connection, channel, consumer })
}

/// Declares a queue that is deleted with its connection, and that no other connection can use.
async fn declare(
    channel: &lapin::Channel,
    name: &str,
    limit: &str,
    most: i64,
    overflow: &str,
) -> lapin::Result<()> {
    let mut arguments = FieldTable::default();
    arguments.insert(limit.into(), AMQPValue::LongLongInt(most));
    arguments.insert("x-overflow".into(), AMQPValue::LongString(overflow.into()));
    let options = QueueDeclareOptions { exclusive: true, ..Default::default() };
    channel.queue_declare(name.into(), options, arguments).await?;
    Ok(())
}
