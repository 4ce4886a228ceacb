//! Tests connections that several sessions share, against peers that answer as the tests want.

use super::Pipe;
use super::answer::Scan;
use super::commands::Commands;
use crate::call::CallError;
use crate::op::Failure;
use crate::pipe::{Answers, Waiting};
use crate::rehearsal::connected;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Sends a command, and returns its answer.
async fn get(pipe: &Rc<Pipe>, key: &str) -> Result<String, CallError> {
    let (mut commands, waiting) = (Commands::default(), Rc::<Waiting>::default());
    commands.add(&["GET", key]);
    pipe.send(commands.bytes(), 1, &waiting).await?;
    let times = waiting.times();
    assert!(times.sent > 0 && times.sent <= times.first_byte, "{times:?}");
    let mut answers = Answers::default();
    waiting.swap(&mut answers);
    Ok(String::from_utf8(answers.get(0).unwrap().to_vec()).unwrap())
}

async fn read(peer: &mut TcpStream, bytes: usize) -> String {
    let mut all = vec![0; bytes];
    peer.read_exact(&mut all).await.unwrap();
    String::from_utf8(all).unwrap()
}

/// The bytes of a `GET` of a key with one letter.
const COMMAND: usize = "*2\r\n$3\r\nGET\r\n$1\r\na\r\n".len();

#[tokio::test]
async fn what_is_sent_together_goes_out_in_one_write_and_each_gets_its_own_answer() {
    let (pipe, mut peer) = connected::<Scan>(1_000).await;
    let answers = async {
        let mut buffer = [0; 1_000];
        // One write is one segment here, so one read brings it all.
        assert_eq!(peer.read(&mut buffer).await.unwrap(), 3 * COMMAND);
        // One byte at a time, and with a push message in between.
        for byte in b"+A\r\n>1\r\n+x\r\n$2\r\nBB\r\n:3\r\n" {
            peer.write_all(&[*byte]).await.unwrap();
            tokio::task::yield_now().await;
        }
    };
    let both = async { tokio::join!(get(&pipe, "a"), get(&pipe, "b"), get(&pipe, "c")) };
    let (gotten, ()) = tokio::join!(both, answers);
    let gotten = (gotten.0.unwrap(), gotten.1.unwrap(), gotten.2.unwrap());
    assert_eq!(gotten, ("+A\r\n".into(), "$2\r\nBB\r\n".into(), ":3\r\n".into()));
    assert!(pipe.is_usable());
}

#[tokio::test]
async fn who_gives_up_does_not_take_the_answers_of_others() {
    let (pipe, mut peer) = connected::<Scan>(1_000).await;
    let mut given_up = Box::pin(get(&pipe, "a"));
    let mut stays = pin!(get(&pipe, "b"));
    let is_pending = poll_fn(|context| {
        // Twice: the first waits for others to add to what is sent.
        for _ in 0..2 {
            let polled = (given_up.as_mut().poll(context), stays.as_mut().poll(context));
            assert!(polled.0.is_pending() && polled.1.is_pending());
        }
        Poll::Ready(true)
    });
    assert!(is_pending.await);
    read(&mut peer, 2 * COMMAND).await;
    drop(given_up);
    assert!(!pipe.is_usable(), "nothing more is sent on it");
    peer.write_all(b"+A\r\n+B\r\n").await.unwrap();
    assert_eq!(stays.await.unwrap(), "+B\r\n");
}

