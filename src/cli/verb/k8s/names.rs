//! Checks names, quantities and images by Kubernetes' rules.

use crate::mistake::Invalid;

/// The longest DNS label. Job names are limited to it because they become part of their pods' host
/// names.
pub(super) const LABEL: usize = 63;
/// The longest name of other objects.
pub(super) const SUBDOMAIN: usize = 253;

/// Checks a name by RFC 1123, of at most `most` characters; labels are separated by dots if names
/// of its kind may have several.
pub(super) fn name(flag: &str, text: &str, most: usize) -> Option<Invalid> {
    let labels = if most > LABEL { text.split('.').collect() } else { vec![text] };
    let label = |it: &str| {
        !it.is_empty()
            && it.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))
            && !it.starts_with('-')
            && !it.ends_with('-')
    };
    if text.len() <= most && labels.into_iter().all(label) {
        return None;
    }
    let cure = format!(
        "give at most {most} lower-case letters, digits and hyphens that begin and end with a \
         letter or digit"
    );
    Some(Invalid::new(flag, format!("{text:?} is not a valid Kubernetes name"), cure))
}

/// Checks the name of a Job, which must begin with a letter: some clusters refuse a digit there.
pub(super) fn job(flag: &str, text: &str, most: usize) -> Option<Invalid> {
    name(flag, text, most).or_else(|| {
        let digit = text.starts_with(|c: char| c.is_ascii_digit());
        let problem = format!("{text:?} begins with a digit");
        digit.then(|| Invalid::new(flag, problem, "begin the name with a letter"))
    })
}

/// Checks the value of a label, which the ID of a run has to be.
pub(super) fn run_id(flag: &str, text: &str) -> Option<Invalid> {
    let ends = |c: char| c.is_ascii_alphanumeric();
    let fits = !text.is_empty()
        && text.len() <= LABEL
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        && text.starts_with(ends)
        && text.ends_with(ends);
    let cure = "give at most 63 letters, digits, hyphens, underscores and dots that begin and end \
                with a letter or digit";
    (!fits).then(|| Invalid::new(flag, format!("{text:?} cannot be a Kubernetes label"), cure))
}

/// Checks an amount of CPU or memory: a number above 0, followed by one of `units`.
pub(super) fn quantity(flag: &str, text: &str, units: &[&str], cure: &str) -> Option<Invalid> {
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let written = match number.split_once('.') {
        None => digits(number),
        Some((whole, part)) => digits(whole) && digits(part),
    };
    let fits = written && number.bytes().any(|b| matches!(b, b'1'..=b'9')) && units.contains(&unit);
    (!fits).then(|| Invalid::new(flag, format!("{text:?} is not an amount"), cure))
}

/// Checks the name of an image, as far as Kubernetes itself does.
pub(super) fn image(flag: &str, text: &str) -> Option<Invalid> {
    let fits = text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_graphic());
    let cure = "give a name such as registry/springload:0.1.0";
    (!fits).then(|| Invalid::new(flag, format!("{text:?} is not an image name"), cure))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_rfc_1123() {
        let long = "a".repeat(63);
        for (text, most, fits) in [
            ("a", 63, true),
            ("load-1", 63, true),
            (&long, 63, true),
            (&long, 62, false),
            ("", 63, false),
            ("Load", 63, false),
            ("a_b", 63, false),
            ("-a", 63, false),
            ("a-", 63, false),
            ("a.b", 63, false),
            ("a.b", 253, true),
            ("a..b", 253, false),
            ("ä", 63, false),
        ] {
            assert_eq!(name("--name", text, most).is_none(), fits, "{text}");
        }
        assert!(job("--name", "9a", 63).is_some() && job("--name", "a9", 63).is_none());
        for (text, fits) in
            [("2026_A.b-1", true), ("", false), ("a b", false), ("-a", false), ("a.", false)]
        {
            assert_eq!(run_id("--run-id", text).is_none(), fits, "{text}");
        }
    }

    #[test]
    fn amounts_are_above_nothing() {
        for (text, fits) in [
            ("2", true),
            ("1.5", true),
            ("500m", true),
            ("0", false),
            ("0.0", false),
            ("", false),
            ("m", false),
            ("1.", false),
            (".5", false),
            ("-1", false),
            ("2 ", false),
            ("2Gi", false),
            ("1e3", false),
        ] {
            assert_eq!(quantity("--cpu", text, &["", "m"], "x").is_none(), fits, "{text}");
        }
    }
}
