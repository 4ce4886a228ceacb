//! Checks what passes a relay, and that nothing does while it is cut.

use super::*;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener as Listener, TcpStream as Client};
use std::time::Duration;

/// Long enough that data would have arrived by then if it passed.
const NEVER: Duration = Duration::from_millis(300);
/// The longest that expected data may take.
const SOON: Duration = Duration::from_secs(20);

/// A server on a thread that answers each byte with the next one, connection by connection, until
/// the client closes it; and a relay to the server.
fn relayed() -> (Relay, std::thread::JoinHandle<()>) {
    let listener = Listener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        for _ in 0..2 {
            let (mut client, _) = listener.accept().unwrap();
            let mut byte = [0];
            while client.read(&mut byte).unwrap() == 1 {
                client.write_all(&[byte[0] + 1]).unwrap();
            }
        }
    });
    (Relay::begin(vec![address]).unwrap(), server)
}

fn client(relay: &Relay) -> Client {
    let client = Client::connect(relay.address()).unwrap();
    client.set_read_timeout(Some(SOON)).unwrap();
    client
}

fn read(client: &mut Client) -> u8 {
    let mut byte = [0];
    client.read_exact(&mut byte).unwrap();
    byte[0]
}

/// Whether nothing arrives for a while, not even the end of the stream.
fn is_silent(client: &mut Client) -> bool {
    client.set_read_timeout(Some(NEVER)).unwrap();
    let read = client.read(&mut [0]);
    client.set_read_timeout(Some(SOON)).unwrap();
    let nothing = [ErrorKind::WouldBlock, ErrorKind::TimedOut];
    read.is_err_and(|error| nothing.contains(&error.kind()))
}

#[test]
fn what_is_cut_off_waits_and_arrives_in_the_end() {
    let (relay, server) = relayed();
    let cutter = relay.cutter();
    let mut there = client(&relay);
    there.write_all(&[1]).unwrap();
    assert_eq!(read(&mut there), 2);
    cutter.cut();
    there.write_all(&[3]).unwrap();
    assert!(is_silent(&mut there));
    cutter.join();
    assert_eq!(read(&mut there), 4);
    // A client that connects meanwhile is accepted, as far as it can tell, and served afterwards.
    drop(there);
    cutter.cut();
    let mut late = client(&relay);
    late.write_all(&[5]).unwrap();
    assert!(is_silent(&mut late));
    cutter.join();
    assert_eq!(read(&mut late), 6);
    drop(late);
    server.join().unwrap();
}

#[test]
fn a_server_that_hangs_up_or_is_not_there_is_noticed_but_not_while_it_is_cut() {
    let listener = Listener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let relay = Relay::begin(vec![address]).unwrap();
    let mut there = client(&relay);
    let (server, _) = listener.accept().unwrap();
    let cutter = relay.cutter();
    cutter.cut();
    drop(server);
    assert!(is_silent(&mut there));
    cutter.join();
    assert_eq!(there.read(&mut [0]).unwrap(), 0);
    drop(listener);
    let mut refused = client(&relay);
    assert!(matches!(refused.read(&mut [0]), Ok(0) | Err(_)));
}

#[test]
fn it_ends_with_all_of_its_connections_cut_or_not() {
    for is_cut in [false, true] {
        let listener = Listener::bind("127.0.0.1:0").unwrap();
        let relay = Relay::begin(vec![listener.local_addr().unwrap()]).unwrap();
        let mut there = client(&relay);
        let (mut server, _) = listener.accept().unwrap();
        if is_cut {
            relay.cutter().cut();
        }
        drop(relay);
        assert!(matches!(there.read(&mut [0]), Ok(0) | Err(_)));
        assert!(matches!(server.read(&mut [0]), Ok(0) | Err(_)));
    }
}
