//! What YCSB's `BasicDB` prints on stdout.

use crate::workload::ycsb::Properties;
use std::fmt::Write as _;
use std::io::Write as _;

/// One operation, on a line of its own.
pub(in crate::cli) fn operation(line: &[u8]) {
    let mut out = std::io::stdout().lock();
    // Whoever reads may stop whenever it likes: that is no failure.
    let _ = out.write_all(line).and_then(|()| out.write_all(b"\n"));
}

/// All properties, as they are printed at the start.
pub(super) fn properties(properties: &Properties) {
    let mut text = String::from("***************** properties *****************\n");
    for (name, value) in properties.iter() {
        let _ = writeln!(text, "\"{name}\"=\"{value}\"");
    }
    text.push_str("**********************************************\n");
    super::super::output::print(text.as_bytes());
}
