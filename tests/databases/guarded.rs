//! No process started by a test outlives the test.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::servers::process::Process;

/// If set, the test below is the one that is killed; names a file.
const VARIABLE: &str = "SPRINGLOAD_TEST_IS_KILLED";

/// Waits for something that must happen soon.
fn soon(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..3000 {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("not soon: {what}");
}

#[test]
fn a_killed_test_leaves_no_process_and_no_folder() {
    if let Some(file) = std::env::var_os(VARIABLE) {
        let process = Process::start(Box::new(|_| {
            let mut command = Command::new("sh");
            command.args(["-c", "echo $$; exec sleep 1000"]);
            command
        }));
        let mut process = process.expect("it starts");
        process.until(Duration::from_secs(30), |it| it.output().ends_with('\n')).expect("its id");
        let line = format!("{} {}", process.output().trim(), process.folder().display());
        let file = Path::new(&file);
        std::fs::write(file.with_extension("part"), line).expect("a file");
        std::fs::rename(file.with_extension("part"), file).expect("a file");
        std::thread::sleep(Duration::from_secs(1000));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("process");
    let mut test = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "guarded::a_killed_test_leaves_no_process_and_no_folder"])
        .env(VARIABLE, &file)
        .stdout(Stdio::null())
        .spawn()
        .expect("it runs");
    soon("its process starts", || file.exists());
    let line = std::fs::read_to_string(&file).expect("a file");
    let (id, folder) = line.split_once(' ').expect("two words");
    let id = rustix::process::Pid::from_raw(id.parse().expect("a number")).expect("an id");
    let runs = || rustix::process::test_kill_process(id).is_ok();
    assert!(runs() && Path::new(folder).exists());
    test.kill().expect("it runs");
    test.wait().expect("it ends");
    soon("its process ends", || !runs());
    soon("its folder is gone", || !Path::new(folder).exists());
}
