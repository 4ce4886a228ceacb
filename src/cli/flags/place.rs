//! What `--output` names, by its extension: a folder, or a file for the report.

use crate::cli::print::print;
use crate::files;
use crate::plan::Invalid;
use crate::report::{self, Format, Study, StudyFormat};
use std::io::{self, IsTerminal as _};
use std::path::Path;

/// The name of the format that a file's extension implies.
fn format_by(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?;
    report::endings().find(|(known, _)| known.eq_ignore_ascii_case(ending)).map(|(_, name)| name)
}

/// The extensions of formats for which `known` is true, for a message.
fn endings(known: impl Fn(&str) -> bool) -> String {
    let known = report::endings().filter(|(_, name)| known(name));
    known.map(|(ending, _)| format!(".{ending}")).collect::<Vec<_>>().join(", ")
}

/// The format of a run in a file with this name; `None`: it could be anything.
fn by_name(path: &Path) -> Option<Format> {
    report::format(format_by(path)?)
}

/// Refuses a file name whose extension does not imply a format. A name without an extension is
/// accepted.
///
/// # Errors
/// Fails if the name has such an extension.
pub(in crate::cli) fn refuse_unknown_ending(path: &Path) -> Result<(), Invalid> {
    let Some(own) = path.extension().filter(|_| by_name(path).is_none()) else { return Ok(()) };
    let known = endings(|name| report::format(name).is_some());
    let problem = format!("no format has the ending .{}", own.to_string_lossy());
    let cure = format!("give --format, or a name that ends in one of {known}");
    Err(Invalid::new("--output", problem, cure))
}

/// The format of a report in the file `path`: the one that is asked for, or the one that the name
/// implies. `None`: `path` is not the name of such a file.
///
/// # Errors
/// Fails if the two do not match.
pub(in crate::cli) fn format_of_file(
    path: &Path,
    asked: Option<Format>,
) -> Result<Option<Format>, Invalid> {
    let Some(named) = by_name(path).filter(|_| !path.is_dir()) else { return Ok(None) };
    let Some(asked) = asked.filter(|asked| asked.name != named.name) else {
        return Ok(Some(named));
    };
    // Other formats have no extension of their own, so files in them may have any.
    let Some(ending) = asked.endings.first() else { return Ok(Some(asked)) };
    let problem = format!("the name {} does not fit --format {}", path.display(), asked.name);
    let cure = format!("give one that ends in .{ending}, or leave --format out");
    Err(Invalid::new("--output", problem, cure))
}

/// The format of a study in the file `path`: the one that is asked for, the one that the name
/// implies, or the default.
///
/// # Errors
/// Fails if the name implies another format, or one that the study does not have.
pub(in crate::cli) fn study_format<S: Study>(
    path: &Path,
    asked: Option<&'static StudyFormat<S>>,
) -> Result<&'static StudyFormat<S>, Invalid> {
    let cure = || format!("end the name in one of {}", endings(|name| S::format(name).is_some()));
    let Some(name) = format_by(path).filter(|_| !path.is_dir()) else {
        return match (asked, path.extension()) {
            (Some(asked), _) => Ok(asked),
            (None, None) => Ok(&S::FORMATS[0]),
            (None, Some(other)) => {
                let problem = format!("no format has the ending .{}", other.display());
                Err(Invalid::new("--output", problem, cure()))
            }
        };
    };
    let named = S::format(name).ok_or_else(|| {
        Invalid::new("--output", format!("{} has no format {name}", S::NAME), cure())
    })?;
    if asked.is_some_and(|asked| asked.name != named.name) {
        let problem = format!("the name {} does not fit this format", path.display());
        return Err(Invalid::new("--format", problem, "leave it out, or give another name"));
    }
    Ok(named)
}

/// Writes a report to the file `path`, or to stdout if `path` is `-`.
///
/// # Errors
/// Fails if the file cannot be written, or if an image would go to a terminal.
pub(in crate::cli) fn write_to(path: &Path, bytes: &[u8]) -> Result<(), Invalid> {
    if path != Path::new("-") {
        // A device or a pipe is written to, not replaced.
        let is_file = path.is_file() || !path.exists();
        let written = if is_file { files::replace(path, bytes) } else { files::write(path, bytes) };
        return written.map_err(|error| {
            let problem = format!("cannot write {}: {error}", path.display());
            Invalid::new("--output", problem, "choose a file in an existing folder")
        });
    }
    if bytes.starts_with(b"\x89PNG") && io::stdout().is_terminal() {
        let cure = "redirect it, or use --output FILE";
        return Err(Invalid::new("--format", "png cannot be shown on a terminal", cure));
    }
    print(bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_name_decides() {
        let of = |path: &str, asked: Option<&str>| {
            let asked = asked.map(|name| report::format(name).unwrap());
            format_of_file(path.as_ref(), asked).map(|format| format.map(|it| it.name))
        };
        for (path, asked, format) in [
            ("report.html", None, Some("html")),
            ("out/report.HTML", Some("html"), Some("html")),
            ("a.txt", None, Some("text")),
            ("a.xml", None, Some("junit")),
            ("a.XML", Some("junit"), Some("junit")),
            ("a.json", Some("siege-json"), Some("siege-json")),
            ("a.txt", Some("ycsb"), Some("ycsb")),
            ("results", Some("html"), None),
            ("results.d", None, None),
            ("src", None, None),
        ] {
            assert_eq!(of(path, asked), Ok(format), "{path} {asked:?}");
        }
        let message = of("a.csv", Some("html")).unwrap_err().to_string();
        assert!(
            message.starts_with("--output: the name a.csv does not fit --format html; "),
            "{message}"
        );
        assert!(of("a.csv", Some("text")).is_err());
        let message = of("a.json", Some("junit")).unwrap_err().to_string();
        assert!(
            message.ends_with("; give one that ends in .xml, or leave --format out"),
            "{message}"
        );
    }

    #[test]
    fn every_ending_is_of_one_format() {
        let mut all: Vec<&str> = report::endings().map(|(ending, _)| ending).collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "of one format each: {all:?}");
        assert_eq!(format_by("a/b.md".as_ref()), Some("markdown"), "of comparisons alone");
        for path in ["report.pdf", "a/b.md", "a.xml.gz"] {
            let message = refuse_unknown_ending(path.as_ref()).unwrap_err().to_string();
            assert!(message.starts_with("--output: no format has the ending ."), "{message}");
            assert!(
                message.contains("; give --format, or ") && message.contains(".xml"),
                "{message}"
            );
        }
        for path in ["report", "-", "a.b/c", "a.TXT", "/dev/stdout", ".hidden"] {
            assert_eq!(refuse_unknown_ending(path.as_ref()), Ok(()), "{path}");
        }
    }
}
