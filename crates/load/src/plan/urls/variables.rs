//! Variables of a list: `NAME = value`, and `$(NAME)` in the lines after it.

use super::{Wrong, wrong};
use std::collections::BTreeMap;

/// `NAME = value`.
pub(super) fn assignment(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(plain)).then(|| (name, value.trim()))
}

/// The longest a line may get once its variables are filled in: each may double those before it.
const LONGEST_LINE: usize = 1 << 20;

/// The most bytes that a file may grow by once its variables are filled in.
const MOST_GROWTH: usize = 64 << 20;

/// Checks that a file may grow this much.
///
/// # Errors
/// Returns an error and its cure if it may not.
pub fn within(grown: usize) -> Result<(), Wrong> {
    if grown <= MOST_GROWTH {
        return Ok(());
    }
    let problem = format!("the variables add more than {MOST_GROWTH} bytes to the file");
    Err(wrong(problem, "use shorter variables, or fewer lines with them"))
}

/// Replaces variables: `$(NAME)` or `${NAME}`, from the file or the environment. `\$` is a dollar
/// sign.
///
/// # Errors
/// Returns what is wrong and its cure if a variable is unknown or malformed.
pub fn expand(line: &str, variables: &BTreeMap<String, String>) -> Result<String, Wrong> {
    let (mut out, mut rest) = (String::with_capacity(line.len()), line);
    while let Some(at) = rest.find('$') {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        let close = match after.chars().next() {
            _ if before.ends_with('\\') => {
                out.push_str(&before[..at - 1]);
                out.push('$');
                rest = after;
                continue;
            }
            Some('(') => ')',
            Some('{') => '}',
            _ => {
                out.push_str(&rest[..=at]);
                rest = after;
                continue;
            }
        };
        out.push_str(before);
        let cure = "write NAME = value above it, or \\$ for a dollar sign";
        let (name, left) = after[1..]
            .split_once(close)
            .ok_or_else(|| wrong(format!("a variable without a closing {close}"), cure))?;
        let value = variables.get(name).cloned().or_else(|| std::env::var(name).ok());
        let value = value.ok_or_else(|| wrong(format!("unknown variable {name:?}"), cure))?;
        out.push_str(&value);
        if out.len() > LONGEST_LINE {
            let problem = format!("longer than {LONGEST_LINE} bytes with its variables filled in");
            return Err(wrong(problem, "make the variables shorter"));
        }
        rest = left;
    }
    out.push_str(rest);
    Ok(out)
}
