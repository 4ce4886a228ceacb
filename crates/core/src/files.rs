//! Reads and writes files that users name: with a size limit, whatever the path points to, and
//! without following links that another user may have planted.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, open};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Write};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// The largest settings file, in bytes.
pub const SETTINGS: u64 = 16 << 20;
/// The largest schema, list of URLs or body, in bytes.
pub const DATA: u64 = 256 << 20;
/// The largest record, in bytes.
pub const RECORD: u64 = 1 << 30;
/// The most that is read from a device, in bytes: enough for what a person types.
const DEVICE: u64 = 1 << 20;
/// How long the writer of a pipe may stay silent, in seconds.
const PATIENCE_S: i64 = 10;

/// Reads a whole file of at most `most` bytes.
///
/// The file may be a pipe that is still being written to, such as the shell's `<(command)`; a pipe
/// that stays silent for ten seconds is an error.
///
/// # Errors
/// Returns an error if the file cannot be read, is too large, or is a pipe that stays silent.
pub fn read(path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    read_within(path, most, PATIENCE_S)
}

/// Like [`read`], but a pipe may be silent for `patience_s` seconds: its writer may have to ask a
/// person first.
///
/// # Errors
/// See [`read`].
pub fn read_within(path: impl AsRef<Path>, most: u64, patience_s: i64) -> io::Result<Vec<u8>> {
    // Opening a pipe that has no writer would block forever.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let mut file = File::from(open(path.as_ref(), flags, Mode::empty())?);
    let data = file.metadata()?;
    let kind = data.file_type();
    if kind.is_file() {
        return if data.len() > most { Err(too_large(most)) } else { bounded(file, most) };
    }
    if kind.is_block_device() {
        return Err(io::Error::other("it is a device"));
    }
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let most = if kind.is_char_device() { most.min(DEVICE) } else { most };
    let (mut all, mut piece) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        wait(&file, patience_s)?;
        match file.read(&mut piece) {
            Ok(0) => return Ok(all),
            Ok(length) => all.extend_from_slice(&piece[..length]),
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
        if all.len() as u64 > most {
            return Err(too_large(most));
        }
    }
}

/// Reads a whole text file of at most `most` bytes.
///
/// # Errors
/// See [`read`]; also fails if the file is not UTF-8.
pub fn read_text(path: impl AsRef<Path>, most: u64) -> io::Result<String> {
    let wrong = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8");
    String::from_utf8(read(path, most)?).map_err(wrong)
}

/// Reads all of `from`, up to `most` bytes.
///
/// # Errors
/// Returns an error if there is more, or if `from` cannot be read.
pub fn bounded(from: impl io::Read, most: u64) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    from.take(most + 1).read_to_end(&mut all)?;
    if all.len() as u64 > most { Err(too_large(most)) } else { Ok(all) }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Waits until there is something to read, or the writer has closed the pipe.
fn wait(file: &File, patience_s: i64) -> io::Result<()> {
    let patience = Timespec { tv_sec: patience_s, tv_nsec: 0 };
    let mut places = [PollFd::new(file, PollFlags::IN)];
    if poll(&mut places, Some(&patience))? == 0 {
        let why = format!("nothing was written to it for {patience_s} s");
        return Err(io::Error::new(io::ErrorKind::TimedOut, why));
    }
    Ok(())
}

fn too_large(most: u64) -> io::Error {
    let why = format!("it is larger than {} MiB", most >> 20);
    io::Error::new(io::ErrorKind::FileTooLarge, why)
}

/// Replaces a file atomically: a reader sees either the old one or the new one.
///
/// # Errors
/// Returns an error if the new file cannot be written; the old one is left as it is.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_by(path, |out| out.write_all(bytes))
}

/// As [`replace`], with what `write` writes.
///
/// # Errors
/// Returns an error as [`replace`] does, or that of `write`.
pub fn replace_by(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let new = beside(path);
    let mut out = BufWriter::with_capacity(1 << 16, create(&new)?);
    let written = write(&mut out).and_then(|()| out.flush());
    written.and_then(|()| fs::rename(&new, path)).inspect_err(|_| {
        let _ = fs::remove_file(&new);
    })
}

/// Opens a file or pipe that is written line by line: a file is truncated, and a pipe must have a
/// reader.
///
/// # Errors
/// Returns an error if it cannot be opened, or is a pipe without a reader.
pub fn stream(path: &Path) -> io::Result<File> {
    // Opening a pipe that has no reader would block forever.
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = open(path, flags | OFlags::NONBLOCK, Mode::from_raw_mode(0o666));
    let file = File::from(opened.map_err(|error| match error {
        rustix::io::Errno::NXIO => io::Error::other("nobody reads from it"),
        error => error.into(),
    })?);
    // The reader may be slow.
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// Writes a whole file to where a user wants it: a file is truncated, a device or a pipe is written
/// to, and a pipe must have a reader.
///
/// # Errors
/// Returns an error if it cannot be written, or is a pipe without a reader.
pub fn write(path: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
    stream(path.as_ref())?.write_all(bytes)
}

/// Checks that `path` can be written.
///
/// # Errors
/// Returns an error if it cannot be written.
pub fn try_to_write(path: &Path) -> io::Result<()> {
    let probe = beside(path);
    create(&probe)?;
    fs::remove_file(probe)
}

/// The temporary file that becomes `path` when it is complete.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.new"))
}

/// Creates a file. The leftover of an earlier run is removed, and so is a link, but not its target.
fn create(path: &Path) -> io::Result<File> {
    let new = || OpenOptions::new().write(true).create_new(true).open(path);
    match new() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            new()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_or_too_large_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, b"12345").unwrap();
        assert_eq!(read(&file, 5).unwrap(), b"12345");
        assert_eq!(read(&file, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read("/dev/zero", RECORD).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read("/dev/null", 5).unwrap(), b"");
        assert!(read(folder.path(), 5).is_err());
        fs::write(&file, b"\xff").unwrap();
        assert!(read_text(&file, 5).unwrap_err().to_string().contains("UTF-8"));
    }

    #[test]
    fn a_pipe_is_written_to_if_somebody_reads_from_it() {
        let folder = tempfile::tempdir().unwrap();
        let [pipe, file] = ["pipe", "file"].map(|name| folder.path().join(name));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let refused = write(&pipe, b"report").unwrap_err();
        assert_eq!(refused.to_string(), "nobody reads from it");
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut reader = File::from(open(&pipe, flags, Mode::empty()).unwrap());
        write(&pipe, b"report").unwrap();
        let mut read = String::new();
        reader.read_to_string(&mut read).unwrap();
        assert_eq!(read, "report");
        fs::write(&file, b"a longer one").unwrap();
        write(&file, b"report").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"report");
    }

    #[test]
    fn a_link_in_the_way_is_removed_and_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (victim, file) = (folder.path().join("victim"), folder.path().join("run.json"));
        fs::write(&victim, b"precious").unwrap();
        for act in [|file: &Path| replace(file, b"new"), try_to_write] {
            std::os::unix::fs::symlink(&victim, folder.path().join(".run.json.new")).unwrap();
            act(&file).unwrap();
            assert_eq!(fs::read(&victim).unwrap(), b"precious");
            assert_eq!(fs::read(&file).unwrap(), b"new");
            assert!(!folder.path().join(".run.json.new").exists());
        }
    }
}
