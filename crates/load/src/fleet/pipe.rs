//! Agents as child processes, over their standard input and output: a message is a line.

use super::channel::{Arrived, Channel, Full, LARGEST, Outbox, To, WAITING};
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The most messages that wait for a process to read them. A process with more is not reading.
const UNREAD: usize = 16;

/// How often to check whether a process that sends nothing more has ended.
const LOOK: Duration = Duration::from_millis(5);
/// How long to wait for the last output of a process that has ended: another one may hold its pipe.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How much of the end of that output is kept, in bytes.
const KEPT: usize = 4096;

/// Starts `agents` agents of `run` from `program`, and returns the coordinator's end. Must be
/// called on a thread that lives on: on Linux, agents die with it.
///
/// # Errors
/// Returns an error if a process cannot be started.
pub fn start(program: &Path, agents: usize, run: &str) -> io::Result<Channel> {
    attach((0..agents).map(|agent| {
        let mut command = Command::new(program);
        command.args(["agent", "--run", run, "--index", &agent.to_string()]);
        (command, String::new())
    }))
}

/// Starts agents, each by its command, and returns the coordinator's end. The text with each
/// command is put first when the agent's end is reported.
///
/// # Errors
/// Returns an error if a process cannot be started.
pub(super) fn attach(commands: impl Iterator<Item = (Command, String)>) -> io::Result<Channel> {
    let (arrived, inbox) = sync_channel(WAITING);
    let mut pipes = Pipes::default();
    for (agent, (mut command, place)) in commands.enumerate() {
        let mut child = spawn(command.stdin(Stdio::piped()).stdout(Stdio::piped()))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
            return Err(io::Error::other("an agent without standard input and output"));
        };
        let words = child.stderr.take().map(keep_end).transpose()?;
        let child = Arc::new(Mutex::new(child));
        pipes.started.0.push(child.clone());
        pipes.writers.push(writer(stdin)?);
        let arrived = arrived.clone();
        named("agent-reader").spawn(move || {
            let why = watch(&child, stdout, words.as_ref(), &arrived);
            let _ = arrived.send(Arrived::AgentGone(agent, place + &why));
        })?;
    }
    Ok(Channel { outbox: Box::new(pipes), inbox, lossy: false })
}

/// Starts a process that Ctrl-C does not reach: it is meant for the coordinator, which informs its
/// agents.
pub(super) fn spawn(command: &mut Command) -> io::Result<Child> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    command.spawn()
}

/// The agent's end, over this process's standard input and output.
///
/// # Errors
/// Returns an error if a thread cannot be started.
pub fn join() -> io::Result<Channel> {
    over(io::stdin(), io::stdout())
}

/// The agent's end, over a stream in each direction.
pub(super) fn over(
    from: impl Read + Send + 'static,
    to: impl Write + Send + 'static,
) -> io::Result<Channel> {
    let (arrived, inbox) = sync_channel(WAITING);
    let outbox = Pipes { writers: vec![writer(to)?], ..Pipes::default() };
    named("orders-reader").spawn(move || {
        let why = match read(from, &arrived) {
            Err(error) if !is_gone(&error) => error.to_string(),
            _ => "the coordinator is gone".to_owned(),
        };
        let _ = arrived.send(Arrived::Closed(why));
    })?;
    Ok(Channel { outbox: Box::new(outbox), inbox, lossy: false })
}

/// Whether an error only means that the other end was closed: a process that is killed before it
/// has read everything resets the connection.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted)
}

pub(super) fn named(name: &str) -> std::thread::Builder {
    std::thread::Builder::new().name(name.to_owned())
}

/// Passes on an agent's messages, and returns how it ended.
fn watch(
    child: &Mutex<Child>,
    stdout: impl Read,
    words: Option<&Receiver<Vec<u8>>>,
    arrived: &SyncSender<Arrived>,
) -> String {
    let unread = read(stdout, arrived).err();
    if unread.is_some() {
        // Its output is not a message: nothing it sends can be used.
        let _ = held(child).kill();
    }
    let ended = loop {
        match held(child).try_wait() {
            Ok(Some(status)) => break ended(status),
            Ok(None) => {}
            Err(error) => break error.to_string(),
        }
        std::thread::sleep(LOOK);
    };
    match (unread, words.map(last_line)) {
        (Some(error), _) => error.to_string(),
        (None, Some(line)) if !line.is_empty() => format!("{ended}: {line}"),
        _ => ended,
    }
}

fn held(child: &Mutex<Child>) -> MutexGuard<'_, Child> {
    child.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads everything that arrives, and provides the end of it once nothing more does.
pub(super) fn keep_end(mut from: impl Read + Send + 'static) -> io::Result<Receiver<Vec<u8>>> {
    let (sender, kept) = sync_channel(1);
    named("words-reader").spawn(move || {
        let (mut end, mut piece) = (Vec::new(), [0; KEPT]);
        while let Ok(length @ 1..) = from.read(&mut piece) {
            end.extend_from_slice(&piece[..length]);
            end.drain(..end.len().saturating_sub(KEPT));
        }
        let _ = sender.send(end);
    })?;
    Ok(kept)
}

