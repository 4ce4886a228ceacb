//! A slow path to a server: data arrives late, and now and then much later.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{sleep, spawn};
use std::time::Duration;

use crate::broker::now;
use springload::clock::Nanos;

/// The delay of each direction: half of a round trip of 200 ms.
const WAY: Duration = Duration::from_millis(100);
/// Every this many pieces, ...
const EACH: u32 = 20;
/// ... one is held up for this long, together with all after it.
const STALL: Duration = Duration::from_millis(400);

/// A port that leads to `port`, until the process ends.
pub(crate) fn slowed(port: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let own = listener.local_addr().expect("an address").port();
    spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(("127.0.0.1", port)).expect("the server is there");
            for stream in [&client, &server] {
                stream.set_nodelay(true).expect("a socket");
            }
            let other = || (client.try_clone().expect("it"), server.try_clone().expect("it"));
            let (there, back) = (other(), other());
            pass(there.0, there.1);
            pass(back.1, back.0);
        }
    });
    own
}

/// Passes on the bytes from `from`, late.
fn pass(mut from: TcpStream, to: TcpStream) {
    let (sender, pieces) = channel();
    spawn(move || {
        let mut piece = vec![0; 1 << 16];
        while let Ok(length @ 1..) = from.read(&mut piece) {
            if sender.send((now(), piece[..length].to_vec())).is_err() {
                return;
            }
        }
    });
    spawn(move || write(&pieces, to));
}

fn write(pieces: &Receiver<(Nanos, Vec<u8>)>, mut to: TcpStream) {
    for (number, (at, piece)) in (1..).zip(pieces) {
        let stall = if u32::is_multiple_of(number, EACH) { STALL } else { Duration::ZERO };
        let due = at + (WAY + stall).as_nanos() as Nanos;
        sleep(Duration::from_nanos(due.saturating_sub(now())));
        if to.write_all(&piece).is_err() {
            break;
        }
    }
    // The other side has ended.
    to.shutdown(Shutdown::Both).ok();
}
