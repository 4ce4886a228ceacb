//! Metric families as text, in the two formats that scrapers read: OpenMetrics 1.0 and the
//! Prometheus text format 0.0.4. Knows the syntax, not the families.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};

/// The format of an exposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposition {
    /// OpenMetrics 1.0: with units, and `# EOF` at its end.
    OpenMetrics,
    /// Prometheus 0.0.4, which every scraper reads.
    Prometheus,
}

impl Exposition {
    /// The value of the `Content-Type` header.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// The type of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Summary,
    Info,
}

/// A family: its name with the unit at the end, its type, its help text.
#[derive(Clone, Debug)]
pub(super) struct Family {
    pub(super) name: Cow<'static, str>,
    pub(super) kind: Kind,
    pub(super) unit: &'static str,
    pub(super) help: &'static str,
}

#[derive(Debug)]
pub(super) struct Writer {
    dialect: Exposition,
    out: String,
    family: Option<Family>,
    /// Whether the header of the family has been written, which happens with its first sample.
    begun: bool,
}

impl Writer {
    pub(super) const fn new(dialect: Exposition) -> Self {
        Self { dialect, out: String::new(), family: None, begun: false }
    }

    /// Begins a family. A family without samples is left out.
    pub(super) fn family(&mut self, family: Family) {
        (self.family, self.begun) = (Some(family), false);
    }

    /// Adds a sample with these labels to the current family.
    pub(super) fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) {
        let suffix = match self.family.as_ref().map(|family| family.kind) {
            Some(Kind::Counter) => "_total",
            Some(Kind::Info) => "_info",
            _ => "",
        };
        self.sample_of(suffix, labels, value);
    }

    /// Adds a sample whose name ends in `suffix`, such as `_count`.
    pub(super) fn sample_of(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl Display) {
        let Some(family) = self.family.clone() else { return };
        self.head(&family);
        let _ = write!(self.out, "{}{suffix}", family.name);
        for (i, (name, value)) in labels.iter().enumerate() {
            let before = if i == 0 { '{' } else { ',' };
            let _ = write!(self.out, "{before}{name}=\"{}\"", escape(value));
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.out, "{end} {value}");
    }

    fn head(&mut self, family: &Family) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let open = self.dialect == Exposition::OpenMetrics;
        // Prometheus has no info type, and uses the name of a counter's samples for the family.
        let (suffix, kind) = match family.kind {
            Kind::Counter => (if open { "" } else { "_total" }, "counter"),
            Kind::Info => (if open { "" } else { "_info" }, if open { "info" } else { "gauge" }),
            Kind::Gauge => ("", "gauge"),
            Kind::Summary => ("", "summary"),
        };
        let Family { name, help, unit, .. } = family;
        let _ = writeln!(self.out, "# TYPE {name}{suffix} {kind}");
        if open && !unit.is_empty() {
            let _ = writeln!(self.out, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.out, "# HELP {name}{suffix} {help}");
    }

    pub(super) fn finish(mut self) -> String {
        if self.dialect == Exposition::OpenMetrics {
            self.out.push_str("# EOF\n");
        }
        self.out
    }
}

fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
