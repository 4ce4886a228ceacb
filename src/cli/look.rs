//! The look of text on stdout: it depends on the terminal, the locale and the user's settings for
//! colors.

use crate::report::Look;
use rustix::termios::tcgetwinsize;
use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt as _;

/// The look that suits stdout. Colors are for terminals, unless `NO_COLOR`, `CLICOLOR`,
/// `CLICOLOR_FORCE` or `TERM` say otherwise.
pub(in crate::cli) fn of_stdout(verbose: bool) -> Look {
    let color = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
    let size = tcgetwinsize(io::stdout()).ok().filter(|_| io::stdout().is_terminal());
    let columns = size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
    let width = columns.map_or(Look::default().width, |columns| {
        columns.clamp(Look::LEAST_WIDTH, Look::MOST_WIDTH)
    });
    Look { width, color, ascii: ascii(), verbose }
}

/// Whether the locale lacks Unicode. Without any locale, as in many containers, the terminal is
/// assumed to support it.
pub(in crate::cli) fn ascii() -> bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(std::env::var_os);
    ascii_by(set.map(|value| value.to_string_lossy().into_owned()))
}

/// The same for the values of the variables: the first that is not empty counts.
fn ascii_by(values: impl IntoIterator<Item = String>) -> bool {
    let locale = values.into_iter().find(|value| !value.is_empty());
    locale.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        !locale.contains("utf-8") && !locale.contains("utf8")
    })
}

/// Whether stdout and stderr go to the same terminal, file or pipe, so that both have the same
/// reader.
pub(in crate::cli) fn stderr_is_beside() -> bool {
    let place = |fd: BorrowedFd<'_>| {
        let file = File::from(fd.try_clone_to_owned().ok()?).metadata().ok()?;
        Some((file.dev(), file.ino()))
    };
    let (out, err) = (place(io::stdout().as_fd()), place(io::stderr().as_fd()));
    out.is_some() && out == err
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_names_the_locale() {
        for (values, ascii) in [
            (&["", "", ""][..], false),
            (&["", "", "en_GB.UTF-8"], false),
            (&["C.utf8", "", "C"], false),
            (&["", "POSIX", "en_GB.UTF-8"], true),
            (&["C", "", ""], true),
            (&["de_DE.ISO-8859-1"], true),
            (&[], false),
        ] {
            let chosen = ascii_by(values.iter().map(|value| (*value).to_owned()));
            assert_eq!(chosen, ascii, "{values:?}");
        }
    }
}
