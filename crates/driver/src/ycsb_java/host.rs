//! The host of the binding: a Java process that is started for a run and ends with it.

use super::frame::{KEY, Parts, whole};
use super::plan::YcsbJavaPlan;
use super::process::{Process, lock};
use crate::TargetError;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Mutex;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc::UnboundedReceiver;

/// How long Java may take to compile its side and start.
const START: Duration = Duration::from_secs(60);

/// The longest greeting, in bytes: a key and the text of an exception.
const GREETING: usize = 1_000_000;

/// How to reach the binding, and the keys of both sides.
#[derive(Clone, Debug)]
pub(super) struct Door {
    pub(super) address: SocketAddr,
    /// The key that a connection presents.
    pub(super) ours: [u8; KEY],
    /// The key that the process presents in return.
    pub(super) theirs: [u8; KEY],
}

impl Door {
    /// Connects and presents the key. The inner error is the text of the exception if `DB.init`
    /// failed.
    ///
    /// # Errors
    /// Fails if the peer cannot be reached, or does not show its key.
    pub(super) async fn enter(&self) -> io::Result<Result<TcpStream, String>> {
        let mut stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        stream.write_all(&self.ours).await?;
        let mut greeting = Vec::new();
        let wrong = || io::Error::new(io::ErrorKind::InvalidData, "not the Java process");
        loop {
            if let Some(frame) = whole(&greeting, GREETING).map_err(|_| wrong())? {
                let mut parts = Parts::of(frame);
                let theirs: Option<[u8; KEY]> = parts.key();
                let text = parts.text().filter(|_| parts.ended() && theirs == Some(self.theirs));
                let text = String::from_utf8_lossy(text.ok_or_else(wrong)?).into_owned();
                return Ok(if text.is_empty() { Ok(stream) } else { Err(text) });
            }
            if stream.read_buf(&mut greeting).await? == 0 {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
        }
    }
}

/// The process, ready for connections.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) door: Door,
    /// The version of Java.
    pub(super) java: String,
    process: Process,
    /// The lines that the process writes to stdout, until [`Host::end`] takes them.
    lines: Mutex<Option<UnboundedReceiver<String>>>,
    /// A connection without requests. Many bindings share a client among all DB objects and close
    /// it with the last of them, but consecutive stages each have their own connections.
    keeper: Mutex<Option<TcpStream>>,
}

impl Host {
    /// Starts the process and opens the first connection, within `timeout`.
    ///
    /// # Errors
    /// Fails if the binding cannot be used.
    pub(super) async fn start(plan: &YcsbJavaPlan, timeout: Duration) -> Result<Self, TargetError> {
        let (process, mut lines) = Process::start(plan)?;
        let Ok(line) = tokio::time::timeout(START, lines.recv()).await else {
            let problem = format!("Java did not start within {} s", START.as_secs());
            return Err(TargetError(problem));
        };
        let line = line.unwrap_or_default();
        let Some((door, java)) = listening(&line) else {
            return Err(TargetError(match line.strip_prefix("failed ") {
                Some(why) => not_loaded(&plan.class, why),
                None => process.not_started().await,
            }));
        };
        let why = match tokio::time::timeout(timeout, door.enter()).await {
            Ok(Ok(Ok(stream))) => {
                let (lines, keeper) = (Mutex::new(Some(lines)), Mutex::new(Some(stream)));
                return Ok(Self { door, java, process, lines, keeper });
            }
            Ok(Ok(Err(why))) => why,
            Ok(Err(error)) => process.end_of().await.unwrap_or_else(|| error.to_string()),
            Err(_) => format!("no result within {} s, the timeout", timeout.as_secs_f64()),
        };
        Err(TargetError(format!("init of the binding {} failed: {why}", plan.class)))
    }

    /// Ends the process after closing all of its connections, each of which calls `DB.cleanup`.
    ///
    /// # Errors
    /// Fails if one of these calls failed, or the process ended before that, or does not end within
    /// `timeout`.
    pub(super) async fn end(&self, timeout: Duration) -> Result<(), TargetError> {
        if let Some(ended) = self.ended() {
            return Err(TargetError(format!("{ended}, before the run did")));
        }
        let Some(mut lines) = lock(&self.lines).take() else { return Ok(()) };
        drop(lock(&self.keeper).take());
        self.process.close();
        let mut failures = Vec::new();
        let ending = async {
            while let Some(line) = lines.recv().await {
                failures.extend(line.strip_prefix("cleanup ").map(str::to_owned));
            }
            self.process.wait().await;
        };
        if tokio::time::timeout(timeout, ending).await.is_err() {
            self.process.kill();
            let problem = format!(
                "DB.cleanup did not return within {} s, the timeout; the Java process was killed",
                timeout.as_secs_f64()
            );
            return Err(TargetError(problem));
        }
        let count = failures.len();
        failures.first().map_or(Ok(()), |why| {
            Err(TargetError(format!("DB.cleanup failed on {count} connections: {why}")))
        })
    }

    /// How the process ended, if it seems to be ending.
    pub(super) async fn end_of(&self) -> Option<String> {
        self.process.end_of().await
    }

    /// How the process ended, if it has.
    pub(super) fn ended(&self) -> Option<String> {
        self.process.ended()
    }
}

/// Reads `listening PORT KEYS VERSION`.
fn listening(line: &str) -> Option<(Door, String)> {
    let mut words = line.strip_prefix("listening ")?.split(' ');
    let port: u16 = words.next()?.parse().ok()?;
    let mut keys = [0; 2 * KEY];
    const_hex::decode_to_slice(words.next()?, &mut keys).ok()?;
    let (ours, theirs) = keys.split_at(KEY);
    let address = (Ipv4Addr::LOCALHOST, port).into();
    let door = Door { address, ours: ours.try_into().ok()?, theirs: theirs.try_into().ok()? };
    Some((door, words.next()?.to_owned()))
}

/// The message for a class that is not a binding.
fn not_loaded(class: &str, why: &str) -> String {
    if why == format!("java.lang.ClassNotFoundException: {class}") {
        return format!("no class {class} in the class path: add the binding's jars to cp");
    }
    if why.starts_with("java.lang.ClassCastException") {
        return format!("the class {class} is not a binding of YCSB: it does not extend DB");
    }
    format!("the binding {class} cannot be loaded: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_has_a_port_and_two_keys() {
        let keys = format!("{}{}", "0f".repeat(KEY), "f0".repeat(KEY));
        let (door, java) = listening(&format!("listening 4711 {keys} 17.0.1")).unwrap();
        assert_eq!(
            (door.address.to_string().as_str(), java.as_str()),
            ("127.0.0.1:4711", "17.0.1")
        );
        assert_eq!((door.ours, door.theirs), ([0x0f; KEY], [0xf0; KEY]));
        for wrong in ["", "listening", "listening 70000 00 1", "listening 1 0f0f 17", "failed"] {
            assert!(listening(wrong).is_none(), "{wrong}");
        }
    }
}
