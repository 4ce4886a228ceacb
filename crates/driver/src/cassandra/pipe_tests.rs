//! Tests connections on which answers have numbers, against peers that answer as the tests want.

use super::Pipe;
use super::frame::{Frames, Framing};
use crate::call::CallError;
use crate::op::Failure;
use crate::pipe::{Answers, Waiting};
use crate::rehearsal::connected;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The bytes of a request with a text of one letter.
const REQUEST: usize = 14;

fn requests(texts: &[&str]) -> Frames {
    let mut frames = Frames::default();
    for text in texts {
        frames.prepare(text);
    }
    frames
}

/// Sends requests, and returns the answer to each.
async fn get(pipe: &Rc<Pipe>, texts: &[&str]) -> Result<Vec<String>, CallError> {
    let waiting = Rc::<Waiting>::default();
    pipe.send_numbered(requests(texts).iter(), &waiting)?.await?;
    let mut answers = Answers::default();
    waiting.swap(&mut answers);
    let text = |answer: &[u8]| String::from_utf8(answer[9..].to_vec()).unwrap();
    Ok(answers.iter().map(text).collect())
}

/// Reads this many requests: the number and the text of each.
async fn read(peer: &mut TcpStream, count: usize) -> Vec<(u16, String)> {
    let mut all = vec![0; count * REQUEST];
    peer.read_exact(&mut all).await.unwrap();
    let one = |it: &[u8]| (u16::from_be_bytes([it[2], it[3]]), (it[13] as char).to_string());
    all.chunks(REQUEST).map(one).collect()
}

fn answer(number: u16, text: &str) -> Vec<u8> {
    let mut out = vec![0x84, 0];
    out.extend_from_slice(&number.to_be_bytes());
    out.extend_from_slice(&[8, 0, 0, 0, text.len() as u8]);
    out.extend_from_slice(text.as_bytes());
    out
}

#[tokio::test]
async fn answers_in_any_order_go_to_those_who_asked() {
    let (pipe, mut peer) = connected::<Framing>(1_000).await;
    let answers = async {
        let mut all = read(&mut peer, 4).await;
        all.reverse();
        // An event in between belongs to no request.
        peer.write_all(&answer(u16::MAX, "event")).await.unwrap();
        for (number, text) in all {
            for byte in answer(number, &text.to_uppercase()) {
                peer.write_all(&[byte]).await.unwrap();
                tokio::task::yield_now().await;
            }
        }
        // The numbers are free again.
        let again = read(&mut peer, 1).await;
        assert!(again[0].0 < 4, "{again:?}");
        peer.write_all(&answer(again[0].0, "again")).await.unwrap();
    };
    let both = async {
        let (one, three) = tokio::join!(get(&pipe, &["a"]), get(&pipe, &["b", "c", "d"]));
        assert_eq!(
            (one.unwrap(), three.unwrap()),
            (vec!["A".into()], vec!["B".into(), "C".into(), "D".into()])
        );
        assert_eq!(get(&pipe, &["e"]).await.unwrap(), ["again"]);
    };
    tokio::join!(both, answers);
    assert!(pipe.is_usable());
}

#[tokio::test]
async fn an_answer_that_nobody_asked_for_ends_the_connection() {
    for number in [7, 1] {
        let (pipe, mut peer) = connected::<Framing>(1_000).await;
        let answers = async {
            read(&mut peer, 2).await;
            // A second answer to a request is as wrong as an answer to none.
            peer.write_all(&[answer(1, "x"), answer(number, "x")].concat()).await.unwrap();
        };
        let (wrong, right, ()) = tokio::join!(get(&pipe, &["a"]), get(&pipe, &["b"]), answers);
        let wrong = wrong.unwrap_err();
        assert_eq!(right.unwrap(), ["x"]);
        assert!(wrong.failure == Failure::Protocol && wrong.reason.contains("nobody asked"));
        assert!(!pipe.is_usable());
    }
}

/// Answers that arrived before the end are not lost with the others.
#[tokio::test]
async fn what_was_answered_before_the_connection_ended_is_known() {
    let (pipe, mut peer) = connected::<Framing>(1_000).await;
    let answers = async {
        let all = read(&mut peer, 3).await;
        peer.write_all(&answer(all[1].0, "x")).await.unwrap();
        drop(peer);
    };
    let asking = async {
        let waiting = Rc::<Waiting>::default();
        let wait = pipe.send_numbered(requests(&["a", "b", "c"]).iter(), &waiting).unwrap();
        let lost = wait.await.unwrap_err();
        let mut answers = Answers::default();
        waiting.swap(&mut answers);
        answers.lose(lost);
        let known: Vec<_> =
            (0..3).map(|it| answers.get(it).map_err(|it| it.failure).is_ok()).collect();
        assert_eq!(known, [false, true, false]);
    };
    tokio::join!(asking, answers);
}

/// A session that is answered before all of its request was sent, as when a server refuses it, may
/// live on while it waits for other servers.
#[tokio::test]
async fn what_was_left_to_be_sent_does_not_wait_for_who_was_answered() {
    let (pipe, mut peer) = connected::<Framing>(1_000).await;
    let large = "x".repeat(16 << 20);
    peer.write_all(&answer(0, "early")).await.unwrap();
    let waiting = Rc::<Waiting>::default();
    let mut first = pipe.send_numbered(requests(&[&large]).iter(), &waiting).unwrap();
    assert_eq!((&mut first).await, Ok(()));
    let answers = async {
        let mut rest = vec![0; REQUEST - 1 + large.len()];
        peer.read_exact(&mut rest).await.unwrap();
        let (number, _) = read(&mut peer, 1).await.remove(0);
        peer.write_all(&answer(number, "late")).await.unwrap();
    };
    let both = async { tokio::join!(get(&pipe, &["b"]), answers) };
    let (late, ()) = tokio::time::timeout(Duration::from_secs(20), both).await.expect("an end");
    assert_eq!(late.unwrap(), ["late"]);
    drop(first);
}

#[tokio::test]
async fn there_are_only_so_many_numbers() {
    let (pipe, mut peer) = connected::<Framing>(1_000).await;
    let all: Vec<_> = std::iter::repeat_n("a", 1 << 15).collect();
    let waiting = Rc::<Waiting>::default();
    let wait = pipe.send_numbered(requests(&all).iter(), &waiting).unwrap();
    let refused = get(&pipe, &["b"]).await.unwrap_err();
    assert!(refused.failure == Failure::Local && refused.reason.contains("32768"), "{refused:?}");
    let answers = async {
        for (number, _) in read(&mut peer, 1 << 15).await {
            peer.write_all(&answer(number, "")).await.unwrap();
        }
    };
    let (ended, ()) = tokio::join!(wait, answers);
    assert_eq!(ended, Ok(()));
    let answers = async {
        let (number, _) = read(&mut peer, 1).await.remove(0);
        peer.write_all(&answer(number, "there is room again")).await.unwrap();
    };
    let (again, ()) = tokio::join!(get(&pipe, &["b"]), answers);
    assert_eq!(again.unwrap(), ["there is room again"]);
}
