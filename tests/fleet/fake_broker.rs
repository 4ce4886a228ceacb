//! A server that follows AMQP's handshake like RabbitMQ up to a point, and then sends what a test
//! asks for.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// AMQP's class and method in a client's message; [`HEADER`] for its first bytes.
pub(crate) type Method = [u16; 2];

pub(crate) const HEADER: Method = [0, 0];
pub(crate) const START_OK: Method = [10, 11];
pub(crate) const OPEN: Method = [10, 40];
pub(crate) const CHANNEL_OPEN: Method = [20, 10];
pub(crate) const EXCHANGE: Method = [40, 10];
pub(crate) const QUEUE: Method = [50, 10];
pub(crate) const BIND: Method = [50, 20];
pub(crate) const QOS: Method = [60, 10];
pub(crate) const CONSUME: Method = [60, 20];
pub(crate) const PUBLISH: Method = [60, 40];
pub(crate) const CONFIRM: Method = [85, 10];
const CLOSE: Method = [10, 50];

/// The bytes to send instead of a response, and what follows.
#[derive(Clone)]
pub(crate) struct Attack {
    /// The method to respond to with them.
    pub(crate) at: Method,
    pub(crate) bytes: Vec<u8>,
    pub(crate) then: Then,
}

/// What follows after the attack.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// The connection is closed.
    Close,
    /// Nothing, forever.
    Silence,
    /// Heartbeats, forever.
    Heartbeats,
    /// The behavior of an honest broker.
    Honest,
    /// The same bytes, forever.
    Again,
}

/// A frame.
pub(crate) fn frame(kind: u8, channel: u16, contents: &[u8]) -> Vec<u8> {
    let length = u32::try_from(contents.len()).expect("a length").to_be_bytes();
    [&[kind][..], &channel.to_be_bytes(), &length, contents, &[0xCE]].concat()
}

/// A frame with a method.
pub(crate) fn method([class, method]: Method, arguments: &[u8]) -> Vec<u8> {
    let contents = [&class.to_be_bytes(), &method.to_be_bytes(), arguments].concat();
    frame(1, u16::from(class != 10), &contents)
}

/// A string of at most 255 bytes.
pub(crate) fn short(text: &str) -> Vec<u8> {
    [&[u8::try_from(text.len()).expect("a short text")], text.as_bytes()].concat()
}

/// Bytes with their length.
pub(crate) fn long(bytes: &[u8]) -> Vec<u8> {
    [&u32::try_from(bytes.len()).expect("a length").to_be_bytes(), bytes].concat()
}

pub(crate) fn start(table: &[u8]) -> Vec<u8> {
    let arguments = [&[0, 9][..], &long(table), &long(b"PLAIN AMQPLAIN"), &long(b"en_US")];
    method([10, 10], &arguments.concat())
}

pub(crate) fn tune(channels: u16, frame_max: u32, heartbeat: u16) -> Vec<u8> {
    let (channels, heartbeat) = (channels.to_be_bytes(), heartbeat.to_be_bytes());
    method([10, 30], &[&channels[..], &frame_max.to_be_bytes(), &heartbeat].concat())
}

pub(crate) fn consumed() -> Vec<u8> {
    method([60, 21], &short("t"))
}

/// The header of a message.
pub(crate) fn header(body: u64, flags: u16, properties: &[u8]) -> Vec<u8> {
    let (body, flags) = (body.to_be_bytes(), flags.to_be_bytes());
    frame(2, 1, &[&[0, 60, 0, 0], &body[..], &flags, properties].concat())
}

/// The beginning of a delivered message.
pub(crate) fn deliver(body: u64, flags: u16, properties: &[u8]) -> Vec<u8> {
    let arguments = [&short("t")[..], &1_u64.to_be_bytes(), &[0], &short(""), &short("q")].concat();
    [method([60, 60], &arguments), header(body, flags, properties)].concat()
}

/// RabbitMQ's response to a method with these arguments, which it may quote.
fn honest(asked: Method, arguments: &[u8], published: &mut u64) -> Vec<u8> {
    match asked {
        HEADER => start(&[]),
        START_OK => tune(2047, 1 << 17, 60),
        OPEN => method([10, 41], &[0]),
        CHANNEL_OPEN => method([20, 11], &[0; 4]),
        EXCHANGE => method([40, 11], &[]),
        QUEUE => {
            let name = &arguments[2..=2 + usize::from(arguments[2])];
            method([50, 11], &[name, &[0; 8]].concat())
        }
        BIND => method([50, 21], &[]),
        QOS => method([60, 11], &[]),
        CONSUME => consumed(),
        CONFIRM => method([85, 11], &[]),
        PUBLISH => {
            *published += 1;
            method([60, 80], &[&published.to_be_bytes()[..], &[0]].concat())
        }
        CLOSE => method([10, 51], &[]),
        _ => Vec::new(),
    }
}

/// Starts it, and returns its port. It ends with the process.
pub(crate) fn start_broker(attack: Attack) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let attack = attack.clone();
            // Errors do not matter here: the other end is what is tested.
            std::thread::spawn(move || drop(serve(stream, &attack)));
        }
    });
    port
}

fn serve(mut stream: TcpStream, attack: &Attack) -> std::io::Result<()> {
    stream.read_exact(&mut [0; 8])?;
    let (mut asked, mut arguments, mut published) = (HEADER, Vec::new(), 0);
    loop {
        if asked == attack.at {
            stream.write_all(&attack.bytes)?;
            match attack.then {
                Then::Honest => {}
                Then::Close => return Ok(()),
                Then::Again => loop {
                    stream.write_all(&attack.bytes)?;
                    // A thousand times a second is more than enough, and leaves some of the
                    // processor to other tests.
                    std::thread::sleep(Duration::from_millis(1));
                },
                then => return idle(stream, then == Then::Heartbeats),
            }
        } else {
            stream.write_all(&honest(asked, &arguments, &mut published))?;
        }
        (asked, arguments) = next(&mut stream)?;
    }
}

/// Reads everything, and sends heartbeats if `beats`.
fn idle(mut stream: TcpStream, beats: bool) -> std::io::Result<()> {
    let mut other = stream.try_clone()?;
    std::thread::spawn(move || std::io::copy(&mut other, &mut std::io::sink()));
    loop {
        std::thread::sleep(Duration::from_millis(500));
        if beats {
            stream.write_all(&frame(8, 0, &[]))?;
        }
    }
}

/// The next method of the client.
fn next(stream: &mut TcpStream) -> std::io::Result<(Method, Vec<u8>)> {
    loop {
        let mut head = [0; 7];
        stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes([head[3], head[4], head[5], head[6]]);
        let mut contents = vec![0; length as usize + 1];
        stream.read_exact(&mut contents)?;
        if head[0] == 1 {
            let number = |at: usize| u16::from_be_bytes([contents[at], contents[at + 1]]);
            return Ok(([number(0), number(2)], contents[4..].to_vec()));
        }
    }
}
