//! Agents on this machine, as child processes, over their standard input and output: a message is
//! a line.

use super::channel::{Arrived, Channel, Full, LARGEST, Outbox, To, WAITING};
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

/// The most messages that wait for a process to read them. With more than that it is not reading.
const UNREAD: usize = 16;

/// Starts `agents` agents of `run` from `program`, and returns the coordinator's end. Must be
/// called on a thread that stays: on Linux, agents die with it.
///
/// # Errors
/// When a process cannot be started.
pub fn start(program: &Path, agents: usize, run: &str) -> io::Result<Channel> {
    let (arrived, inbox) = sync_channel(WAITING);
    let mut writers = Vec::with_capacity(agents);
    for agent in 0..agents {
        let mut child = command(program, agent, run).spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
            return Err(io::Error::other("an agent without standard input and output"));
        };
        writers.push(writer(stdin)?);
        let arrived = arrived.clone();
        named("agent-reader").spawn(move || watch(agent, child, stdout, &arrived))?;
    }
    Ok(Channel { outbox: Box::new(Pipes(writers)), inbox })
}

fn command(program: &Path, agent: usize, run: &str) -> Command {
    let mut command = Command::new(program);
    command.args(["agent", "--run", run, "--index", &agent.to_string()]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    // A Ctrl-C is for the coordinator, which tells its agents.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
}

/// The agent's end, over this process's standard input and output.
///
/// # Errors
/// When a thread cannot be started.
pub fn join() -> io::Result<Channel> {
    let (arrived, inbox) = sync_channel(WAITING);
    let outbox = Pipes(vec![writer(io::stdout())?]);
    named("orders-reader").spawn(move || {
        let why = read(io::stdin(), &arrived)
            .map_or_else(|error| error.to_string(), |()| "the coordinator is gone".to_owned());
        let _ = arrived.send(Arrived::Closed(why));
    })?;
    Ok(Channel { outbox: Box::new(outbox), inbox })
}

fn named(name: &str) -> std::thread::Builder {
    std::thread::Builder::new().name(name.to_owned())
}

/// Passes on what an agent says, and how it ended.
fn watch(agent: usize, mut child: Child, stdout: impl Read, arrived: &SyncSender<Arrived>) {
    let read = read(stdout, arrived);
    if let Err(error) = &read {
        // It writes something that is not a message: nothing it says can be used.
        let _ = child.kill();
        let _ = arrived.send(Arrived::AgentGone(agent, error.to_string()));
    }
    let ended = child.wait().map_or_else(|error| error.to_string(), ended);
    if read.is_ok() {
        let _ = arrived.send(Arrived::AgentGone(agent, ended));
    }
}

/// How a process ended, in words.
fn ended(status: ExitStatus) -> String {
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
fn read(from: impl Read, arrived: &SyncSender<Arrived>) -> io::Result<()> {
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

/// Starts a thread that writes messages to `to`, until the sender is dropped or nobody reads.
fn writer(mut to: impl Write + Send + 'static) -> io::Result<SyncSender<Vec<u8>>> {
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

/// The writers of the processes, by agent; an agent has one, to the coordinator.
struct Pipes(Vec<SyncSender<Vec<u8>>>);

impl Outbox for Pipes {
    fn send(&mut self, to: To, message: Vec<u8>) -> Result<(), Full> {
        let meant = |agent: usize| to == To::All || to == To::Agent(agent);
        let full = |writer: &SyncSender<Vec<u8>>| {
            matches!(writer.try_send(message.clone()), Err(TrySendError::Full(_)))
        };
        // Each gets it, whatever the others do.
        let writers = self.0.iter().enumerate().filter(|(agent, _)| meant(*agent));
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
        struct Stuck(Receiver<()>);
        impl Write for Stuck {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                let _ = self.0.recv();
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (_kept, never) = sync_channel(1);
        let mut pipes = Pipes(vec![writer(Stuck(never)).unwrap()]);
        let taken = (0..100).filter(|_| pipes.send(To::Agent(0), vec![1]).is_ok()).count();
        assert!(taken <= UNREAD + 1, "{taken} of 100");
        let mut two = Pipes(vec![pipes.0.remove(0), writer(io::sink()).unwrap()]);
        // The others have it all the same.
        assert_eq!(two.send(To::All, vec![1]), Err(Full::Agents(vec![0])));
        assert_eq!(two.send(To::Agent(1), vec![1]), Ok(()));
    }
}
