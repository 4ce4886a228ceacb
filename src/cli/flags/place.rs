//! What `--output` names: a folder, or a file for the report, by the end of its name.

use crate::plan::Invalid;
use crate::report::{self, Format};
use std::path::Path;

/// The format of a file with such a name; `None`: it may be anything.
fn by_name(path: &Path) -> Option<Format> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    match ending.as_str() {
        "txt" => report::format("text"),
        "htm" => report::format("html"),
        "html" | "svg" | "png" | "json" | "csv" | "hlog" => report::format(&ending),
        _ => None,
    }
}

/// The format in which a report is written to the file `path`: the one that is asked for, or that
/// of the file's name. `None`: `path` is not the name of such a file.
///
/// # Errors
/// When the two do not go together.
pub(in crate::cli) fn format_of_file(
    path: &Path,
    asked: Option<Format>,
) -> Result<Option<Format>, Invalid> {
    let Some(named) = by_name(path).filter(|_| !path.is_dir()) else { return Ok(None) };
    let Some(asked) = asked.filter(|asked| asked.name != named.name) else {
        return Ok(Some(named));
    };
    // Other formats have no ending of their own, so that any may be given to them.
    let own = format!("x.{}", asked.name);
    if asked.name != "text" && by_name(own.as_ref()).is_none() {
        return Ok(Some(asked));
    }
    let problem = format!("{} is not a name for --format {}", path.display(), asked.name);
    let ending = if asked.name == "text" { "txt" } else { asked.name };
    let cure = format!("give one that ends in .{ending}, or leave --format out");
    Err(Invalid::new("--output", problem, cure))
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
            ("a.json", Some("siege-json"), Some("siege-json")),
            ("a.txt", Some("ycsb"), Some("ycsb")),
            ("results", Some("html"), None),
            ("results.d", None, None),
            ("src", None, None),
        ] {
            assert_eq!(of(path, asked), Ok(format), "{path} {asked:?}");
        }
        let told = of("a.csv", Some("html")).unwrap_err().to_string();
        assert!(told.starts_with("--output: a.csv is not a name for --format html; "), "{told}");
        assert!(of("a.csv", Some("text")).is_err());
    }
}
