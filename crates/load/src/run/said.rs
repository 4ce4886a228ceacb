//! The output of a shell command, kept until it has ended, and shown without secrets.

use crate::driver::scratch_name;
use crate::plan::strike_command;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::process::Command;

/// The output of a command. It goes into a file without a name, because a pipe would break for a
/// server that the command has started and that outlives springload.
#[derive(Debug)]
pub struct Said(File);

impl Said {
    /// Creates the file.
    ///
    /// # Errors
    /// Returns an error if the temporary file cannot be created.
    pub fn new() -> io::Result<Self> {
        let path = std::env::temp_dir().join(scratch_name());
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        fs::remove_file(&path)?;
        Ok(Self(file))
    }

    /// Sends both of a command's outputs there.
    ///
    /// # Errors
    /// Returns an error if the operating system has no more file descriptors.
    pub fn of<'a>(&self, command: &'a mut Command) -> io::Result<&'a mut Command> {
        Ok(command.stdout(self.0.try_clone()?).stderr(self.0.try_clone()?))
    }

    /// Returns the last `most` bytes of it, without secrets; `None`: it is empty.
    pub fn end(&self, most: u64) -> Option<String> {
        let mut file = &self.0;
        let length = file.metadata().ok()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(most))).ok()?;
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let text = strike_command(text.trim());
        (!text.is_empty()).then_some(text)
    }
}
