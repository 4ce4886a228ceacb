//! Printing to stdout and stderr. A reader that goes away is not an error.

use std::io;

/// Writes to stdout. A closed pipe is not an error.
///
/// # Errors
/// When it cannot be written for another reason, such as a full disk.
pub(in crate::cli) fn write(bytes: &[u8]) -> io::Result<()> {
    use io::Write as _;
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// Writes to stdout, and reports an error on stderr.
pub(in crate::cli) fn print(bytes: &[u8]) {
    if let Err(error) = write(bytes) {
        eprintln!("error: stdout: {error}");
    }
}

/// Writes a line to stderr; errors are ignored.
pub(in crate::cli) fn remark(line: &str) {
    use io::Write as _;
    let _ = writeln!(io::stderr().lock(), "{line}");
}
