//! Runs that a springload measures in a separate process: another version, or this one once more.

use crate::cli::exit::Exit;
use crate::cli::look;
use crate::cli::pipeline::ending::Ending;
use crate::cli::verb::reading::record;
use crate::engine::StopReason;
use crate::record::RunRecord;
use crate::report::shown;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, sleep};
use std::time::Duration;

/// How often to check whether the process has ended. Less than the time between two signals that
/// count as one: Ctrl-C reaches all processes of a terminal.
const EACH: Duration = Duration::from_millis(20);
/// More than a run has to say, in bytes.
const MOST_SAID: u64 = 64 << 10;

/// A springload, and what it is to do.
pub(super) struct Other<'a> {
    pub(super) program: &'a Path,
    pub(super) words: &'a [String],
    /// Whether its output is shown while it runs, and it may ask; otherwise its output is only
    /// shown if it leaves no record.
    pub(super) heard: bool,
}

impl Other<'_> {
    /// Has it measure a run into the folder of `file`.
    ///
    /// # Errors
    /// If it leaves no complete record: its exit status, after the reason was printed.
    pub(super) fn measure(&self, file: &Path, ending: &Ending) -> Result<RunRecord, Exit> {
        let mut run = self.command();
        let folder = file.parent().unwrap_or_else(|| Path::new("."));
        run.arg("--quiet").arg("--output").arg(folder);
        let (ended, said) = carry_out(run, ending);
        if ending.reason().is_some() {
            return Err(Exit::Interrupted);
        }
        let record = record(file).ok().filter(|it| !it.partial);
        record.ok_or_else(|| self.tell(&ended, &said))
    }

    /// Has it check what it is asked to do, without doing it. In its output, the first of each pair
    /// of `words` is replaced with the second.
    ///
    /// # Errors
    /// Its exit status, after the reason was printed.
    pub(super) fn check(&self, ending: &Ending, words: &[(String, String)]) -> Result<(), Exit> {
        let mut run = self.command();
        run.arg("--dry-run");
        let (ended, said) = carry_out(run, ending);
        match &ended {
            Ok(status) if status.success() => Ok(()),
            _ => {
                let reworded = |said: String, (from, to): &(String, String)| said.replace(from, to);
                Err(self.tell(&ended, &words.iter().fold(said, reworded)))
            }
        }
    }

    fn command(&self) -> Command {
        let mut run = Command::new(self.program);
        // What it measures is part of something that is remembered itself.
        run.args(self.words).stdout(Stdio::null()).env("SPRINGLOAD_STATE", "");
        if !self.heard {
            run.stdin(Stdio::null()).stderr(Stdio::piped());
        }
        run
    }

    /// Says why there is no record.
    fn tell(&self, ended: &io::Result<ExitStatus>, said: &str) -> Exit {
        for line in said.lines() {
            eprintln!("{}", shown(line, look::ascii()));
        }
        let how = match ended {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        if !said.lines().any(|line| line.starts_with("error: ")) {
            eprintln!("error: {} left no record: {how}", self.program.display());
        }
        let code = ended.as_ref().ok().and_then(ExitStatus::code);
        let known = [Exit::Usage, Exit::Target, Exit::Interrupted];
        known.into_iter().find(|exit| code == Some(*exit as i32)).unwrap_or(Exit::Failed)
    }
}

/// How it ended, and what it said.
fn carry_out(mut run: Command, ending: &Ending) -> (io::Result<ExitStatus>, String) {
    let mut child = match run.spawn() {
        Ok(child) => child,
        Err(error) => return (Err(error), String::new()),
    };
    let listener = child.stderr.take().map(|pipe| thread::spawn(move || hear(pipe)));
    let ended = wait(&mut child, ending);
    let said = listener.and_then(|it| it.join().ok()).unwrap_or_default();
    (ended, said)
}

/// What comes out of a pipe, up to its end.
fn hear(mut pipe: impl Read) -> String {
    let mut said = Vec::new();
    let _ = pipe.by_ref().take(MOST_SAID).read_to_end(&mut said);
    // Otherwise the process would wait for its output to be read.
    let _ = io::copy(&mut pipe, &mut io::sink());
    String::from_utf8_lossy(&said).into_owned()
}

/// Waits for the end of a process; if the user asks for the end, asks the process, too.
fn wait(child: &mut Child, ending: &Ending) -> io::Result<ExitStatus> {
    let mut asked = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        let reason: Option<StopReason> = ending.reason();
        if reason.is_some() && reason != asked {
            asked = reason;
            let _ = kill_process(Pid::from_child(child), Signal::INT);
        }
        sleep(EACH);
    }
}
