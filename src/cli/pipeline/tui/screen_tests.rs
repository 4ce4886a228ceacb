//! A panic while the view is on a real terminal.

#[path = "../../../../tests/cli/pty.rs"]
#[allow(dead_code, reason = "shared with tests/cli, which needs all of it")]
mod pty;

use super::Screen;
use crate::cli::pipeline::ending::Ending;
use pty::Pty;
use std::process::Command;
use std::sync::Arc;

/// Set for the child process of the test below, which runs on the terminal.
const CHILD: &str = "SPRINGLOAD_TEST_PANICS_ON_A_SCREEN";

#[test]
fn a_panic_is_shown_on_the_terminal_as_it_was() {
    if std::env::var_os(CHILD).is_some() {
        let mut screen = Screen::open(Arc::new(Ending::default())).expect("a terminal");
        screen.draw(|frame| frame.render_widget("picture", frame.area())).expect("a picture");
        // As a load thread would panic: the view's own thread continues.
        let thread = std::thread::spawn(|| panic!("on purpose"));
        assert!(thread.join().is_err());
        assert!(screen.draw(|_| ()).is_err(), "nothing is drawn any more");
        return;
    }
    let itself = std::env::current_exe().expect("this program");
    let name = concat!(module_path!(), "::a_panic_is_shown_on_the_terminal_as_it_was");
    let (_, name) = name.split_once("::").expect("a path");
    let mut pty =
        Pty::start(Command::new(itself).args(["--exact", name, "--nocapture"]).env(CHILD, "1"));
    assert!(pty.finish().success(), "{}", pty.shown());
    let shown = pty.shown();
    let (view, after) = shown.rsplit_once("\x1b[?1049l").expect("the first screen");
    assert!(view.contains("picture") && !view.contains("on purpose"), "{view}");
    assert!(after.contains("on purpose") && !after.contains("picture"), "{after}");
}