/// The last output of a process that has ended: text of at most a few kilobytes.
pub(super) fn last_words(kept: &Receiver<Vec<u8>>) -> String {
    let bytes = kept.recv_timeout(LAST_WORDS).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The last line of that output.
pub(super) fn last_line(kept: &Receiver<Vec<u8>>) -> String {
    let words = last_words(kept);
    words.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

/// Says how a process ended.
pub(super) fn ended(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("killed by signal {signal}");
    }
    status.code().map_or_else(
        || "the process ended".to_owned(),
        |code| format!("ended with exit status {code}"),
    )
}

/// Passes on messages until there are no more.
pub(super) fn read(from: impl Read, arrived: &SyncSender<Arrived>) -> io::Result<()> {
    let mut lines = BufReader::with_capacity(1 << 16, from);
    loop {
        let mut line = Vec::new();
        lines.by_ref().take(LARGEST as u64 + 1).read_until(b'\n', &mut line)?;
        if line.pop() != Some(b'\n') {
            let over = line.len() >= LARGEST;
            return if over { Err(io::Error::other("a line without an end")) } else { Ok(()) };
        }
        if arrived.send(Arrived::Message(line)).is_err() {
            return Ok(());
        }
    }
}

/// Starts a thread that writes messages to `to`, until the sender is dropped or there is no reader.
pub(super) fn writer(mut to: impl Write + Send + 'static) -> io::Result<SyncSender<Vec<u8>>> {
    let (sender, messages): (_, Receiver<Vec<u8>>) = sync_channel(UNREAD);
    named("pipe-writer").spawn(move || {
        for mut message in messages {
            message.push(b'\n');
            if to.write_all(&message).and_then(|()| to.flush()).is_err() {
                return;
            }
        }
    })?;
    Ok(sender)
}

/// The writers to the agents, by number; an agent has one, to the coordinator.
#[derive(Default)]
pub(super) struct Pipes {
    pub(super) writers: Vec<SyncSender<Vec<u8>>>,
    started: Started,
}

/// The processes that they write to, if this process has started them.
#[derive(Default)]
struct Started(Vec<Arc<Mutex<Child>>>);

impl Drop for Started {
    /// Agents have had time to leave: those that have not, such as one that is stopped, or ssh on a
    /// network that is cut, are killed.
    fn drop(&mut self) {
        for child in &self.0 {
            let _ = held(child).kill();
        }
    }
}

impl Outbox for Pipes {
    fn send(&mut self, to: To, message: Vec<u8>) -> Result<(), Full> {
        let meant = |agent: usize| to == To::All || to == To::Agent(agent);
        let full = |writer: &SyncSender<Vec<u8>>| {
            matches!(writer.try_send(message.clone()), Err(TrySendError::Full(_)))
        };
        // Each gets it, regardless of the others.
        let writers = self.writers.iter().enumerate().filter(|(agent, _)| meant(*agent));
        let full: Vec<_> = writers.filter(|(_, it)| full(it)).map(|(agent, _)| agent).collect();
        if full.is_empty() { Ok(()) } else { Err(Full::Agents(full)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(bytes: &[u8]) -> (Vec<Vec<u8>>, bool) {
        let (arrived, inbox) = sync_channel(WAITING);
        let whole = read(bytes, &arrived).is_ok();
        drop(arrived);
        let text = |it| if let Arrived::Message(line) = it { line } else { Vec::new() };
        (inbox.into_iter().map(text).collect(), whole)
    }

    struct Broken(io::ErrorKind);

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(self.0.into())
        }
    }

    /// A process that is killed before it has read everything resets the connection.
    #[test]
    fn a_coordinator_that_resets_the_connection_is_gone_and_other_errors_are_reported() {
        let why = |kind| {
            let channel = over(Broken(kind), io::sink()).unwrap();
            match channel.inbox.recv().unwrap() {
                Arrived::Closed(why) => why,
                _ => String::new(),
            }
        };
        assert_eq!(why(io::ErrorKind::ConnectionReset), "the coordinator is gone");
        assert!(!why(io::ErrorKind::TimedOut).contains("gone"));
    }

    #[test]
    fn a_message_is_a_line_and_half_of_one_is_none() {
        let lines = |lines: &[&str]| lines.iter().map(|it| it.as_bytes().to_vec()).collect();
        assert_eq!(read_all(b"{}\n[1]\n"), (lines(&["{}", "[1]"]), true));
        assert_eq!(read_all(b"{}\n[1"), (lines(&["{}"]), true));
        assert_eq!(read_all(b""), (lines(&[]), true));
        let endless = vec![b'x'; LARGEST + 9];
        assert_eq!(read_all(&endless), (lines(&[]), false));
    }

    #[test]
    fn a_process_that_does_not_read_takes_no_more_memory() {
        struct Stuck(SyncSender<()>, Receiver<()>);
        impl Write for Stuck {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                let _ = self.0.send(());
                let _ = self.1.recv();
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (begins, began) = sync_channel(1);
        let (_kept, never) = sync_channel(1);
        let pipes = |writers| Pipes { writers, ..Pipes::default() };
        let mut one = pipes(vec![writer(Stuck(begins, never)).unwrap()]);
        assert_eq!(one.send(To::Agent(0), vec![1]), Ok(()));
        began.recv().unwrap();
        let taken = (0..100).filter(|_| one.send(To::Agent(0), vec![1]).is_ok()).count();
        assert_eq!(taken, UNREAD);
        let mut two = pipes(vec![one.writers.remove(0), writer(io::sink()).unwrap()]);
        // The others get it all the same.
        assert_eq!(two.send(To::All, vec![1]), Err(Full::Agents(vec![0])));
        assert_eq!(two.send(To::Agent(1), vec![1]), Ok(()));
    }
}
