//! A fake or malicious broker: whatever it sends, coordinator and agent end soon with an error
//! message, and without exhausting memory.

use crate::fake_broker::{
    Attack, BIND, CHANNEL_OPEN, CONFIRM, CONSUME, EXCHANGE, HEADER, Method, OPEN, QOS, QUEUE,
    START_OK, Then, consumed, deliver, frame, header, long, method, short, start, start_broker,
    tune,
};
use crate::load::{Spring, until};
use std::time::Duration;

/// The limit for every process to end: 30 s for a broker that does not finish its responses, plus
/// the time to leave.
const PATIENCE: Duration = Duration::from_secs(120);
/// An idle process needs about 40 MiB, and one message may have 64.
const MOST_KIB: u64 = 300 << 10;

/// A coordinator and an agent, each with its own broker, and their expected message.
struct Case {
    name: &'static str,
    said: &'static str,
    ends: [(Spring, u64); 2],
}

fn case(name: &'static str, at: Method, bytes: Vec<u8>, then: Then, said: &'static str) -> Case {
    let port = start_broker(Attack { at, bytes, then });
    let url = format!("amqp://ann:s3cret@127.0.0.1:{port}");
    let couch = format!("http://127.0.0.1:{port}");
    let run = ["run", &couch, "--agents", "1", "--run-id", "r", "--ready-timeout", "2s", "-q"];
    let agent = ["agent", "--run", "r", "--index", "0", "--ready-timeout", "2s"];
    let ends = [&run[..], &agent].map(|words| (Spring::start(words, Some(&url)), 0));
    Case { name, said, ends }
}

