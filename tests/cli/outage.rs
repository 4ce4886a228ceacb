//! A relay in front of a server that fails once: it passes a bulk insert to the server, drops the
//! response, closes all connections and refuses new ones for a while.

use std::io::{self, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::proxy::Message;

#[derive(Default)]
struct State {
    /// Bulk inserts that the server has answered.
    inserts: AtomicUsize,
    down: AtomicBool,
    clients: Mutex<Vec<TcpStream>>,
}

/// Starts the relay, which fails at its bulk insert number `at`, for `length`. Returns its URL.
pub(crate) fn relay(server: &str, at: usize, length: Duration) -> String {
    let server = server.strip_prefix("http://").expect("an http URL").to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let state = Arc::new(State::default());
    thread::spawn(move || {
        let mut listener = Some(listener);
        loop {
            if state.down.load(Ordering::SeqCst) {
                listener = None;
                for client in state.clients.lock().expect("no panic").drain(..) {
                    let _ = client.shutdown(std::net::Shutdown::Both);
                }
                thread::sleep(length);
                state.down.store(false, Ordering::SeqCst);
            }
            let listener = listener.get_or_insert_with(|| {
                // Old connections linger on the port for a moment.
                let bound = (0..500).find_map(|_| {
                    thread::sleep(Duration::from_millis(10));
                    TcpListener::bind(address).ok()
                });
                bound.expect("the port is free again")
            });
            listener.set_nonblocking(true).expect("a socket");
            match listener.accept() {
                Ok((client, _)) => {
                    client.set_nonblocking(false).expect("a socket");
                    let copy = client.try_clone().expect("a socket");
                    state.clients.lock().expect("no panic").push(copy);
                    let (server, state) = (server.clone(), Arc::clone(&state));
                    // A peer that hangs up ends the relay of this connection.
                    thread::spawn(move || serve(&client, &server, (&state, at)));
                }
                Err(_) => thread::sleep(Duration::from_millis(2)),
            }
        }
    });
    format!("http://{address}")
}

fn serve(client: &TcpStream, server: &str, (state, at): (&State, usize)) -> io::Result<()> {
    let mut from_client = BufReader::new(client.try_clone()?);
    let mut server = BufReader::new(TcpStream::connect(server)?);
    loop {
        let request = Message::read(&mut from_client, false)?;
        server.get_mut().write_all(&request.raw)?;
        let answer = Message::read(&mut server, true)?;
        if request.first.contains("/_bulk_docs")
            && state.inserts.fetch_add(1, Ordering::SeqCst) + 1 == at
        {
            state.down.store(true, Ordering::SeqCst);
        }
        if state.down.load(Ordering::SeqCst) {
            client.shutdown(std::net::Shutdown::Both)?;
            return Ok(());
        }
        let mut client = client;
        client.write_all(&answer.raw)?;
    }
}
