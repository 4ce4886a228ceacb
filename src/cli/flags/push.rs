//! Flags for pushing metrics to the systems that store them.

use crate::clock::Nanos;
use crate::plan::{self, Invalid};
use crate::redact::learn_header;
use std::path::PathBuf;

/// Where metrics are sent, and how.
#[derive(Clone, Debug, Default, clap::Args)]
pub(in crate::cli) struct PushArgs {
    /// Send metrics to this URL, as OTLP over HTTP; may be repeated
    ///
    /// Send metrics to this URL while it runs, as OTLP over HTTP with exponential histograms; may
    /// be repeated. Without a path, to /v1/metrics
    #[arg(long, value_name = "URL")]
    pub(in crate::cli) otlp: Vec<String>,
    /// Send metrics to this URL, as Prometheus remote write; may be repeated
    ///
    /// Send metrics to this URL while it runs, as Prometheus remote write with native histograms;
    /// may be repeated. Without a path, to /api/v1/write
    #[arg(long, value_name = "URL")]
    pub(in crate::cli) remote_write: Vec<String>,
    /// A header to send with pushed metrics, such as 'Authorization: Bearer …'; may be repeated
    #[arg(long, value_name = "HEADER")]
    pub(in crate::cli) push_header: Vec<String>,
    /// A PEM file with the certificate authorities to trust for them, instead of the system's
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) push_ca: Option<PathBuf>,
    /// How often to send them
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = plan::duration_ns)]
    pub(in crate::cli) push_every: Nanos,
}

/// A header as it is sent. Its value is a secret unless its name is known to be harmless.
pub(in crate::cli) fn header(line: &str) -> Result<String, Invalid> {
    let cure = "give NAME: VALUE, such as 'X-Scope-OrgID: team'";
    let wrong = |problem: &str| Err(Invalid::new("--push-header", problem, cure));
    let Some((name, value)) = line.split_once(':') else { return wrong("it has no colon") };
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(token) {
        return wrong("it does not begin with the name of a header");
    }
    if value.chars().any(|c| c.is_control() && c != '\t') {
        return wrong("its value has a control character");
    }
    learn_header(line);
    Ok(format!("{name}: {}\r\n", value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_one_line_and_no_message_shows_it() {
        let read = |line: &str| header(line).map_err(|it| it.to_string());
        assert_eq!(read("X-Scope-OrgID:team").unwrap(), "X-Scope-OrgID: team\r\n");
        for line in ["hush", ": hush", "X Y: hush", "X: hush\r\nEvil: 1", "X: hush\0"] {
            let message = read(line).unwrap_err();
            assert!(
                message.starts_with("--push-header: ") && !message.contains("hush"),
                "{message}"
            );
        }
    }
}
