//! Connects to RabbitMQ, and explains in one line why that failed and what to do about it.

use super::HEARTBEAT_S;
use super::wire::{BrokerWire, runtime};
use crate::fleet::{Broker, FRAME_MAX, Weight};
use crate::net::{TlsOptions, Trouble, tls_config};
use lapin::AsyncTcpStream;
use lapin::uri::{AMQPAuthority, AMQPQueryString, AMQPScheme, AMQPUri, AMQPUserInfo};
use lapin::{Connection, ConnectionProperties, Error, ErrorKind};
use std::io;
use std::sync::Mutex;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::ServerName;

/// How long each step of connecting may take.
const STEP: Duration = Duration::from_secs(10);
const LATE: &str = "no answer in 10 s";

/// AMQP's numbers for refusals.
const CONNECTION_FORCED: u16 = 320;
const ACCESS_REFUSED: u16 = 403;
const NOT_FOUND: u16 = 404;
const RESOURCE_LOCKED: u16 = 405;
const NOT_ALLOWED: u16 = 530;

/// Opens a connection that is called `name` in RabbitMQ's own lists. `unread` counts what has
/// arrived there and has not been read.
pub(super) async fn connect(
    broker: &Broker,
    name: &str,
    unread: Weight,
) -> Result<Connection, String> {
    let addresses = tokio::net::lookup_host((broker.host.as_str(), broker.port));
    let addresses = within(addresses).await.map_err(|error| {
        let host = &broker.host;
        format!("cannot find the address of the broker {host}: {error}; check its name")
    })?;
    let mut found = Err(io::Error::from(io::ErrorKind::AddrNotAvailable));
    for address in addresses {
        found = within(TcpStream::connect(address)).await;
        if found.is_ok() {
            break;
        }
    }
    let found = found.and_then(|stream| stream.set_nodelay(true).map(|()| stream));
    let stream = found.map_err(|error| {
        format!(
            "cannot reach the broker {broker}: {error}; start RabbitMQ there, or give another one \
             with --broker or SPRINGLOAD_BROKER"
        )
    })?;
    let wire = if broker.secure {
        BrokerWire::new(secure(broker, stream).await?, unread)
    } else {
        BrokerWire::new(stream, unread)
    };
    let properties = ConnectionProperties::default().with_connection_name(name.into());
    let wire = Mutex::new(Some(wire));
    // There is only one stream, so nothing is retried.
    let take = async move |_, _| {
        let wire = wire.lock().ok().and_then(|mut wire| wire.take());
        let gone = || Error::from(io::Error::from(io::ErrorKind::ConnectionAborted));
        wire.map(AsyncTcpStream::Plain).ok_or_else(gone)
    };
    let opened = Connection::connector(uri(broker), runtime(), take, properties);
    let late = |_| Err(io::Error::new(io::ErrorKind::TimedOut, LATE).into());
    let opened = tokio::time::timeout(STEP, opened).await.unwrap_or_else(late);
    opened.map_err(|error: Error| unwelcome(broker, &error))
}

/// TLS over a stream to the broker.
async fn secure(broker: &Broker, stream: TcpStream) -> Result<TlsStream<TcpStream>, String> {
    let options = TlsOptions { authorities: broker.authorities.clone(), ..TlsOptions::default() };
    let config = tls_config(&options, "amqps://…?cacertfile=FILE");
    let config = config.map_err(|error| format!("the broker {broker}: {error}"))?;
    let name = ServerName::try_from(broker.host.clone());
    let name = name.map_err(|error| format!("the broker {broker}: {error}; check its name"))?;
    let secured = TlsConnector::from(config).connect(name, stream);
    within(secured).await.map_err(|error| insecure(broker, &error))
}

async fn within<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let late = |_| Err(io::Error::new(io::ErrorKind::TimedOut, LATE));
    tokio::time::timeout(STEP, work).await.unwrap_or_else(late)
}

