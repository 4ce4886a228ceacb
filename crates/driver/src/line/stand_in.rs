//! A server for this protocol, in this process and in memory. It is not a database.

use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

type Documents = Arc<Mutex<BTreeMap<String, String>>>;

/// A server on a free port of this machine, which ends when it is dropped.
#[derive(Debug)]
pub(super) struct StandIn {
    address: SocketAddr,
    _over: oneshot::Sender<()>,
}

impl StandIn {
    /// Starts it on a new thread.
    pub(super) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (over, ended) = oneshot::channel();
        std::thread::Builder::new().name("line".to_owned()).spawn(move || {
            runtime.block_on(async {
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
                let documents = Documents::default();
                let serve = async {
                    while let Ok((stream, _)) = listener.accept().await {
                        tokio::spawn(answer(stream, documents.clone()));
                    }
                };
                tokio::select! {
                    () = serve => {}
                    _ = ended => {}
                }
            });
        })?;
        Ok(Self { address, _over: over })
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn answer(mut stream: TcpStream, documents: Documents) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (read, mut write) = stream.split();
    let (mut read, mut line, mut said) = (BufReader::new(read), String::new(), String::new());
    while read.read_line(&mut line).await? > 0 {
        said += &reply(line.trim_end_matches('\n'), &documents);
        said.push('\n');
        line.clear();
        // Requests that arrive together are answered together.
        if !read.buffer().contains(&b'\n') {
            write.write_all(said.as_bytes()).await?;
            said.clear();
        }
    }
    Ok(())
}

fn reply(line: &str, documents: &Documents) -> String {
    let mut parts = line.splitn(3, ' ');
    let (verb, name) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let body = parts.next().unwrap_or_default();
    let mut documents = documents.lock().unwrap_or_else(PoisonError::into_inner);
    let there = documents.contains_key(name);
    if matches!(verb, "NEW" | "PUT" | "SET") && serde_json::from_str::<Map<_, Value>>(body).is_err()
    {
        return "ERROR no JSON object".to_owned();
    }
    match verb {
        "NEW" if there => return "EXISTS".to_owned(),
        "PUT" | "SET" | "GET" | "DEL" if !there => return "MISSING".to_owned(),
        "NEW" | "PUT" => drop(documents.insert(name.to_owned(), body.to_owned())),
        "SET" => {
            let members = |text: &str| serde_json::from_str::<Map<String, Value>>(text);
            let mut stored = members(&documents[name]).unwrap_or_default();
            stored.extend(members(body).unwrap_or_default());
            documents.insert(name.to_owned(), Value::Object(stored).to_string());
        }
        "GET" => return format!("OK {}", documents[name]),
        "DEL" => drop(documents.remove(name)),
        _ => return format!("ERROR no request {verb:?}"),
    }
    "OK".to_owned()
}
