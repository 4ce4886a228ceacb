//! What servers say in the answer to `INFO`.

/// The value of a line of `INFO`.
pub(super) fn value<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = info.lines().filter_map(|line| line.split_once(':'));
    lines.find(|(key, _)| *key == name).map(|(_, value)| value.trim())
}