/// The peak memory of a running process so far.
fn peak_kib(id: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[track_caller]
fn all_end(mut cases: Vec<Case>) {
    let ended = until(PATIENCE, || {
        let ends = cases.iter_mut().flat_map(|case| &mut case.ends);
        ends.fold(true, |all, (spring, peak)| {
            *peak = peak_kib(spring.id()).unwrap_or(0).max(*peak);
            spring.is_over() && all
        })
    });
    let mut wrong = Vec::new();
    for Case { name, said, ends } in &mut cases {
        for ((spring, peak), who) in ends.iter_mut().zip(["coordinator", "agent"]) {
            if !ended && !spring.is_over() {
                wrong.push(format!("{name}, {who}: it does not end: {}", spring.stderr()));
                continue;
            }
            let end = spring.end();
            let message = end.stderr.trim();
            let plain = message.starts_with("error: ") && message.lines().count() == 1;
            let quiet = !message.contains(['\u{1b}', '\0']) && !message.contains("s3cret");
            let fine = plain && quiet && message.contains(*said) && message.len() < 500;
            if !fine || end.code != Some(3) || *peak > MOST_KIB {
                wrong.push(format!("{name}, {who}: {:?}, {peak} KiB: {message:?}", end.code));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const NONSENSE: &str = "does not speak RabbitMQ's protocol";

/// Nested tables, as deep as a frame allows, or deeper.
fn nested(depth: usize) -> Vec<u8> {
    // Each has a name of one byte, its type, and its length.
    let lengths = (0..depth).rev().map(|below| u32::try_from(7 * below).expect("a length"));
    lengths.flat_map(|length| [&[1, b'a', b'F'][..], &length.to_be_bytes()].concat()).collect()
}

/// The same with lists.
fn lists(depth: usize) -> Vec<u8> {
    let lengths = (0..depth).rev().map(|below| u32::try_from(5 * below).expect("a length"));
    let all = lengths.flat_map(|length| [&[b'A'][..], &length.to_be_bytes()].concat());
    [1, b'a'].into_iter().chain(all).collect()
}

#[test]
fn the_handshake() {
    let headed = |head: &[u8], rest: &[u8]| [head, rest].concat();
    let http = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let length = |length: u32| headed(&headed(&[1, 0, 0], &length.to_be_bytes()), &[0; 64]);
    let no_end = headed(&start(&[])[..start(&[]).len() - 1], &[0xCD]);
    let close = |text: &str| {
        method([10, 50], &[&320_u16.to_be_bytes()[..], &short(text), &[0; 4]].concat())
    };
    let (again, silence, over) = (Then::Again, Then::Silence, Then::Close);
    all_end(vec![
        case("HTTP", HEADER, http.to_vec(), over, NONSENSE),
        case("HTTP, held", HEADER, http.to_vec(), silence, NONSENSE),
        case("another version", HEADER, b"AMQP\0\x01\0\0".to_vec(), silence, NONSENSE),
        case("zeros", HEADER, vec![0; 1 << 16], again, NONSENSE),
        case("ones", HEADER, vec![0xff; 1 << 16], again, NONSENSE),
        case("silence", HEADER, Vec::new(), silence, "no answer in 10 s"),
        case("heartbeats", HEADER, Vec::new(), Then::Heartbeats, "no answer in 10 s"),
        case("4 GB", HEADER, length(u32::MAX), again, "a frame of 4294967303 bytes"),
        case("2 GB", HEADER, length(1 << 31), silence, "a frame of 2147483656 bytes"),
        case("a frame too large", HEADER, length(1 << 17), over, "a frame of 131080 bytes"),
        case("a frame too short", HEADER, length(3), silence, NONSENSE),
        case("no end", HEADER, no_end, silence, NONSENSE),
        case("cut", HEADER, start(&[])[..20].to_vec(), over, NONSENSE),
        case("cut and held", HEADER, start(&[])[..20].to_vec(), silence, "no answer in 10 s"),
        case("a table too long", HEADER, method([10, 10], &[0, 9, 255, 0, 0, 0]), over, NONSENSE),
        case("tables", HEADER, start(&nested(18_000)), over, NONSENSE),
        case("more tables", HEADER, start(&nested(100_000)), over, "a frame of 700045 bytes"),
        case("lists", HEADER, start(&lists(26_000)), over, NONSENSE),
        case("a second start", START_OK, start(&[]), silence, NONSENSE),
        case("a question", START_OK, method([10, 20], &long(b"?")), silence, "method 10.20"),
        case("a client's words", START_OK, method([50, 10], &nested(9)), silence, "method 50.10"),
        case("closed after start", START_OK, Vec::new(), over, NONSENSE),
        case("closed after tune", OPEN, Vec::new(), over, NONSENSE),
        case("refused", START_OK, close("no\u{1b}[2J more"), silence, "refuses the connection"),
        case("refused and gone", OPEN, close("later"), over, "refuses the connection: "),
        case("no answer to open", OPEN, Vec::new(), Then::Heartbeats, "no answer in 10 s"),
    ]);
}

#[test]
fn what_follows_it() {
    let (over, silence, beats) = (Then::Close, Then::Silence, Then::Heartbeats);
    let body = |bytes: usize| frame(3, 1, &vec![b'x'; bytes]);
    let twice = [deliver(9, 0, &[]), deliver(9, 0, &[])].concat();
    let tables = |table: &[u8]| deliver(1, 1 << 13, table);
    let closed = method([20, 40], &[&320_u16.to_be_bytes()[..], &short("so"), &[0; 4]].concat());
    let cancelled = method([60, 30], &[&short("t")[..], &[0]].concat());
    let huge = "a message of 9223372036854775808 bytes";
    let large = [deliver(70 << 20, 0, &[]), body(1 << 16).repeat(1120)].concat();
    let with = |name, bytes: Vec<u8>, then, said| {
        case(name, CONSUME, [consumed(), bytes].concat(), then, said)
    };
    let lost = "is lost: ";
    let mut cases = vec![
        with("a short body", twice, silence, lost),
        with("a long body", [deliver(9, 0, &[]), body(10)].concat(), silence, lost),
        with("a body alone", body(10), silence, lost),
        with("a header alone", frame(2, 1, &[0; 14]), silence, lost),
        with("2^63 bytes", deliver(1 << 63, 0, &[]), silence, huge),
        with("70 MB", large, silence, "a message of 73400320 bytes"),
        with("tables of a message", tables(&long(&nested(18_000))), over, lost),
        with("a table too long", tables(&[255; 4]), silence, lost),
        with("the channel closed", closed, silence, lost),
        with("the queue gone", cancelled, Then::Honest, "lost its queue"),
    ];
    for at in [CHANNEL_OPEN, QUEUE, EXCHANGE, BIND, CONFIRM, QOS, CONSUME] {
        cases.push(case("closed", at, Vec::new(), over, lost));
        cases.push(case("no answer", at, Vec::new(), beats, "did not finish its answers"));
    }
    all_end(cases);
}

#[test]
fn floods() {
    let message = [deliver(1 << 16, 0, &[]), frame(3, 1, &vec![b'x'; 1 << 16])].concat();
    let returned = [&312_u16.to_be_bytes()[..], &short("no"), &short(""), &short("q")].concat();
    let returned = [method([60, 50], &returned), header(0, 0, &[])].concat().repeat(100);
    let cancelled = method([60, 30], &[&short("other")[..], &[0]].concat()).repeat(100);
    let blocked = method([10, 60], &short("for ever")).repeat(100);
    // Which limit is reached first depends on the speed of the machine.
    all_end(vec![
        case("messages", QOS, message, Then::Again, ""),
        case("messages that come back", QOS, returned, Then::Again, ""),
        case("a queue that goes", QOS, cancelled, Then::Again, ""),
        case("alarms", QOS, blocked, Then::Again, ""),
    ]);
}

#[test]
fn numbers_that_are_no_harm() {
    for (channels, frame_max, heartbeat) in [
        (2047, 0, 60),
        (2047, u32::MAX, 0),
        (2047, 1, 65_535),
        (0, 4096, 1),
        (65_535, 1 << 17, 2),
        (1, 1 << 20, 0),
    ] {
        let bytes = tune(channels, frame_max, heartbeat);
        let port = start_broker(Attack { at: START_OK, bytes, then: Then::Honest });
        let broker = crate::broker::at(&format!("amqp://127.0.0.1:{port}"));
        let channel = broker.open("r");
        assert!(channel.is_ok(), "{frame_max}: {channel:?}");
    }
}
