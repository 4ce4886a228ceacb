//! What goes to stdout and stderr. Whoever reads may stop whenever it likes.

use std::io;

/// Writes to stdout. Whoever reads may stop whenever it likes: a closed pipe is no failure.
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

/// The same where nothing can be done about it but to say so.
pub(in crate::cli) fn print(bytes: &[u8]) {
    if let Err(error) = write(bytes) {
        eprintln!("error: stdout: {error}");
    }
}

/// Writes a line to stderr, if anybody reads it.
pub(in crate::cli) fn remark(line: &str) {
    use io::Write as _;
    let _ = writeln!(io::stderr().lock(), "{line}");
}