/// An answer that was given up arrives after all; then the same session uses another connection.
#[tokio::test]
async fn who_gave_up_once_gets_the_next_answers() {
    let ((old, mut old_peer), (new, mut new_peer)) =
        (connected::<Scan>(99).await, connected::<Scan>(99).await);
    let waiting = Rc::<Waiting>::default();
    let mut commands = Commands::default();
    commands.add(&["GET", "a"]);
    let mut given_up = old.send(commands.bytes(), 1, &waiting);
    poll_fn(|context| {
        assert!(pin!(&mut given_up).poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
    drop(given_up);
    let late = async {
        read(&mut old_peer, 2 * COMMAND).await;
        old_peer.write_all(b"+late\r\n+B\r\n").await.unwrap();
    };
    let (other, ()) = tokio::join!(get(&old, "b"), late);
    assert_eq!(other.unwrap(), "+B\r\n");
    assert!(waiting.is_over());
    let answers = async {
        read(&mut new_peer, COMMAND).await;
        new_peer.write_all(b"+new\r\n").await.unwrap();
    };
    let (sent, ()) = tokio::join!(new.send(commands.bytes(), 1, &waiting), answers);
    assert_eq!(sent, Ok(()));
    let mut answers = Answers::default();
    waiting.swap(&mut answers);
    assert_eq!(answers.get(0), Ok(&b"+new\r\n"[..]));
}

/// The session that was to send for all gives up before it has done so.
#[tokio::test]
async fn what_was_not_sent_when_its_sender_gave_up_is_sent_by_another() {
    let (pipe, mut peer) = connected::<Scan>(1_000).await;
    let mut given_up = Box::pin(get(&pipe, "a"));
    let mut stays = pin!(get(&pipe, "b"));
    poll_fn(|context| {
        let polled = (given_up.as_mut().poll(context), stays.as_mut().poll(context));
        assert!(polled.0.is_pending() && polled.1.is_pending());
        Poll::Ready(())
    })
    .await;
    drop(given_up);
    let answers = async {
        read(&mut peer, 2 * COMMAND).await;
        peer.write_all(b"+A\r\n+B\r\n").await.unwrap();
    };
    let (stayed, ()) = tokio::join!(stays, answers);
    assert_eq!(stayed.unwrap(), "+B\r\n");
}

#[tokio::test]
async fn a_connection_that_ends_or_lies_ends_for_all() {
    for (answer, failure, words) in [
        ("", Failure::Reset, "the server closed the connection"),
        ("+A\r\n", Failure::Reset, "the server closed the connection"),
        ("HTTP/1.1 400\r\n", Failure::Protocol, "not one of Redis's protocol"),
        ("$1001\r\n", Failure::Protocol, "larger than --max-answer"),
        ("+A\r\n+B\r\n+C\r\n", Failure::Protocol, "nobody asked for: +C"),
    ] {
        let (pipe, mut peer) = connected::<Scan>(1_000).await;
        let answers = async {
            read(&mut peer, 2 * COMMAND).await;
            peer.write_all(answer.as_bytes()).await.unwrap();
            drop(peer);
        };
        let (first, second, ()) = tokio::join!(get(&pipe, "a"), get(&pipe, "b"), answers);
        let error = second.err().or(get(&pipe, "c").await.err()).unwrap();
        assert!(error.failure == failure && error.reason.contains(words), "{answer:?}: {error:?}");
        assert_eq!(first.is_ok(), answer.starts_with("+A"), "{answer:?}");
        assert!(!pipe.is_usable());
    }
}

/// The peer stops reading until its answers are read: a session that only wrote would wait forever.
#[tokio::test]
async fn answers_are_read_while_commands_are_still_being_sent() {
    const LARGE: usize = 1 << 20;
    let (pipe, mut peer) = connected::<Scan>(LARGE + 100).await;
    let text = "x".repeat(LARGE);
    let head = format!("*2\r\n$4\r\nECHO\r\n${LARGE}\r\n").len();
    let echoes = async {
        for _ in 0..16 {
            read(&mut peer, head + LARGE + 2).await;
            peer.write_all(format!("${LARGE}\r\n{text}\r\n").as_bytes()).await.unwrap();
        }
    };
    let tasks = tokio::task::LocalSet::new();
    let echoed: Vec<_> = (0..16)
        .map(|_| {
            let (pipe, waiting) = (pipe.clone(), Rc::<Waiting>::default());
            let mut commands = Commands::default();
            commands.add(&["ECHO", &text]);
            tasks.spawn_local(async move {
                pipe.send(commands.bytes(), 1, &waiting).await.unwrap();
                let mut answers = Answers::default();
                waiting.swap(&mut answers);
                answers.get(0).unwrap().len()
            })
        })
        .collect();
    tasks.run_until(echoes).await;
    tasks.await;
    for length in echoed {
        assert!(length.await.unwrap() > LARGE);
    }
}
