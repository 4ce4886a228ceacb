//! Runs that a springload measures in a separate process: another version, or this one again.

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
/// count as one, because Ctrl-C reaches all processes of a terminal.
const EACH: Duration = Duration::from_millis(20);
/// More than a run prints, in bytes.
const MOST_SAID: u64 = 64 << 10;

/// A springload, and its task.
pub(super) struct Other<'a> {
    pub(super) program: &'a Path,
    pub(super) words: &'a [String],
    /// Whether its output is shown while it runs, and it may prompt; otherwise its output is only
    /// shown if it leaves no record.
    pub(super) heard: bool,
}

impl Other<'_> {
    /// Lets it measure a run into the folder of `file`.
    ///
    /// # Errors
    /// Fails if it leaves no complete record. Returns its exit status, after printing the reason.
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

    /// Lets it check its task without carrying it out. In its output, the first of each pair of
    /// `words` is replaced by the second.
    ///
    /// # Errors
    /// Returns its exit status, after printing the reason.
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
        // The run is part of a study that is remembered itself.
        run.args(self.words).stdout(Stdio::null()).env("SPRINGLOAD_STATE", "");
        if !self.heard {
            run.stdin(Stdio::null()).stderr(Stdio::piped());
        }
        run
    }

    /// Prints the reason there is no record.
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

/// Returns how it ended, and its output.
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

/// The output from a pipe, up to its end.
fn hear(mut pipe: impl Read) -> String {
    let mut said = Vec::new();
    let _ = pipe.by_ref().take(MOST_SAID).read_to_end(&mut said);
    // Otherwise the process would block on its output.
    let _ = io::copy(&mut pipe, &mut io::sink());
    String::from_utf8_lossy(&said).into_owned()
}

/// Waits for a process to end; if the user asks to stop, the process is asked as well.
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
