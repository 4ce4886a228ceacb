//! Printing to stdout and stderr. A reader that goes away is not an error.

use crate::redact;
use crate::report::shown;
use std::io::{self, IsTerminal as _};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether some output was lost.
static UNWRITTEN: AtomicBool = AtomicBool::new(false);

/// Whether the loss was reported.
static REPORTED: AtomicBool = AtomicBool::new(false);

/// Writes to stdout, with known secrets redacted. A closed pipe is not an error.
///
/// # Errors
/// Fails if it cannot be written for another reason, such as a full disk.
pub(in crate::cli) fn write(bytes: &[u8]) -> io::Result<()> {
    use io::Write as _;
    let struck = std::str::from_utf8(bytes).map(redact::strike);
    let mut out = io::stdout().lock();
    match out
        .write_all(struck.as_ref().map_or(bytes, |text| text.as_bytes()))
        .and_then(|()| out.flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            UNWRITTEN.store(true, Ordering::Relaxed);
            Err(error)
        }
        _ => Ok(()),
    }
}

/// Whether everything was written to stdout, or its reader went away.
pub(in crate::cli) fn complete() -> bool {
    !UNWRITTEN.load(Ordering::Relaxed)
}

/// Writes to stdout, and reports an error on stderr.
pub(in crate::cli) fn print(bytes: &[u8]) {
    if let Err(error) = write(bytes) {
        report(&error);
    }
}

/// Prints what a server sent: as plain lines on a terminal, unchanged elsewhere.
pub(in crate::cli) fn print_foreign(bytes: &[u8]) {
    learn_cookies(bytes);
    if !io::stdout().is_terminal() {
        // Secrets are redacted in binary data as well, as far as it can be read as text.
        return match (redact::any(), std::str::from_utf8(bytes)) {
            (true, Err(_)) => print(String::from_utf8_lossy(bytes).as_bytes()),
            _ => print(bytes),
        };
    }
    let text = redact::strike(&String::from_utf8_lossy(bytes)).replace("\r\n", "\n");
    let lines = text.split('\n').map(|line| shown(line, false));
    print(lines.collect::<Vec<_>>().join("\n").as_bytes());
}

/// Learns the cookies that a response head sets, as secrets.
fn learn_cookies(head: &[u8]) {
    for line in String::from_utf8_lossy(head).lines() {
        if let Some((name, cookie)) = line.split_once(':')
            && name.eq_ignore_ascii_case("set-cookie")
        {
            redact::learn_cookies(cookie.split(';').next().unwrap_or_default());
        }
    }
}

/// Reports once that stdout cannot be written, unless its reader has gone away.
pub(in crate::cli) fn unwritten(error: &io::Error) {
    if error.kind() != io::ErrorKind::BrokenPipe {
        UNWRITTEN.store(true, Ordering::Relaxed);
        report(error);
    }
}

fn report(error: &io::Error) {
    if !REPORTED.swap(true, Ordering::Relaxed) {
        eprintln!("error: stdout: {error}");
    }
}

/// Writes a line to stderr, with known secrets redacted; errors are ignored.
pub(in crate::cli) fn remark(line: &str) {
    use io::Write as _;
    let _ = writeln!(io::stderr().lock(), "{}", redact::strike(line));
}
