//! A process with its own folder, both removed with the test, however that ends.

use std::fs::File;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, Write};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

/// The lowest port that a server can get, and the number of ports: Linux itself assigns those from
/// 32768 on.
const LOWEST: u16 = 16_384;
const PORTS: u16 = 15_616;

/// The pause between two checks whether a starting server is up.
const BETWEEN: Duration = Duration::from_millis(50);

/// Waits for a word from the test, or for its end, which closes the pipe: then nothing else would
/// kill the server and remove its folder, because statics and the values of a killed test are not
/// dropped. The server may still write until it is gone.
const GUARD: &str = r#"
    read -r word && exit
    kill -9 "$1"
    for i in 1 2 3 4 5 6 7 8 9; do kill -0 "$1" && sleep 0.2; done
    rm -rf -- "$2"
"#;

/// Makes the command line, given the folder in which it runs.
pub(crate) type Spell = Box<dyn Fn(&Path) -> Command + Send + Sync>;

/// A process without input, whose output goes to the file `output` in its folder.
pub(crate) struct Process {
    spell: Spell,
    folder: TempDir,
    running: Option<Guarded>,
}

struct Guarded {
    child: Child,
    guard: Child,
}

impl Process {
    /// Starts it in a new folder.
    pub(crate) fn start(spell: Spell) -> io::Result<Self> {
        let mut process = Self { spell, folder: tempfile::tempdir()?, running: None };
        process.start_again()?;
        Ok(process)
    }

    /// Starts it again after it was killed, in the same folder.
    pub(crate) fn start_again(&mut self) -> io::Result<()> {
        self.kill();
        let folder = self.folder.path();
        let output = File::create(folder.join("output"))?;
        let mut child = (self.spell)(folder)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stderr(output.try_clone()?)
            .stdout(output)
            .process_group(0)
            .spawn()?;
        let guard = Command::new("sh")
            .args(["-c", GUARD, "guard", &child.id().to_string()])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        match guard {
            Ok(guard) => self.running = Some(Guarded { child, guard }),
            Err(error) => {
                child.kill()?;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Kills it as `kill -9` does, and waits for its end; its folder stays.
    pub(crate) fn kill(&mut self) {
        self.running = None;
    }

    /// Waits until it is up.
    pub(crate) fn until(
        &mut self,
        patience: Duration,
        up: impl Fn(&Self) -> bool,
    ) -> io::Result<()> {
        for _ in 0..patience.as_millis() / BETWEEN.as_millis() {
            if up(self) {
                return Ok(());
            }
            let running = self.running.as_mut().ok_or_else(|| io::Error::other("not running"))?;
            if let Some(status) = running.child.try_wait()? {
                return Err(io::Error::other(format!("{status}: {}", self.end_of_output())));
            }
            std::thread::sleep(BETWEEN);
        }
        let words = format!("not up after {patience:?}: {}", self.end_of_output());
        Err(io::Error::new(io::ErrorKind::TimedOut, words))
    }

    /// All of its output.
    pub(crate) fn output(&self) -> String {
        let bytes = std::fs::read(self.folder.path().join("output")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The end of its output.
    fn end_of_output(&self) -> String {
        let output = self.output();
        let lines: Vec<_> = output.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }

    /// Its process ID, while it runs.
    pub(crate) fn pid(&self) -> u32 {
        self.running.as_ref().expect("it runs").child.id()
    }

    /// Its folder.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        // Not earlier: until then the guard must do it if this process is killed.
        let _ = self.guard.stdin.take().expect("a pipe").write_all(b"done\n");
        let _ = self.guard.wait();
    }
}

/// Free ports, all different. They are below those that the system assigns, so that they are still
/// free when a killed server is started again, and as long as those in the messages of HBase, where
/// a relay replaces them.
pub(crate) fn free_ports(count: usize) -> io::Result<Vec<u16>> {
    let mut listeners = Vec::new();
    for _ in 0..1_000 {
        let seed = RandomState::new().build_hasher().finish();
        let port = LOWEST + (seed % u64::from(PORTS)) as u16;
        listeners.extend(TcpListener::bind(("127.0.0.1", port)));
        if listeners.len() == count {
            return listeners.iter().map(|listener| Ok(listener.local_addr()?.port())).collect();
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}
