//! A terminal for one command: its output, keys for it, and its modes afterwards. Works with any
//! command.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// No test takes that long; a hang becomes a failure of the test.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A command on a terminal of 100 columns and 30 lines.
pub(crate) struct Pty {
    child: Child,
    controller: OwnedFd,
    /// Held open, so that the command's last output is not lost when it ends.
    terminal: OwnedFd,
    before: Termios,
    shown: Vec<u8>,
}

impl Pty {
    pub(crate) fn start(command: &mut Command) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let controller = openpt(flags).expect("a pseudoterminal");
        grantpt(&controller).expect("it is ours");
        unlockpt(&controller).expect("it is ours");
        let terminal = ioctl_tiocgptpeer(&controller, flags).expect("its other end");
        let size = Winsize { ws_row: 30, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal, size).expect("a size");
        let before = tcgetattr(&terminal).expect("modes");
        let end = || Stdio::from(terminal.try_clone().expect("another handle"));
        command.stdin(end()).stdout(end()).stderr(end());
        let child = command.env("TERM", "xterm-256color").spawn().expect("it runs");
        Self { child, controller, terminal, before, shown: Vec::new() }
    }

    /// All output so far.
    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown).into_owned()
    }

    /// Reads the output that arrives within `wait`.
    fn read(&mut self, wait: Duration) {
        let wait = rustix::time::Timespec::try_from(wait).expect("a short time");
        let mut ends = [PollFd::new(&self.controller, PollFlags::IN)];
        if matches!(poll(&mut ends, Some(&wait)), Ok(1..)) {
            let mut buffer = [0; 4096];
            let count = rustix::io::read(&self.controller, &mut buffer).expect("an open terminal");
            self.shown.extend_from_slice(&buffer[..count]);
        }
    }

    /// Waits until `text` is shown.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) {
        self.wait_for_times(text, 1);
    }

    /// Waits until `text` has been shown this many times.
    #[track_caller]
    pub(crate) fn wait_for_times(&mut self, text: &str, times: usize) {
        #[allow(clippy::disallowed_methods, reason = "the bound of a wait, not a measurement")]
        let begun = Instant::now();
        let there = |pty: &Self| pty.shown().matches(text).count() >= times;
        while !there(self) {
            assert!(begun.elapsed() < TIMEOUT, "no {text:?} in:\n{}", self.shown());
            let status = self.child.try_wait().expect("a child");
            self.read(Duration::from_millis(20));
            let over = status.is_some() && !there(self);
            assert!(!over, "ended without {text:?}:\n{}", self.shown());
        }
    }

    pub(crate) fn press(&self, keys: &str) {
        rustix::io::write(&self.controller, keys.as_bytes()).expect("an open terminal");
    }

    /// Waits for the end, and checks that the terminal's modes were restored.
    #[track_caller]
    pub(crate) fn finish(&mut self) -> ExitStatus {
        #[allow(clippy::disallowed_methods, reason = "the bound of a wait, not a measurement")]
        let begun = Instant::now();
        let status = loop {
            let status = self.child.try_wait().expect("a child");
            self.read(Duration::from_millis(20));
            if let Some(status) = status {
                break status;
            }
            assert!(begun.elapsed() < TIMEOUT, "it does not end:\n{}", self.shown());
        };
        // The command has ended: the rest has been read, or is in transit in the kernel.
        let mut length = usize::MAX;
        while length != self.shown.len() {
            length = self.shown.len();
            self.read(Duration::from_millis(50));
        }
        assert_eq!(self.modes(), modes(&self.before), "after:\n{}", self.shown());
        status
    }

    /// The terminal's modes now.
    pub(crate) fn modes(&self) -> String {
        modes(&tcgetattr(&self.terminal).expect("modes"))
    }

    /// The original modes.
    pub(crate) fn modes_before(&self) -> String {
        modes(&self.before)
    }
}

fn modes(of: &Termios) -> String {
    let (input, output) = (of.input_modes, of.output_modes);
    format!("{input:?} {output:?} {:?} {:?}", of.control_modes, of.local_modes)
}

impl Drop for Pty {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