fn uri(broker: &Broker) -> AMQPUri {
    // The default user of a new RabbitMQ; it only works for connections from the same machine.
    let or_guest = |text: &Option<String>| text.clone().unwrap_or_else(|| "guest".to_owned());
    AMQPUri {
        scheme: if broker.secure { AMQPScheme::AMQPS } else { AMQPScheme::AMQP },
        authority: AMQPAuthority {
            userinfo: AMQPUserInfo {
                username: or_guest(&broker.user),
                password: or_guest(&broker.password),
            },
            host: broker.host.clone(),
            port: broker.port,
        },
        vhost: broker.vhost.clone(),
        query: AMQPQueryString {
            heartbeat: Some(broker.heartbeat_s.unwrap_or(HEARTBEAT_S)),
            // The library keeps 64 frames in memory, however large the broker wants them to be.
            frame_max: Some(FRAME_MAX),
            ..AMQPQueryString::default()
        },
    }
}

/// The reason there is no TLS with the broker.
fn insecure(broker: &Broker, error: &io::Error) -> String {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    let why = Trouble::of_lost(error);
    match cause {
        Some(rustls::Error::InvalidCertificate(_)) => format!(
            "the certificate of the broker {broker} cannot be trusted: {why}; give a PEM file of \
             its authority with amqps://…?cacertfile=FILE, and the host as the certificate does"
        ),
        _ => format!(
            "cannot use TLS with {broker}: {why}; give RabbitMQ's port for TLS (5671), or \
             amqp:// without TLS"
        ),
    }
}

/// The reason the server that was reached cannot be used as a broker.
fn unwelcome(broker: &Broker, error: &Error) -> String {
    let refused = refusal(error);
    match refused {
        Some((ACCESS_REFUSED, _)) => {
            let user = broker.user.as_deref().unwrap_or("guest");
            format!(
                "the broker {broker} refuses the user {user} with this password; set both in \
                 SPRINGLOAD_BROKER_USER and SPRINGLOAD_BROKER_PASSWORD"
            )
        }
        Some((NOT_ALLOWED, why)) => format!(
            "the broker {broker} has no virtual host {} for this user ({why}); name another one \
             at the end of the address, or add it: rabbitmqctl add_vhost, set_permissions",
            broker.vhost
        ),
        Some((_, why)) => format!("the broker {broker} refuses the connection: {why}"),
        None => format!(
            "the server at {broker} does not speak RabbitMQ's protocol ({}); give RabbitMQ's port \
             (5672), and amqps:// (5671) if it uses TLS",
            reason(error)
        ),
    }
}

/// The broker's refusal, if that ended the connection: AMQP's number and the broker's text.
fn refusal(error: &Error) -> Option<(u16, &str)> {
    match error.kind() {
        ErrorKind::ProtocolError(answer) => Some((answer.get_id(), answer.get_message().as_str())),
        _ => None,
    }
}

/// The reason something went wrong, in a few words.
pub(super) fn reason(error: &Error) -> String {
    match error.kind() {
        ErrorKind::ProtocolError(answer) => answer.get_message().to_string(),
        ErrorKind::MissingHeartbeatError => "nothing was heard from it for too long".to_owned(),
        ErrorKind::IOError(error) => error.to_string(),
        // The library prints all of the malformed bytes.
        ErrorKind::ParsingError(_) => "its answer makes no sense".to_owned(),
        _ => error.to_string(),
    }
}

/// The reason a step with the broker's queues failed; `taken` if another connection has the queue.
pub(super) fn refused(broker: &Broker, error: &Error, taken: &str) -> String {
    match refusal(error) {
        Some((RESOURCE_LOCKED, _)) => taken.to_owned(),
        Some((ACCESS_REFUSED, why)) => format!(
            "the broker {broker} does not allow this user to do that: {why}; docs/broker.md has \
             the permissions for rabbitmqctl set_permissions"
        ),
        Some((NOT_FOUND, why)) => format!("the broker {broker}: {why}; try again"),
        _ => lost(broker, error),
    }
}

/// Whether the broker has sent something it should not have, so that asking again would not help.
/// Of its refusals, only a shutdown is temporary.
pub(super) fn is_nonsense(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::ProtocolError(answer) => answer.get_id() != CONNECTION_FORCED,
        ErrorKind::IOError(error) => error.kind() == io::ErrorKind::InvalidData,
        ErrorKind::ParsingError(_) | ErrorKind::SerialisationError(_) => true,
        _ => false,
    }
}

/// The reason the connection no longer exists.
pub(super) fn lost(broker: &Broker, error: &Error) -> String {
    format!("the connection to the broker {broker} is lost: {}", reason(error))
}
