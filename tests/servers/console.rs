//! A database's own client in Java. It is kept for many commands: a JVM takes longer to start than
//! to do what a test needs.

use std::io::{BufRead, BufReader, PipeReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

/// A client that waits for commands in the format of `Console.java`.
pub(crate) struct Console {
    child: Child,
    stdin: ChildStdin,
    printed: BufReader<PipeReader>,
}

impl Console {
    /// Starts it.
    pub(crate) fn start(mut command: Command) -> Self {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        command.stdin(Stdio::piped()).stderr(writer.try_clone().expect("a pipe")).stdout(writer);
        let mut child = command.spawn().expect("it starts");
        let stdin = child.stdin.take().expect("a pipe");
        Self { child, stdin, printed: BufReader::new(reader) }
    }

    /// Runs a command, and returns its output; `Err` if it failed, or if the client ended.
    pub(crate) fn run(&mut self, words: &[&str]) -> Result<String, String> {
        // If the client has ended, its output says why.
        let _ = writeln!(self.stdin, "{}", words.join("\t"));
        let mut printed = String::new();
        loop {
            let begins = printed.len();
            if self.printed.read_line(&mut printed).expect("UTF-8") == 0 {
                return Err(printed);
            }
            let ended = match &printed[begins..] {
                "\u{4} done\n" => true,
                "\u{4} failed\n" => false,
                _ => continue,
            };
            printed.truncate(begins);
            return if ended { Ok(printed) } else { Err(printed) };
        }
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
